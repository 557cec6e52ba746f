//! What a host's run directory says, as far as it is judged over hosts: its summary, its facts, its blocks.

use std::collections::BTreeMap;
use std::path::Path;

use iostone_lab::read_or_make;
use iostone_model::fleet::FleetHost;
use iostone_model::metric::Direction;
use iostone_model::summary::{ConfigurationFigures, RunSummary};

use crate::error::FleetError;

/// One host's run, as it enters the judgement.
pub(crate) struct HostRun {
    pub(crate) name: String,
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) summary: RunSummary,
}

/// The facts that cloud and machine say, beside labels of the inventory.
pub(crate) const TYPE: &str = "instance type";
pub(crate) const ZONE: &str = "zone";
/// Facts that are no treatment of anybody's: where they differ, that is said, and no more.
pub(crate) const CIRCUMSTANCES: [&str; 6] =
    ["image", "kernel", "operating system", "cpu", "architecture", "zone"];

impl HostRun {
    /// Reads a host's run.
    pub(crate) fn read(host: &FleetHost, run: &Path) -> Result<Self, FleetError> {
        let summary = read_or_make(run).map_err(|error| FleetError::damaged(run, error))?;
        Ok(Self { name: host.name.clone(), facts: facts(host, &summary), summary })
    }

    /// Values of the metric that is decided by, by block, signed logarithms so that larger is better.
    pub(crate) fn scores(&self, configuration: &str, metric: &str, better: Direction) -> BTreeMap<u64, f64> {
        let Some(found) = self.configuration(configuration) else { return BTreeMap::new() };
        let sign = match better {
            Direction::Higher => 1.0,
            Direction::Lower => -1.0,
        };
        let values = found.values.get(metric).map(Vec::as_slice).unwrap_or_default();
        let of_block = found.blocks.iter().zip(values);
        of_block
            .filter_map(|(block, value)| {
                let value = value.filter(|value| value.is_finite() && *value > 0.0)?;
                Some((*block, sign * value.ln()))
            })
            .collect()
    }

    pub(crate) fn configuration(&self, name: &str) -> Option<&ConfigurationFigures> {
        self.summary.configurations.iter().find(|one| one.name == name)
    }
}

fn facts(host: &FleetHost, summary: &RunSummary) -> BTreeMap<String, String> {
    let machine = &summary.machine;
    let platform = machine.platform.as_ref();
    let known = [
        (TYPE, platform.and_then(|platform| platform.instance_type.as_deref())),
        (ZONE, platform.and_then(|platform| platform.zone.as_deref())),
        ("image", platform.and_then(|platform| platform.image.as_deref())),
        ("kernel", Some(machine.kernel.as_str())),
        ("operating system", machine.os.as_deref()),
        ("cpu", Some(machine.cpu.as_str())),
        ("architecture", Some(machine.architecture.as_str())),
    ];
    let mut facts = host.labels.clone();
    for (name, value) in known {
        // What the machine itself says goes before the inventory.
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value.chars().take(120).collect());
        }
    }
    facts
}
