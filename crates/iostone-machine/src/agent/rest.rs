//! The devices of a stack as the probe watches them, and how long it takes until they are at rest.

use std::sync::atomic::Ordering;
use std::time::Instant;

use iostone_probe::{WatchedDevice, watch_idle};

use crate::StopFlag;
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Settle, Settled};

/// A device as the probe watches it.
pub(crate) fn watch(device: &iostone_stack::StackDevice) -> WatchedDevice {
    WatchedDevice {
        name: device.name.clone(),
        role: match device.role {
            iostone_stack::Role::Stack => iostone_probe::Role::Stack,
            iostone_stack::Role::Member => iostone_probe::Role::Member,
            iostone_stack::Role::Below => iostone_probe::Role::Below,
        },
    }
}

/// Waits until devices were at rest for a whole window and `enough` says so too, or patience is at its end.
///
/// # Errors
/// A device that went, or [`FailureKind::Interrupted`].
pub(crate) fn await_rest(
    devices: &[WatchedDevice],
    settle: &Settle,
    stop: &StopFlag,
    enough: &dyn Fn() -> bool,
) -> Result<Settled, Failure> {
    let started = Instant::now();
    loop {
        let idleness = watch_idle(devices, settle.window.0, stop).map_err(|error| probe_failure(&error))?;
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        let busiest = idleness.devices.iter().max_by_key(|device| device.bytes());
        let rate = busiest.map_or(0.0, |device| device.bytes() as f64 / idleness.seconds.max(1e-9));
        let at_rest = settle.limit_bytes_per_second.is_none_or(|limit| rate <= limit);
        if (at_rest && enough()) || started.elapsed() >= settle.patience.0 {
            return Ok(Settled {
                at_rest,
                waited_seconds: started.elapsed().as_secs_f64(),
                bytes_per_second: rate,
                busiest: busiest.map(|device| device.name.clone()),
            });
        }
    }
}

pub(crate) fn probe_failure(error: &iostone_probe::ProbeError) -> Failure {
    Failure::new(FailureKind::Failed, format!("the probe: {error}"))
}
