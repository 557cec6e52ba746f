//! What the machine runs in: a hypervisor, a container, both or neither.

use std::collections::BTreeMap;

use iostone_model::environment::Virtualisation;

use crate::hierarchy::parse_memberships;
use crate::root::Root;
use crate::steal::{has_hypervisor_flag, read_steal_sight};

/// Words in the DMI strings of hypervisors; the first that matches names it.
const DMI_HYPERVISORS: [(&str, &str); 16] = [
    ("amazon ec2", "amazon"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("hyper-v", "microsoft"),
    // Microsoft makes laptops as well: only "Virtual Machine" tells.
    ("microsoft corporation virtual machine", "microsoft"),
    ("google compute engine", "google"),
    ("hvm domu", "xen"),
    ("xen", "xen"),
    ("parallels", "parallels"),
    ("bhyve", "bhyve"),
    ("openstack", "kvm"),
    ("kvm", "kvm"),
    ("digitalocean", "kvm"),
    ("alibaba cloud ecs", "kvm"),
    ("apple virtualization", "apple"),
];

/// Clock sources that a hypervisor offers its guests.
const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "kvm"), ("xen", "xen"), ("hyperv_clocksource", "microsoft")];

/// Reads hypervisor and container from what the kernel and the firmware give away.
pub(super) fn read_virtualisation(
    root: &Root,
    dmi: &BTreeMap<String, String>,
    cpu_model: &str,
) -> Virtualisation {
    Virtualisation {
        hypervisor: name_hypervisor(root, dmi, cpu_model),
        container: find_container(root),
        steal: Some(read_steal_sight(root)),
    }
}

/// The name of the hypervisor, or `none`.
pub(super) fn name_hypervisor(root: &Root, dmi: &BTreeMap<String, String>, cpu_model: &str) -> String {
    // The first domain of Xen is the host itself, though it runs above the hypervisor.
    if root.word("/sys/hypervisor/type").as_deref() == Some("xen") {
        let is_first = root.text("/proc/xen/capabilities").is_some_and(|text| text.contains("control_d"));
        return if is_first { "none" } else { "xen" }.to_owned();
    }
    let flagged = root.text("/proc/cpuinfo").is_some_and(|text| has_hypervisor_flag(&text));
    let clocks =
        root.word("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let by_clock = CLOCKS
        .iter()
        .find(|(clock, _)| clocks.split_whitespace().any(|word| word.starts_with(clock)))
        .map(|(_, name)| *name);
    let strings = join_dmi(dmi);
    let is_metal = dmi.get("product_name").is_some_and(|name| name.contains(".metal"));
    let by_dmi = DMI_HYPERVISORS.iter().find(|(word, _)| strings.contains(word)).map(|(_, name)| *name);
    let by_tree = root
        .word("/proc/device-tree/hypervisor/compatible")
        .map(|compatible| if compatible.contains("xen") { "xen" } else { "kvm" });
    let is_qemu = strings.contains("qemu") || cpu_model.starts_with("QEMU");
    // Only x86 has the flag; elsewhere the firmware's word has to do.
    let is_x86 = root.text("/proc/cpuinfo").is_some_and(|text| text.contains("vendor_id"));
    let is_guest = flagged || by_clock.is_some() || by_tree.is_some();
    let name = if is_metal && !is_guest {
        "none"
    } else if let (Some(name), true) = (by_dmi, is_guest || !is_x86) {
        name
    } else if cpu_model.starts_with("QEMU TCG") {
        "qemu (TCG)"
    } else if let Some(name) = by_clock.or(by_tree) {
        name
    } else if is_qemu && (flagged || !is_x86) {
        // KVM would have offered its clock to a processor that QEMU made up.
        if cpu_model.starts_with("QEMU") { "qemu (TCG)" } else { "qemu" }
    } else if flagged {
        "unknown hypervisor"
    } else if root.word("/proc/sys/kernel/osrelease").is_some_and(|text| text.contains("microsoft")) {
        "microsoft"
    } else {
        "none"
    };
    name.to_owned()
}

/// The strings that hypervisors name themselves in, in lower case.
fn join_dmi(dmi: &BTreeMap<String, String>) -> String {
    ["sys_vendor", "product_name", "board_vendor", "bios_vendor", "bios_version", "chassis_asset_tag"]
        .iter()
        .filter_map(|field| dmi.get(*field))
        .map(|text| text.to_lowercase())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The namespaces that every container engine makes anew, with the inode numbers that the kernel gives the first of
/// each (`include/linux/proc_ns.h`).
const FIRST_NAMESPACES: [(&str, u64); 3] = [("ipc", 0xEFFF_FFFF), ("uts", 0xEFFF_FFFE), ("pid", 0xEFFF_FFFC)];

/// Whether the process lives in the kernel's first namespaces. A container may share some of them with its host, all
/// of them only where it is none in any sense that matters.
fn is_in_first_namespaces(root: &Root) -> bool {
    FIRST_NAMESPACES.iter().all(|(kind, inode)| {
        root.link_name(format!("/proc/self/ns/{kind}"))
            .is_some_and(|name| name == format!("{kind}:[{inode}]"))
    })
}

/// The container, by the marks that each engine leaves (systemd's container interface, and the engines' own).
fn find_container(root: &Root) -> Option<String> {
    // A virtual machine that was made of a container image still carries the image's marks.
    if is_in_first_namespaces(root) {
        return None;
    }
    // The first process's environment; readable for root only, and NUL-separated.
    let first = root.text("/proc/1/environ").unwrap_or_default();
    let variable = |name: &str| {
        first
            .split('\0')
            .find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))
            .filter(|value| !value.is_empty())
    };
    let paths = ["/proc/self/cgroup", "/proc/1/cgroup"]
        .iter()
        .filter_map(|file| root.text(file))
        .flat_map(|text| parse_memberships(&text))
        .map(|membership| membership.path)
        .collect::<Vec<_>>();
    let in_path = |word: &str| paths.iter().any(|path| path.contains(word));
    if in_path("kubepods")
        || variable("KUBERNETES_SERVICE_HOST").is_some()
        || root.exists("/run/secrets/kubernetes.io")
    {
        return Some("kubernetes".to_owned());
    }
    if root.exists("/.dockerenv") || in_path("/docker/") || in_path("/docker-") {
        return Some("docker".to_owned());
    }
    if root.exists("/run/.containerenv") || in_path("/libpod-") || in_path("/libpod/") {
        return Some("podman".to_owned());
    }
    if let Some(name) = variable("container") {
        return Some(name.to_owned());
    }
    // Written by systemd inside a container.
    if let Some(name) = root.word("/run/systemd/container") {
        return Some(name);
    }
    if in_path("/lxc/") || in_path("/lxc.payload") {
        return Some("lxc".to_owned());
    }
    // The host of OpenVZ has both.
    (root.exists("/proc/vz") && !root.exists("/proc/bc")).then(|| "openvz".to_owned())
}
