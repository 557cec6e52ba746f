//! `_hist.txt` of 12: for each point, how many reads and writes took how long, with the cumulative share.
//!
//! Buckets double from 0 to 32 µs on, at least to 4096 µs and as far as there are any I/Os; the last one ends at 2^28 µs.

use std::fmt::Write;

use iostone_model::orion::{LatencyFigures, LoadFigures, OrionRecord, TransferFigures};

/// End of the first bucket, µs.
const FIRST_END: u64 = 32;
/// Buckets double at least up to here, µs.
const LEAST_LAST_START: u64 = 4096;
/// End of the last bucket, µs.
const LAST_END: u64 = 1 << 28;
const NANOSECONDS: u64 = 1_000;
const HEADING: &str = "        Latency:                         # of IOs (read)          # of IOs (write)\n";

/// The text of `_hist.txt`: small and then large I/O of every point, in the order in which they were measured.
pub fn histogram(record: &OrionRecord) -> String {
    let mut text =
        "# How many reads and writes of each point took how long, in microseconds; shares are cumulative.\n"
            .to_owned();
    for point in &record.points {
        for (size, load) in [("Small", &point.small_io), ("Large", &point.large_io)] {
            if let Some(load) = load {
                let _ =
                    write!(text, "\n{size} Read / Write Latency Histogram @ {}\n{HEADING}", point.point());
                push_buckets(&mut text, load);
            }
        }
    }
    text
}

fn push_buckets(text: &mut String, load: &LoadFigures) {
    let (reads, writes) = (counts_of(&load.reads), counts_of(&load.writes));
    let buckets = reads.len().max(writes.len());
    let totals = [&reads, &writes].map(|counts| counts.iter().sum::<u64>());
    let mut seen = [0; 2];
    let mut from = 0;
    for place in 0..buckets {
        let is_last = place + 1 == buckets;
        let to = if is_last { LAST_END } else { (from * 2).max(FIRST_END) };
        let _ = write!(text, "{from:>9} - {to:<10} us:");
        for (column, counts) in [&reads, &writes].into_iter().enumerate() {
            let count = counts.get(place).copied().unwrap_or_default();
            let (Some(seen), Some(total)) = (seen.get_mut(column), totals.get(column)) else { continue };
            *seen += count;
            let share = if *total == 0 { 0.0 } else { *seen as f64 * 100.0 / *total as f64 };
            let width = if column == 0 { 16 } else { 15 };
            let _ = write!(text, "{count:>width$} ({share:>6.2}%)");
        }
        text.push('\n');
        from = to;
    }
}

/// The count of each bucket, the last of them from the end of the one before to [`LAST_END`] and longer.
fn counts_of(transfer: &TransferFigures) -> Vec<u64> {
    let least = place_of(LEAST_LAST_START * NANOSECONDS) + 1;
    let mut counts = vec![0; least];
    let histogram = transfer.latency.as_ref().map(|LatencyFigures { histogram, .. }| histogram);
    for (start, _, count) in histogram.into_iter().flatten() {
        let place = place_of(*start).min(place_of((LAST_END - 1) * NANOSECONDS));
        // One more behind it, since the last bucket is the rest.
        let end = LAST_END.min(FIRST_END << place);
        let length = if end == LAST_END { place + 1 } else { place + 2 };
        if counts.len() < length {
            counts.resize(length, 0);
        }
        if let Some(bucket) = counts.get_mut(place) {
            *bucket += count;
        }
    }
    counts
}

/// Which bucket a latency of so many nanoseconds falls into: 0 below 32 µs, 1 below 64 µs, and so on.
fn place_of(nanoseconds: u64) -> usize {
    let periods = nanoseconds / NANOSECONDS / FIRST_END;
    (u64::BITS - periods.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(histogram: &[(u64, u64, u64)]) -> TransferFigures {
        let latency = LatencyFigures { histogram: histogram.to_vec(), ..LatencyFigures::default() };
        TransferFigures { latency: Some(latency), ..TransferFigures::default() }
    }

    /// The published histogram of a test of 19c.
    const PUBLISHED: &str = "        0 - 32         us:               0 (  0.00%)              0 (  0.00%)
       32 - 64         us:               1 (  0.00%)              0 (  0.00%)
       64 - 128        us:         1112243 ( 91.12%)              0 (  0.00%)
      128 - 256        us:          102320 ( 99.50%)              0 (  0.00%)
      256 - 512        us:            5434 ( 99.95%)              0 (  0.00%)
      512 - 1024       us:             405 ( 99.98%)              0 (  0.00%)
     1024 - 2048       us:             259 (100.00%)              0 (  0.00%)
     2048 - 4096       us:               2 (100.00%)              0 (  0.00%)
     4096 - 268435456  us:               0 (100.00%)              0 (  0.00%)
";

    #[test]
    fn the_published_histogram_comes_out_byte_for_byte() {
        let reads = figures(&[
            (32_000, 512, 1),
            (64_000, 1024, 1_112_243),
            (128_000, 2048, 102_320),
            (256_000, 4096, 5_434),
            (1_023_999, 1, 405),
            (1_024_000, 1, 259),
            (4_095_999, 1, 2),
        ]);
        let mut text = String::new();
        push_buckets(&mut text, &LoadFigures { reads, ..LoadFigures::default() });
        assert_eq!(text, PUBLISHED);
    }

    #[test]
    fn buckets_go_as_far_as_there_are_ios_and_no_farther_than_the_last() {
        let last_lines = |histogram: &[(u64, u64, u64)]| {
            let mut text = String::new();
            push_buckets(&mut text, &LoadFigures { writes: figures(histogram), ..LoadFigures::default() });
            let lines: Vec<String> = text.lines().rev().take(2).map(str::to_owned).collect();
            lines
        };
        let lines = last_lines(&[(10_000_000, 1, 5)]);
        assert_eq!(lines[0], "    16384 - 268435456  us:               0 (  0.00%)              0 (100.00%)");
        assert_eq!(lines[1], "     8192 - 16384      us:               0 (  0.00%)              5 (100.00%)");
        let lines = last_lines(&[(0, 1, 1), (u64::MAX, 1, 1)]);
        assert_eq!(lines[0], "134217728 - 268435456  us:               0 (  0.00%)              1 (100.00%)");
        assert!(lines[1].ends_with("0 ( 50.00%)"));
    }
}
