//! The machine and the stack in a few lines, the same in every format.

mod guests;
mod volumes;

use iostone_model::experiment::{Configuration, Limits, LoopVolume, Stack, Volume};
use iostone_model::platform::Platform;
use iostone_model::run::RunRecord;
use iostone_model::units::Bytes;

use crate::{trial_cost, warm_up};
pub(crate) use guests::guests_of;

/// How many different stacks or workloads are described in full before only what differs is told.
const DESCRIBED: usize = 2;

/// Of how many different ones what differs is told.
const TOLD_APART: usize = 6;

/// Notes told at most.
const NOTES: usize = 12;

/// What begins the note that holds an array's line for mdadm.conf(5).
const ASSEMBLY: &str = "assembly: ";

/// Between the parts of a description.
const PART: &str = " · ";

/// Label and value, in the order in which they are read.
pub(crate) fn lines(run: &RunRecord) -> Vec<(&'static str, String)> {
    let lines = [
        ("host", host(run)),
        ("platform", platform(run)),
        ("processor", processor(run)),
        ("kernel", kernel(run)),
        ("trials in", guests::asked(run)),
        ("uname", guests::unames(run)),
        ("guest", guests::guests(run)),
        ("executed by", guests::accelerators(run)),
        ("booted with", guests::command_lines(run)),
        ("storage", storage(run)),
        ("workload", workloads(run)),
        ("warm-up", warm_up::sentence(run)),
        ("trials", trial_cost::sentence(run)),
        ("device", devices(run)),
        ("notes", notes(run)),
        ("iostone", engine(run)),
    ];
    lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The same in a few lines, for the terminal.
pub(crate) fn brief(run: &RunRecord) -> Vec<(&'static str, String)> {
    let cpu = &run.environment.cpu;
    let threads = (cpu.logical > 0).then(|| format!("{} logical", cpu.logical));
    let lines = [
        ("machine", join([Some(host(run)), Some(cpu.model.clone()), threads, memory(run)])),
        ("platform", platform(run)),
        ("kernel", kernel(run)),
        ("uname", guests::unames(run)),
        ("guest", guests::guests(run)),
        ("executed by", guests::accelerators(run)),
        ("storage", join([Some(storage(run)), Some(devices(run))])),
        ("workload", join([Some(workloads(run)), engine_used(run)])),
        ("warm-up", warm_up::sentence(run)),
        ("trials", trial_cost::sentence(run)),
        ("notes", notes(run)),
    ];
    lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn memory(run: &RunRecord) -> Option<String> {
    let total_bytes = run.environment.memory.total_bytes;
    (total_bytes > 0).then(|| format!("{} memory", Bytes(total_bytes).approximate()))
}

fn engine_used(run: &RunRecord) -> Option<String> {
    run.trials.first()?.workload.facts.get("engine").cloned()
}

fn join(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(PART)
}

fn host(run: &RunRecord) -> String {
    let environment = &run.environment;
    let dmi = |key: &str| environment.dmi.get(key).cloned();
    let model = dmi("product_name").or_else(|| dmi("product")).or_else(|| dmi("sys_vendor"));
    let hypervisor = environment.virtualisation.hypervisor.as_str();
    join([
        Some(environment.host.clone()),
        model,
        (!hypervisor.is_empty() && hypervisor != "none").then(|| format!("virtual: {hypervisor}")),
        environment.virtualisation.container.as_ref().map(|kind| format!("in a container: {kind}")),
        environment.os.clone(),
    ])
}

/// The cloud and the kind of instance; nothing elsewhere.
fn platform(run: &RunRecord) -> String {
    run.environment.platform.as_ref().map(Platform::in_words).unwrap_or_default()
}

fn processor(run: &RunRecord) -> String {
    let cpu = &run.environment.cpu;
    let cores = cpu.cores.map(|cores| format!("{cores} c / {} t", cpu.logical));
    let logical = (cpu.logical > 0).then(|| format!("{} logical", cpu.logical));
    join([
        Some(cpu.model.clone()),
        cores.or(logical),
        cpu.numa_nodes.filter(|nodes| *nodes > 1).map(|nodes| format!("{nodes} NUMA nodes")),
        cpu.governor.as_ref().map(|governor| format!("governor {governor}")),
        cpu.mitigations.as_ref().map(|value| format!("mitigations={value}")),
        memory(run),
    ])
}

fn kernel(run: &RunRecord) -> String {
    let environment = &run.environment;
    let limits: Vec<String> =
        environment.cgroup.limits.iter().map(|(file, value)| format!("{file} {value}")).collect();
    join([
        Some(environment.kernel.release.clone()),
        environment.clocksource.as_ref().map(|source| format!("clocksource {source}")),
        (!environment.cgroup.mode.is_empty()).then(|| format!("cgroup {}", environment.cgroup.mode)),
        (!limits.is_empty()).then(|| limits.join(", ")),
        environment
            .kernel
            .io_uring_disabled
            .filter(|value| *value > 0)
            .map(|value| format!("io_uring_disabled={value}")),
    ])
}

/// What the configurations have in common, then what each has of its own: "loop 64MiB · ext4; slow: limited to 400
/// reads/s; fast: limited to 800 reads/s". Few different ones are written out one beside the other.
fn describe_all<'a>(described: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut different: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, description) in described {
        match different.iter_mut().find(|(_, known)| *known == description) {
            Some((names, _)) => names.push(name),
            None => different.push((vec![name], description)),
        }
    }
    if different.len() <= DESCRIBED {
        let mut whole: Vec<String> = different.into_iter().map(|(_, description)| description).collect();
        whole.sort();
        return whole.join(" or ");
    }
    let parts = |description: &str| description.split(PART).map(str::to_owned).collect::<Vec<String>>();
    let taken: Vec<(&[&str], Vec<String>)> =
        different.iter().map(|(names, description)| (names.as_slice(), parts(description))).collect();
    let everywhere = |part: &String| taken.iter().all(|(_, parts)| parts.contains(part));
    let first = taken.first().map(|(_, parts)| parts.as_slice()).unwrap_or_default();
    let common: Vec<&str> = first.iter().filter(|part| everywhere(part)).map(String::as_str).collect();
    let own = taken.iter().take(TOLD_APART).map(|(names, parts)| {
        let own: Vec<&str> = parts.iter().filter(|part| !everywhere(part)).map(String::as_str).collect();
        let own = if own.is_empty() { "nothing more".to_owned() } else { own.join(PART) };
        format!("{}: {own}", names.join(", "))
    });
    let common = (!common.is_empty()).then(|| common.join(PART));
    let more = taken.len().saturating_sub(TOLD_APART);
    let more = (more > 0).then(|| format!("{more} more"));
    common.into_iter().chain(own).chain(more).collect::<Vec<String>>().join("; ")
}

fn storage(run: &RunRecord) -> String {
    let configurations = &run.plan.experiment.configurations;
    let in_guest = |c: &Configuration| c.machine.guest().is_some();
    describe_all(configurations.iter().map(|c| (c.name.as_str(), describe_stack(&c.stack, in_guest(c)))))
}

fn workloads(run: &RunRecord) -> String {
    let configurations = &run.plan.experiment.configurations;
    describe_all(configurations.iter().map(|c| (c.name.as_str(), c.workload.profile().summary.join(PART))))
}

fn describe_stack(stack: &Stack, in_guest: bool) -> String {
    let volume = match &stack.volume {
        Volume::Loop(volume) => describe_loop(volume),
        Volume::Block(volume) => {
            let devices: Vec<String> = volume.devices.iter().map(|path| path.display().to_string()).collect();
            devices.join(" + ")
        }
        Volume::Emulated(volume) => volumes::describe_emulated(volume, stack.link, in_guest),
        Volume::Directory(volume) => volume
            .path
            .as_ref()
            .map_or_else(|| "run directory".to_owned(), |path| format!("directory {}", path.display())),
    };
    let filesystem = stack.filesystem.name().map(|name| match stack.filesystem.mkfs() {
        [] => name.to_owned(),
        arguments => format!("{name} ({})", arguments.join(" ")),
    });
    let limit = &stack.limit;
    join([
        Some(volume),
        stack.link.map(|link| format!("link of {}", link.in_words())),
        volumes::describe_array(&stack.array),
        in_words(stack.queue.settings().into_iter()),
        stack.queue.readahead.map(|sectors| format!("readahead {sectors} sectors")),
        stack.queue.read_ahead_kb.map(|kib| format!("readahead {kib} KiB")),
        filesystem,
        (!stack.mount.is_empty()).then(|| stack.mount.options.join(",")),
        in_words(stack.sysctl.settings().into_iter().map(|(row, value)| (row.name, value))),
        (!limit.cpu.is_none()).then(|| format!("CPU limited to {}", limit.cpu)),
        limit.memory.map(|memory| format!("memory limited to {memory}")),
        limit.cpuset.as_ref().map(|cpuset| format!("on processors {cpuset}")),
        limit.io.filter(|io| !io.is_empty()).map(|io| format!("its device limited to {io}")),
        stack.governor.as_ref().map(|governor| format!("as {}", governor.in_words())),
    ])
}

/// `scheduler none, nr_requests 64`; none of nothing.
fn in_words(settings: impl Iterator<Item = (&'static str, impl std::fmt::Display)>) -> Option<String> {
    let words: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn describe_loop(volume: &LoopVolume) -> String {
    let limited =
        |name: &str, limits: &Limits| (!limits.is_empty()).then(|| format!("{name}limited to {limits}"));
    join([
        Some(format!("loop {}", volume.size)),
        limited("", &volume.limits()),
        volume.instance.as_ref().and_then(|instance| limited("its instance ", instance)),
    ])
}

/// The devices that the trials' workloads stood on, as the first trial names them.
fn devices(run: &RunRecord) -> String {
    let Some(trial) = run.trials.first() else { return String::new() };
    let described = trial.signals.devices.iter().map(|activity| {
        // A guest has devices of its own, of which the host's of the same name tell nothing.
        let known = run.environment.block_devices.iter().filter(|_| trial.guest.is_none());
        let device = known.into_iter().find(|device| device.name == activity.name);
        let details = device.map(|device| {
            join([
                device.model.clone(),
                device.firmware.as_ref().map(|firmware| format!("FW {firmware}")),
                device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
                device.write_cache.clone(),
                device.rotational.filter(|rotates| *rotates).map(|_| "rotating".to_owned()),
            ])
        });
        let role = if activity.role == "below" { "below: " } else { "" };
        let details =
            details.filter(|text| !text.is_empty()).map(|text| format!(" ({text})")).unwrap_or_default();
        Some(format!("{role}{}{details}", activity.name))
    });
    join(described)
}

/// What the layers noted in the trials, each once: numbers of devices differ from trial to trial, and so does the UUID in
/// the line that would assemble an array.
fn notes(run: &RunRecord) -> String {
    let without_numbers = |note: &str| match note.split_once(ASSEMBLY) {
        Some(("", _)) => ASSEMBLY.to_owned(),
        _ => note.chars().filter(|c| !c.is_ascii_digit()).collect::<String>(),
    };
    let mut known: Vec<String> = Vec::new();
    let mut notes: Vec<&str> = Vec::new();
    for note in run.trials.iter().flat_map(|trial| &trial.notes) {
        let form = without_numbers(note);
        if !known.contains(&form) {
            known.push(form);
            notes.push(note);
        }
    }
    let more = notes.len().saturating_sub(NOTES);
    let more = (more > 0).then(|| format!("{more} more"));
    join(notes.into_iter().take(NOTES).map(|note| Some(note.to_owned())).chain([more]))
}

fn engine(run: &RunRecord) -> String {
    let unprivileged = (!run.environment.root).then(|| "not as root".to_owned());
    join([Some(run.plan.iostone_version.clone()), engine_used(run), unprivileged])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(described: &[(&'static str, &str)]) -> String {
        describe_all(described.iter().map(|(name, description)| (*name, (*description).to_owned())))
    }

    #[test]
    fn what_differs_between_stacks_is_told() {
        let stacks = [
            ("free", "loop 64MiB · ext4"),
            ("fast", "loop 64MiB · limited to 800 reads/s · ext4"),
            ("slow", "loop 64MiB · limited to 400 reads/s · ext4"),
        ];
        assert_eq!(
            told(&stacks),
            "loop 64MiB · ext4; free: nothing more; fast: limited to 800 reads/s; slow: limited to 400 reads/s"
        );
        assert_eq!(told(&stacks[..2]), "loop 64MiB · ext4 or loop 64MiB · limited to 800 reads/s · ext4");
        assert_eq!(told(&[("a", "one"), ("b", "one")]), "one");
        assert_eq!(told(&[("a", "x"), ("b", "y"), ("c", "z"), ("d", "x")]), "a, d: x; b: y; c: z");
    }
}
