//! The figures of a point's load, put together from what the engine reports of its jobs.

use iostone_engine::{LatencyHistogram, Outcome, Series, Transfers};
use iostone_model::orion::{LatencyFigures, LoadFigures, TransferFigures};

/// What a load came to in that many whole 100 ms, which all jobs have behind them, or in all of its time; none without any
/// job. Latencies are those of all of its time, which is less than 100 ms longer.
pub(super) fn figures_of<'a>(
    outcomes: impl Iterator<Item = &'a Outcome> + Clone,
    whole: Option<usize>,
) -> Option<LoadFigures> {
    let most = whole.unwrap_or(usize::MAX);
    let mut ios_per_100ms: Vec<u64> = Vec::new();
    for outcome in outcomes.clone() {
        let wanted = ios_per_100ms.len().max(outcome.series.ios.len().min(most));
        ios_per_100ms.resize(wanted, 0);
        for (sum, ios) in ios_per_100ms.iter_mut().zip(&outcome.series.ios) {
            *sum += ios;
        }
    }
    outcomes.clone().next()?;
    let reads = outcomes.clone().map(|outcome| (&outcome.reads, &outcome.series_of.read));
    let writes = outcomes.map(|outcome| (&outcome.writes, &outcome.series_of.write));
    let ((reads, read_latency), (writes, write_latency)) = (transfers(reads, most), transfers(writes, most));
    let mut both = read_latency;
    both.merge(&write_latency);
    Some(LoadFigures { reads, writes, latency: describe(&both), ios_per_100ms })
}

fn transfers<'a>(
    all: impl Iterator<Item = (&'a Transfers, &'a Series)>,
    most: usize,
) -> (TransferFigures, LatencyHistogram) {
    let mut sum = TransferFigures::default();
    let mut latency = LatencyHistogram::new();
    for (transfers, series) in all {
        sum.ios += series.ios.iter().take(most).sum::<u64>();
        sum.bytes += series.bytes.iter().take(most).sum::<u64>();
        latency.merge(&transfers.latency);
    }
    sum.latency = describe(&latency);
    (sum, latency)
}

/// The latencies in seconds; none where there are none.
fn describe(latency: &LatencyHistogram) -> Option<LatencyFigures> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let percentile = |share| latency.percentile_ns(share).map(seconds);
    Some(LatencyFigures {
        mean: latency.mean_ns()? / 1e9,
        min: seconds(latency.min_ns()?),
        max: seconds(latency.max_ns()?),
        deviation: latency.deviation_ns()? / 1e9,
        p50: percentile(0.5)?,
        p90: percentile(0.9)?,
        p99: percentile(0.99)?,
        p99_9: percentile(0.999)?,
        p99_99: percentile(0.9999)?,
        histogram: latency.occupied().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_described_in_seconds() {
        let mut latency = LatencyHistogram::new();
        for ns in [10_000, 10_000, 30_000, 30_000] {
            latency.record(ns);
        }
        let figures = describe(&latency).unwrap();
        assert!(
            (figures.mean - 20e-6).abs() < 1e-12 && (figures.deviation - 10e-6).abs() < 0.2e-6,
            "{figures:?}"
        );
        assert!((figures.min, figures.max) == (10e-6, 30e-6));
        assert_eq!(figures.histogram.iter().map(|(_, _, count)| count).sum::<u64>(), 4);
        assert_eq!(describe(&LatencyHistogram::new()), None);
    }
}
