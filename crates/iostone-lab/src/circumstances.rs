//! What was recorded of a run beside its figures, as names and values: what differs between two runs is looked for here.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::figures::list;
use iostone_model::history::Circumstance;
use iostone_model::summary::{ConfigurationFigures, RunSummary};
use iostone_model::units::Bytes;

/// Steal moves from run to run by itself; so much more or less of the CPU time is worth a word.
const STEAL_TOLD_FROM: f64 = 0.01;

/// What steal is called.
const STEAL: &str = "steal";

/// Every circumstance of a run, in the order in which it is told.
pub(crate) fn of_run(run: &RunSummary) -> Vec<(String, String)> {
    let machine = &run.machine;
    let platform = machine.platform.as_ref();
    let text = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
    let cpus = (machine.logical_cpus > 0).then(|| machine.logical_cpus.to_string());
    let memory = (machine.memory_bytes > 0).then(|| Bytes(machine.memory_bytes).approximate());
    let told = [
        ("experiment", run.experiment_digest.as_ref().map(|digest| digest.chars().take(8).collect())),
        ("kernel", text(&machine.kernel)),
        ("host", text(&machine.host)),
        ("instance", platform.and_then(|platform| platform.instance_type.clone())),
        ("zone", platform.and_then(|platform| platform.zone.clone())),
        ("image", platform.and_then(|platform| platform.image.clone())),
        ("os", machine.os.clone()),
        ("cpu", text(&machine.cpu)),
        ("cpus", cpus),
        ("cpu governor", machine.cpu_governor.clone()),
        ("memory", memory),
        ("hypervisor", text(&machine.hypervisor)),
        ("container", machine.container.clone()),
        (STEAL, machine.steal.map(|share| format!("{:.1} %", 100.0 * share))),
        ("iostone", text(&run.iostone_version)),
    ];
    let mut all: Vec<(String, String)> =
        told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    for (name, device) in &machine.devices {
        let size = (device.size_bytes > 0).then(|| Bytes(device.size_bytes).approximate());
        let told = [
            ("model", device.model.clone()),
            ("firmware", device.firmware.clone()),
            ("scheduler", device.scheduler.clone()),
            ("write cache", device.write_cache.clone()),
            ("size", size),
        ];
        all.extend(told.into_iter().filter_map(|(what, value)| Some((format!("{name} {what}"), value?))));
    }
    all.extend(machine.tools.iter().map(|(name, version)| (name.clone(), version.clone())));
    all.extend(of_configurations(&run.configurations));
    all
}

/// Those of the stacks, once where all configurations have them alike.
fn of_configurations(configurations: &[ConfigurationFigures]) -> Vec<(String, String)> {
    let of = |one: &ConfigurationFigures| -> BTreeMap<String, String> {
        let text = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        let options = (!one.mount_options.is_empty()).then(|| one.mount_options.join(","));
        let told = [
            ("workload", text(&one.workload)),
            ("filesystem", one.filesystem.clone()),
            ("mount options", options),
            ("guest kernel", one.kernel.clone()),
        ];
        let told = told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        told.chain(one.settings.iter().map(|(name, value)| (name.clone(), value.clone()))).collect()
    };
    let each: Vec<(&str, BTreeMap<String, String>)> =
        configurations.iter().map(|one| (one.name.as_str(), of(one))).collect();
    let names: BTreeSet<&String> = each.iter().flat_map(|(_, told)| told.keys()).collect();
    let mut all = Vec::new();
    for name in names {
        let values: BTreeSet<Option<&String>> = each.iter().map(|(_, told)| told.get(name)).collect();
        match values.first() {
            Some(Some(only)) if values.len() == 1 => all.push((name.clone(), (*only).clone())),
            _ => all.extend(each.iter().filter_map(|(configuration, told)| {
                Some((format!("{configuration}: {name}"), told.get(name)?.clone()))
            })),
        }
    }
    all
}

/// What was recorded of one run otherwise than of another.
pub(crate) fn changed(before: &RunSummary, after: &RunSummary) -> Vec<Circumstance> {
    let alike_in_steal = match (before.machine.steal, after.machine.steal) {
        (Some(one), Some(other)) => (one - other).abs() < STEAL_TOLD_FROM,
        // That it cannot be seen is no circumstance.
        _ => true,
    };
    let (before, after) = (of_run(before), of_run(after));
    names(&[&before, &after])
        .into_iter()
        .filter(|name| name != STEAL || !alike_in_steal)
        .filter_map(|name| {
            let (before, after) = (value(&before, &name), value(&after, &name));
            (before != after).then_some(Circumstance { name, before, after })
        })
        .collect()
}

/// The names in any of several lists, in the order of the first that has each.
pub(crate) fn names(lists: &[&Vec<(String, String)>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in lists.iter().flat_map(|list| list.iter()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

pub(crate) fn value(told: &[(String, String)], name: &str) -> Option<String> {
    told.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
}

/// What a circumstance was in any of several runs: its value, or all that occur.
pub(crate) fn values_of(runs: &[&RunSummary], name: &str) -> Option<String> {
    let values: BTreeSet<String> = runs.iter().filter_map(|run| value(&of_run(run), name)).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    (!values.is_empty()).then(|| list(&values))
}

/// Whether a list of values of a circumstance is worth a row: of steal only from a percent on.
pub(crate) fn is_told(name: &str, runs: &[&RunSummary]) -> bool {
    let steals = || runs.iter().filter_map(|run| run.machine.steal);
    name != STEAL || steals().fold(0.0, f64::max) - steals().fold(1.0, f64::min) >= STEAL_TOLD_FROM
}
