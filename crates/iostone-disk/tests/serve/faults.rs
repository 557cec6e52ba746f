//! Errors, stalls, and the power switch.

use crate::served::*;

use iostone_disk::EIO;
use iostone_model::experiment::{ErrorFault, Fault, FaultyOperation, VolatileCache};
use iostone_model::units::Fraction;

#[test]
fn errors_are_exactly_where_they_were_asked_for() {
    let mut model = volume(16 * MIB);
    model.faults = vec![Fault::Error(ErrorFault {
        offset: Bytes(MIB),
        length: Some(Bytes(64 << 10)),
        on: Some(FaultyOperation::Read),
        share: None,
    })];
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let reads = (0..4096).map(|number| (Command::Read, number * 4096, 4096));
    let answers = keep_in_flight(&mut client, 32, reads);
    let eio = u32::try_from(EIO).unwrap();
    for answer in &answers {
        let is_bad = (MIB..MIB + (64 << 10)).contains(&answer.request.offset);
        assert_eq!(answer.error, if is_bad { eio } else { 0 }, "{answer:?}");
    }
    client.write(MIB, &[1; 4096], false).unwrap();
    let counters = &served.control().counters().unwrap().volumes[0].counters;
    assert_eq!((counters.reads.requests, counters.reads.errors), (4096, 16));
    assert_eq!((counters.writes.requests, counters.writes.errors), (1, 0));
}

#[test]
fn what_was_flushed_survives_the_power_and_nothing_works_without_it() {
    for round in 0..5_u64 {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4 * MIB).unwrap();
        let mut model = volume(4 * MIB);
        model.cache = Some(VolatileCache { size: Bytes(512 << 10) });
        let served =
            Served::with(&[model], None, |_| Store::File { path: file.path().to_owned(), direct: false });
        let mut client = served.client(0);
        for number in 0..50 {
            client.write(number * 4096, &[1; 4096], false).unwrap();
        }
        client.flush().unwrap();
        client.write(50 * 4096, &[1; 4096], true).unwrap();
        for number in 0..51 {
            client.write(number * 4096, &[2; 4096], false).unwrap();
        }
        let cut = served.control().cut(None, Fraction(0.5)).unwrap();
        let cache = cut[0].cache.unwrap();
        assert!(cache.kept_blocks + cache.lost_blocks <= 51);
        assert!(cache.lost_blocks > 0, "{round}: {cache:?}");
        assert!(client.read(0, &mut [0; 512]).is_err());
        assert!(client.write(0, &[3; 512], false).is_err());
        assert!(client.flush().is_err());
        let content = std::fs::read(file.path()).unwrap();
        for block in content[..51 * 4096].chunks(4096) {
            assert!(block.iter().all(|byte| *byte == block[0]) && (1..=2).contains(&block[0]));
        }
        let old = content[..51 * 4096].chunks(4096).filter(|block| block[0] == 1).count();
        assert_eq!(old as u64, cache.lost_blocks);
        served.control().restore(None).unwrap();
        let mut back = [0; 4096];
        client.read(0, &mut back).unwrap();
        assert_eq!(back[..], content[..4096]);
    }
}

/// Sends single blocks of ones to a volume that is too slow for them, and waits until they have arrived.
fn queue_writes(served: &Served, client: &mut Client, count: u64) {
    for number in 0..count {
        client.submit(Command::Write, 0, number * 4096, 4096, &[1; 4096]);
    }
    client.send().unwrap();
    let mut control = served.control();
    while control.counters().unwrap().volumes[0].counters.writes.ios < count {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_client_left_in_the_queue_is_done_before_the_next_client_comes() {
    let mut model = volume(MIB);
    model.iops = Some(10);
    let served = Served::new(&[model], None);
    let mut gone = served.client(0);
    queue_writes(&served, &mut gone, 200);
    drop(gone);
    let mut client = served.client(0);
    client.write(150 * 4096, &[2; 4096], false).unwrap();
    let mut content = vec![0; 200 * 4096];
    client.read(0, &mut content).unwrap();
    for (number, block) in content.chunks(4096).enumerate() {
        assert_eq!(block[0], if number == 150 { 2 } else { 1 }, "block {number}");
    }
    // The queue was 20 s long.
    let writes = &served.control().counters().unwrap().volumes[0].counters.writes;
    assert!(writes.service.max_ns().unwrap() < 10_000_000_000, "{writes:?}");
}

#[test]
fn a_queue_does_not_survive_a_cut_though_the_power_comes_back() {
    let mut model = volume(MIB);
    model.iops = Some(10);
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    queue_writes(&served, &mut client, 200);
    let mut control = served.control();
    control.cut(None, Fraction(0.5)).unwrap();
    control.restore(None).unwrap();
    let mut failed = 0;
    let mut content = vec![0; 200 * 4096];
    let answers: Vec<_> = (0..200).map(|_| client.receive(&mut []).unwrap()).collect();
    client.read(0, &mut content).unwrap();
    for answer in answers {
        let block = content[usize::try_from(answer.request.offset).unwrap()];
        assert_eq!(block, u8::from(answer.error == 0), "{answer:?}");
        failed += u32::from(answer.error != 0);
    }
    assert!(failed > 0);
}
