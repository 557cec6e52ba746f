//! How long a recommendation over the whole catalogue takes: the median and the longest of many, for each kind of target.
//!
//! `cargo bench -p iostone-cloud --bench recommend`. The catalogue itself is read once before.
#![expect(clippy::print_stdout, reason = "a benchmark's output is for its reader")]

use std::error::Error;
use std::time::{Duration, Instant};

use iostone_cloud::{Goal, Wanted, Work, catalogue, recommend};
use iostone_model::units::{Bytes, Span};

const GIB: u64 = 1 << 30;
/// Enough for a median.
const ROUNDS: usize = 51;

fn main() -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let instances = catalogue().instances().count();
    println!("{instances} instance types, read in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    println!("{:<44}{:>10}{:>10}{:>8}{:>8}", "target", "median ms", "most ms", "volumes", "pairs");
    for (name, mut wanted) in cases()? {
        wanted.burstable = true;
        let mut times = Vec::with_capacity(ROUNDS);
        let mut looked = None;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let found = recommend(catalogue(), &wanted)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            looked = Some(found.considered);
        }
        times.sort_by(f64::total_cmp);
        let (median, most) = (times[ROUNDS / 2], times[ROUNDS - 1]);
        let (volumes, pairs) = looked.map_or((0, 0), |looked| (looked.volumes, looked.pairs));
        println!("{name:<44}{median:>10.2}{most:>10.2}{volumes:>8}{pairs:>8}");
    }
    Ok(())
}

/// One of each kind, with everything that the catalogue has.
fn cases() -> Result<Vec<(&'static str, Wanted)>, Box<dyn Error>> {
    let date = "2026-01".parse()?;
    let minutes = |minutes: u64| Span(Duration::from_secs(60 * minutes));
    let size = Bytes(220 * GIB);
    let none = Work::sequential(Bytes(0), Bytes(0));
    let mut many = Wanted::new(
        Goal::Within(minutes(25)),
        Work::sequential(Bytes(0), Bytes(220 * GIB)),
        Bytes(220 * GIB),
        date,
    );
    many.most_volumes = 64;
    let rate = |bytes_per_second: f64, span| Goal::Rate { bytes_per_second, ios_per_second: None, span };
    let ios =
        Goal::Rate { bytes_per_second: 20_000.0 * 16_384.0, ios_per_second: Some(20_000.0), span: None };
    Ok(vec![
        (
            "220 GiB written within 25 min",
            Wanted::new(Goal::Within(minutes(25)), Work::sequential(Bytes(0), size), size, date),
        ),
        ("the same with up to 64 volumes", many),
        ("500 MB/s in the long run", Wanted::new(rate(5e8, None), none.clone(), size, date)),
        ("500 MB/s for 2 h", Wanted::new(rate(5e8, Some(minutes(120))), none.clone(), size, date)),
        (
            "20,000 IOPS of 16 KiB in the long run",
            Wanted::new(ios, none.clone().at_random(Bytes(16_384), None), size, date),
        ),
        ("1 MB/s: every level", Wanted::new(rate(1e6, None), none.clone(), size, date)),
        ("1 TB/s: nothing does it", Wanted::new(rate(1e12, None), none, size, date)),
    ])
}
