//! Errors and stalls of the served volume as ext4 passes them on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use iostone_disk::OperationCounters;

use super::rig::{Aligned, BLOCK, Rig, open_direct, read_block, said_by};
use crate::lab::{needs_root, needs_tool};

/// In the last quarter of the volume, where ext4 of this size has nothing of its own.
const BAD: std::ops::Range<u64> = 48 << 20..(48 << 20) + (256 << 10);

/// Where on the device the blocks of a file lie.
fn blocks_of(rig: &Rig, file: &Path) -> Vec<u64> {
    let name = file.file_name().unwrap().to_str().unwrap();
    let said = said_by(Command::new("debugfs").args(["-R", &format!("blocks /{name}"), rig.device()]));
    said.split_whitespace().map(|block| block.parse().unwrap()).collect()
}

#[test]
fn a_file_on_a_bad_range_reads_with_errors_there_and_they_are_counted() {
    needs_root!();
    needs_tool!("nbdfuse");
    let rig = Rig::with_ext4(&["--error-offset", "48MiB", "--error-length", "256KiB", "--error-on", "read"]);
    let path = rig.write_file(50 << 20);
    let blocks = blocks_of(&rig, &path);
    assert_eq!(blocks.len(), (50 << 20) / BLOCK);
    let file = open_direct(&path);
    let mut buffer = Aligned::new();
    rig.control(&["reset"]);
    let mut errors = 0;
    // Some of the good ones are enough.
    for (number, block) in (0..)
        .zip(&blocks)
        .filter(|(number, block)| number % 16 == 0 || BAD.contains(&(**block * BLOCK as u64)))
    {
        let read = read_block(&file, number, &mut buffer);
        let is_bad = BAD.contains(&(block * BLOCK as u64));
        assert_eq!(read.is_err(), is_bad, "block {number} of the file, {block} of the device: {read:?}");
        errors += u64::from(is_bad);
        if let Err(error) = read {
            assert_eq!(error.raw_os_error(), Some(iostone_disk::EIO));
        }
    }
    assert!(errors > 0, "the file lies beside the bad range: {blocks:?}");
    let reads = rig.counters().reads;
    eprintln!("{errors} blocks in error, {} reads", reads.requests);
    assert_eq!(reads.errors, errors);
    drop(file);
    rig.end();
}

#[test]
fn stalls_are_seen_by_the_load_and_counted_by_the_server() {
    const LONG_NS: u64 = 150_000_000;
    needs_root!();
    needs_tool!("nbdfuse");
    let rig = Rig::with_ext4(&["--stall-every", "1s", "--stall-lasts", "200ms"]);
    let file = open_direct(&rig.write_file(1 << 20));
    let mut buffer = Aligned::new();
    rig.control(&["reset"]);
    // One at a time, so that each stall holds one read; the server's next begins within two seconds.
    let (mut seen, mut reads, mut longest_ns) = (0, 0, 0);
    let held = |counters: &OperationCounters| -> u64 {
        counters.service.occupied().filter(|held| held.0 >= LONG_NS).map(|held| held.2).sum()
    };
    // A machine that is late itself makes a load see more.
    let deadline = Instant::now() + Duration::from_secs(60);
    while seen < 3 || held(&rig.counters().reads) < 1 {
        assert!(Instant::now() < deadline, "{seen} stalls seen in {reads} reads");
        let sent = Instant::now();
        read_block(&file, reads % 256, &mut buffer).unwrap();
        let took_ns = u64::try_from(sent.elapsed().as_nanos()).unwrap();
        seen += u64::from(took_ns >= LONG_NS);
        longest_ns = longest_ns.max(took_ns);
        reads += 1;
    }
    let counters = rig.counters().reads;
    assert!(counters.requests >= reads && counters.errors == 0, "{reads} reads: {counters:?}");
    let held = held(&counters);
    eprintln!("{held} stalls in {reads} reads, up to {longest_ns} ns");
    assert!((1..=seen).contains(&held), "{held} stalls by the server's stamps, and {seen} by the load's");
    let longest_held_ns = counters.service.max_ns().unwrap();
    assert!(longest_held_ns >= LONG_NS && longest_ns >= longest_held_ns, "{longest_held_ns} ns");
    drop(file);
    rig.end();
}
