//! What tests of limits share: their turns, and where they cannot run.
#![expect(clippy::print_stderr, reason = "skipped tests say so")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use iostone_stack::ThrottleController;

/// A process is in one group at a time, and which groups there are is the whole machine's, so that tests take turns.
pub(crate) fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True, with a word about it, where limits cannot be set.
pub(crate) fn needs_limits(test: &str) -> bool {
    if super::machine::needs_root(test) {
        return true;
    }
    if let Err(error) = ThrottleController::find() {
        eprintln!("{test} skipped: {error}");
        return true;
    }
    false
}
