//! The published figures, and made-up ones, held against ceilings.

use iostone_model::explanation::{ExcessCause, HeldState};

use super::*;
use crate::Catalogue;

fn figure(value: f64, seconds: f64, flow: Flow) -> Measured {
    Measured {
        figure: "throughput".to_owned(),
        unit: Unit::BytesPerSecond,
        value,
        seconds: Some(seconds),
        flow: Some(flow),
        reached_device: None,
        memory_bytes: None,
        dirty_limit: None,
        working_set_bytes: None,
        at_most_bytes: None,
        claimed_and_served_bytes: None,
        below: None,
        tolerance: 1.02,
    }
}

fn bound(kind: CeilingKind, name: &str, sustained: f64) -> Bound {
    Bound {
        kind: Some(kind),
        name: name.to_owned(),
        sustained,
        burst: None,
        basis: Basis::Published,
        source: String::new(),
    }
}

fn report_4(instance: &str) -> Vec<Bound> {
    let known = Known {
        instance: Some(instance.to_owned()),
        instance_from: None,
        volumes: Some("gp2:220GiB".parse().unwrap()),
        date: Some("2017-07".parse().unwrap()),
    };
    let (bounds, notes) = bounds_of(&Catalogue::built_in(), &known, Flow::Write, None, Unit::BytesPerSecond);
    assert_eq!(notes, Vec::<String>::new());
    bounds
}

#[test]
fn report_4_is_at_98_8_percent_of_the_link() {
    let held = hold(&figure(232_303_771_648.0 / 3763.15, 3763.15, Flow::Write), report_4("c4.large"));
    assert_eq!(held.binds.as_deref(), Some("the link of c4.large"));
    assert!(
        held.sentence
            .starts_with("throughput is 61.7 MB/s, 98.8 % of the link of c4.large (62.5 MB/s): it binds"),
        "{}",
        held.sentence
    );
    assert!(held.headroom.is_some_and(|headroom| headroom.times > 2.0));
}

#[test]
fn what_report_4_did_not_see_stayed_in_memory() {
    let mut measured = figure(232_303_767_552.0 / 1354.88, 1354.88, Flow::Write);
    measured.memory_bytes = Some((30u64 << 30) as f64);
    let held = hold(&measured, report_4("c4.4xlarge"));
    assert_eq!(held.excess.as_ref().map(|excess| excess.because), Some(ExcessCause::PageCache));
    for words in ["2.2 % above", "4.99 GB of the 232 GB", "20 % of 30.0 GiB = 6.44 GB may"] {
        assert!(held.sentence.contains(words), "{words}: {}", held.sentence);
    }
    measured.memory_bytes = Some((4u64 << 30) as f64);
    let held = hold(&measured, report_4("c4.4xlarge"));
    assert_eq!(held.excess.map(|excess| excess.because), Some(ExcessCause::AboveEveryCeiling));
    assert_eq!(held.binds, None);
}

#[test]
fn of_2011_the_catalogue_has_no_link() {
    let known = Known {
        instance: Some("m1.large".to_owned()),
        date: Some("2011-10".parse().unwrap()),
        ..Known::default()
    };
    let (bounds, notes) = bounds_of(&Catalogue::built_in(), &known, Flow::Read, None, Unit::BytesPerSecond);
    assert!(bounds.is_empty());
    assert!(notes[0].contains("is of later than 2011-10"), "{notes:?}");
}

#[test]
fn a_bucket_explains_what_it_holds_and_no_more() {
    let bucket = |capacity: f64| {
        let mut link = bound(CeilingKind::Link, "the link", 100e6);
        link.burst = Some(BoundBurst { rate: 200e6, capacity: Some(capacity) });
        vec![link]
    };
    let state = |value: f64, capacity: f64| {
        let held = hold(&figure(value, 100.0, Flow::Read), bucket(capacity));
        (held.ceilings[0].state, held.excess.map(|excess| excess.because))
    };
    assert_eq!(state(150e6, 20e9), (HeldState::OnCredits, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(199e6, 20e9), (HeldState::BindsInBurst, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(150e6, 5e9), (HeldState::BindsInBurst, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(150e6, 1e9), (HeldState::Exceeded, Some(ExcessCause::AboveEveryCeiling)));
    // Of a bucket that is not empty, what it gives in the long run holds nothing.
    assert_eq!(state(98e6, 1e9), (HeldState::Free, None));
    assert_eq!(state(98e6, 0.0), (HeldState::Binds, None));
    let held = hold(&figure(98e6, 100.0, Flow::Read), bucket(1e9));
    assert_eq!(held.binds, None);
    assert!(held.sentence.ends_with("which binds once its bucket is empty"), "{}", held.sentence);
    assert_eq!(state(50e6, 1e9), (HeldState::Free, None));
}

#[test]
fn the_depth_binds_only_where_no_device_does() {
    let bounds = |link: f64| {
        vec![bound(CeilingKind::QueueDepth, "1 at once", 10e6), bound(CeilingKind::Link, "the link", link)]
    };
    let held = hold(&figure(10e6, 10.0, Flow::Read), bounds(62.5e6));
    assert_eq!(held.binds.as_deref(), Some("1 at once"));
    assert!(held.sentence.ends_with("more at once would move more"), "{}", held.sentence);
    assert_eq!(hold(&figure(10e6, 10.0, Flow::Read), bounds(10e6)).binds.as_deref(), Some("the link"));
}

#[test]
fn direct_io_above_a_ceiling_is_no_cache_and_reads_from_memory_are() {
    let mut measured = figure(80e6, 10.0, Flow::Read);
    let link = || vec![bound(CeilingKind::Link, "the link", 62.5e6)];
    measured.working_set_bytes = Some(1e9);
    measured.memory_bytes = Some(4e9);
    assert_eq!(hold(&measured, link()).excess.map(|excess| excess.because), Some(ExcessCause::PageCache));
    measured.reached_device = Some(true);
    assert_eq!(
        hold(&measured, link()).excess.map(|excess| excess.because),
        Some(ExcessCause::AboveEveryCeiling)
    );
    assert_eq!(hold(&measured, Vec::new()).sentence, "throughput is 80.0 MB/s; no ceiling of it is known");
}

#[test]
fn the_next_is_counted_from_the_one_that_binds() {
    let mut link = bound(CeilingKind::Link, "the link", 81.25e6);
    link.burst = Some(BoundBurst { rate: 593.75e6, capacity: Some(1e12) });
    let bounds = vec![link, bound(CeilingKind::Volume, "125MiB/s", 131.072e6)];
    let held = hold(&figure(130e6, 10.0, Flow::Write), bounds);
    assert_eq!(held.binds.as_deref(), Some("125MiB/s"));
    let headroom = held.headroom.expect("the link lets more through");
    assert_eq!(headroom.next, "the link");
    assert!((headroom.times - 593.75 / 131.072).abs() < 1e-9, "{}", headroom.times);
}

#[test]
fn the_page_cache_below_a_file_is_found_by_the_disk_that_holds_it() {
    let link = || vec![bound(CeilingKind::Link, "the link", 62.5e6)];
    let mut measured = figure(9.14e9, 1.0, Flow::Read);
    measured.reached_device = Some(true);
    let below = |holders| Some(Below { device: "loop2".to_owned(), moved: 9.14e9, holders });
    measured.below = below(Some(("vda".to_owned(), 0.63e6)));
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert_eq!(excess.because, ExcessCause::PageCache);
    assert_eq!(
        excess.words,
        "the page cache below loop2 answered: of the 9.14 GB that loop2 moved, vda moved 630 kB"
    );
    measured.below = below(None);
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert!(excess.words.contains("no disk below it was watched"), "{}", excess.words);
    measured.below = below(Some(("vda".to_owned(), 9.14e9)));
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert!(excess.words.starts_with("every byte passed the devices"), "{}", excess.words);
    // What memory took in below leaves the link unbound as well.
    measured.flow = Some(Flow::Write);
    measured.below = below(Some(("vda".to_owned(), 0.0)));
    assert_eq!(hold(&measured, link()).binds, None);
}
