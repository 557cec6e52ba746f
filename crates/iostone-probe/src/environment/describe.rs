//! The machine in a few lines that a reader takes in at a glance.

use iostone_model::environment::{BlockDevice, Environment};
use iostone_model::figures::counted;
use iostone_model::platform::Platform;
use iostone_model::units::Bytes;

/// Labels and values for the head of a report, most telling first. What is not known is left out.
pub fn describe(environment: &Environment) -> Vec<(&'static str, String)> {
    [
        ("Machine", describe_machine(environment)),
        ("Platform", environment.platform.as_ref().map(Platform::in_words)),
        ("CPU", Some(describe_cpu(environment))),
        ("Memory", Some(describe_memory(environment))),
        ("Kernel", Some(environment.kernel.release.clone())),
        ("Virtualisation", Some(describe_virtualisation(environment))),
        ("Disks", describe_disks(environment)),
        ("OS", environment.os.clone()),
        ("Cgroup", Some(describe_cgroup(environment))),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label, value.filter(|text| !text.is_empty())?)))
    // Firmware and disks may name themselves with anything; a line stays a line.
    .map(|(label, value)| (label, value.replace(char::is_control, " ")))
    .collect()
}

/// `Amazon EC2 c5.large (host ip-10-0-0-1)`; firmware without a name for its machine says so in several ways.
fn describe_machine(environment: &Environment) -> Option<String> {
    let name = |field: &str| {
        let text = environment.dmi.get(field)?;
        let is_filler =
            ["to be filled", "not specified", "system product name", "system manufacturer", "none"]
                .iter()
                .any(|filler| text.to_lowercase().starts_with(filler));
        (!is_filler).then_some(text.as_str())
    };
    let words = match (name("sys_vendor"), name("product_name")) {
        (Some(vendor), Some(product)) if product.starts_with(vendor) => vec![product],
        (vendor, product) => vendor.into_iter().chain(product).collect(),
    };
    let host = environment.host.as_str();
    match (words.is_empty(), host.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("host {host}")),
        (false, true) => Some(words.join(" ")),
        (false, false) => Some(format!("{} (host {host})", words.join(" "))),
    }
}

fn describe_cpu(environment: &Environment) -> String {
    let cpu = &environment.cpu;
    let mut parts = vec![cpu.model.clone(), format!("{} logical", cpu.logical)];
    if let Some(cores) = cpu.cores.filter(|cores| *cores != cpu.logical) {
        parts.push(counted(cores, "core"));
    }
    if let Some(sockets) = cpu.sockets.filter(|sockets| *sockets > 1) {
        parts.push(counted(sockets, "socket"));
    }
    if let Some(governor) = &cpu.governor {
        parts.push(format!("governor {governor}"));
    }
    if let Some(mitigations) = &cpu.mitigations {
        parts.push(format!("mitigations={mitigations}"));
    }
    parts.join(", ")
}

fn describe_memory(environment: &Environment) -> String {
    let memory = &environment.memory;
    let swap = match memory.swap_bytes {
        0 => "no swap".to_owned(),
        bytes => format!("{} swap", Bytes(bytes).approximate()),
    };
    format!("{}, {swap}", Bytes(memory.total_bytes).approximate())
}

fn describe_virtualisation(environment: &Environment) -> String {
    let virtualisation = &environment.virtualisation;
    let machine = match virtualisation.hypervisor.as_str() {
        "" | "none" => "none (bare metal)".to_owned(),
        hypervisor => hypervisor.to_owned(),
    };
    let place = match &virtualisation.container {
        Some(container) => format!("{machine}, in a container ({container})"),
        None => machine,
    };
    match &virtualisation.steal {
        Some(sight) if !sight.observable => format!("{place}; steal is not observable: {}", sight.because),
        _ => place,
    }
}

/// Whole devices with hardware, or a hypervisor's pretence of it, behind them: not partitions, loop, RAM or stacked
/// devices.
fn describe_disks(environment: &Environment) -> Option<String> {
    let is_disk = |device: &&BlockDevice| {
        let is_made_up = ["loop", "ram", "zram", "dm-", "md", "nbd", "sr", "fd"].iter().any(|prefix| {
            device
                .name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        device.parent.is_none() && device.size_bytes > 0 && !is_made_up
    };
    let disks: Vec<String> = environment.block_devices.iter().filter(is_disk).map(describe_disk).collect();
    (!disks.is_empty()).then(|| disks.join("; "))
}

fn describe_disk(device: &BlockDevice) -> String {
    let mut parts = vec![format!("{} {}", device.name, Bytes(device.size_bytes).approximate())];
    parts.extend(device.model.clone());
    if device.rotational == Some(true) {
        // A hypervisor's disk says so too, whatever is behind it.
        parts.push("says it rotates".to_owned());
    }
    parts.extend(device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    parts.extend(device.write_cache.clone());
    parts.join(", ")
}

fn describe_cgroup(environment: &Environment) -> String {
    let cgroup = &environment.cgroup;
    if cgroup.mode == "none" || cgroup.mode.is_empty() {
        return "none".to_owned();
    }
    if cgroup.limits.is_empty() {
        return format!("{}, no limits", cgroup.mode);
    }
    let limits: Vec<String> =
        cgroup.limits.iter().map(|(file, limit)| format!("{file} {}", limit.replace('\n', "; "))).collect();
    format!("{}, {}", cgroup.mode, limits.join(", "))
}
