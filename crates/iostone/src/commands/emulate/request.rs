//! What is to be emulated, settled from the catalogue: a stack with plain figures, and what is worth saying of it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use iostone_cloud::catalogue;
use iostone_lab::{InstancePart, settle_instance, settle_volume};
use iostone_machine::Failure;
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::{
    AllowanceStart, Array, Btrfs, BtrfsArray, BtrfsProfile, Burst, CpuLimit, EmulatedBy, EmulatedInstance,
    EmulatedVolume, Ext4, FASTEST_EMULATION, FASTEST_SPEED, Filesystem, Link, MdArray, MdLevel, Mount, Stack,
    Volume, Xfs,
};
use iostone_model::units::Bytes;

use super::arguments::{EmulateArguments, FilesystemKind, Raid, Start};

/// Left free of the disk below, as the stack itself leaves it: a twentieth, a GiB at most.
const MOST_RESERVE: u64 = 1 << 30;

/// Everything that is to be built, and what it stands for.
#[derive(Debug, Clone)]
pub(super) struct EmulationRequest {
    /// The instance as it was asked for.
    pub(super) instance: EmulatedInstance,
    /// The volumes at their real size.
    pub(super) volumes: VolumeSpec,
    /// Whose limits hold.
    pub(super) date: CatalogueDate,
    /// What is built.
    pub(super) stack: Stack,
    /// What is run.
    pub(super) argv: Vec<OsString>,
    /// Where the files of the volumes go.
    pub(super) work_directory: PathBuf,
    /// What of the instance is not emulated.
    pub(super) notes: Vec<String>,
}

impl EmulateArguments {
    /// What is to be built.
    ///
    /// # Errors
    /// What the catalogue does not know, and what cannot be built of it.
    pub(super) fn asked(&self) -> Result<EmulationRequest> {
        if !(self.speed.is_finite() && (1.0..=FASTEST_EMULATION).contains(&self.speed)) {
            bail!(
                "`--speed {}`: expected a factor from 1 to {FASTEST_EMULATION}, as in `--speed 60`",
                self.speed
            );
        }
        let date = self.date.unwrap_or_else(|| CatalogueDate::of_day(jiff::Zoned::now().date()));
        let instance = EmulatedInstance {
            emulate: self.instance.clone(),
            speed: self.speed,
            date: Some(date),
            start: match self.start {
                Start::Launch => AllowanceStart::Launch,
                Start::Full => AllowanceStart::Full,
                Start::Empty => AllowanceStart::Empty,
            },
            link: self.link()?,
            usd_per_hour: None,
        };
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        let is_governed = iostone_cloud::allowance(&self.instance, None).is_ok();
        if is_governed && self.speed > FASTEST_SPEED && !self.no_cpu {
            bail!(
                "`--speed {}`: the CPU allowance of {} is emulated at most {FASTEST_SPEED} times faster; lower the speed, or \
                 skip CPU emulation with `--no-cpu`",
                self.speed,
                self.instance
            );
        }
        let settled = if self.no_cpu {
            // Its processors are left as they are, whatever they are.
            let slow = EmulatedInstance { speed: 1.0, ..instance.clone() };
            let mut settled = settle_instance(&slow, processors).map_err(in_options)?;
            settled.link = iostone_lab::settle_link(&instance);
            settled.notes.retain(|note| note.part != InstancePart::Processors);
            settled
        } else {
            settle_instance(&instance, processors).map_err(in_options)?
        };
        let instance_link = settled.link;
        let mut stack = Stack {
            array: self.array(),
            filesystem: self.filesystem(),
            mount: Mount { options: self.mount_options.clone() },
            link: settled.link,
            ..Stack::of(Volume::Emulated(self.emulated(date, &instance)?))
        };
        if !self.no_cpu {
            stack.governor = settled.governor.map(Box::new);
            stack.limit.cpu = settled.cpu.unwrap_or(CpuLimit::None);
        }
        self.check(&stack)?;
        let argv = if self.command.is_empty() { vec![super::shell()?] } else { self.command.clone() };
        let place = || std::env::var_os("TMPDIR").filter(|path| !path.is_empty()).map(PathBuf::from);
        let directory = self.directory.clone().or_else(place).unwrap_or_else(|| PathBuf::from("/var/tmp"));
        let work_directory = std::path::absolute(&directory)?;
        if !work_directory.is_dir() {
            bail!("`{}` is not a directory; name one with `--directory`", directory.display());
        }
        Ok(EmulationRequest {
            instance,
            volumes: self.volume.clone(),
            date,
            stack,
            argv,
            work_directory,
            notes: settled
                .notes
                .into_iter()
                .map(|note| note.text)
                .chain(self.link_note(instance_link))
                .collect(),
        })
    }

    /// The link in place of the catalogue's: what is not said of it stays as that has it, but a burst of bytes, which would be
    /// of another rate.
    fn link(&self) -> Result<Option<Link>> {
        let known = catalogue().instance(&self.instance)?.link();
        if self.link.is_some_and(|rate| rate.0 == 0) {
            bail!("`--link` must be above 0, as in `--link 500Mbps`");
        }
        let Some(mut link) = self
            .link
            .map(|throughput| Link { throughput, ..known.unwrap_or(Link::of(throughput)) })
            .or(known)
        else {
            if self.link_iops.is_some() {
                bail!("`--link-iops`: the link of {} is unknown; give its rate with `--link`", self.instance);
            }
            return Ok(None);
        };
        if self.link.is_none() && self.link_iops.is_none() {
            return Ok(None);
        }
        link.burst = link.burst.and_then(|burst| {
            let burst = match self.link {
                Some(_) => Burst { throughput: None, credit_bytes: None, ..burst },
                None => burst,
            };
            let burst = match self.link_iops {
                Some(_) => Burst { iops: None, credits: None, ..burst },
                None => burst,
            };
            (burst.iops.is_some() || burst.throughput.is_some()).then_some(burst)
        });
        link.iops = self.link_iops.or(link.iops);
        Ok(Some(link))
    }

    /// What stays of the catalogue's link beside the rate that was asked for.
    fn link_note(&self, link: Option<Link>) -> Option<String> {
        let iops = link.filter(|_| self.link.is_some() && self.link_iops.is_none())?.iops?;
        Some(format!("`--link` keeps the {iops} IOPS of {}; change them with `--link-iops`", self.instance))
    }

    fn emulated(&self, date: CatalogueDate, instance: &EmulatedInstance) -> Result<EmulatedVolume> {
        let spec = &self.volume;
        let name = match spec.provider.as_str() {
            "aws" => spec.volume_type.clone(),
            provider => format!("{provider}/{}", spec.volume_type),
        };
        let asked = EmulatedVolume {
            volume_type: Some(name),
            count: spec.count,
            iops: spec.iops,
            throughput: spec.throughput,
            // Only the server counts what passes, and keeps its time whatever lies below.
            by: Some(EmulatedBy::Server),
            fill: false,
            ..EmulatedVolume::new(spec.size)
        };
        settle_volume(&asked, date, Some(instance)).map_err(in_options)
    }

    fn filesystem(&self) -> Filesystem {
        match self.filesystem {
            FilesystemKind::Ext4 => Filesystem::Ext4(Ext4::default()),
            FilesystemKind::Xfs => Filesystem::Xfs(Xfs::default()),
            FilesystemKind::Btrfs => Filesystem::Btrfs(Btrfs::default()),
            FilesystemKind::None => Filesystem::None,
        }
    }

    /// A btrfs joins its devices itself; everything else stands on md.
    fn array(&self) -> Array {
        let raid = match self.raid {
            None if self.volume.count == 1 => return Array::None,
            raid => raid.unwrap_or(Raid::Raid0),
        };
        if self.filesystem == FilesystemKind::Btrfs {
            let level = match raid {
                Raid::Raid0 => BtrfsProfile::Raid0,
                Raid::Raid1 => BtrfsProfile::Raid1,
                Raid::Raid10 => BtrfsProfile::Raid10,
            };
            return Array::Btrfs(BtrfsArray { level, metadata: None });
        }
        let level = match raid {
            Raid::Raid0 => MdLevel::Raid0,
            Raid::Raid1 => MdLevel::Raid1,
            Raid::Raid10 => MdLevel::Raid10,
        };
        Array::Md(MdArray { level, chunk: None, metadata: None })
    }

    fn check(&self, stack: &Stack) -> Result<()> {
        if self.volume.count == 1 && self.raid.is_some() {
            bail!("`--raid` needs several volumes and `{}` is one; use e.g. `--volume 2x{0}`", self.volume);
        }
        if stack.filesystem == Filesystem::None && !self.mount_options.is_empty() {
            bail!("`--mount-options` needs a filesystem; `--filesystem none` mounts nothing");
        }
        Ok(())
    }
}

/// Names keys of an experiment file as the options that they are here.
fn in_options(error: iostone_lab::LabError) -> anyhow::Error {
    let text = error.to_string();
    let keys = [
        ("`machine.emulate`: ", ""),
        ("`machine.speed`: ", "`--speed`: "),
        ("`volume.type`: ", "`--volume`: "),
        ("`volume.date`: ", "`--date`: "),
        ("`volume`: ", "`--volume`: "),
    ];
    for (key, option) in keys {
        if let Some(rest) = text.strip_prefix(key) {
            return anyhow!("{option}{rest}");
        }
    }
    error.into()
}

impl EmulationRequest {
    /// The volumes as they are made.
    pub(super) fn volume(&self) -> Option<&EmulatedVolume> {
        match &self.stack.volume {
            Volume::Emulated(volume) => Some(volume),
            _ => None,
        }
    }

    /// Whether anything of the processors is emulated.
    pub(super) fn limits_cpu(&self) -> bool {
        self.stack.governor.is_some() || !self.stack.limit.cpu.is_none()
    }

    /// Leaves the processors as they are.
    pub(super) fn leave_cpu_out(&mut self) {
        self.stack.governor = None;
        self.stack.limit.cpu = CpuLimit::None;
    }

    /// # Errors
    /// Less room below than the volumes take; names the speed that fits.
    pub(super) fn require_room(&self) -> Result<()> {
        let Some(volume) = self.volume() else { return Ok(()) };
        let needed = volume.total_size().0;
        let below = rustix::fs::statvfs(&self.work_directory)?;
        let total = below.f_blocks.saturating_mul(below.f_frsize);
        let free = below.f_bavail.saturating_mul(below.f_frsize);
        let free = free.saturating_sub((total / 20).min(MOST_RESERVE));
        if needed <= free {
            return Ok(());
        }
        let real = self.volumes.size.0.saturating_mul(u64::from(self.volumes.count));
        let speed = real / free.max(1) + 1;
        let advice = if speed as f64 <= FASTEST_EMULATION && free > 0 {
            format!("use `--speed {speed}`, or name another directory with `--directory`")
        } else {
            "name another directory with `--directory`".to_owned()
        };
        bail!(
            "{} takes {} at 1/{} of its size and `{}` has only {} free; {advice}",
            self.volumes,
            Bytes(needed).approximate(),
            self.instance.speed,
            self.work_directory.display(),
            Bytes(free).approximate()
        )
    }

    /// A failure with what helps against it here.
    pub(super) fn with_advice(&self, failure: Failure) -> anyhow::Error {
        let text = failure.to_string();
        let error = anyhow::Error::from(failure);
        if self.limits_cpu() && (text.contains("`cpu`") || text.contains("limit.cpu")) {
            return error.context("cannot emulate the instance's processors here; `--no-cpu` runs without");
        }
        if matches!(self.stack.array, Array::Md(_)) && text.contains("md") {
            return error.context(
                "several volumes need md, which this host lacks; `--filesystem btrfs` has its own RAID",
            );
        }
        error
    }
}
