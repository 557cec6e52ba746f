//! Ctrl-C: the first asks everything to stop and undo, the second warns, the third ends the process at once.
//!
//! SIGTERM, SIGHUP and SIGQUIT only ever ask: service managers, `timeout` and a closing terminal send several signals in a row,
//! and none of them means that the machine should be left as it is.

#![expect(unsafe_code, reason = "installing a signal handler")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use iostone_machine::StopFlag;

static STOP: OnceLock<StopFlag> = OnceLock::new();
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

const WARNING: &[u8] = b"\niostone: undoing; press Ctrl-C again to stop and leave everything as it is\n";
const FAREWELL: &[u8] = b"\niostone: not everything was undone; run `iostone cleanup`\n";
/// Partial: something is left, and `iostone cleanup` takes it up.
const LEFT_BEHIND: libc::c_int = 4;

extern "C" fn on_signal(signal: libc::c_int) {
    // Only loads, stores, write(2) and _exit(2) here: all that a signal handler may do.
    if let Some(stop) = STOP.get() {
        stop.store(true, Ordering::Relaxed);
    }
    if signal != libc::SIGINT {
        return;
    }
    match INTERRUPTS.fetch_add(1, Ordering::Relaxed) {
        0 => {}
        1 => say(WARNING),
        _ => {
            say(FAREWELL);
            // SAFETY: _exit(2) is async-signal-safe and does not return.
            unsafe { libc::_exit(LEFT_BEHIND) };
        }
    }
}

fn say(text: &[u8]) {
    // SAFETY: write(2) is async-signal-safe; pointer and length are of a static.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// The flag that SIGINT, SIGTERM, SIGHUP and SIGQUIT raise from now on.
pub(crate) fn stop_flag() -> StopFlag {
    let stop = STOP.get_or_init(StopFlag::default);
    // SAFETY: an all-zero sigaction is valid, the handler only does what is async-signal-safe, and the pointers are
    // to a live local.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
        // No SA_RESTART: a call that waits is to return, so that the flag is looked at.
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    StopFlag::clone(stop)
}
