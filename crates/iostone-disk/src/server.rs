//! The server: binds the sockets of a plan, and serves them until it is told to end.

pub(crate) mod buffers;
mod connection;
mod destager;
mod event_loop;
pub(crate) mod input;
mod output;
mod socket;
mod steering;
pub(crate) mod task;
mod timer;
mod workers;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostone_engine::Pins;

use self::event_loop::EventLoop;
use self::socket::Socket;
use self::task::Task;
use crate::device::Device;
use crate::error::DiskError;
use crate::model::VolumeState;
use crate::plan::{DiskPlan, Store};
use crate::protocol::handshake::Export;

/// One volume in service.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) export: Export,
    pub(crate) socket: Socket,
    pub(crate) device: Arc<Device>,
    pub(crate) state: VolumeState,
}

impl Volume {
    /// Whether the power has been on since the task arrived. If not, it fails, whatever had become of it.
    pub(crate) fn has_had_power_for(&self, task: &Task) -> bool {
        self.state.is_powered() && self.state.cuts() == task.cuts
    }
}

/// A server whose sockets are there: whoever connects is served as soon as it runs.
#[derive(Debug)]
pub struct Server {
    event_loop: EventLoop,
}

/// Threads for syncs and the like; one for each request past the page cache that is worth having at a time.
const WORKERS: usize = 2;
const DIRECT_WORKERS: usize = 8;

impl Server {
    /// Opens everything that the plan names: stores first, then sockets.
    ///
    /// # Errors
    /// What [`DiskError`] says of plans, stores and sockets. Nothing is left behind then.
    pub fn bind(plan: &DiskPlan) -> Result<Self, DiskError> {
        Self::bind_pinned(plan, &Pins::default())
    }

    /// As [`Server::bind`], on files and devices that the caller holds open, by the paths that the plan has for them: what
    /// the caller looked at is what is served. They need not be held any longer when this returns.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub fn bind_pinned(plan: &DiskPlan, pins: &Pins) -> Result<Self, DiskError> {
        check(plan)?;
        let mut volumes = Vec::new();
        for (volume, number) in plan.volumes.iter().zip(0_u64..) {
            // Volumes of one plan draw differently, and the same in every server with that seed.
            let seed = plan.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let device = Arc::new(Device::open(volume, pins, seed)?);
            let socket = Socket::bind(&volume.socket, &plan.control)?;
            let export = Export { name: volume.name.clone(), size_bytes: volume.model.size.0 };
            volumes.push(Volume { export, socket, device, state: VolumeState::new(&volume.model, seed) });
        }
        let control = Socket::bind(&plan.control, &plan.control)?;
        let past_the_cache = |store: &Store| matches!(store, Store::File { direct: true, .. });
        let is_direct = plan.volumes.iter().any(|volume| past_the_cache(&volume.store));
        let workers = if is_direct { DIRECT_WORKERS } else { WORKERS };
        Ok(Self { event_loop: EventLoop::new(volumes, control, plan, workers)? })
    }

    /// Serves until the flag is raised, or a control client ends it. Then connections are closed, what is under way is
    /// finished, caches go to their medium, media are synced, and the sockets are removed. The flag is looked at five times
    /// a second, and whenever a signal interrupts.
    ///
    /// # Errors
    /// When the loop fails, or a medium cannot be synced at the end.
    pub fn run(self, stop: &AtomicBool) -> Result<(), DiskError> {
        self.event_loop.run(stop)
    }
}

/// Carries out a plan until the flag is raised, or a control client ends it.
///
/// # Errors
/// As [`Server::bind`] and [`Server::run`].
pub fn serve(plan: &DiskPlan, stop: &AtomicBool) -> Result<(), DiskError> {
    Server::bind(plan)?.run(stop)
}

fn check(plan: &DiskPlan) -> Result<(), DiskError> {
    let refused = |what: String| Err(DiskError::Plan(what));
    if plan.volumes.is_empty() {
        return refused("a server needs a volume; the plan has none".to_owned());
    }
    for (index, volume) in plan.volumes.iter().enumerate() {
        let earlier = plan.volumes.get(..index).unwrap_or_default();
        if volume.model.size.0 == 0 {
            return refused(format!("volume `{}` has size 0; give it a size", volume.name));
        }
        if earlier.iter().any(|other| other.name == volume.name) {
            return refused(format!("two volumes are named `{}`; rename one", volume.name));
        }
        if volume.socket == plan.control || earlier.iter().any(|other| other.socket == volume.socket) {
            let socket = volume.socket.display();
            return refused(format!(
                "`{socket}` is given twice; each volume and the control socket need their own"
            ));
        }
    }
    Ok(())
}
