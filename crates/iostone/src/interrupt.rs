//! Ctrl-C: the first one asks everything to stop and undo, the second one ends the process at once.

#![expect(unsafe_code, reason = "installing a signal handler")]

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use iostone_machine::StopFlag;

static STOP: OnceLock<StopFlag> = OnceLock::new();

extern "C" fn on_signal(_: libc::c_int) {
    // Only loads, stores and _exit(2) here: all that a signal handler may do.
    if let Some(stop) = STOP.get()
        && stop.swap(true, Ordering::Relaxed)
    {
        // SAFETY: _exit(2) is async-signal-safe and does not return.
        unsafe { libc::_exit(130) };
    }
}

/// The flag that SIGINT, SIGTERM and SIGHUP raise from now on.
pub(crate) fn stop_flag() -> StopFlag {
    let stop = STOP.get_or_init(StopFlag::default);
    // SAFETY: an all-zero sigaction is valid, the handler only does what is async-signal-safe, and the pointers are
    // to a live local.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
        // No SA_RESTART: a call that waits is to return, so that the flag is looked at.
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    StopFlag::clone(stop)
}
