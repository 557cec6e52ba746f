//! Everything that is sampled, read together: one file per signal below.

pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod pressure;
pub(crate) mod throttling;

use std::path::Path;
use std::time::Instant;

use iostone_model::sample::{CpuTimes, Pressure, Throttling};

use crate::error::ProbeError;
use crate::root::Root;
use cpu::CpuSignal;
use disk::{DiskSignal, WatchedDevice};
use memory::{MemoryLevels, MemorySignal};
use pressure::PressureSignal;
use throttling::ThrottlingSignal;

/// What one sample saw, without the devices, whose number differs from probe to probe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Reading {
    /// Nanoseconds since the probe started, at the moment the devices were read.
    pub(crate) at_ns: u64,
    pub(crate) cpu: CpuTimes,
    pub(crate) memory: MemoryLevels,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) throttling: Option<Throttling>,
}

/// Whether the devices are read before or after everything else: what is read nearest to the workload is exactest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    DevicesFirst,
    DevicesLast,
}

/// All signals, open.
#[derive(Debug)]
pub(crate) struct Signals {
    origin: Instant,
    cpu: CpuSignal,
    memory: MemorySignal,
    pressure: Option<PressureSignal>,
    throttling: Option<ThrottlingSignal>,
    pub(crate) disks: DiskSignal,
    last: Reading,
    /// Signals that went while the probe ran, in words, each once.
    pub(crate) losses: Vec<String>,
}

impl Signals {
    pub(crate) fn open(
        root: &Root,
        devices: &[WatchedDevice],
        group: Option<&Path>,
    ) -> Result<Self, ProbeError> {
        Ok(Self {
            origin: Instant::now(),
            cpu: CpuSignal::open(root)?,
            memory: MemorySignal::open(root)?,
            pressure: PressureSignal::open(root),
            throttling: ThrottlingSignal::open(root, group),
            disks: DiskSignal::open(root, devices)?,
            last: Reading::default(),
            losses: Vec::new(),
        })
    }

    /// Reads everything. A signal that every kernel has keeps its last value when it cannot be read, an optional
    /// one is `None` from then on; either is noted once in `losses`.
    pub(crate) fn take(&mut self, order: Order) -> Reading {
        if order == Order::DevicesLast {
            self.take_others();
        }
        self.last.at_ns = u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.disks.take(self.last.at_ns);
        if order == Order::DevicesFirst {
            self.take_others();
        }
        self.last
    }

    fn take_others(&mut self) {
        match self.cpu.take() {
            Ok(times) => self.last.cpu = times,
            Err(error) => note_once(&mut self.losses, &error),
        }
        match self.memory.take() {
            Ok(levels) => self.last.memory = levels,
            Err(error) => note_once(&mut self.losses, &error),
        }
        self.last.pressure = take_optional(&mut self.pressure, PressureSignal::take, &mut self.losses);
        self.last.throttling = take_optional(&mut self.throttling, ThrottlingSignal::take, &mut self.losses);
    }
}

/// Takes from a signal that may be absent; one that fails is given up.
fn take_optional<S, T>(
    signal: &mut Option<S>,
    take: impl FnOnce(&mut S) -> Result<T, ProbeError>,
    losses: &mut Vec<String>,
) -> Option<T> {
    match take(signal.as_mut()?) {
        Ok(value) => Some(value),
        Err(error) => {
            note_once(losses, &error);
            *signal = None;
            None
        }
    }
}

fn note_once(losses: &mut Vec<String>, error: &ProbeError) {
    let sentence = error.to_string();
    if !losses.contains(&sentence) {
        losses.push(sentence);
    }
}
