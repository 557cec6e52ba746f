//! Reads the meters of processor time at the edges of the measured window.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::driver::Watch;
use crate::outcome::{CpuTime, Scheduling};
use crate::usage;

/// Processor time of the whole process from the first opening of a window to the last closing.
#[derive(Debug, Default)]
pub(crate) struct ProcessMeter {
    opened: OnceLock<CpuTime>,
    running: AtomicUsize,
    closed: Mutex<Option<CpuTime>>,
}

impl ProcessMeter {
    fn open(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.opened.get_or_init(usage::read_process);
    }

    fn close(&self) {
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage::read_process());
        }
    }

    /// What was used; nothing if no window ever opened.
    pub(crate) fn used(&self) -> CpuTime {
        let closed = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.opened.get(), closed) {
            (Some(opened), Some(closed)) => usage::used_between(*opened, closed),
            _ => CpuTime::default(),
        }
    }
}

/// Reads the process's and the thread's meters at the edges of the window.
pub(super) struct EdgeMeter<'a> {
    process: &'a ProcessMeter,
    opened: (CpuTime, Scheduling),
    pub(super) used: CpuTime,
    pub(super) scheduled: Scheduling,
}

impl<'a> EdgeMeter<'a> {
    pub(super) fn new(process: &'a ProcessMeter) -> Self {
        let nothing = (CpuTime::default(), Scheduling::default());
        Self { process, opened: nothing, used: nothing.0, scheduled: nothing.1 }
    }
}

impl Watch for EdgeMeter<'_> {
    fn opened(&mut self) {
        self.process.open();
        self.opened = usage::read_thread();
    }

    fn closed(&mut self) {
        let (used, scheduled) = usage::read_thread();
        self.used = usage::used_between(self.opened.0, used);
        self.scheduled = usage::scheduled_between(self.opened.1, scheduled);
        self.process.close();
    }
}
