//! The processor's count of instructions of this process and its children, where there is one.
//!
//! Virtual machines often have none: `perf_event_open(2)` then fails and the page says so.
#![expect(unsafe_code, reason = "perf_event_open(2) has no binding")]

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;

/// `perf_event_attr` in the first published size (`PERF_ATTR_SIZE_VER0`, `linux/perf_event.h`).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;
/// Bit 1 of the flags: what children do counts as well, once they have ended.
const INHERIT: u64 = 1 << 1;
/// `PERF_FLAG_FD_CLOEXEC`, `linux/perf_event.h`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

fn open() -> Option<File> {
    let attributes = Attributes {
        kind: HARDWARE,
        size: u32::try_from(size_of::<Attributes>()).ok()?,
        config: INSTRUCTIONS,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: INHERIT,
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    // SAFETY: the structure is as long as its `size` says, and the kernel only reads it.
    let opened =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
    let descriptor = i32::try_from(opened).ok().filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Some(unsafe { File::from_raw_fd(descriptor) })
}

/// Instructions so far of this process and of its children that have ended; None without a counter.
pub(crate) fn read() -> Option<u64> {
    static COUNTER: OnceLock<Option<File>> = OnceLock::new();
    let mut counter = COUNTER.get_or_init(open).as_ref()?;
    let mut count = [0; 8];
    counter.read_exact(&mut count).ok()?;
    Some(u64::from_ne_bytes(count))
}
