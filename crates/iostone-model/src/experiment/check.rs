//! What types cannot say: settings that do not fit each other, and decisions that cannot be made.

mod baseline;
mod covariates;
mod limit;
mod limits;
mod machine;
pub(super) mod ramp;
mod stack;

use super::combine::{Places, list, option_name};
use super::workload::{check_metric, unmeasured_point};
use super::{Configuration, Experiment, Factor, Filesystem, LoopVolume, Profile, Volume};
use crate::diagnostic::{Diagnostic, nearest};
use crate::units::Bytes;

pub(super) use baseline::baseline;

/// Below this mkfs.ext4 makes filesystems without a journal, which answers another question.
pub(super) const SMALLEST_LOOP: Bytes = Bytes(16 << 20);
/// The boundaries of sequential verdicts are computed for no more; a run this long needs another experiment.
const MOST_BLOCKS: u32 = 400;

pub(super) struct Findings<'a> {
    pub(super) places: &'a Places<'a>,
    pub(super) found: Vec<Diagnostic>,
}

impl Findings<'_> {
    pub(super) fn value(&mut self, path: &str, message: impl Into<String>, label: &str) {
        self.found.push(self.places.at_value(Diagnostic::new("io0006", message), path, label));
    }

    pub(super) fn key(&mut self, path: &str, message: impl Into<String>, label: &str) {
        self.found.push(self.places.at_key(Diagnostic::new("io0006", message), path, label));
    }
}

/// Checks one configuration.
pub(super) fn configuration(configuration: &Configuration, places: &Places<'_>) -> Vec<Diagnostic> {
    let mut findings = Findings { places, found: Vec::new() };
    let stack = &configuration.stack;
    stack::check_array(configuration, &mut findings);
    stack::check_settings(&configuration.stack, &mut findings);
    machine::check(configuration, &mut findings);
    match &stack.volume {
        Volume::Loop(volume) => check_loop(volume, &mut findings),
        Volume::Block(volume) => stack::check_block(volume, &mut findings),
        Volume::Emulated(volume) => stack::check_emulated(volume, &mut findings),
        Volume::Directory(volume) => {
            if volume.path.as_ref().is_some_and(|path| !path.is_absolute()) {
                let message = "the directory is not an absolute path";
                findings.value("stack.volume.path", message, "start it with /");
            }
            if stack.filesystem != Filesystem::None {
                let message = "a directory is already on a filesystem; none can be created in it";
                findings.key("stack.filesystem", message, "leave this out, or use a `loop` volume");
            }
            if !stack.queue.is_empty() {
                findings.key("stack.queue", "a directory has no block queue", "leave this out");
            }
        }
    }
    if stack.filesystem == Filesystem::None && !stack.mount.is_empty() {
        let message = "there is no filesystem for these options";
        findings.key("stack.mount", message, "add `filesystem = { kind = \"ext4\" }`");
    }
    check_mount_options(&stack.mount.options, &mut findings);
    let profile = configuration.workload.profile();
    if profile.needs_directory {
        check_directory(configuration, &mut findings);
    }
    configuration.workload.check(configuration, &mut findings);
    if let (Some(capacity), Some(room)) = (stack.capacity(), profile.room.filter(|_| profile.needs_directory))
        && room > capacity
    {
        let message = format!("{} needs {room} on a volume of {capacity}", configuration.workload.kind());
        let label = "make the volume larger, or the workload's files smaller";
        findings.value("stack.volume.size", message, label);
    }
    limit::check(stack, &mut findings);
    limits::check_workload(configuration, &mut findings);
    findings.found
}

/// Refuses a bare device below a program that works in a directory.
fn check_directory(configuration: &Configuration, findings: &mut Findings<'_>) {
    let stack = &configuration.stack;
    if stack.filesystem == Filesystem::None && !matches!(stack.volume, Volume::Directory(_)) {
        let kind = configuration.workload.kind();
        let message = format!("{kind} works in a directory, but the stack ends in a bare device");
        findings.value("workload.kind", message, "add `filesystem = { kind = \"ext4\" }` to the stack");
    }
}

fn check_loop(volume: &LoopVolume, findings: &mut Findings<'_>) {
    if volume.size < SMALLEST_LOOP {
        let message = format!("a loop volume of {} is too small", volume.size);
        findings.value("stack.volume.size", message, &format!("at least {SMALLEST_LOOP}"));
    } else if !volume.size.0.is_multiple_of(4096) {
        let message = format!("{} is not a multiple of 4KiB", volume.size);
        findings.value("stack.volume.size", message, "a loop device has whole blocks");
    }
    if volume.directory.as_ref().is_some_and(|directory| !directory.is_absolute()) {
        findings.value("stack.volume.directory", "the directory is not an absolute path", "start it with /");
    }
    limits::check_volume(volume, findings);
}

fn check_mount_options(options: &[String], findings: &mut Findings<'_>) {
    for (index, option) in options.iter().enumerate() {
        let path = format!("stack.mount.options[{index}]");
        if option.is_empty() || option.contains([',', ' ', '\t', '\n', '\0']) {
            findings.value(&path, format!("`{option}` is not one mount option"), "one option per entry");
        }
        let name = option_name(option);
        if options.iter().take(index).any(|earlier| option_name(earlier) == name) {
            let message = format!("`{option}` contradicts or repeats another option");
            findings.value(&path, message, "the kernel would use only the last one");
        }
    }
}

/// Checks the experiment as a whole.
pub(super) fn experiment(experiment: &Experiment, places: &Places<'_>) -> Vec<Diagnostic> {
    let mut findings = Findings { places, found: Vec::new() };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = &experiment.name;
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(plain) {
        let message = format!("`{name}` cannot name a run directory");
        findings.value("name", message, "up to 64 letters, digits, `-`, `_` and `.`, no leading `.`");
    }
    check_decide(experiment, &mut findings);
    ramp::check_all(experiment, &mut findings);
    covariates::check(experiment, &mut findings);
    machine::check_all(experiment, &mut findings);
    if experiment.trials.warmups > 10 {
        findings.value("trials.warmups", "too many warm-ups; at most ten", "0 to 10");
    }
    findings.found
}

/// Checks that there are no two of the same.
pub(super) fn twins(experiment: &Experiment, places: &Places<'_>) -> Vec<Diagnostic> {
    let mut findings = Findings { places, found: Vec::new() };
    for (index, configuration) in experiment.configurations.iter().enumerate() {
        let twin = experiment.configurations.iter().take(index).find(|earlier| {
            earlier.stack == configuration.stack
                && earlier.workload == configuration.workload
                && earlier.machine == configuration.machine
        });
        if let Some(twin) = twin {
            let message = format!("`{}` and `{}` are the same configuration", twin.name, configuration.name);
            let differs =
                |factor: &Factor| twin.levels.get(&factor.name) != configuration.levels.get(&factor.name);
            let guilty = experiment.factors.iter().position(differs).unwrap_or(0);
            let label = "its levels set nothing different";
            findings.value(&format!("factor[{guilty}].name"), message, label);
            if let Some(found) = findings.found.last_mut() {
                found.notes.push("to measure the machine's noise, use `iostone run --aa`".to_owned());
            }
            break;
        }
    }
    findings.found
}

/// What is compared needs its baseline, also where combinations were left out. Nothing can be said of configurations
/// that could not be read.
pub(super) fn baselines(experiment: &Experiment, places: &Places<'_>) -> Vec<Diagnostic> {
    let mut findings = Findings { places, found: Vec::new() };
    if experiment.factors.is_empty() || experiment.baseline_factor.is_empty() {
        return findings.found;
    }
    if let Some((swept, _)) = experiment.sweep() {
        if experiment.configurations.len() != swept.levels.len() {
            let message = format!("levels of the sweep `{}` cannot be left out", swept.name);
            findings.key("combine.exclude", message, "choose its range instead");
        }
        return findings.found;
    }
    let alone = experiment.configurations.iter().find(|candidate| {
        let stratum = experiment.stratum(candidate);
        !experiment.configurations.iter().any(|other| {
            experiment.compared_level(other) == experiment.baseline_level
                && experiment.stratum(other) == stratum
        })
    });
    if let Some(alone) = alone {
        let message = format!("`{}` has nothing to compare with: its baseline is excluded", alone.name);
        findings.key("combine.exclude", message, "exclude this combination as well, or keep the baseline");
    }
    let is_compared =
        |candidate: &Configuration| experiment.compared_level(candidate) != experiment.baseline_level;
    let is_idle = |candidate: &&Configuration| {
        let stratum = experiment.stratum(candidate);
        let mut others = experiment.configurations.iter();
        !others.any(|other| is_compared(other) && experiment.stratum(other) == stratum)
    };
    if experiment.configurations.is_empty() {
        findings.key("combine.exclude", "every combination is excluded", "keep some");
    } else if !experiment.configurations.iter().any(is_compared) {
        let message = format!("no comparison is left: only `{}` remains", experiment.baseline_level);
        findings.key("combine.exclude", message, "keep something to compare with it");
    } else if let Some(idle) = experiment.configurations.iter().find(is_idle) {
        let message = format!("`{}` would be measured but compared with nothing", idle.name);
        findings.key("combine.exclude", message, "exclude it as well");
    }
    findings.found
}

/// The figures worth naming in a message: some workloads have one for each operation of theirs.
fn shown<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().copied().filter(|name| !name.contains(['.', '@'])).collect()
}

/// What is held against claims cannot decide where a workload never claims: a command tells of no byte, and what only reads
/// writes none.
fn check_claims(experiment: &Experiment, findings: &mut Findings<'_>) {
    let metric = experiment.decide.metric.as_str();
    let (way, is_claimed): (_, fn(&Profile) -> bool) = match metric {
        "written_per_claimed_byte" => ("written", |profile| profile.writes),
        "read_per_claimed_byte" => ("read", |profile| profile.reads),
        _ => return,
    };
    let Some(silent) = experiment.configurations.iter().find(|one| !is_claimed(&one.workload.profile()))
    else {
        return;
    };
    let (kind, profile) = (silent.workload.kind(), silent.workload.profile());
    let (reason, advice) = if !profile.reads && !profile.writes {
        (
            format!("`{kind}` workloads do not report how much they read or wrote"),
            "decide by one of the program's own metrics",
        )
    } else {
        (format!("`{}` has a workload that claims no bytes {way}", silent.name), "decide by another metric")
    };
    findings.value("decide.metric", format!("{reason}, so there is no `{metric}`"), advice);
}

fn check_decide(experiment: &Experiment, findings: &mut Findings<'_>) {
    let decide = &experiment.decide;
    if let Some(configuration) = experiment.configurations.first() {
        let declared = configuration.workload.metrics();
        let names: Vec<&str> = declared.iter().map(|metric| metric.name.as_ref()).collect();
        // A workload that is wrong itself has none, and is spoken of already.
        if !names.is_empty() && !names.contains(&decide.metric.as_str()) {
            let kind = configuration.workload.kind();
            let error =
                Diagnostic::new("io0008", format!("`{kind}` workloads have no metric `{}`", decide.metric));
            let error = findings.places.at_value(error, "decide.metric", "not one of its metrics");
            let point = unmeasured_point(&decide.metric, &configuration.workload);
            findings.found.push(match point {
                Some(reason) => error.note(reason),
                None => nearest(&decide.metric, names.iter().copied()).map_or_else(
                    || {
                        let own = configuration.workload.own_metrics();
                        let own: Vec<&str> = own.iter().map(|metric| metric.name.as_ref()).collect();
                        error.clone().note(format!("expected {}", list(&shown(&own))))
                    },
                    |near| error.clone().fix(format!("\"{near}\"")),
                ),
            });
        }
    }
    check_metric(experiment, findings);
    check_claims(experiment, findings);
    let is_curve = |c: &Configuration| c.workload.curve(&decide.metric).is_some();
    if experiment.sweep().is_some() && experiment.configurations.iter().any(is_curve) {
        let message =
            format!("a sweep looks for the best value of one metric, and `{}` has several", decide.metric);
        findings.value("decide.metric", message, "choose one of its points");
    }
    if !(decide.margin.0 > 0.0 && decide.margin.0 < 1.0) {
        findings.value(
            "decide.margin",
            format!("a margin of {} is out of range", decide.margin),
            "above 0%, below 100%",
        );
    }
    if !(0.5..=0.999).contains(&decide.confidence.0) {
        let message = format!("a confidence of {} is out of range", decide.confidence);
        findings.value("decide.confidence", message, "50% to 99.9%");
    }
    let blocks = decide.blocks;
    if blocks.min > blocks.max {
        let message =
            format!("the minimum number of blocks, {}, is above the maximum, {}", blocks.min, blocks.max);
        findings.value("decide.blocks", message, "min must not exceed max");
    }
    for (key, count) in [("min", blocks.min), ("max", blocks.max)] {
        if count == 0 || count > MOST_BLOCKS {
            let message = format!("{count} blocks is out of range");
            findings.value(&format!("decide.blocks.{key}"), message, &format!("1 to {MOST_BLOCKS}"));
        }
    }
    if decide.time.is_some_and(|time| time.0.is_zero()) {
        findings.value("decide.time", "the time limit is 0", "longer than a block takes");
    }
}
