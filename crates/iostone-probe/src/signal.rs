//! Everything that is sampled, read together: one file per signal below.

pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod group;
pub(crate) mod memory;
pub(crate) mod pressure;
pub(crate) mod throttling;

use std::path::PathBuf;
use std::time::Instant;

use iostone_model::sample::{CpuTimes, Pressure, Throttling};

use crate::error::ProbeError;
use crate::root::Root;
use cpu::CpuSignal;
use disk::{DiskSignal, WatchedDevice};
use group::{GroupSignal, GroupUse};
use memory::{MemoryLevels, MemorySignal};
use pressure::PressureSignal;
use throttling::ThrottlingSignal;

use crate::steal::read_steal_sight;

/// What one sample saw, without the devices, whose number differs from probe to probe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Reading {
    /// Nanoseconds since the probe started, at the moment the devices were read.
    pub(crate) at_ns: u64,
    pub(crate) cpu: CpuTimes,
    pub(crate) memory: MemoryLevels,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) throttling: Option<Throttling>,
    pub(crate) governed: Option<Throttling>,
    pub(crate) group: Option<GroupUse>,
}

/// The control groups of a workload, as directories of either version; each is none where there is no such group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchedGroups {
    /// The group with the workload's CPU quota; without one, the tightest quota on the process itself is watched.
    pub quota: Option<PathBuf>,
    /// The group within it whose quota an emulated allowance moves.
    pub governed: Option<PathBuf>,
    /// The group that counts the workload's CPU time (`cpuacct.usage`, or version 2's `cpu.stat`).
    pub usage: Option<PathBuf>,
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
    governed: Option<ThrottlingSignal>,
    group: Option<GroupSignal>,
    /// Whether the kernel sees steal, as far as can be told at the start.
    pub(crate) sees_steal: bool,
    pub(crate) disks: DiskSignal,
    last: Reading,
    /// Signals that went while the probe ran, in words, each once.
    pub(crate) losses: Vec<String>,
}

impl Signals {
    pub(crate) fn open(
        root: &Root,
        devices: &[WatchedDevice],
        groups: &WatchedGroups,
    ) -> Result<Self, ProbeError> {
        let exactly = |group: &PathBuf| ThrottlingSignal::open_exactly(root, group);
        Ok(Self {
            origin: Instant::now(),
            cpu: CpuSignal::open(root)?,
            memory: MemorySignal::open(root)?,
            pressure: PressureSignal::open(root),
            throttling: match &groups.quota {
                Some(quota) => exactly(quota),
                None => ThrottlingSignal::open_own(root),
            },
            governed: groups.governed.as_ref().and_then(exactly),
            group: groups.usage.as_ref().and_then(|group| GroupSignal::open(root, group)),
            sees_steal: read_steal_sight(root).observable,
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
        self.last.governed = take_optional(&mut self.governed, ThrottlingSignal::take, &mut self.losses);
        self.last.group = take_optional(&mut self.group, GroupSignal::take, &mut self.losses);
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
