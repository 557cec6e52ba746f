//! What tests of limits share: their turns, and where they cannot run.
#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "skipped tests say so, and failed ones panic")]

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostone_model::experiment::{LoopVolume, Stack, Volume};
use iostone_model::units::{ByteRate, Bytes};
use iostone_stack::ThrottleController;

use super::machine::MIB;

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

/// A volume with nothing on it.
pub(crate) fn bare(volume: LoopVolume) -> Stack {
    Stack::of(Volume::Loop(volume))
}

/// A device with 16 MB/s for reads and 400 writes a second.
pub(crate) fn mixed() -> LoopVolume {
    LoopVolume {
        read_throughput: Some(ByteRate(16_000_000)),
        write_iops: Some(400),
        ..LoopVolume::new(Bytes(64 * MIB))
    }
}

/// The control groups of tests that are there.
pub(crate) fn groups_of_tests() -> Vec<PathBuf> {
    let parent = ThrottleController::find().unwrap().parent;
    std::fs::read_dir(parent)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("iostone-test-"))
        .collect()
}
