//! Whether this kernel can see time that a hypervisor gave to others: where it cannot, a steal of 0 says nothing.

mod cpuid;

use std::sync::OnceLock;

use iostone_model::environment::StealSight;

use crate::environment::hypervisor_name;
use crate::fields::split_lines;
use crate::root::Root;
use cpuid::Face;

/// `KVM_FEATURE_STEAL_TIME`: KVM keeps a record of stolen time for each processor, which the kernel takes for its
/// steal clock (Documentation/virt/kvm/x86/cpuid.rst; `kvm_guest_init`, arch/x86/kernel/kvm.c).
const KVM_STEAL_TIME: u32 = 1 << 5;
/// `KVM_FEATURE_CLOCKSOURCE` and `KVM_FEATURE_CLOCKSOURCE2`.
const KVM_CLOCKS: u32 = 1 << 0 | 1 << 3;

/// What there is to judge by.
#[derive(Debug, Clone, Default)]
struct Facts {
    /// As the environment names it; `none` without one.
    hypervisor: String,
    /// Empty without a hypervisor or without CPUID, and where the files are of another machine.
    faces: Vec<Face>,
    /// Xen's own interface in sysfs: the kernel knows that it stands on Xen.
    is_xen: bool,
    command_line: String,
    /// Clock sources that the kernel has; empty where it does not tell.
    clocks: String,
    /// The filesystem that something else than the kernel shows `/proc/stat` with.
    stat_by: Option<String>,
    /// Steal since the machine started, ticks.
    counted: u64,
}

/// Finds out whether time that a hypervisor gives to others shows as steal in `/proc/stat`.
///
/// Without a hypervisor nothing can be stolen, and 0 is true. In a guest the hypervisor has to tell, and the kernel has
/// to ask: KVM (arch/x86/kernel/kvm.c), Xen (arch/x86/xen/time.c), `VMware` where the machine is configured to
/// (arch/x86/kernel/cpu/vmware.c), KVM on ARM (arch/arm64/kernel/paravirt.c). QEMU's translator and Hyper-V
/// (arch/x86/kernel/cpu/mshyperv.c) have no such clock. A counter that ever moved proves one.
pub fn read_steal_sight(root: &Root) -> StealSight {
    judge(&Facts::read(root))
}

impl Facts {
    fn read(root: &Root) -> Self {
        let stat_by = root.mounts().into_iter().find(|mount| mount.target.as_os_str() == "/proc/stat");
        Self {
            hypervisor: hypervisor_name(root),
            faces: if root.is_live() { live_faces(root) } else { Vec::new() },
            is_xen: root.word("/sys/hypervisor/type").as_deref() == Some("xen"),
            command_line: root.text("/proc/cmdline").unwrap_or_default(),
            clocks: root
                .word("/sys/devices/system/clocksource/clocksource0/available_clocksource")
                .unwrap_or_default(),
            stat_by: stat_by.map(|mount| mount.filesystem),
            counted: root.bytes("/proc/stat").and_then(|text| counted_steal(&text)).unwrap_or_default(),
        }
    }

    fn has_argument(&self, argument: &str) -> bool {
        self.command_line.split_whitespace().any(|word| word == argument)
    }
}

/// CPUID does not change while the machine runs, and each look costs a way out of the guest and back.
fn live_faces(root: &Root) -> Vec<Face> {
    static FACES: OnceLock<Vec<Face>> = OnceLock::new();
    FACES
        .get_or_init(|| {
            let flagged = root.text("/proc/cpuinfo").is_some_and(|text| has_hypervisor_flag(&text));
            if flagged { cpuid::read_faces() } else { Vec::new() }
        })
        .clone()
}

/// CPUID leaf 1, ECX bit 31, which is zero on every real processor, as the flag `hypervisor`.
pub(crate) fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The eighth figure of the first line (`proc_stat(5)`).
fn counted_steal(stat: &[u8]) -> Option<u64> {
    let line = split_lines(stat).find(|line| line.starts_with(b"cpu "))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().nth(8)?.parse().ok()
}

fn judge(facts: &Facts) -> StealSight {
    let seen = |because: &str| StealSight { observable: true, because: because.to_owned() };
    let unseen = |because: &str| StealSight { observable: false, because: because.to_owned() };
    if facts.counted > 0 {
        return seen("the kernel has counted some since it started");
    }
    if let Some(filesystem) = &facts.stat_by {
        return unseen(&format!("`/proc/stat` is shown by {filesystem}, not by the kernel, and has none"));
    }
    if facts.is_xen {
        return seen("Xen tells how long each processor waited");
    }
    if facts.hypervisor == "none" && facts.faces.is_empty() {
        return seen("there is no hypervisor");
    }
    if facts.has_argument("nopv") {
        return unseen("the kernel was started with `nopv` and asks no hypervisor");
    }
    let face = |signature: &str| facts.faces.iter().find(|face| face.signature == signature);
    if let Some(kvm) = face("KVMKVMKVM") {
        return judge_kvm(facts, kvm).map_or_else(unseen, seen);
    }
    if face("TCGTCGTCGTCG").is_some() || facts.hypervisor == "qemu (TCG)" {
        return unseen("QEMU without KVM (TCG) has no steal clock");
    }
    if face("Microsoft Hv").is_some() || facts.hypervisor == "microsoft" {
        return unseen("Linux has no steal clock on Hyper-V");
    }
    if face("VMwareVMware").is_some() || facts.hypervisor == "vmware" {
        return unseen(
            "VMware tells it only where `stealclock.enable` is set, and the kernel has counted none since it started",
        );
    }
    let name = match (facts.faces.first(), facts.hypervisor.as_str()) {
        (_, name) if !matches!(name, "none" | "unknown hypervisor") => name,
        (Some(face), _) => face.signature.as_str(),
        (None, _) => "the hypervisor",
    };
    unseen(&format!(
        "whether {name} tells the kernel cannot be known, and the kernel has counted none since it started"
    ))
}

/// Why steal is seen in a guest of KVM, or why not.
fn judge_kvm(facts: &Facts, kvm: &Face) -> Result<&'static str, &'static str> {
    if kvm.features & KVM_STEAL_TIME == 0 {
        return Err("KVM offers this guest no steal time");
    }
    // The clock and the steal time are of the same part of the kernel, CONFIG_KVM_GUEST, and only the clock shows.
    let has_clock = facts.clocks.split_whitespace().any(|clock| clock == "kvm-clock");
    let would_have = kvm.features & KVM_CLOCKS != 0 && !facts.has_argument("no-kvmclock");
    if would_have && !has_clock && !facts.clocks.is_empty() {
        return Err("this kernel was built without support for being a guest of KVM");
    }
    Ok("KVM tells how long each processor waited")
}

#[cfg(test)]
mod tests;
