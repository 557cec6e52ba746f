//! A workload under the limits of its trial, and what is said where the kernel killed something of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use iostone_model::trial::WorkloadReport;
use iostone_model::units::Bytes;
use iostone_stack::Bounds;

use crate::StopFlag;
use crate::failure::{Failure, FailureKind};

/// A workload under limits is watched for its end this often.
const LOOK_AT_STOP_EVERY: Duration = Duration::from_millis(50);
/// Runs a workload under limits, and lifts them once it is to stop: what waits for its turn under a tight one hears no
/// signal, and the workload ends only after it.
///
/// Only the workload itself is held to them: what is laid out before, and undone after, is no business of the limits. On
/// every way out of here the process has left them.
pub(super) fn run_within<T>(
    bounds: Option<&Bounds>,
    stop: &StopFlag,
    run: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(bounds) = bounds else { return run() };
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        // However the workload ends, a panic included, the scope waits for this thread.
        let _ended = RaisedOnDrop(&ended);
        // Started before the limits are entered, it is not held to them.
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    bounds.lift_limits();
                }
                thread::sleep(LOOK_AT_STOP_EVERY);
            }
        });
        let inside = bounds.enter()?;
        let result = run()?;
        inside.leave()?;
        Ok(result)
    })
}

struct RaisedOnDrop<'a>(&'a AtomicBool);

impl Drop for RaisedOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Says of a workload under a memory limit that the kernel killed something of it: as the reason of its failure, or beside
/// its figures where it went on without.
pub(super) fn tell_kills(report: &mut WorkloadReport, kills: u64, limit: Option<Bytes>) {
    let Some(limit) = limit.filter(|_| kills > 0) else { return };
    let by = format!("killed by its memory limit of {limit}");
    let whom = whom(kills);
    match &mut report.error {
        Some(error) if error.ends_with("signal 9") => *error = format!("{error}: {by}; raise `limit.memory`"),
        Some(error) => *error = format!("{error}: {whom} {by}; raise `limit.memory`"),
        None => {
            report.facts.insert("memory".to_owned(), format!("{whom} {by}"));
        }
    }
}

fn whom(kills: u64) -> String {
    if kills == 1 { "one of its processes was".to_owned() } else { format!("{kills} of its processes were") }
}

/// Says so of a container that failed where the kernel killed something of the trial: its agent, if that was `killed`.
pub(super) fn tell_kill(failure: Failure, killed: bool, kills: u64, limit: Option<Bytes>) -> Failure {
    match limit.filter(|_| kills > 0 && failure.kind == FailureKind::Container) {
        Some(limit) => {
            let by = format!("killed by its memory limit of {limit}; raise `limit.memory`");
            let message =
                if killed { format!("{failure}: {by}") } else { format!("{failure}: {} {by}", whom(kills)) };
            Failure::new(failure.kind, message)
        }
        None => failure,
    }
}
