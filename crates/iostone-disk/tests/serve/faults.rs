//! Errors, stalls, and the power switch.

use super::*;
use std::time::Instant;

use iostone_disk::EIO;
use iostone_model::experiment::{ErrorFault, Fault, FaultyOperation, StallFault, VolatileCache};
use iostone_model::units::Fraction;

const MIB: u64 = 1 << 20;

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
fn a_stall_holds_everything_and_then_it_goes_on() {
    let mut model = volume(16 * MIB);
    model.faults =
        vec![Fault::Stall(StallFault { every: "600ms".parse().unwrap(), lasts: "300ms".parse().unwrap() })];
    model.iops = Some(1000);
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let reads = scattered(1200, 4096, 16 * MIB).map(|offset| (Command::Read, offset, 4096));
    let begun = Instant::now();
    let (answers, gaps) = beside_a_sleeper(|| keep_in_flight(&mut client, 1, reads));
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(answers.len(), 1200);
    let counters = &served.control().counters().unwrap().volumes[0].counters;
    // One at a time, so each stall is one long read; the others pass between stalls.
    assert!(counters.reads.service.max_ns().unwrap() >= 290_000_000, "{:?}", counters.reads.service.max_ns());
    let long: u64 = counters
        .reads
        .service
        .occupied()
        .filter(|bucket| bucket.0 > 150_000_000)
        .map(|bucket| bucket.2)
        .sum();
    // One begins every 600 ms; where the machine held the server up for as long, a read was as long without one.
    let most = seconds / 0.6 + 2.0 + f64::from(gaps);
    assert!(long >= 2 && long as f64 <= most, "{long} stalls in {seconds} s, {gaps} gaps");
}

/// Measures, and how often a plain sleeper was held up beside it as a stall would hold up a read.
fn beside_a_sleeper<T>(measure: impl FnOnce() -> T) -> (T, u32) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let mut gaps = 0;
            while !over.load(Ordering::Relaxed) {
                let asleep = Instant::now();
                std::thread::sleep(Duration::from_millis(5));
                gaps += u32::from(asleep.elapsed() > Duration::from_millis(100));
            }
            gaps
        });
        let measured = std::panic::catch_unwind(std::panic::AssertUnwindSafe(measure));
        over.store(true, Ordering::Relaxed);
        let gaps = sleeper.join().unwrap();
        (measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), gaps)
    })
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

#[test]
fn limits_change_while_requests_go_on() {
    let mut model = volume(16 * MIB);
    model.iops = Some(100);
    let served = Served::new(&[model], None);
    let mut client = served.client(0);
    let few = scattered(30, 4096, 16 * MIB).map(|offset| (Command::Read, offset, 4096));
    keep_in_flight(&mut client, 4, few);
    let slow = mean_ns(&served.control().counters().unwrap().volumes[0].counters.reads);
    served.control().set(None, &["iops=none".parse().unwrap()]).unwrap();
    served.control().reset_counters().unwrap();
    let many = scattered(3000, 4096, 16 * MIB).map(|offset| (Command::Read, offset, 4096));
    keep_in_flight(&mut client, 4, many);
    let fast = mean_ns(&served.control().counters().unwrap().volumes[0].counters.reads);
    assert!(fast < slow / 3.0, "{fast} after {slow} ns");
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
