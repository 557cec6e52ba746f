//! Where the bytes of a run landed: the container and filesystem that each configuration worked on, as trials read them
//! back, and what its work took of room, of the device and of processors.

use iostone_model::experiment::{Configuration, Workload};
use iostone_model::median::median;
use iostone_model::metric::{COMMON_METRICS, Unit};
use iostone_model::mountinfo;
use iostone_model::run::RunRecord;
use iostone_model::trial::{ContainerFacts, SpaceRecord};
use iostone_model::units::round_count;

use crate::figures::{count, factor_digits, figure};
use crate::view::{Row, View};

/// Options of a mount that name directories of the engine's own: long, and other ones in every trial.
const DIRECTORIES: [&str; 3] = ["lowerdir=", "upperdir=", "workdir="];

/// A figure that the section shows of each configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    SpacePerByte,
    Extents,
    WrittenPerByte,
    ReadPerByte,
    Cores,
    CpuPerIo,
}

impl Cost {
    /// All, in the order of the columns.
    pub(crate) const ALL: [Self; 6] = [
        Self::SpacePerByte,
        Self::Extents,
        Self::WrittenPerByte,
        Self::ReadPerByte,
        Self::Cores,
        Self::CpuPerIo,
    ];

    /// Its head of a column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SpacePerByte => "Room ÷ files",
            Self::Extents => "Extents",
            Self::WrittenPerByte => "Written ÷ claimed",
            Self::ReadPerByte => "Read ÷ claimed",
            Self::Cores => "Cores used",
            Self::CpuPerIo => "CPU per I/O",
        }
    }

    /// In writing: ratios of bytes with three digits, times with their unit.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::CpuPerIo => figure(Unit::Seconds, value),
            Self::Extents => count(round_count(value)),
            Self::SpacePerByte | Self::WrittenPerByte | Self::ReadPerByte | Self::Cores => {
                if value == 0.0 {
                    "0".to_owned()
                } else {
                    factor_digits(value)
                }
            }
        }
    }

    /// The metric of trials that tells it; extents are counted in the record of the room.
    fn metric(self) -> Option<&'static str> {
        match self {
            Self::SpacePerByte => Some("space_per_file_byte"),
            Self::Extents => None,
            Self::WrittenPerByte => Some("written_per_claimed_byte"),
            Self::ReadPerByte => Some("read_per_claimed_byte"),
            Self::Cores => Some("cores_used"),
            Self::CpuPerIo => Some("cpu_per_io"),
        }
    }
}

/// One configuration.
#[derive(Debug)]
pub(crate) struct Landing<'a> {
    /// Its place among the configurations.
    pub(crate) index: usize,
    /// Its name.
    pub(crate) name: &'a str,
    /// The container of its last trial that has one.
    pub(crate) container: Option<&'a ContainerFacts>,
    /// The filesystem that was made for it.
    pub(crate) filesystem: Option<&'a str>,
    /// The record of the room of its last trial that has one.
    pub(crate) space: Option<&'a SpaceRecord>,
    /// The mount options that were asked for and read back, where configurations differ in them.
    options: String,
    /// The device that the workload's bytes end on.
    pub(crate) device: Option<String>,
    /// Whether its filesystem compressed what was stored.
    is_compressed: bool,
    /// Whether an fsync does what it says; it has nothing to do in memory, and nothing is known without a container.
    pub(crate) sync: &'static str,
    /// What drops it, in words.
    dropped_by: Option<String>,
    /// Medians over the trials that count.
    costs: Vec<(Cost, f64)>,
}

/// Every configuration of a run to which it matters where bytes land, none of any other. It does where trials had containers
/// or lay on several filesystems; and, where they tell of the room that their files took, if configurations differ in what
/// that room depends on, or the metric is one that every workload has.
pub(crate) fn landings<'a>(run: &'a RunRecord, view: &View<'a>) -> Vec<Landing<'a>> {
    let rows = view.rows.iter().enumerate();
    let landings: Vec<Landing<'a>> = rows.filter_map(|(index, row)| Landing::of(run, index, row)).collect();
    let any_container = landings.iter().any(|landing| landing.container.is_some());
    let any_space = landings.iter().any(|landing| landing.space.is_some());
    let is_common = COMMON_METRICS.iter().any(|metric| metric.name == view.metric);
    let matters = any_container
        || is_varied(landings.iter().filter_map(|landing| landing.filesystem))
        || (any_space
            && (is_common || is_varied(run.plan.experiment.configurations.iter().map(room_settings))));
    if matters { landings } else { Vec::new() }
}

fn is_varied<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| first.as_ref().is_some_and(|first| *first != value))
}

/// The settings that the room of files depends on: filesystem with its arguments of mkfs, mount, container, and how far
/// the data that is written compresses.
fn room_settings(configuration: &Configuration) -> impl PartialEq + '_ {
    let data = match &configuration.workload {
        Workload::Io(io) => {
            (io.buffer_compress_percentage, io.buffer_compress_chunk, io.dedupe_percentage, None)
        }
        Workload::Orion(orion) => (None, None, 0, Some(orion.data)),
        _ => (None, None, 0, None),
    };
    let stack = &configuration.stack;
    (&stack.filesystem, &stack.mount, &stack.container, data)
}

impl<'a> Landing<'a> {
    fn of(run: &'a RunRecord, index: usize, row: &Row<'a>) -> Option<Self> {
        let any_counts = row.trials.iter().any(|point| point.counts);
        let trials: Vec<_> =
            row.trials.iter().filter(|point| point.counts || !any_counts).map(|point| point.record).collect();
        let last = trials.last()?;
        let space = trials.iter().rev().find_map(|trial| trial.space.as_deref());
        let planned = run.plan.experiment.configurations.iter().find(|one| one.name == row.name);
        let made = planned.and_then(|configuration| configuration.stack.filesystem.name());
        let differs = is_varied(run.plan.experiment.configurations.iter().map(|one| &one.stack.mount));
        let container = trials.iter().rev().find_map(|trial| trial.container.as_deref());
        let cost = |cost: Cost| {
            let counted = row.trials.iter().filter(|point| point.counts).map(|point| point.record);
            let values = counted.filter_map(|trial| match cost.metric() {
                Some(metric) => trial.metrics.get(metric).copied(),
                None => trial.space.as_deref()?.files.extents.map(|extents| extents as f64),
            });
            Some((cost, median(values.filter(|value| value.is_finite()))?))
        };
        let dropped_by = trials.iter().rev().find_map(|trial| trial.syncs_dropped_by());
        let sends_none = planned.is_some_and(|planned| planned.stack.barriers_off().is_some());
        let sync = match container {
            Some(container) if is_memory(container) => "–",
            Some(_) if dropped_by.is_some() => "dropped",
            Some(_) if sends_none => "no flush",
            Some(_) => "kept",
            None => "",
        };
        let device_under_test =
            || last.signals.device_under_test().map(|device_under_test| device_under_test.name);
        // In a guest or behind an agent the container may name none, but then no byte may have passed the stack's.
        let in_memory = container.is_some_and(|container| container.device.is_none());
        Some(Self {
            index,
            name: row.name,
            container,
            sync,
            dropped_by,
            filesystem: space.map(|space| space.filesystem.as_str()).or(made),
            space,
            options: planned
                .filter(|_| differs)
                .map(|one| one.stack.mount.options.join(","))
                .unwrap_or_default(),
            device: container
                .and_then(|container| container.device.clone())
                .or_else(|| device_under_test().filter(|_| !in_memory)),
            is_compressed: planned.is_some_and(|planned| {
                trials.iter().any(|trial| trial.compressed_by(&planned.stack).is_some())
            }),
            costs: Cost::ALL.into_iter().filter_map(cost).collect(),
        })
    }

    /// A figure; none where no trial tells it.
    pub(crate) fn cost(&self, cost: Cost) -> Option<f64> {
        self.costs.iter().find(|(own, _)| *own == cost).map(|(_, value)| *value)
    }

    /// Why it has no such figure.
    fn reason_without(&self, cost: Cost) -> &'static str {
        match cost {
            Cost::SpacePerByte | Cost::Extents if self.container.is_some_and(is_memory) => {
                "files in memory take no room on the filesystem"
            }
            Cost::SpacePerByte => {
                "the workload left no files with data on a filesystem of the stack's own, or they were there before it"
            }
            Cost::Extents => {
                "the workload left no files with data on a filesystem of the stack's own, or that counts no extents"
            }
            Cost::WrittenPerByte => {
                "the workload claims no bytes written, or nobody could hold them against the device"
            }
            Cost::ReadPerByte => {
                "the workload claims no bytes read, or nobody could hold them against the device"
            }
            Cost::Cores => "nobody told the CPU time of the workload",
            Cost::CpuPerIo => "the workload tells no number of I/Os, or nobody told its CPU time",
        }
    }

    /// `docker, layer`, or that there was none.
    pub(crate) fn place(&self) -> String {
        match self.container {
            Some(container) => format!("{}, {}", container.kind, container.place),
            None => "no container".to_owned(),
        }
    }

    /// What the bytes pass: `overlay2 on ext4` in a layer, the filesystem alone, with its mount options where configurations
    /// differ in them, everywhere else, and neither in memory.
    pub(crate) fn layers(&self) -> String {
        match self.container {
            Some(container) if is_memory(container) => "memory".to_owned(),
            Some(container) if container.place == "layer" && !container.driver.is_empty() => {
                format!("{} on {}", container.driver, container.backing_filesystem)
            }
            Some(container) => container.backing_filesystem.clone(),
            None => {
                let filesystem = self.filesystem.unwrap_or_default();
                if self.options.is_empty() {
                    filesystem.to_owned()
                } else {
                    format!("{filesystem}, {}", self.options)
                }
            }
        }
    }

    /// The mount as it is seen from inside, `overlay at / (rw, fsync=volatile)`; nothing without a container.
    pub(crate) fn mount(&self) -> String {
        self.container.map(|container| mount_words(&container.mount_line)).unwrap_or_default()
    }

    /// `podman 4.3.1, runc 1.1.5`; nothing without an engine.
    pub(crate) fn engine(&self) -> Option<String> {
        let container = self.container?;
        let version = container.engine_version.as_ref()?;
        let runtime = container.runtime.iter().map(|runtime| format!(", {runtime}"));
        Some(format!("{} {version}{}", container.kind, runtime.collect::<String>()))
    }

    /// Compressed and shared extents of its files after the last trial, where there are any.
    pub(crate) fn extents_note(&self) -> Option<String> {
        let files = &self.space?.files;
        let told = [(files.encoded_extents, "compressed"), (files.shared_extents, "shared")];
        let told: Vec<String> = told
            .into_iter()
            .filter(|(extents, _)| *extents > 0)
            .map(|(extents, what)| format!("{} {what}", count(extents)))
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

/// Whether the workload worked in memory: a tmpfs, below which there is no filesystem.
fn is_memory(container: &ContainerFacts) -> bool {
    container.place == "tmpfs"
}

/// The costs that any configuration tells of.
pub(crate) fn told_costs(landings: &[Landing<'_>]) -> Vec<Cost> {
    let is_told = |cost: &Cost| landings.iter().any(|landing| landing.cost(*cost).is_some());
    Cost::ALL.into_iter().filter(is_told).collect()
}

/// What must be known to read the figures.
pub(crate) fn note(landings: &[Landing<'_>]) -> String {
    let costs = told_costs(landings);
    let has = |cost: Cost| costs.contains(&cost);
    let mut sentences = vec!["Medians over the trials that count.".to_owned()];
    if has(Cost::SpacePerByte) {
        sentences.push("Room ÷ files: space used per byte of file data.".to_owned());
    }
    if has(Cost::WrittenPerByte) || has(Cost::ReadPerByte) {
        sentences.push(
            "Written and read ÷ claimed: bytes that the stack's device served for each that the workload says it moved; \
             what is below 1 came from, or stayed in, memory, or was compressed by the filesystem."
                .to_owned(),
        );
        if landings.iter().any(|landing| landing.is_compressed) {
            sentences.push(
                "Where the filesystem compresses, what is below 1 may be that as well, and says nothing of memory."
                    .to_owned(),
            );
        }
    }
    if has(Cost::Cores) || has(Cost::CpuPerIo) {
        sentences.push("Cores and CPU are those of the workload.".to_owned());
    }
    let mut dropped = landings.iter().filter(|landing| landing.sync == "dropped");
    if let Some(cause) = dropped.find_map(|landing| landing.dropped_by.as_deref()) {
        sentences.push(format!("fsync is dropped: {cause}; so nothing that was synced there is durable."));
    }
    if landings.iter().any(|landing| landing.sync == "no flush") {
        sentences.push(
            "No flush: the mount option turns them off; a power cut loses what the device caches.".to_owned(),
        );
    }
    sentences.extend(untold(landings, &costs));
    sentences.join(" ")
}

/// Why figures are missing that others have: `Not told: room and extents of files in memory (tmpfs)`.
fn untold(landings: &[Landing<'_>], costs: &[Cost]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for landing in landings {
        for cost in costs.iter().filter(|cost| landing.cost(**cost).is_none()) {
            let reason = landing.reason_without(*cost);
            match reasons.iter_mut().find(|(own, _)| *own == reason) {
                Some((_, names)) if names.contains(&landing.name) => {}
                Some((_, names)) => names.push(landing.name),
                None => reasons.push((reason, vec![landing.name])),
            }
        }
    }
    let tell = |(reason, names): &(&str, Vec<&str>)| format!("Not told of {}: {reason}.", names.join(", "));
    reasons.iter().map(tell).collect()
}

/// A line of mountinfo (`proc_pid_mountinfo(5)`) in words; as it is where it is of another form.
fn mount_words(line: &str) -> String {
    let Some(mount) = mountinfo::parse(line.as_bytes()).pop() else { return line.to_owned() };
    let mut options = mount.all_options();
    options.retain(|option| !DIRECTORIES.iter().any(|name| option.starts_with(name)));
    format!("{} at {} ({})", mount.filesystem, mount.target.display(), options.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_told_without_the_directories_of_the_engine() {
        let line = "512 400 0:61 / / rw,relatime - overlay overlay \
                    rw,lowerdir=/a:/b,upperdir=/c,workdir=/d,redirect_dir=on,fsync=volatile";
        assert_eq!(mount_words(line), "overlay at / (rw, relatime, redirect_dir=on, fsync=volatile)");
        assert_eq!(mount_words("something else"), "something else");
        assert_eq!(mount_words(""), "");
    }

    #[test]
    fn figures_are_written_with_the_digits_that_count() {
        assert_eq!(Cost::SpacePerByte.write(1.0234), "1.02");
        assert_eq!(Cost::Cores.write(0.0), "0");
        assert_eq!(Cost::CpuPerIo.write(1.27e-5), "12.7\u{a0}µs");
        assert_eq!(Cost::Extents.write(12_345.4), "12\u{202f}345");
    }
}
