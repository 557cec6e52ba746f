//! Change points of series on standard input, one a line: `1/500 0.01 0.02 ...`, the rate of false alarms and ln of each run. Prints
//! the first run of each new state, from 0, for `tests/history-against-otava.py`; without lines, the time that 1,000 runs of 20
//! figures take.

#![allow(clippy::expect_used, reason = "a benchmark may end with a panic")]
#![allow(clippy::print_stdout, reason = "its output is its result")]

use std::io::{BufRead as _, IsTerminal as _};
use std::time::Instant;

use iostone_stats::history::{Hazard, watch};
use iostone_stats::schedule::SplitMix64;

fn main() {
    let input = std::io::stdin();
    let lines: Vec<String> =
        if input.is_terminal() { Vec::new() } else { input.lock().lines().map_while(Result::ok).collect() };
    for line in &lines {
        let mut words = line.split_whitespace();
        let hazard = match words.next() {
            Some("1/200") => Hazard::In200,
            Some("1/500") => Hazard::In500,
            Some("1/1000") => Hazard::In1000,
            other => panic!("a rate of false alarms, not {other:?}"),
        };
        let runs: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
        let firsts: Vec<String> =
            watch(&runs, hazard).changes.iter().map(|change| change.first.to_string()).collect();
        println!("{}", firsts.join(" "));
    }
    if lines.is_empty() {
        let mut generator = SplitMix64::new(1);
        let figures: Vec<Vec<f64>> =
            (0..20).map(|_| (0..1000).map(|_| generator.next_unit()).collect()).collect();
        let begun = Instant::now();
        let changes: usize = figures.iter().map(|runs| watch(runs, Hazard::In500).changes.len()).sum();
        println!(
            "1,000 runs of 20 figures: {:.0} ms ({changes} changes)",
            1e3 * begun.elapsed().as_secs_f64()
        );
    }
}
