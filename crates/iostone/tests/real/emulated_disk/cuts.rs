//! The power goes while a file is appended to: what fsync acknowledged is there afterwards, if the filesystem flushes.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use iostone_disk::ControlReply;

use super::rig::{BLOCK, Rig};
use crate::lab::{needs_root, needs_tool};

const VOLUME: [&str; 6] = ["--cache", "1MiB", "--flush-latency", "1ms", "--latency", "100us"];

/// The record of that number in the file of that round.
fn record(round: u64, number: u64) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (round << 48 | number << 16 | place as u64).to_le_bytes();
    }
    bytes
}

/// Appends records until that fails, and counts those of which fsync said that they are safe.
fn append(path: &Path, round: u64, acknowledged: &AtomicU64) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    loop {
        file.write_all(&record(round, acknowledged.load(Ordering::SeqCst)))?;
        file.sync_all()?;
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
}

/// Cuts the power at some moment while records are appended, and gives how many were acknowledged, and how many blocks
/// were lost. Afterwards the power is on again, and nothing is attached.
fn cut(rig: &mut Rig, round: u64) -> (u64, u64) {
    let acknowledged = AtomicU64::new(0);
    let path = rig.path().join(round.to_string());
    let lost = std::thread::scope(|scope| {
        let appending = scope.spawn(|| append(&path, round, &acknowledged));
        while acknowledged.load(Ordering::SeqCst) == 0 && !appending.is_finished() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(5_000 + round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 60_000));
        let reply = rig.control(&["cut", "--keep", "50%"]);
        let ended = appending.join().unwrap();
        assert!(ended.is_err(), "without power nothing is acknowledged");
        let ControlReply::Cut(reports) = reply else { panic!("{reply:?}") };
        reports[0].cache.unwrap().lost_blocks
    });
    rig.detach();
    assert_eq!(rig.control(&["restore"]), ControlReply::Done);
    (acknowledged.into_inner(), lost)
}

/// How many of the first records of that round are there.
fn survivors(rig: &Rig, round: u64, acknowledged: u64) -> u64 {
    let content = std::fs::read(rig.path().join(round.to_string())).unwrap_or_default();
    let records = content.chunks(BLOCK).zip(0..acknowledged);
    records.take_while(|(bytes, number)| **bytes == record(round, *number)).count() as u64
}

#[test]
fn in_fifty_power_cuts_nothing_that_fsync_acknowledged_is_lost() {
    needs_root!();
    needs_tool!("nbdfuse");
    let mut rig = Rig::with_ext4(&VOLUME);
    let (mut all, mut lost_blocks) = (Vec::new(), 0);
    // On a busy machine fifty cuts may all hit a moment without unflushed writes; they go on until one has not.
    for round in 0..500 {
        if round >= 50 && lost_blocks > 0 {
            break;
        }
        let (acknowledged, lost) = cut(&mut rig, round);
        lost_blocks += lost;
        all.push(acknowledged);
        rig.attach();
        assert!(rig.mount("barrier=1"), "cut {round}: the filesystem cannot be mounted");
        assert_eq!(survivors(&rig, round, acknowledged), acknowledged, "cut {round}");
    }
    for (round, acknowledged) in (0..).zip(&all) {
        assert_eq!(survivors(&rig, round, *acknowledged), *acknowledged, "round {round}, at the end");
    }
    eprintln!("{} records acknowledged, {lost_blocks} blocks lost", all.iter().sum::<u64>());
    rig.detach();
    rig.attach();
    assert!(rig.is_whole(), "e2fsck finds errors");
    assert!(lost_blocks > 0, "the cuts found nothing to lose");
    rig.end();
}

#[test]
fn without_barriers_power_cuts_lose_what_fsync_acknowledged() {
    needs_root!();
    needs_tool!("nbdfuse");
    let mut rig = Rig::with_ext4(&VOLUME);
    let mut cuts_with_loss = 0;
    for round in 0..10 {
        rig.detach();
        rig.attach();
        rig.make_ext4();
        assert!(rig.mount("barrier=0"));
        let (acknowledged, _) = cut(&mut rig, round);
        rig.attach();
        if !rig.mount("barrier=0") || survivors(&rig, round, acknowledged) < acknowledged {
            cuts_with_loss += 1;
        }
    }
    eprintln!("{cuts_with_loss} of 10 cuts lost acknowledged records");
    assert!(cuts_with_loss >= 1);
    rig.end();
}
