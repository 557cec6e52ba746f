//! Stalls, and limits that change, by the clock.

use std::time::Instant;

use iostone_model::experiment::{Fault, StallFault};

use crate::served::*;

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
