//! Histograms of latency as ORION 12c and later prints them, in the summary and in `_hist.txt`.
//!
//! Buckets end at doubling microseconds and carry a count and a *cumulative* share, for reads and for writes. A percentile
//! is known only to lie in a bucket: it is given as the end of that bucket, with the bucket's width as its step.

use iostone_model::dataset::{Figure, Observation};

/// What a histogram can be of.
pub(super) const KINDS: &[&str] = &["read", "write", "large_read", "large_write"];
/// The percentiles that are looked up, and how many of 1000 they are.
pub(super) const PERCENTILES: &[(&str, u64)] = &[("p50", 500), ("p90", 900), ("p99", 990), ("p99_9", 999)];

const MICROSECOND: f64 = 1e-6;

/// A histogram being read.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    of_large: bool,
    /// From and to in microseconds, and how many reads and writes.
    buckets: Vec<(u64, u64, [u64; 2])>,
}

/// Whether it is the title of one: `Small Read / Write Latency Histogram @ Small=2 and Large=0`.
pub(super) fn is_title(line: &str) -> bool {
    line.contains("Latency Histogram @ Small=")
}

impl Histogram {
    /// One with that title.
    pub(super) fn titled(line: &str) -> Self {
        Self { of_large: line.trim_start().starts_with("Large"), buckets: Vec::new() }
    }

    /// Takes a line more: a bucket or the heading of the columns. Says whether it was one.
    ///
    /// # Errors
    /// What should stand there.
    pub(super) fn take(&mut self, line: &str) -> Result<bool, &'static str> {
        if line.trim_start().starts_with("Latency:") || line.contains("# of IOs") {
            return Ok(true);
        }
        let Some((range, counts)) = line.split_once("us:") else { return Ok(false) };
        let bucket = bucket(range, counts).ok_or("`FROM - TO us: COUNT (SHARE%) COUNT (SHARE%)`")?;
        if self.buckets.last().is_some_and(|last| bucket.0 < last.1) {
            return Err("a bucket after the one before");
        }
        self.buckets.push(bucket);
        Ok(true)
    }

    /// Adds the percentiles to the observation of its point.
    pub(super) fn finish(self, observation: &mut Observation) {
        let prefix = if self.of_large { "large_" } else { "" };
        for (place, kind) in ["read", "write"].iter().enumerate() {
            let count = |bucket: &(u64, u64, [u64; 2])| bucket.2.get(place).copied().unwrap_or_default();
            let total: u128 = self.buckets.iter().map(|bucket| u128::from(count(bucket))).sum();
            if total == 0 {
                continue;
            }
            for (name, per_mille) in PERCENTILES {
                let mut seen = 0;
                let bucket = self.buckets.iter().find(|bucket| {
                    seen += u128::from(count(bucket));
                    seen * 1000 >= total * u128::from(*per_mille)
                });
                if let Some((from, to, _)) = bucket {
                    let figure =
                        Figure { value: *to as f64 * MICROSECOND, step: (to - from) as f64 * MICROSECOND };
                    observation.figures.insert(format!("{prefix}{kind}.latency_{name}_below"), figure);
                }
            }
        }
    }
}

/// `64 - 128` and `1112243 ( 91.12%)   0 (  0.00%)`.
fn bucket(range: &str, counts: &str) -> Option<(u64, u64, [u64; 2])> {
    let (from, to) = range.split_once('-')?;
    let (from, to) = (from.trim().parse::<u64>().ok()?, to.trim().parse::<u64>().ok()?);
    let mut columns = counts.split(')').map(str::trim).filter(|column| !column.is_empty());
    let mut count = || -> Option<u64> { columns.next()?.split_once('(')?.0.trim().parse().ok() };
    let read = count()?;
    let written = count().unwrap_or_default();
    (from < to).then_some((from, to, [read, written]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_end_of_its_bucket() {
        let mut histogram = Histogram::titled("Small Read / Write Latency Histogram @ Small=2 and Large=0");
        for line in [
            "        Latency:                         # of IOs (read)          # of IOs (write)",
            "       64 - 128        us:             900 ( 90.00%)              0 (  0.00%)",
            "      128 - 256        us:             100 (100.00%)              0 (  0.00%)",
        ] {
            assert_eq!(histogram.take(line), Ok(true));
        }
        assert_eq!(histogram.take(""), Ok(false));
        assert!(histogram.take("   64 - 32 us: 1 (1%)").is_err());
        let mut observation = Observation::default();
        histogram.finish(&mut observation);
        assert_eq!(observation.value("read.latency_p90_below"), Some(128.0 * MICROSECOND));
        assert_eq!(observation.value("read.latency_p99_below"), Some(256.0 * MICROSECOND));
        assert_eq!(observation.figures.len(), PERCENTILES.len());
    }
}
