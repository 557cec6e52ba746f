//! Counters of block devices as several kernels write them.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::fixture::plant;

const OLD: &str =
    "     100        2     2048       30      200        4     4096       60        1       70       90\n";
const WITH_DISCARDS: &str = "100 2 2048 30 200 4 4096 60 1 70 90 5 0 800 9\n";
const WITH_FLUSHES: &str = "100 2 2048 30 200 4 4096 60 1 70 90 5 0 800 9 11 12\n";

fn watch(name: &str) -> WatchedDevice {
    WatchedDevice { name: name.to_owned(), role: Role::Stack }
}

fn parse(text: &str) -> Option<(DiskCounters, bool)> {
    parse_counters(split_fields(text.as_bytes()))
}

#[test]
fn the_fields_of_three_generations_of_kernels_are_read() {
    let expected = DiskCounters {
        reads: 100,
        read_bytes: 2048 * 512,
        writes: 200,
        written_bytes: 4096 * 512,
        discards: 0,
        flushes: 0,
        read_ms: 30,
        write_ms: 60,
        busy_ms: 70,
        in_flight: 1,
    };
    assert_eq!(parse(OLD), Some((expected, false)));
    assert_eq!(parse(WITH_DISCARDS), Some((DiskCounters { discards: 5, ..expected }, false)));
    assert_eq!(parse(WITH_FLUSHES), Some((DiskCounters { discards: 5, flushes: 11, ..expected }, true)));
    let later = format!("{} 13 14", WITH_FLUSHES.trim());
    assert_eq!(parse(&later), parse(WITH_FLUSHES));
}

#[test]
fn a_negative_gauge_of_an_old_kernel_is_nothing_in_flight() {
    assert_eq!(parse("1 2 3 4 5 6 7 8 -1 10 11").unwrap().0.in_flight, 0);
    assert_eq!(parse("1 2 3 4 5 6 7 -8 1 10 11"), None);
}

#[test]
fn the_four_fields_of_an_ancient_partition_are_refused() {
    let (_folder, root) = plant(&[("proc/diskstats", "   8    1 sda1 100 2048 200 4096\n")]);
    let error = DiskSignal::open(&root, &[watch("sda1")]).unwrap_err();
    assert!(matches!(error, ProbeError::NoCounters { .. }), "{error}");
}

#[test]
fn without_sysfs_the_table_is_read() {
    let table = format!("   8  0 sda {OLD}   8  1 sda1 {WITH_FLUSHES} 104 0 cciss/c0d0 {WITH_DISCARDS}");
    let (folder, root) = plant(&[("proc/diskstats", &table)]);
    let mut signal = DiskSignal::open(&root, &[watch("sda1"), watch("cciss!c0d0"), watch("sda")]).unwrap();
    signal.take(1);
    assert_eq!(signal.counters.iter().map(|one| one.discards).collect::<Vec<_>>(), [5, 5, 0]);
    assert_eq!(signal.series.iter().map(|one| one.flushes_counted).collect::<Vec<_>>(), [true, false, false]);
    fs::write(folder.path().join("proc/diskstats"), format!("   8  0 sda {OLD}")).unwrap();
    signal.take(2);
    let ending = signal.series[0].ending.clone().unwrap();
    assert_eq!(ending.at_ns, 2);
    assert!(ending.reason.contains("vanished"), "{}", ending.reason);
    assert_eq!(signal.counters[0].flushes, 11, "the last counters stay");
    assert_eq!(signal.series[2].ending, None);
}

#[test]
fn sysfs_comes_before_the_table() {
    let (_folder, root) = plant(&[
        ("sys/class/block/cciss!c0d0/stat", WITH_FLUSHES),
        ("sys/class/block/cciss!c0d0/queue/iostats", "0\n"),
        ("proc/diskstats", ""),
    ]);
    let signal = DiskSignal::open(&root, &[watch("cciss/c0d0")]).unwrap();
    assert_eq!(signal.counters[0].flushes, 11);
    assert!(!signal.series[0].counting, "`queue/iostats` is 0");
}

#[test]
fn an_unknown_device_is_refused_by_name() {
    let (_folder, root) = plant(&[("proc/diskstats", "   8  0 sda 1 2 3 4 5 6 7 8 9 10 11\n")]);
    for name in ["sdb", "", ".", "..", "../sda", "sda\n"] {
        let error = DiskSignal::open(&root, &[watch(name)]).unwrap_err();
        assert!(matches!(error, ProbeError::UnknownDevice { .. }), "{error}");
    }
}

#[test]
fn a_device_whose_file_turns_to_nonsense_ends_its_series() {
    let (folder, root) = plant(&[("sys/class/block/vda/stat", WITH_FLUSHES)]);
    let mut signal = DiskSignal::open(&root, &[watch("vda")]).unwrap();
    fs::write(folder.path().join("sys/class/block/vda/stat"), "").unwrap();
    signal.take(3);
    signal.take(4);
    assert_eq!(signal.series[0].ending.as_ref().unwrap().at_ns, 3);
}

#[test]
fn a_counter_that_wrapped_is_carried_on() {
    let before = DiskCounters { busy_ms: u64::from(u32::MAX) - 9, ..DiskCounters::default() };
    let after = DiskCounters { busy_ms: 20, in_flight: 3, ..DiskCounters::default() };
    let difference = subtract_counters(&before, &after);
    assert_eq!(difference.busy_ms, 30);
    assert_eq!(difference.in_flight, 3);
}

#[test]
fn a_counter_that_was_reset_counts_as_nothing() {
    let before = DiskCounters { reads: 1000, read_bytes: 1 << 50, ..DiskCounters::default() };
    assert_eq!(subtract_counters(&before, &DiskCounters::default()), DiskCounters::default());
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text: Vec<u8>, name: Vec<u8>) {
        let _ = parse_counters(split_fields(&text));
        if let Some(fields) = find_in_table(&text, &name) {
            let _ = parse_counters(fields);
        }
    }

    #[test]
    fn any_numbers_of_eleven_fields_or_more_are_read(numbers in proptest::collection::vec(any::<u64>(), 0..25)) {
        let text: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let parsed = parse(&text.join(" "));
        prop_assert_eq!(parsed.is_some(), numbers.len() >= 11);
        if let Some((counters, flushes_counted)) = parsed {
            prop_assert_eq!(counters.writes, numbers[4]);
            prop_assert_eq!(flushes_counted, numbers.len() >= 16);
        }
    }

    #[test]
    fn what_was_added_is_what_is_subtracted(before in 0_u64..1 << 40, served in 0_u64..1 << 31) {
        prop_assert_eq!(subtract_wrapping(before, before + served, 1 << 32), served);
        let narrow = before % (1 << 32);
        prop_assert_eq!(subtract_wrapping(narrow, (narrow + served) % (1 << 32), 1 << 32), served);
    }
}
