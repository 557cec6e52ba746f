//! What neither std nor rustix asks the kernel: whether two threads share their descriptors.
#![expect(unsafe_code, reason = "rustix and std have no call for kcmp(2)")]

/// `KCMP_FILES` of linux/kcmp.h.
const KCMP_FILES: libc::c_int = 2;

/// Whether two threads have one table of descriptors (kcmp(2)). Where the kernel does not say, they have not.
pub(super) fn share_descriptors(one: u32, other: u32) -> bool {
    // SAFETY: kcmp takes five integers and touches no memory of this process.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            one.cast_signed(),
            other.cast_signed(),
            KCMP_FILES,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
        )
    };
    answer == 0
}
