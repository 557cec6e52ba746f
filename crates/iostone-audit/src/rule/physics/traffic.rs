//! Which way an observation's bytes went, how many there were, and how long it took.

use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;

pub(crate) use iostone_cloud::explain::USUAL_DIRTY_SHARE as DIRTY_SHARE;

/// Which way the bytes of a figure went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Both ways.
    Both,
    /// Nothing tells.
    Unknown,
}

impl Traffic {
    /// Whether some of it may have been read.
    pub(crate) fn may_read(self) -> bool {
        self != Self::Write
    }

    /// Whether some of it may have been written.
    pub(crate) fn may_write(self) -> bool {
        self != Self::Read
    }
}

/// Which way a figure's bytes went: by its name, else by what the tool says it read and wrote.
pub(crate) fn of_figure(observation: &Observation, metric: &str) -> Traffic {
    let words = || metric.split(|c: char| !c.is_ascii_alphanumeric());
    let has = |some: &[&str]| words().any(|word| some.contains(&word.to_ascii_lowercase().as_str()));
    let (reads, writes) =
        (has(&["read", "reads", "seek", "seeks", "randread"]), has(&["write", "writes", "randwrite"]));
    if has(&["rewrite"]) || (reads && writes) {
        Traffic::Both
    } else if reads {
        Traffic::Read
    } else if writes {
        Traffic::Write
    } else {
        of_bytes(observation)
    }
}

fn of_bytes(observation: &Observation) -> Traffic {
    let facts = &observation.facts;
    match (facts.claimed_read_bytes.unwrap_or(0) > 0, facts.claimed_written_bytes.unwrap_or(0) > 0) {
        (true, true) => Traffic::Both,
        (true, false) => Traffic::Read,
        (false, true) => Traffic::Write,
        (false, false) => Traffic::Unknown,
    }
}

/// Its figures that are rates of I/O, with which way their bytes went.
pub(crate) fn rates<'a>(
    dataset: &'a Dataset,
    observation: &'a Observation,
) -> impl Iterator<Item = (&'a str, f64, Traffic)> {
    observation.figures.iter().filter_map(|(metric, figure)| {
        let unit = dataset.unit_of(metric);
        matches!(unit, Unit::BytesPerSecond | Unit::PerSecond).then(|| {
            let traffic = of_figure(observation, metric);
            (metric.as_str(), figure.value, traffic)
        })
    })
}

/// The bytes of a traffic that the tool claims, where it says.
pub(crate) fn claimed(observation: &Observation, traffic: Traffic) -> Option<f64> {
    let facts = &observation.facts;
    let (read, written) = (facts.claimed_read_bytes, facts.claimed_written_bytes);
    let bytes = match traffic {
        Traffic::Read => read?,
        Traffic::Write => written?,
        Traffic::Both => read?.saturating_add(written?),
        Traffic::Unknown => return None,
    };
    (bytes > 0).then_some(bytes as f64)
}

/// How long it took, seconds, where that is known.
pub(crate) fn seconds(observation: &Observation) -> Option<f64> {
    observation.value("wall_time").filter(|seconds| *seconds > 0.0)
}

/// The bytes that went to the device's side: as claimed, else throughput times time.
pub(crate) fn written(dataset: &Dataset, observation: &Observation) -> Option<f64> {
    claimed(observation, Traffic::Write).or_else(|| {
        let seconds = seconds(observation)?;
        let rate = rates(dataset, observation).find(|(metric, _, traffic)| {
            dataset.unit_of(metric) == Unit::BytesPerSecond
                && matches!(traffic, Traffic::Write | Traffic::Unknown)
        });
        rate.map(|(_, rate, _)| rate * seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::super::made_up::observation;
    use super::*;

    #[test]
    fn a_figures_name_tells_which_way_its_bytes_went() {
        let mut made = observation(&[], &[]);
        assert_eq!(of_figure(&made, "block_read"), Traffic::Read);
        assert_eq!(of_figure(&made, "random_seeks"), Traffic::Read);
        assert_eq!(of_figure(&made, "write.throughput"), Traffic::Write);
        assert_eq!(of_figure(&made, "rewrite"), Traffic::Both);
        assert_eq!(of_figure(&made, "threads"), Traffic::Unknown);
        made.facts.claimed_written_bytes = Some(5);
        assert_eq!(of_figure(&made, "throughput"), Traffic::Write);
        made.facts.claimed_read_bytes = Some(5);
        assert_eq!(of_figure(&made, "throughput"), Traffic::Both);
    }
}
