//! The snapshot: what machine a run is measured on, read once before its first trial.

mod block;
mod cgroup;
mod cpu;
pub mod describe;
mod dmi;
mod kernel;
mod memory;
mod network;
pub mod tools;
mod virtualisation;

use iostone_model::environment::{ENVIRONMENT_SCHEMA, Environment, MountEntry};

use crate::platform::{Metadata, find_platform};
use crate::root::Root;
use tools::{ToolQuery, tool_versions};

/// A snapshot of this machine, with the versions of `tools` (each is run, for at most five seconds). A cloud's metadata
/// service is asked unless [`NO_METADATA_VARIABLE`](crate::platform::NO_METADATA_VARIABLE) forbids it.
/// Never fails: what cannot be found out is `None`.
pub fn snapshot(tools: &[ToolQuery]) -> Environment {
    snapshot_of(&Root::live(), tools, &Metadata::unless(false))
}

/// A snapshot of the machine whose files lie below `root`. Tools are always asked on this one, and no metadata service is.
pub fn snapshot_in(root: &Root, tools: &[ToolQuery]) -> Environment {
    snapshot_of(root, tools, &Metadata::NotAsked)
}

/// A snapshot with everything given.
pub fn snapshot_of(root: &Root, tools: &[ToolQuery], metadata: &Metadata) -> Environment {
    let dmi = dmi::read_dmi(root);
    let cpu = cpu::read_cpu(root);
    let virtualisation = virtualisation::read_virtualisation(root, &dmi, &cpu.model);
    let mounts = root
        .mounts()
        .into_iter()
        .map(|mount| MountEntry {
            options: mount.all_options().join(","),
            target: mount.target.to_string_lossy().into_owned(),
            source: mount.source.to_string_lossy().into_owned(),
            filesystem: mount.filesystem,
        })
        .collect();
    Environment {
        schema: ENVIRONMENT_SCHEMA.to_owned(),
        iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
        taken_at: jiff::Timestamp::now().to_string(),
        host: kernel::read_host_name(root),
        dmi,
        platform: find_platform(root, metadata),
        virtualisation,
        cpu,
        memory: memory::read_memory(root),
        kernel: kernel::read_kernel(root),
        os: kernel::read_os(root),
        network: network::read_interfaces(root),
        block_devices: block::read_block_devices(root),
        mounts,
        cgroup: cgroup::read_cgroup(root),
        tools: tool_versions(tools),
        clocksource: root.word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        // With `psi=0` the file exists and cannot be read.
        pressure_stall_information: root.word("/proc/pressure/io").is_some(),
        root: rustix::process::geteuid().is_root(),
    }
}

/// What the machine runs on, as [`Environment`] names it: `none`, `kvm`, `xen`, ...
pub(crate) fn hypervisor_name(root: &Root) -> String {
    virtualisation::name_hypervisor(root, &dmi::read_dmi(root), &cpu::read_cpu(root).model)
}

/// The word in brackets of a choice such as `none [mq-deadline] kyber`; a choice of one needs none.
fn pick_chosen(choice: &str) -> Option<String> {
    let bracketed = choice.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    bracketed
        .or_else(|| {
            Some(choice.trim()).filter(|word| !word.is_empty() && !word.contains(char::is_whitespace))
        })
        .map(str::to_owned)
}

/// How many numbers a list of the kernel holds: `0-3,8` is 5. `None` for text of another form.
fn count_list(text: &str) -> Option<u32> {
    text.trim().split(',').try_fold(0_u32, |count, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests;
