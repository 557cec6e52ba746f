//! Limits on devices, enforced by the kernel on one control group for each trial, version 1 or 2.
//!
//! Limits that credits move are moved by a thread of ours ([`burst`]) for as long as the group stands.
//!
//! The loop driver charges whoever sent a request, at every level of loop over loop, so one group with limits on the
//! volumes and on the instance below them is the whole model. Version 1 has no hierarchy of limits: a child of the
//! group would have each limit to itself, so that all processes of a trial stand in this one group.

mod burst;
mod confinement;
mod controller;
mod layer;
mod v1;
mod v2;

use std::path::{Path, PathBuf};

use crate::control_groups::CgroupVersion;
use crate::device::DeviceNumber;
use crate::error::StackError;
use iostone_model::experiment::{Burst, Limits};
use iostone_model::units::ByteRate;

pub(crate) use burst::in_words as burst_in_words;
pub(crate) use confinement::go_home;
pub use confinement::{Bounds, Confinement};
pub use controller::ThrottleController;
pub(crate) use layer::{ThrottleLayer, limits_of_link};

/// The limits of one device in a group, as the kernel takes and gives them; none is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Caps {
    /// Bytes a second.
    pub(crate) read_bps: Option<u64>,
    pub(crate) write_bps: Option<u64>,
    /// Requests a second.
    pub(crate) read_iops: Option<u64>,
    pub(crate) write_iops: Option<u64>,
}

impl From<&Limits> for Caps {
    fn from(limits: &Limits) -> Self {
        let (reads, writes) = (limits.reads(), limits.writes());
        Self {
            read_bps: reads.throughput.map(|rate| rate.0),
            write_bps: writes.throughput.map(|rate| rate.0),
            read_iops: reads.iops.map(u64::from),
            write_iops: writes.iops.map(u64::from),
        }
    }
}

impl Caps {
    /// The figures in the order of [`Caps::in_words`].
    fn figures(&self) -> [Option<u64>; 4] {
        [self.read_bps, self.write_bps, self.read_iops, self.write_iops]
    }

    /// Only what is not the same in the other.
    fn without(&self, other: &Self) -> Self {
        let unless = |cap: Option<u64>, same: Option<u64>| cap.filter(|_| cap != same);
        Self {
            read_bps: unless(self.read_bps, other.read_bps),
            write_bps: unless(self.write_bps, other.write_bps),
            read_iops: unless(self.read_iops, other.read_iops),
            write_iops: unless(self.write_iops, other.write_iops),
        }
    }

    /// Each limit in words, and whether there is one: "reads 40MB/s", "writes not limited in IOPS".
    fn in_words(&self) -> [(String, bool); 4] {
        let bps = |what: &str, cap: Option<u64>| {
            let text = cap.map_or("not limited in bytes".to_owned(), |cap| ByteRate(cap).to_string());
            (format!("{what} {text}"), cap.is_some())
        };
        let iops = |what: &str, cap: Option<u64>| {
            let text = cap.map_or("not limited in IOPS".to_owned(), |cap| format!("{cap} IOPS"));
            (format!("{what} {text}"), cap.is_some())
        };
        [
            bps("reads", self.read_bps),
            bps("writes", self.write_bps),
            iops("reads", self.read_iops),
            iops("writes", self.write_iops),
        ]
    }
}

/// A device and its limits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeviceLimits {
    /// Kernel name, for people.
    pub(crate) name: String,
    pub(crate) number: DeviceNumber,
    /// Those of the long run.
    pub(crate) limits: Limits,
    /// What credits lift above them.
    pub(crate) burst: Option<Burst>,
}

impl DeviceLimits {
    /// The limits of the long run.
    fn caps(&self) -> Caps {
        Caps::from(&self.limits)
    }

    /// The limits while there are credits; those of the long run where none are about.
    fn highest_caps(&self) -> Caps {
        let mut caps = self.caps();
        let Some(burst) = &self.burst else { return caps };
        if let Some(iops) = burst.iops.map(u64::from) {
            (caps.read_iops, caps.write_iops) = (Some(iops), Some(iops));
        }
        if let Some(rate) = burst.throughput.map(|rate| rate.0) {
            (caps.read_bps, caps.write_bps) = (Some(rate), Some(rate));
        }
        caps
    }
}

/// What a device has served to the processes of a group, reads and writes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Served {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

/// The group of a trial with what is limited in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThrottleGroup {
    pub(crate) version: CgroupVersion,
    pub(crate) path: PathBuf,
    /// The group that this process came from, and goes back to.
    pub(crate) home: PathBuf,
    pub(crate) devices: Vec<DeviceLimits>,
}

impl ThrottleGroup {
    /// Puts the limits of every device on the group.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] for a limit that the kernel refuses.
    pub(crate) fn write_limits(&self) -> Result<(), StackError> {
        for device in &self.devices {
            self.write_caps(device.number, &device.caps())?;
        }
        Ok(())
    }

    /// Puts the limits of one device on the group. With version 2 one that is left out is lifted, with version 1 it
    /// stays as it was.
    fn write_caps(&self, number: DeviceNumber, caps: &Caps) -> Result<(), StackError> {
        match self.version {
            CgroupVersion::One => v1::write(&self.path, number, caps),
            CgroupVersion::Two => v2::write(&self.path, number, caps),
        }
    }

    /// What a device has served to this group.
    fn served(&self, number: DeviceNumber) -> Result<Served, StackError> {
        match self.version {
            CgroupVersion::One => v1::served(&self.path, number),
            CgroupVersion::Two => v2::served(&self.path, number),
        }
    }

    /// The limits of a device as the kernel has them, and the file or files that say so.
    fn read_limits(&self, number: DeviceNumber) -> Result<(Caps, String), StackError> {
        match self.version {
            CgroupVersion::One => v1::read(&self.path, number),
            CgroupVersion::Two => v2::read(&self.path, number),
        }
    }
}

/// What the kernel answered to a limit that it did not take.
fn refused(asked: String, file: &Path, error: &std::io::Error) -> StackError {
    let read_back = match error.raw_os_error() {
        Some(libc::ENODEV) => format!("{error}: limits are for whole disks, not for partitions"),
        _ => error.to_string(),
    };
    StackError::NotApplied { layer: "throttle", asked, read_back, from: file.display().to_string() }
}

#[cfg(test)]
mod tests;
