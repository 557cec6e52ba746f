//! Every format reads back as what was written, whatever a catalogue holds.

use std::collections::BTreeMap;

use iostone_model::units::{ByteRate, Bytes};
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::catalogue::{Architecture, DiskKind, EbsSupport, LocalDisks, Status};

const FORMATS: [ExchangeFormat; 3] = [ExchangeFormat::Csv, ExchangeFormat::Json, ExchangeFormat::Toml];

#[test]
fn the_whole_catalogue_is_written_and_read_back_as_it_was() {
    let catalogue = Catalogue::built_in();
    let rows = catalogue.rows();
    assert_eq!(rows.instance.len(), 1437);
    assert!(rows.volume.len() > 20, "{}", rows.volume.len());
    for format in FORMATS {
        let text = write_exchange(&rows, format);
        let read = read_exchange(&text).unwrap();
        assert_eq!(read.rows.instance, rows.instance, "{format:?}");
        assert!(format == ExchangeFormat::Csv || read.rows.volume == rows.volume, "{format:?}");
        assert_eq!(catalogue.changes(&read.rows), [], "{format:?}");
    }
}

#[test]
fn what_is_no_catalogue_is_refused_where_it_stops_being_one() {
    let cases = [
        ("instance,vcpus\nx,2\nx,3\n", "line 3: `x` is there twice"),
        ("instance,vcpus\nx,two\n", "line 2: `vcpus`: `two` is not a whole number"),
        ("instance,vcpus\nx\n", "line 2: it has 1 fields, the header 2"),
        ("instance,vcpus,vcpus\n", "line 1: the column `vcpus` is there twice"),
        ("instance,colour\nx,red\n", "`colour` is not a key of `instance.x`"),
        ("{\n \"instance\": }", "line 2, column"),
        ("{\"instance\": {\"x\": {\"vcpus\": 0}}}", "`vcpus` is 0"),
        ("{\"instance\": 4}", "`instance` is not a table"),
        ("what is this", "not TOML"),
    ];
    for (text, reason) in cases {
        let error = read_exchange(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let nothing = read_exchange("{\"instance\": {\"x\": {\"vcpus\": null}}}").unwrap();
    assert_eq!(nothing.rows.instance["x"], InstanceRow::default(), "null is unknown");
}

fn rate() -> impl Strategy<Value = ByteRate> {
    (1u64..1 << 50).prop_map(ByteRate)
}

fn disks() -> impl Strategy<Value = LocalDisks> {
    (0u32..100, 1u64..1 << 40, any::<bool>()).prop_map(|(count, each, is_ssd)| {
        LocalDisks::of(count, Bytes(each), if is_ssd { DiskKind::Ssd } else { DiskKind::Hdd })
    })
}

fn row() -> impl Strategy<Value = InstanceRow> {
    let words = "[a-z\"'#,\\\\ \u{e9}]{1,12}".prop_filter("not blank", |text| !text.trim().is_empty());
    let statuses = proptest::sample::select(&Status::ALL[..]);
    let architectures = prop_oneof![
        Just(vec![Architecture::X86_64]),
        Just(vec![Architecture::I386, Architecture::X86_64]),
        Just(vec![Architecture::Arm64]),
        Just(vec![Architecture::Mac])
    ];
    let support = prop_oneof![Just(EbsSupport::Default), Just(EbsSupport::OnRequest), Just(EbsSupport::None)];
    let first = (
        of(statuses),
        of(1u32..5000),
        of((1u64..1 << 50).prop_map(Bytes)),
        of(architectures),
        of("[a-z]{1,8}"),
        of(0.001f64..100.0),
        of(0.001f64..1e6),
        of(support),
    );
    let second = (
        of(rate()),
        of(1u32..1 << 30),
        of(rate()),
        of(rate()),
        of(disks()),
        of(words),
        proptest::collection::btree_map("[a-z]{2}-[a-z]{4}-[1-9]", 1e-6f64..1e4, 0..3),
    );
    (first, second).prop_map(|(first, second)| {
        let (status, vcpus, memory, architectures, hypervisor, clock_ghz, ecu, ebs_support) = first;
        let (ebs_baseline, ebs_baseline_iops, ebs_maximum, network_baseline, local_disks, source, prices) =
            second;
        InstanceRow {
            status,
            vcpus,
            memory,
            architectures,
            hypervisor,
            clock_ghz,
            ecu,
            ebs_support,
            ebs_baseline,
            ebs_baseline_iops,
            ebs_maximum,
            network_baseline,
            local_disks,
            source,
            date: "2026-11".parse().ok(),
            usd_per_hour: Some(prices).filter(|prices: &BTreeMap<String, f64>| !prices.is_empty()),
            ..InstanceRow::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rows_survive_every_format(instance in proptest::collection::btree_map("[a-z][a-z0-9.-]{0,15}", row(), 0..6)) {
        let rows = Rows { instance, volume: Vec::new() };
        for format in FORMATS {
            let text = write_exchange(&rows, format);
            let read = read_exchange(&text);
            prop_assert_eq!(read.map(|read| read.rows), Ok(rows.clone()), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\[\\]{}\"=:,.a-z0-9\n #]{0,80}") {
        let _ = read_exchange(&text);
        let _ = Catalogue::with_user_rows(&text, "f");
    }
}
