//! fio's `steadystate` object: the rule, whether it was met, and the samples it looked at.

use iostone_engine::{Outcome, SteadyLimit, SteadyOf, SteadyRule};

use super::figures::{Windows, whole};
use super::tree::{Node, Object};

/// The rule and the samples of its last window; `duration` is in seconds, as many samples as fit are in `data`, zeros
/// first where the job did not last as long.
pub(super) fn steady_object(rule: &SteadyRule, outcome: &Outcome) -> Object {
    let windows = Windows::new(rule.interval.0, outcome.elapsed.0);
    let wanted = usize::try_from(rule.over.0.as_nanos() / rule.interval.0.as_nanos().max(1)).unwrap_or(1);
    let recent = |counts: &[u64]| -> Vec<u64> {
        let rates: Vec<u64> = windows.sums(counts).map(|sum| windows.per_second(sum)).collect();
        let missing = wanted.saturating_sub(rates.len());
        let kept = rates.len().saturating_sub(wanted);
        std::iter::repeat_n(0, missing).chain(rates.into_iter().skip(kept)).collect()
    };
    let (iops, bw) = (recent(&outcome.series.ios), recent(&outcome.series.bytes));
    let judged = if matches!(rule.of, SteadyOf::Iops | SteadyOf::IopsSlope) { &iops } else { &bw };
    let is_slope = matches!(rule.of, SteadyOf::IopsSlope | SteadyOf::BandwidthSlope);
    let (limit, percent) = match rule.limit {
        SteadyLimit::Percent(limit) => (limit, "%"),
        SteadyLimit::Absolute(limit) => (limit, ""),
    };
    let mut object = Object::default();
    object.put("ss", format!("{}:{limit:.6}{percent}", name_of(rule.of)));
    object.put("duration", rule.over.0.as_secs());
    object.put("attained", u64::from(outcome.steady.is_some_and(|steady| steady.attained)));
    let criterion = outcome.steady.map_or(0.0, |steady| steady.criterion);
    object.put("criterion", format!("{criterion:.6}{percent}"));
    object.put("max_deviation", if is_slope { 0.0 } else { largest_deviation(judged) });
    object.put("slope", if is_slope { slope(judged) } else { 0.0 });
    let mut data = Object::default();
    data.put("bw_mean", whole(mean(&bw)));
    data.put("iops_mean", whole(mean(&iops)));
    data.put("iops", iops.into_iter().map(Node::from).collect::<Vec<_>>());
    data.put("bw", bw.into_iter().map(Node::from).collect::<Vec<_>>());
    object.put("data", data);
    object
}

fn name_of(of: SteadyOf) -> &'static str {
    match of {
        SteadyOf::Iops => "iops",
        SteadyOf::IopsSlope => "iops_slope",
        SteadyOf::Bandwidth => "bw",
        SteadyOf::BandwidthSlope => "bw_slope",
    }
}

fn mean(samples: &[u64]) -> f64 {
    samples.iter().map(|sample| *sample as f64).sum::<f64>() / samples.len().max(1) as f64
}

fn largest_deviation(samples: &[u64]) -> f64 {
    let mean = mean(samples);
    samples.iter().map(|sample| (*sample as f64 - mean).abs()).fold(0.0, f64::max)
}

/// Of the least-squares line through equidistant samples, per sample.
fn slope(samples: &[u64]) -> f64 {
    let middle = (samples.len().saturating_sub(1)) as f64 / 2.0;
    let mean = mean(samples);
    let (mut both, mut square) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        let x = index as f64 - middle;
        both += x * (*sample as f64 - mean);
        square += x * x;
    }
    if square > 0.0 { both / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_level_none() {
        assert!((slope(&[10, 13, 16, 19]) - 3.0).abs() < 1e-9);
        assert!(slope(&[5, 5, 5]).abs() < 1e-9);
        assert!(slope(&[5]).abs() < 1e-9);
        assert!((largest_deviation(&[1, 2, 6]) - 3.0).abs() < 1e-9);
    }
}
