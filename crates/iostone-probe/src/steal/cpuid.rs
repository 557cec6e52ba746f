//! Which hypervisors present themselves through CPUID, and what KVM offers.

/// The first leaf that hypervisors own; the processor itself keeps clear of it (Intel SDM volume 2A, CPUID).
#[cfg(target_arch = "x86_64")]
const FIRST_LEAF: u32 = 0x4000_0000;
/// A hypervisor that presents itself as another first moves its own leaves up by so much (`hypervisor_cpuid_base`,
/// arch/x86/include/asm/processor.h).
#[cfg(target_arch = "x86_64")]
const APART: u32 = 0x100;
/// The kernel looks through 256 places; all known hypervisors are at the first two, and each look leaves the guest.
#[cfg(target_arch = "x86_64")]
const PLACES: u32 = 4;

/// One of the faces that a hypervisor shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Face {
    /// Twelve letters: `KVMKVMKVM`, `TCGTCGTCGTCG`; NUL at the end left out.
    pub(super) signature: String,
    /// EAX of the leaf after the signature's: of KVM, its features (Documentation/virt/kvm/x86/cpuid.rst).
    pub(super) features: u32,
}

/// The faces in order; only to be asked where the processor says that there is a hypervisor, for on some real ones
/// these leaves hold what another leaf does. Empty on architectures without CPUID.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, unsafe_code, reason = "CPUID was an unsafe function before Rust 1.94")]
pub(super) fn read_faces() -> Vec<Face> {
    use core::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has CPUID, and it touches nothing but registers.
    let read = |leaf: u32| unsafe { __cpuid(leaf) };
    let face = |place: u32| {
        let base = FIRST_LEAF + place * APART;
        let leaf = read(base);
        let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
        let signature = String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned();
        // Places that nobody owns are zero, or repeat what the last basic leaf says.
        let owned =
            signature.len() > 3 && signature.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
        owned.then(|| Face { signature, features: read(base + 1).eax })
    };
    (0..PLACES).filter_map(face).collect()
}

/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn read_faces() -> Vec<Face> {
    Vec::new()
}
