//! Tests of the volume types: published worked examples, what cannot be, and what must hold of every law.

#![expect(clippy::float_cmp, reason = "published figures are exact in binary")]

mod page;
mod properties;

use std::sync::OnceLock;

use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::units::Bytes;

use super::*;

const MIB: f64 = (1u64 << 20) as f64;
const TODAY: &str = "2026-11-01";

/// Read once: every case of a property asks for it.
fn types() -> &'static VolumeTypes {
    static TYPES: OnceLock<VolumeTypes> = OnceLock::new();
    TYPES.get_or_init(VolumeTypes::built_in)
}

fn limits_at(volume: &str, date: &str) -> Result<VolumeLimits, VolumeError> {
    let spec: VolumeSpec = volume.parse().expect(volume);
    types().limits(&spec, date.parse().expect(date))
}

fn limits(volume: &str) -> VolumeLimits {
    limits_at(volume, TODAY).expect(volume)
}

fn error(volume: &str, date: &str) -> String {
    limits_at(volume, date).expect_err(volume).to_string()
}

fn iops(volume: &str) -> f64 {
    limits(volume).iops.expect(volume).base
}

fn mib_s(quantity: Option<Quantity>) -> f64 {
    quantity.expect("a throughput").base / MIB
}

fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

#[test]
fn the_built_in_rows_are_sound_and_say_who_says_so() {
    let table: Table = toml::from_str(TABLE).expect("the table");
    assert!(table.volume.len() > 30, "{}", table.volume.len());
    for row in &table.volume {
        row.check().expect("a sound row");
        assert!(row.source.len() > 10, "{}", row.name);
        assert!(row.iops_words().is_some() || row.throughput_words().is_some(), "{}", row.name);
    }
    let types = types();
    for name in types.names() {
        for rows in types.history(name).expect(name).windows(2) {
            assert!(rows[0].since < rows[1].since, "{name}");
        }
    }
}

/// The EC2 User Guide's table "I/O credits and burst performance" of gp2: size, baseline, seconds of burst, seconds of filling.
#[test]
fn gp2_bursts_and_fills_as_the_guides_table_says() {
    let table = [
        ("1GiB", 100.0, 1862.0, 54_000.0),
        ("33GiB", 100.0, 1862.0, 54_000.0),
        ("100GiB", 300.0, 2000.0, 18_000.0),
        ("250GiB", 750.0, 2400.0, 7200.0),
        ("334GiB", 1002.0, 2703.0, 5389.0),
        ("500GiB", 1500.0, 3600.0, 3600.0),
        ("750GiB", 2250.0, 7200.0, 2400.0),
    ];
    for (size, base, burst, refill) in table {
        let quantity = limits(&format!("gp2:{size}")).iops.expect(size);
        let lasts = quantity.burst_seconds().expect(size);
        let fills = quantity.burst.expect(size).capacity / quantity.base;
        assert_eq!((quantity.base, lasts.round(), fills.round()), (base, burst, refill), "{size}");
        assert_eq!(quantity.peak(), 3000.0);
    }
    for (size, base) in [("1000GiB", 3000.0), ("5334GiB", 16_000.0), ("16TiB", 16_000.0)] {
        assert_eq!(limits(&format!("gp2:{size}")).iops, Some(Quantity::of(base)), "{size}");
    }
}

#[test]
fn gp2_changed_in_2015_2016_and_2018() {
    let gp2 = |volume: &str, date: &str| {
        let limits = limits_at(volume, date).expect(volume);
        (limits.iops.expect(volume).base, mib_s(limits.throughput))
    };
    assert_eq!(gp2("gp2:10GiB", "2014-07"), (30.0, 128.0));
    assert_eq!(gp2("gp2:1TiB", "2014-07"), (3072.0, 128.0));
    assert_eq!(gp2("gp2:10GiB", "2015-06"), (30.0, 128.0));
    assert_eq!(gp2("gp2:10GiB", "2016-07"), (100.0, 128.0));
    // Field report 4: 160 MiB/s sustained, whatever the credits, for 660 I/Os of 256 KiB are 165 MiB/s.
    assert_eq!(gp2("gp2:220GiB", "2017-07"), (660.0, 160.0));
    assert_eq!(gp2("gp2:170GiB", "2017-07"), (510.0, 128.0));
    assert_eq!(gp2("gp2:16TiB", "2018-12-02"), (10_000.0, 160.0));
    assert_eq!(gp2("gp2:16TiB", "2018-12-03"), (16_000.0, 250.0));
    assert_eq!(gp2("gp2:334GiB", "2026"), (1002.0, 250.0));
}

#[test]
fn of_a_day_between_two_laws_the_earlier_is_taken_and_that_is_said() {
    let between = limits_at("gp2:10GiB", "2015-12").expect("gp2");
    assert_eq!((between.row.as_str(), between.iops.expect("IOPS").base), ("gp2 since 2015-03-05", 30.0));
    let note = "the next limits came between 2015-08-04 and 2016-06-30; the earlier ones are taken";
    assert_eq!(between.notes, [note]);
    assert!(limits_at("gp2:10GiB", "2017-07").expect("gp2").notes.is_empty());
    let first = limits_at("standard:100GiB", "2008-07").expect("standard");
    assert_eq!(first.notes[0], "it came between 2008-06-01 and 2008-09-30");
}

#[test]
fn what_was_not_there_or_is_not_known_is_told() {
    assert_eq!(error("gp3:100GiB", "2019"), "`gp3` has no known limits of 2019: it came on 2020-12-01");
    let early = error("io1:100GiB:1000iops", "2013-05");
    assert!(early.ends_with("it came on 2012-07-31, its limits are known since 2014-06-17"), "{early}");
    let gone = error("io2-block-express:100GiB:1000iops", "2024");
    assert!(gone.ends_with("it ended before 2023-11-27; `io2` took its place"), "{gone}");
    let undated = error("azure/premium-ssd:100GiB", "2020");
    assert!(undated.contains("documented as of 2023-03-16"), "{undated}");
    assert!(error("gp5:1GiB", TODAY).contains("no volume type `gp5`, did you mean `gp2`?"));
    assert!(error("azure/P31:1TiB", TODAY).contains("did you mean `azure/P"));
    assert!(!error("quobyte:1TiB", TODAY).contains("did you mean"));
}

#[test]
fn sizes_that_a_real_volume_cannot_have_are_told() {
    assert!(error("gp2:512MiB", TODAY).contains("its size can be 1GiB to 16TiB"));
    assert!(error("st1:100GiB", TODAY).contains("its size can be 125GiB to 16TiB"));
    assert!(error("st1:125GiB", "2019").contains("its size can be 500GiB to 16TiB"));
    let decimal = limits("gp2:220GB");
    assert!(is_near(decimal.iops.expect("IOPS").base, 3.0 * 220e9 / f64::from(1 << 30)));
    assert_eq!(
        decimal.notes,
        ["a real one has a whole number of GiB: this one has 204.89, 205GiB can be had"]
    );
}

/// EC2 User Guide: 16,000 IOPS from 32 GiB on, 1,000 MiB/s from 4,000 IOPS and 8 GiB on; since 2025 80,000 from 160 GiB on and 2,000 MiB/s
/// from 8,000 IOPS on.
#[test]
fn gp3_can_have_what_its_ratios_allow() {
    let plain = limits("gp3:1GiB");
    assert_eq!((plain.iops, mib_s(plain.throughput)), (Some(Quantity::of(3000.0)), 125.0));
    let old = "2024";
    assert!(limits_at("gp3:32GiB:16000iops", old).is_ok());
    assert!(limits_at("gp3:8GiB:4000iops:1000MiB/s", old).is_ok());
    assert!(limits("gp3:160GiB:80000iops").iops == Some(Quantity::of(80_000.0)));
    assert!(mib_s(limits("gp3:16GiB:8000iops:2000MiB/s").throughput) == 2000.0);
    assert_eq!(
        error("gp3:100GiB:16001iops", old),
        "`gp3:100GiB:16001iops`: gp3:100GiB can have 3\u{202f}000 to 16\u{202f}000 IOPS, not more than 500 per GiB"
    );
    assert!(error("gp3:31GiB:16000iops", old).contains("3\u{202f}000 to 15\u{202f}500 IOPS"));
    assert!(error("gp3:4GiB:3001iops", old).contains("can have 3\u{202f}000 IOPS"));
    let fast = error("gp3:100GiB:3000iops:800MiB/s", old);
    assert!(fast.contains("125MiB/s to 750MiB/s, 0.25MiB/s for each of its 3\u{202f}000 IOPS"), "{fast}");
    assert!(error("gp3:17TiB", old).contains("1GiB to 16TiB"));
    assert!(error("gp2:100GiB:6000iops", old).contains("no IOPS can be provisioned"));
    assert!(
        error("io1:100GiB:6000iops", old)
            .contains("can have 100 to 5\u{202f}000 IOPS, not more than 50 per GiB")
    );
    assert!(error("io1:100GiB", old).contains("its IOPS are missing, as in io1:100GiB:5000iops"));
    assert!(error("io1:100GiB:1000iops:100MiB/s", old).contains("its IOPS decide"));
}

#[test]
fn io1_and_io2_follow_their_periods_and_their_iops() {
    let rate = |volume: &str, date: &str| mib_s(limits_at(volume, date).expect(volume).throughput);
    // Field report 1: 300 GB with 1,000 IOPS, in 2015.
    assert_eq!(rate("io1:300GB:1000iops", "2015-02"), 128.0);
    assert_eq!(rate("io1:300GB:1000iops", "2015-06"), 250.0);
    assert!(error("io1:100GiB:4000iops", "2015-06").contains("not more than 30 per GiB"));
    assert_eq!(rate("io1:1TiB:20000iops", "2016"), 320.0);
    assert_eq!(rate("io1:1TiB:32000iops", "2018-02"), 500.0);
    for (iops, expected) in [(1000, 250.0), (2000, 500.0), (32_000, 500.0), (48_000, 750.0), (64_000, 1000.0)]
    {
        assert_eq!(rate(&format!("io1:2TiB:{iops}iops"), TODAY), expected, "{iops}");
    }
    assert_eq!(rate("io2:1TiB:16000iops", TODAY), 4000.0);
    assert_eq!(iops("io2:256GiB:256000iops"), 256_000.0);
    assert!(error("io2:1TiB:64001iops", "2023-05").contains("100 to 64\u{202f}000 IOPS"));
    assert!(limits_at("io2-block-express:1TiB:256000iops", "2023-05").is_ok());
    let elsewhere = limits("io1:2TiB:64000iops").on_instance(false);
    assert_eq!((elsewhere.iops, mib_s(elsewhere.throughput)), (Some(Quantity::of(32_000.0)), 500.0));
    let nitro = limits("io1:2TiB:64000iops").on_instance(true);
    assert_eq!(mib_s(nitro.throughput), 1000.0);
}

/// EC2 User Guide, st1 and sc1: rates by size, and how long a scan of the whole volume takes from a full bucket.
#[test]
fn hdd_volumes_scan_once_at_their_burst_rate() {
    let rates = |volume: &str| {
        let quantity = limits(volume).throughput.expect(volume);
        (quantity.base / MIB, quantity.peak() / MIB)
    };
    assert_eq!(rates("st1:512GiB"), (20.0, 125.0));
    assert_eq!(rates("st1:2TiB"), (80.0, 500.0));
    assert_eq!(rates("st1:12800GiB"), (500.0, 500.0));
    assert_eq!(rates("sc1:512GiB"), (6.0, 40.0));
    assert_eq!(rates("sc1:3200GiB"), (37.5, 250.0));
    assert_eq!(rates("sc1:16TiB"), (192.0, 250.0));
    let hours = |volume: &str, tib: f64| {
        let quantity = limits(volume).throughput.expect(volume);
        tib * MIB * MIB / quantity.peak() / 3600.0
    };
    for (tib, expected) in [(1, 1.17), (2, 1.17), (4, 2.33), (8, 4.66), (16, 9.32)] {
        let scan = hours(&format!("st1:{tib}TiB"), f64::from(tib));
        assert!((scan - expected).abs() < 0.006, "{tib}: {scan}");
    }
    for (tib, expected) in [(1, 3.64), (2, 3.64), (4, 4.66), (16, 18.64)] {
        let scan = hours(&format!("sc1:{tib}TiB"), f64::from(tib));
        assert!((scan - expected).abs() < 0.006, "{tib}: {scan}");
    }
    // The bucket lets the whole volume be read at the burst rate, and no limit is reached before.
    let st1 = limits("st1:2TiB").throughput.expect("st1");
    assert!(st1.burst_seconds().expect("a burst") > 2.0 * MIB * MIB / st1.peak());
    assert_eq!(limits("st1:12800GiB").throughput.expect("st1").burst, None);
}

#[test]
fn azure_sizes_fall_into_tiers() {
    let p30 = limits("azure/premium-ssd:1TiB");
    assert_eq!(
        (p30.row.as_str(), p30.iops),
        ("P30, azure/premium-ssd as of 2023-03-16", Some(Quantity::of(5000.0)))
    );
    assert_eq!(p30, limits("azure/P30:1TiB"));
    assert_eq!(limits("azure/p30:1TiB").iops, p30.iops);
    let p4 = limits("azure/premium-ssd:32GiB");
    let (ios, bytes) = (p4.iops.expect("IOPS"), p4.throughput.expect("bytes"));
    assert_eq!((ios.base, ios.peak(), bytes.base, bytes.peak()), (120.0, 3500.0, 25e6, 170e6));
    for quantity in [ios, bytes] {
        assert!(is_near(quantity.burst_seconds().expect("a burst"), 1800.0));
    }
    let between = limits("azure/premium-ssd:600GiB");
    assert!(between.notes.iter().any(|note| note.contains("600GiB has the limits, and the price, of 1TiB")));
    let wrong = error("azure/P30:100GiB", TODAY);
    assert!(wrong.contains("P30 is for more than 512GiB, and at most 1TiB; 100GiB is a P10"), "{wrong}");
    assert!(error("azure/premium-ssd:64TiB", TODAY).contains("32767GiB at most"));
    assert!(error("azure/premium-ssd:1TiB:100iops", TODAY).contains("nothing can be provisioned"));
    assert_eq!(iops("azure/premium-ssd-v2:1GiB"), 3000.0);
    assert!(error("azure/ultra:100GiB:1000iops", TODAY).contains("its throughput is missing"));
    assert!(limits("azure/ultra:100GiB:10000iops:2500MB/s").throughput == Some(Quantity::of(2.5e9)));
}

#[test]
fn other_providers_limit_reads_and_writes_apart_or_together() {
    let standard = limits("gcp/pd-standard:1000GiB");
    assert_eq!(standard.iops, Some(Quantity::of(750.0)));
    assert_eq!(standard.write_iops, Some(Quantity::of(1500.0)));
    assert!(is_near(mib_s(standard.throughput), 120.0));
    // The machine's own part counts once, however many volumes it has.
    assert_eq!(iops("gcp/pd-balanced:500GiB"), 6000.0);
    assert_eq!(iops("2xgcp/pd-balanced:500GiB"), 4500.0);
    assert!(is_near(mib_s(limits("gcp/pd-ssd:100GiB").throughput), 288.0));
    let sakura = limits("sakura/ssd:100GB");
    assert_eq!((sakura.iops, sakura.write_iops), (Some(Quantity::of(7000.0)), Some(Quantity::of(3000.0))));
    assert!(sakura.notes.iter().any(|note| note.contains("bear no date")), "{:?}", sakura.notes);
}

#[test]
fn emulated_volumes_keep_rates_and_divide_sizes_and_buckets() {
    let spec: VolumeSpec = "gp2:100GiB".parse().expect("a volume");
    let volume = limits("gp2:100GiB").emulated(&spec, 60.0).expect("emulated");
    assert_eq!(volume.size, Bytes(100 * (1 << 30) / 60 / 4096 * 4096));
    assert_eq!((volume.iops, volume.io_size, volume.merge), (Some(300), Some(Bytes(256 << 10)), true));
    let burst = volume.burst.expect("a burst");
    assert_eq!((burst.iops, burst.credits), (Some(3000), Some(90_000)));
    assert_eq!(volume.stands_for, Some(spec));
    let spec: VolumeSpec = "st1:2TiB".parse().expect("a volume");
    let volume = limits("st1:2TiB").emulated(&spec, 1024.0).expect("emulated");
    assert_eq!((volume.size, volume.merge, volume.io_size), (Bytes(2 << 30), true, Some(Bytes(1 << 20))));
    assert_eq!(volume.burst.expect("a burst").credit_bytes, Some(Bytes(2 << 30)));
    let spec: VolumeSpec = "gcp/pd-standard:1TiB".parse().expect("a volume");
    let apart = limits("gcp/pd-standard:1TiB").emulated(&spec, 1.0).expect_err("apart").to_string();
    assert!(apart.contains("`gcp/pd-standard:1TiB` cannot be emulated: its reads and writes"), "{apart}");
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(limits("gp3:1TiB").emulated(&"gp3:1TiB".parse().expect("a volume"), speed).is_err());
    }
}

#[test]
fn rows_of_a_user_add_types_and_override_those_built_in() {
    let parse = |text: &str| toml::from_str::<VolumeRow>(text);
    let mut types = VolumeTypes::built_in();
    let row = "name = \"nas/ssd\"\niops = { law = \"constant\", iops = 5000 }\nlatency = \"500us\"\nbasis = \"measured\"\nsource = \"us\"";
    types.insert(parse(row).expect("a row")).expect("sound");
    let own = types.limits(&"nas/ssd:1TiB".parse().expect("a volume"), "2020".parse().expect("a date"));
    assert_eq!(own.expect("known").iops, Some(Quantity::of(5000.0)));
    let newer = "name = \"gp2\"\nsince = \"2027-01-01\"\niops = { law = \"size\", per_gib = 6, floor = 200, cap = 32000 }\nbasis = \"published\"\nsource = \"a page\"";
    types.insert(parse(newer).expect("a row")).expect("sound");
    let gp2 = |date: &str| types.limits(&"gp2:100GiB".parse().expect("a volume"), date.parse().expect(date));
    assert_eq!(gp2("2027-02").expect("known").iops, Some(Quantity::of(600.0)));
    assert_eq!(gp2("2026-12").expect("known").iops.expect("IOPS").base, 300.0);
    for (wrong, reason) in [
        ("name = \"aws/x\"\niops = { law = \"constant\", iops = 1 }", "its name"),
        ("name = \"x\"", "it limits nothing"),
        ("name = \"x\"\niops = { law = \"constant\", iops = 0 }", "`iops` is 0, and must be above zero"),
        ("name = \"x\"\nthroughput = { law = \"steps\", steps = [] }", "`steps` is 0"),
        ("name = \"x\"\nwrite_iops = { law = \"constant\", iops = 1 }", "writes without reads"),
        ("name = \"x\"\nmerge = true\niops = { law = \"constant\", iops = 1 }", "need `io_size`"),
    ] {
        let row = parse(&format!("{wrong}\nbasis = \"published\"\nsource = \"us\"")).expect(wrong);
        let error = types.insert(row).expect_err(wrong).to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(parse("name = \"x\"\nbasis = \"published\"\nsource = \"us\"\niopps = 1").is_err());
}

#[test]
fn rows_say_themselves_in_words() {
    let types = types();
    let gp2 = types.history("gp2").expect("gp2");
    let last = gp2.last().expect("a row");
    assert_eq!(
        last.iops_words().expect("words"),
        "3 per GiB, 100 at least, 16\u{202f}000 at most; 3\u{202f}000 while 5\u{202f}400\u{202f}000 credits last"
    );
    assert_eq!(last.throughput_words().expect("words"), "128MiB/s up to 170GiB, 250MiB/s above");
    assert_eq!(last.accounting_words().expect("words"), "up to 256KiB as one, adjacent ones together");
    assert_eq!(last.sizes().expect("sizes"), "1GiB to 16TiB");
    let periods: Vec<String> =
        gp2.iter().enumerate().map(|(index, row)| row.period(gp2.get(index + 1))).collect();
    assert_eq!(
        periods,
        [
            "2014-06-16 to 2015-04-01",
            "2015-03-05 (by 2015-04-02) to 2016-06-29",
            "2015-08-04 (by 2016-06-30) to 2018-12-02",
            "since 2018-12-03",
        ]
    );
    let row = |name: &str| types.history(name).expect(name).last().expect("a row").clone();
    assert_eq!(
        row("gp3").throughput_words().expect("words"),
        "provisioned, 125MiB/s to 2000MiB/s, 0.25MiB/s for each I/O at most, 125MiB/s included"
    );
    assert_eq!(
        row("st1").throughput_words().expect("words"),
        "40MiB/s per TiB, 500MiB/s at most; 250MiB/s per TiB, 500MiB/s at most, while credits of 1TiB per TiB last"
    );
    assert_eq!(row("azure/premium-ssd").iops_words().expect("words"), "120 to 20\u{202f}000 by tier");
    assert_eq!(row("gcp/pd-standard").iops_words().expect("words"), "reads 0.75 per GiB; writes 1.5 per GiB");
}

#[test]
fn prices_are_those_of_the_published_list() {
    let price = |volume: &str, region: &str| volume_price(&volume.parse().expect(volume), region);
    let usd = |volume: &str| price(volume, "us-east-1").expect(volume).usd;
    assert!(is_near(usd("gp2:100GiB"), 10.0));
    // EBS pricing page, example 1: 10,000 IOPS and 500 MB/s of gp3 pay for 7,000 and for 375 above what is included.
    assert!(is_near(usd("gp3:2000GiB:10000iops:500MiB/s"), 2000.0 * 0.08 + 7000.0 * 0.005 + 375.0 * 0.04));
    assert!(is_near(usd("gp3:500GiB:3000iops:125MiB/s"), 40.0));
    assert!(is_near(usd("4xgp3:500GiB"), 160.0));
    let io2 = usd("io2:1000GiB:100000iops");
    assert!(is_near(io2, 125.0 + 32_000.0 * 0.065 + 32_000.0 * 0.0455 + 36_000.0 * 0.03185), "{io2}");
    assert!(is_near(price("io1:100GiB:1000iops", "ap-northeast-1").expect("io1").usd, 14.2 + 74.0));
    assert!(is_near(price("st1:1TiB", "us-east-1").expect("st1").usd_per_hour(), 1024.0 * 0.045 / 730.0));
    assert_eq!(
        price("standard:1GiB", "us-east-1").expect("standard").by_use.as_deref(),
        Some("0.05 USD for each million I/Os")
    );
    // I/Os are charged for there as well; how much is not known.
    let elsewhere = price("standard:1GiB", "ap-northeast-1").expect("standard").by_use;
    assert!(elsewhere.is_some_and(|words| words.contains("its price in ap-northeast-1 is not known")));
    assert_eq!(price("gp3:1GiB", "ap-northeast-1").expect("gp3").by_use, None);
    let words = price("gp3:500GiB:4000iops", "us-east-1").expect("gp3").in_words();
    assert_eq!(words, "500 GiB-month at 0.08 USD, 1\u{202f}000 IOPS-month at 0.005 USD");
    let unknown = |volume: &str, region: &str| price(volume, region).expect_err(volume).to_string();
    assert!(unknown("gp2:1GiB", "mars-1").contains("only in us-east-1 and ap-northeast-1"));
    assert!(unknown("azure/P30:1TiB", "us-east-1").contains("no price of `azure/P30` in us-east-1"));
    assert!(unknown("io1:100GiB", "us-east-1").contains("provisioned IOPS, which are missing"));
}
