//! Reading, writing, flushing, many clients, beginnings and ends.

use crate::served::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_is_written_is_read_back_by_every_client() {
    let served = Served::new(&[volume(64 * MIB)], None);
    let mut one = served.client(0);
    let mut other = Client::connect(&served.socket(0), "v0").unwrap();
    assert_eq!(one.size_bytes(), 64 * MIB);
    // Flushes, FUA, discards, zeros, several connections; nothing that tells of holes.
    assert_eq!(one.flags(), 0b1_0110_1101);
    for length in [1, 511, 4096, 300_000, 5 << 20, 32 << 20] {
        let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 253).unwrap()).collect();
        one.write(777, &bytes, length == 4096).unwrap();
        let mut back = vec![0; length];
        other.read(777, &mut back).unwrap();
        assert!(back == bytes, "{length} bytes");
    }
    one.flush().unwrap();
    one.write_zeroes(4096, 8 << 20).unwrap();
    one.trim(16 * MIB, 4096).unwrap();
    let mut back = vec![1; 8 << 20];
    other.read(4096, &mut back).unwrap();
    assert!(back.iter().all(|byte| *byte == 0));
    other.read(16 * MIB, &mut back[..4096]).unwrap();
    assert!(back[..4096].iter().all(|byte| *byte == 0));
    one.disconnect().unwrap();
    other.read(0, &mut back[..10]).unwrap();
}

#[test]
fn counters_are_what_was_asked_for() {
    let served = Served::new(&[volume(16 * MIB), volume(16 * MIB)], None);
    let mut client = served.client(0);
    let reads = scattered(500, 4096, 16 * MIB).map(|offset| (Command::Read, offset, 4096));
    let writes = scattered(300, 8192, 16 * MIB).map(|offset| (Command::Write, offset, 8192));
    let flushes = (0..20).map(|_| (Command::Flush, 0, 0));
    let trims = (0..10).map(|number| (Command::Trim, number * 4096, 4096));
    let answers = keep_in_flight(&mut client, 32, reads.chain(writes).chain(flushes).chain(trims));
    assert_eq!(answers.len(), 830);
    assert!(answers.iter().all(|answer| answer.error == 0));
    // One that is refused was never asked of the volume.
    assert!(client.read(16 * MIB, &mut [0; 512]).is_err());
    let report = served.control().counters().unwrap();
    let counters = &report.volumes[0].counters;
    assert_eq!((counters.reads.requests, counters.reads.bytes), (500, 500 * 4096));
    assert_eq!((counters.writes.requests, counters.writes.bytes), (300, 300 * 8192));
    assert_eq!((counters.flushes.requests, counters.discards.requests), (20, 10));
    assert_eq!(counters.errors(), 0);
    assert_eq!(report.link_bytes, 500 * 4096 + 300 * 8192);
    assert_eq!(report.volumes[1].counters.ios(), 0);
}

#[test]
fn a_file_keeps_what_was_written_and_its_sockets_go_with_the_server() {
    for direct in [false, true] {
        let path = tempfile::NamedTempFile::new().unwrap();
        path.as_file().set_len(8 * MIB).unwrap();
        let store = |_: &std::path::Path| Store::File { path: path.path().to_owned(), direct };
        if direct && !takes_direct(path.path()) {
            eprintln!("skipped: needs a filesystem with O_DIRECT");
            continue;
        }
        let mut served = Served::with(&[volume(8 * MIB)], None, store);
        let mode = fs::metadata(served.socket(0)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut client = served.client(0);
        let writes = (0..200).map(|number| (Command::Write, number * 40_000, 40_000));
        let answers = keep_in_flight(&mut client, 16, writes.take_while(|write| write.1 < 7_900_000));
        assert!(answers.iter().all(|answer| answer.error == 0));
        client.flush().unwrap();
        let mut back = vec![0; 40_000];
        client.read(40_000, &mut back).unwrap();
        assert!(back.iter().all(|byte| *byte == 0x5a));
        let second = Server::bind(&served.plan).unwrap_err();
        assert!(matches!(second, DiskError::Locked(_) | DiskError::Alive { .. }), "{second}");
        served.end().unwrap();
        assert_eq!(fs::read_dir(served.directory.path()).unwrap().count(), 0);
        let content = fs::read(path.path()).unwrap();
        assert!(content[..7_900_000].iter().all(|byte| *byte == 0x5a));
    }
}

fn takes_direct(path: &std::path::Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let direct = 0o40000;
    fs::OpenOptions::new().read(true).custom_flags(direct).open(path).is_ok()
}

#[test]
fn control_ends_a_server_and_whoever_is_connected_is_hung_up_on() {
    let mut served = Served::new(&[volume(MIB)], None);
    let mut client = served.client(0);
    served.control().end().unwrap();
    let ended = served.thread.take().unwrap().join().unwrap();
    ended.unwrap();
    assert!(client.read(0, &mut [0; 512]).is_err());
    assert!(!served.socket(0).exists());
}

#[test]
fn a_plan_that_cannot_be_served_says_why() {
    let served = Served::new(&[volume(MIB)], None);
    let mut plan = served.plan.clone();
    let refused = Server::bind(&plan).unwrap_err().to_string();
    assert!(refused.contains("a server is already listening at") && refused.contains("end"), "{refused}");
    plan.volumes.push(plan.volumes[0].clone());
    assert!(Server::bind(&plan).unwrap_err().to_string().contains("two volumes are named `v0`"));
    plan.volumes[1].name = "v1".to_owned();
    assert!(Server::bind(&plan).unwrap_err().to_string().contains("is given twice"));
    plan.volumes.clear();
    assert!(Server::bind(&plan).unwrap_err().to_string().contains("needs a volume"));
}

#[test]
fn a_cache_shows_what_was_written_and_ends_up_on_the_medium() {
    let path = tempfile::NamedTempFile::new().unwrap();
    path.as_file().set_len(8 * MIB).unwrap();
    let mut model = volume(8 * MIB);
    model.cache = Some(iostone_model::experiment::VolatileCache { size: Bytes(MIB) });
    let mut served =
        Served::with(&[model], None, |_| Store::File { path: path.path().to_owned(), direct: false });
    let mut client = served.client(0);
    let writes = scattered(2000, 4096, 8 * MIB).map(|offset| (Command::Write, offset, 4096));
    keep_in_flight(&mut client, 32, writes);
    let mut back = vec![0; 4096];
    for offset in scattered(2000, 4096, 8 * MIB) {
        client.read(offset, &mut back).unwrap();
        assert!(back.iter().all(|byte| *byte == 0x5a), "at {offset}");
    }
    let cache = served.control().counters().unwrap().volumes[0].cache.unwrap();
    assert_eq!(cache.capacity_blocks, 256);
    assert!(cache.evicted_blocks > 0, "{cache:?}");
    drop(client);
    served.end().unwrap();
    let content = fs::read(path.path()).unwrap();
    for offset in scattered(2000, 4096, 8 * MIB) {
        assert!(content[usize::try_from(offset).unwrap()..][..4096].iter().all(|byte| *byte == 0x5a));
    }
}
