//! Ctrl-C: the tool that runs ends by it, and what was made is removed on the way out.
#![expect(unsafe_code, reason = "installing a signal handler")]

use std::sync::atomic::{AtomicBool, Ordering};

static RAISED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    RAISED.store(true, Ordering::Relaxed);
}

/// Notes SIGINT, SIGTERM and SIGHUP from now on instead of ending by them.
pub(crate) fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, on_signal as *const () as libc::sighandler_t) };
    }
}

/// Whether one of them arrived.
pub(crate) fn is_raised() -> bool {
    RAISED.load(Ordering::Relaxed)
}
