//! The layer that makes a trial's control group, puts the limits of its devices on it, and reads them back.

use iostone_model::experiment::{Burst, EmulatedBy, EmulatedVolume, Limits, Link, LoopVolume};
use iostone_model::trial::Check;

use super::burst::Governor;
use super::{DeviceLimits, ThrottleGroup};
use crate::control_groups::{self, CgroupVersion, Controller, GroupPlace, Hierarchies};
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;

/// The layer of limits.
#[derive(Debug)]
pub(crate) struct ThrottleLayer {
    /// Of each volume.
    volume: Limits,
    burst: Option<Burst>,
    /// Of the device below all of them.
    instance: Limits,
    instance_burst: Option<Burst>,
    notes: &'static [&'static str],
    /// Version 2: controllers of the limits on the workload, which has its one group here then.
    also: Vec<Controller>,
    governor: Option<Governor>,
}

/// What the kernel's way of limiting means for an emulated volume.
const EMULATED_NOTES: &[&str] = &[
    "emulated by cgroup limits: reads and writes are limited separately, and requests count as the kernel issues them",
];
/// Measured: 75.9 MB/s over two volumes of 40 MB/s, again and again; the kernel's slices of a volume end apart.
const ARRAY_NOTE: &[&str] =
    &[EMULATED_NOTES[0], "reads from an array of emulated volumes reach up to 6 % less than the limit"];

impl ThrottleLayer {
    /// The limits of a volume and of the instance below it; none if there are none.
    pub(crate) fn of(volume: &LoopVolume) -> Option<Self> {
        let instance = volume.instance.unwrap_or_default();
        volume.is_throttled().then(|| Self {
            volume: volume.limits(),
            burst: None,
            instance,
            instance_burst: None,
            notes: &[],
            also: Vec::new(),
            governor: None,
        })
    }

    /// The limits of emulated volumes and of the link below all of them; none if there are none, or if a server has
    /// them.
    pub(crate) fn of_emulated(volume: &EmulatedVolume, link: Option<Link>) -> Option<Self> {
        let limits = Limits { iops: volume.iops, throughput: volume.throughput, ..Limits::default() };
        let instance = link.map_or_else(Limits::default, limits_of_link);
        let any = !limits.is_empty() || !instance.is_empty();
        (any && volume.effective_by(link) == EmulatedBy::Cgroup).then(|| Self {
            volume: limits,
            burst: volume.burst,
            instance,
            instance_burst: link.and_then(|link| link.burst),
            notes: if volume.count > 1 { ARRAY_NOTE } else { EMULATED_NOTES },
            also: Vec::new(),
            governor: None,
        })
    }

    /// As it is, with the limits on each volume no wider than these: a group has one figure for a device.
    pub(crate) fn within(mut self, limits: Limits) -> Self {
        self.volume = tighter(self.volume, limits);
        self
    }

    /// As it is, in a group that can have those controllers too where version 2 has them.
    pub(crate) fn together_with(mut self, controllers: Vec<Controller>) -> Self {
        self.also = controllers;
        self
    }

    /// The place of the group.
    fn place(&self) -> Result<GroupPlace, StackError> {
        let machine = Hierarchies::look()?;
        let mut wanted = vec![Controller::Io];
        if machine.version_of(Controller::Io) == CgroupVersion::Two {
            let is_2 = |one: &Controller| machine.version_of(*one) == CgroupVersion::Two;
            wanted.extend(self.also.iter().copied().filter(|one| *one != Controller::Io && is_2(one)));
        }
        let place =
            machine.places(&wanted)?.into_iter().find(|place| place.controllers.contains(&Controller::Io));
        place.ok_or_else(|| StackError::unexpected("/proc/self/cgroup", "it names no cgroup of this process"))
    }

    /// Each device that the layers below made with its limits, top first.
    fn devices(&self, site: &Site) -> Vec<DeviceLimits> {
        let volumes = site.members.iter().map(|device| (device, self.volume, self.burst));
        let instance = site.instance.iter().map(|device| (device, self.instance, self.instance_burst));
        volumes
            .chain(instance)
            .filter(|(_, limits, _)| !limits.is_empty())
            .map(|(device, limits, burst)| {
                let (name, number) = (device.name.clone(), device.number);
                DeviceLimits { name, number, limits, burst }
            })
            .collect()
    }
}

impl Layer for ThrottleLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let place = self.place()?;
        let group = ThrottleGroup {
            version: place.version,
            path: place.parent.join(site.directory_name()),
            home: place.home,
            devices: self.devices(site),
        };
        control_groups::hand_down_in(site, "throttle", &place.parent, &place.hand_down)?;
        control_groups::make_group(site, &group.path, &group.home)?;
        group.write_limits()?;
        self.governor = Governor::start(&group)?;
        let by = group.version.in_words();
        for device in &group.devices {
            let mut note = format!("{} limited by {by}: {}", device.name, device.limits);
            if let Some(burst) = &device.burst {
                note.push_str(&super::burst::in_words(burst));
            }
            site.notes.push(note);
        }
        site.notes.extend(self.notes.iter().map(|&note| note.to_owned()));
        site.throttle = Some(group);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let group = site
            .throttle
            .as_ref()
            .ok_or_else(|| StackError::unexpected("control group", "it was not made"))?;
        if let Some(governor) = &self.governor {
            governor.check()?;
        }
        group.verify("throttle")
    }

    fn begin_workload(&mut self) -> Result<(), StackError> {
        self.governor.as_ref().map_or(Ok(()), Governor::begin_workload)
    }

    fn release(&mut self) {
        // Its thread ends before the group does.
        self.governor = None;
    }
}

impl ThrottleGroup {
    /// Reads every limit back, in the name of that layer.
    pub(crate) fn verify(&self, layer: &'static str) -> Result<Vec<Check>, StackError> {
        let mut checks = Vec::new();
        for device in &self.devices {
            let (now, from) = self.read_limits(device.number)?;
            checks.extend(compare(layer, device, now, &from)?);
        }
        Ok(checks)
    }
}

/// Whether the kernel has each limit as asked: to the digit or, where credits move it, within its bounds.
fn compare(
    layer: &'static str,
    device: &DeviceLimits,
    now: super::Caps,
    from: &str,
) -> Result<Vec<Check>, StackError> {
    let (low, high) = (device.caps(), device.highest_caps());
    let words = low.in_words().into_iter().zip(high.in_words()).zip(now.in_words());
    let figures = low.figures().into_iter().zip(high.figures()).zip(now.figures());
    let mut checks = Vec::new();
    for ((((low_word, is_limit), (high_word, _)), (now_word, _)), ((low, high), now)) in words.zip(figures) {
        let moves = low != high;
        let taken = if moves { low <= now && now <= high && now.is_some() } else { now == low };
        let asked = if moves {
            format!("{} {low_word}, up to {} while credits last", device.name, last_words(&high_word))
        } else {
            format!("{} {low_word}", device.name)
        };
        let (read_back, from) = (format!("{} {now_word}", device.name), from.to_owned());
        if !taken {
            return Err(StackError::NotApplied { layer, asked, read_back, from });
        }
        if is_limit {
            // What a moving limit is at this moment is no setting: the bounds are.
            let read_back = if moves { asked.clone() } else { read_back };
            checks.push(Check { layer: layer.to_owned(), asked, read_back, from });
        }
    }
    Ok(checks)
}

/// The limits of a link in the long run.
pub(crate) fn limits_of_link(link: Link) -> Limits {
    Limits { throughput: Some(link.throughput), iops: link.iops, ..Limits::default() }
}

/// The smaller of each.
fn tighter(one: Limits, other: Limits) -> Limits {
    fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
    let (reads, writes) = ((one.reads(), other.reads()), (one.writes(), other.writes()));
    Limits {
        iops: None,
        throughput: None,
        read_iops: least(reads.0.iops, reads.1.iops),
        write_iops: least(writes.0.iops, writes.1.iops),
        read_throughput: least(reads.0.throughput, reads.1.throughput),
        write_throughput: least(writes.0.throughput, writes.1.throughput),
    }
}

/// "3000 IOPS" of "reads 3000 IOPS".
fn last_words(word: &str) -> &str {
    word.split_once(' ').map_or(word, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::super::Caps;
    use super::*;
    use iostone_model::units::ByteRate;

    fn bursting() -> DeviceLimits {
        DeviceLimits {
            name: "loop0".to_owned(),
            number: (7, 0),
            limits: Limits { iops: Some(100), throughput: Some(ByteRate(40_000_000)), ..Limits::default() },
            burst: Some(Burst {
                iops: Some(3000),
                credits: Some(1000),
                throughput: None,
                credit_bytes: None,
                start: None,
            }),
        }
    }

    #[test]
    fn a_limit_that_credits_move_may_be_anything_within_its_bounds() {
        let device = bursting();
        let fixed = device.caps();
        for iops in [100, 1234, 3000] {
            let now = Caps { read_iops: Some(iops), write_iops: Some(iops), ..fixed };
            let checks = compare("throttle", &device, now, "io.max").unwrap();
            assert_eq!(checks.len(), 4);
            assert_eq!(checks[2].read_back, "loop0 reads 100 IOPS, up to 3000 IOPS while credits last");
        }
        for iops in [Some(99), Some(3001), None] {
            assert!(
                compare("throttle", &device, Caps { read_iops: iops, ..fixed }, "io.max").is_err(),
                "{iops:?}"
            );
        }
        let other = Caps { write_bps: Some(40_000_001), ..fixed };
        assert!(compare("throttle", &device, other, "io.max").is_err(), "the others are held to the digit");
    }

    #[test]
    fn of_two_limits_on_one_device_the_tighter_is_taken_for_each_direction() {
        let rate = |bytes| Some(ByteRate(bytes));
        let one = Limits { throughput: rate(40), read_iops: Some(100), ..Limits::default() };
        let other = Limits { write_throughput: rate(30), iops: Some(300), ..Limits::default() };
        let both = tighter(one, other);
        assert_eq!(both, tighter(other, one));
        let (reads, writes) = (both.reads(), both.writes());
        assert_eq!((reads.throughput, writes.throughput), (rate(40), rate(30)));
        assert_eq!((reads.iops, writes.iops), (Some(100), Some(300)));
    }

    #[test]
    fn a_server_has_its_limits_itself_and_a_volume_without_limits_needs_no_group() {
        let bare = EmulatedVolume::new(iostone_model::units::Bytes(1 << 26));
        assert!(ThrottleLayer::of_emulated(&bare, None).is_none());
        assert!(ThrottleLayer::of_emulated(&bare, Some(Link::of(ByteRate(1_000_000)))).is_some());
        let server = EmulatedVolume { iops: Some(100), by: Some(EmulatedBy::Server), ..bare };
        assert!(ThrottleLayer::of_emulated(&server, Some(Link::of(ByteRate(1_000_000)))).is_none());
    }
}
