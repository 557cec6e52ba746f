//! Processors: their model, number, shape and settings.

use std::collections::BTreeSet;

use iostone_model::environment::Cpu;

use super::count_list;
use crate::root::Root;

/// Part numbers of ARM's own cores (implementer 0x41) that servers are built of, from the cores' technical reference
/// manuals (register `MIDR_EL1`); the kernel prints numbers only.
const ARM_PARTS: [(&str, &str); 9] = [
    ("0xd03", "Cortex-A53"),
    ("0xd07", "Cortex-A57"),
    ("0xd08", "Cortex-A72"),
    ("0xd0b", "Cortex-A76"),
    ("0xd0c", "Neoverse-N1"),
    ("0xd40", "Neoverse-V1"),
    ("0xd49", "Neoverse-N2"),
    ("0xd4f", "Neoverse-V2"),
    ("0xd84", "Neoverse-V3"),
];

/// Reads `/proc/cpuinfo`, `/sys/devices/system/{cpu,node}` and the kernel command line.
pub(super) fn read_cpu(root: &Root) -> Cpu {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let online = root.word("/sys/devices/system/cpu/online").and_then(|list| count_list(&list));
    let (cores, sockets) = count_cores(root, &cpuinfo);
    let command_line = root.word("/proc/cmdline");
    Cpu {
        model: name_model(&cpuinfo).unwrap_or_else(|| "unknown".to_owned()),
        architecture: read_architecture(root),
        logical: online.unwrap_or_else(|| count_lines(&cpuinfo)),
        cores,
        sockets,
        numa_nodes: root.word("/sys/devices/system/node/online").and_then(|list| count_list(&list)),
        governor: root.word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        mitigations: command_line.and_then(|line| {
            line.split_whitespace()
                .filter_map(|word| word.strip_prefix("mitigations="))
                .next_back()
                .map(str::to_owned)
        }),
    }
}

/// The machine field of uname(2); of another machine's tree, what kernels since 6.1 say in a file.
fn read_architecture(root: &Root) -> String {
    if root.is_live() {
        return rustix::system::uname().machine().to_string_lossy().into_owned();
    }
    root.word("/proc/sys/kernel/arch").unwrap_or_else(|| "unknown".to_owned())
}

/// The first value of a key of `/proc/cpuinfo`.
fn find_entry<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    entries(cpuinfo, key).next()
}

fn entries<'a>(cpuinfo: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    cpuinfo.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == key && !value.is_empty()).then_some(value)
    })
}

/// x86 has `model name`; ARM an implementer and a part; the others a key of their own.
fn name_model(cpuinfo: &str) -> Option<String> {
    if let Some(model) = find_entry(cpuinfo, "model name") {
        // Vendors pad it with blanks.
        return Some(model.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if let (Some(implementer), Some(part)) =
        (find_entry(cpuinfo, "CPU implementer"), find_entry(cpuinfo, "CPU part"))
    {
        let known = ARM_PARTS.iter().find(|(number, _)| implementer == "0x41" && *number == part);
        return Some(known.map_or_else(
            || format!("ARM implementer {implementer} part {part}"),
            |(_, name)| format!("ARM {name}"),
        ));
    }
    ["cpu model", "cpu", "uarch", "Processor", "Hardware", "Model Name"]
        .iter()
        .find_map(|key| find_entry(cpuinfo, key))
        .map(str::to_owned)
}

fn count_lines(cpuinfo: &str) -> u32 {
    u32::try_from(entries(cpuinfo, "processor").count()).unwrap_or(u32::MAX)
}

/// Cores and sockets from the topology in sysfs, or from cpuinfo. A package id of -1 means that the kernel does not
/// know.
fn count_cores(root: &Root, cpuinfo: &str) -> (Option<u32>, Option<u32>) {
    let mut cores = BTreeSet::new();
    let mut sockets = BTreeSet::new();
    for name in root.entries("/sys/devices/system/cpu") {
        if name.strip_prefix("cpu").is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let topology = format!("/sys/devices/system/cpu/{name}/topology");
        // The threads of a core share a list; the name of the file changed in Linux 5.3.
        let siblings = root
            .word(format!("{topology}/core_cpus_list"))
            .or_else(|| root.word(format!("{topology}/thread_siblings_list")));
        cores.extend(siblings);
        sockets.extend(root.word(format!("{topology}/physical_package_id")).filter(|id| id != "-1"));
    }
    if cores.is_empty() {
        let packages = entries(cpuinfo, "physical id");
        cores =
            packages.zip(entries(cpuinfo, "core id")).map(|(one, other)| format!("{one} {other}")).collect();
        sockets = entries(cpuinfo, "physical id").map(str::to_owned).collect();
    }
    let count = |set: BTreeSet<String>| u32::try_from(set.len()).ok().filter(|count| *count > 0);
    (count(cores), count(sockets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_several_architectures_are_named() {
        for (cpuinfo, model) in [
            (
                "model name\t: Intel(R) Xeon(R) CPU           E5430  @ 2.66GHz\n",
                "Intel(R) Xeon(R) CPU E5430 @ 2.66GHz",
            ),
            ("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "ARM Neoverse-V1"),
            ("CPU implementer\t: 0xc0\nCPU part\t: 0xac3\n", "ARM implementer 0xc0 part 0xac3"),
            ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ] {
            assert_eq!(name_model(cpuinfo).as_deref(), Some(model));
        }
        assert_eq!(name_model("model name\t:\n"), None);
    }

    #[test]
    fn cores_without_sysfs_come_from_cpuinfo() {
        let cpuinfo =
            "physical id : 0\ncore id : 0\n\nphysical id : 0\ncore id : 0\n\nphysical id : 1\ncore id : 0\n";
        assert_eq!(count_cores(&Root::at("/nonexistent"), cpuinfo), (Some(2), Some(2)));
        assert_eq!(count_cores(&Root::at("/nonexistent"), ""), (None, None));
    }
}
