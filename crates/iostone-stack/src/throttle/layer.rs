//! The layer that makes a trial's control group, puts the limits of its devices on it, and reads them back.

use iostone_model::experiment::{Burst, EmulatedBy, EmulatedVolume, Limits, LoopVolume};
use iostone_model::trial::Check;
use iostone_model::units::ByteRate;

use super::burst::Governor;
use super::{DeviceLimits, ThrottleController, ThrottleGroup, v2};
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;
use crate::step::{Scope, Step};

/// The layer of limits.
#[derive(Debug)]
pub(crate) struct ThrottleLayer {
    /// Of each volume.
    volume: Limits,
    burst: Option<Burst>,
    /// Of the device below all of them.
    instance: Limits,
    notes: &'static [&'static str],
    governor: Option<Governor>,
}

/// What the kernel's way of limiting means for an emulated volume.
const EMULATED_NOTES: &[&str] = &[
    "emulated by control groups: reads and writes are limited apart, and requests count as the kernel makes them",
];
/// Measured: 75.9 MB/s over two volumes of 40 MB/s, again and again; the kernel's slices of a volume end apart.
const ARRAY_NOTE: &[&str] =
    &[EMULATED_NOTES[0], "reads over an array of emulated volumes come out up to 6 % below the cap"];

impl ThrottleLayer {
    /// The limits of a volume and of the instance below it; none if there are none.
    pub(crate) fn of(volume: &LoopVolume) -> Option<Self> {
        let instance = volume.instance.unwrap_or_default();
        volume.is_throttled().then(|| Self {
            volume: volume.limits(),
            burst: None,
            instance,
            notes: &[],
            governor: None,
        })
    }

    /// The limits of emulated volumes and of the link below all of them; none if there are none, or if a server has
    /// them.
    pub(crate) fn of_emulated(volume: &EmulatedVolume, link: Option<ByteRate>) -> Option<Self> {
        let limits = Limits { iops: volume.iops, throughput: volume.throughput, ..Limits::default() };
        let instance = Limits { throughput: link, ..Limits::default() };
        let any = !limits.is_empty() || !instance.is_empty();
        (any && volume.effective_by() == EmulatedBy::Cgroup).then(|| Self {
            volume: limits,
            burst: volume.burst.clone(),
            instance,
            notes: if volume.count > 1 { ARRAY_NOTE } else { EMULATED_NOTES },
            governor: None,
        })
    }

    /// Each device that the layers below made with its limits, top first.
    fn devices(&self, site: &Site) -> Vec<DeviceLimits> {
        let volumes = site.members.iter().map(|device| (device, self.volume, self.burst.clone()));
        let instance = site.instance.iter().map(|device| (device, self.instance, None));
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
        let controller = ThrottleController::find()?;
        let group = ThrottleGroup {
            version: controller.version,
            path: controller.parent.join(site.directory_name()),
            home: controller.home,
            devices: self.devices(site),
        };
        if controller.must_be_handed_down {
            let step = Step::HandDown { group: controller.parent.clone() };
            site.journal.begin(Scope::Trial, step)?;
            v2::hand_down(&controller.parent)?;
        }
        make_group(site, &group)?;
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
        let mut checks = Vec::new();
        for device in &group.devices {
            let (now, from) = group.read_limits(device.number)?;
            checks.extend(compare(device, now, &from)?);
        }
        Ok(checks)
    }

    fn release(&mut self) {
        // Its thread ends before the group does.
        self.governor = None;
    }
}

/// Whether the kernel has each limit as asked: to the digit or, where credits move it, within its bounds.
fn compare(device: &DeviceLimits, now: super::Caps, from: &str) -> Result<Vec<Check>, StackError> {
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
            return Err(StackError::NotApplied { layer: "throttle", asked, read_back, from });
        }
        if is_limit {
            // What a moving limit is at this moment is no setting: the bounds are.
            let read_back = if moves { asked.clone() } else { read_back };
            checks.push(Check { layer: "throttle".to_owned(), asked, read_back, from });
        }
    }
    Ok(checks)
}

/// "3000 IOPS" of "reads 3000 IOPS".
fn last_words(word: &str) -> &str {
    word.split_once(' ').map_or(word, |(_, rest)| rest)
}

/// Makes the group through the journal. Its name holds the session's token, so that nobody else's is ever taken for it.
fn make_group(site: &mut Site, group: &ThrottleGroup) -> Result<(), StackError> {
    let step = Step::ControlGroup { path: group.path.clone(), home: group.home.clone() };
    let number = site.journal.begin(Scope::Trial, step)?;
    std::fs::create_dir(&group.path).map_err(|source| {
        site.journal.mark_undone(number);
        StackError::io("mkdir", &group.path, source)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Caps;
    use super::*;

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
            let checks = compare(&device, now, "io.max").unwrap();
            assert_eq!(checks.len(), 4);
            assert_eq!(checks[2].read_back, "loop0 reads 100 IOPS, up to 3000 IOPS while credits last");
        }
        for iops in [Some(99), Some(3001), None] {
            assert!(compare(&device, Caps { read_iops: iops, ..fixed }, "io.max").is_err(), "{iops:?}");
        }
        let other = Caps { write_bps: Some(40_000_001), ..fixed };
        assert!(compare(&device, other, "io.max").is_err(), "the others are held to the digit");
    }

    #[test]
    fn a_server_has_its_limits_itself_and_a_volume_without_limits_needs_no_group() {
        let bare = EmulatedVolume::new(iostone_model::units::Bytes(1 << 26));
        assert!(ThrottleLayer::of_emulated(&bare, None).is_none());
        assert!(ThrottleLayer::of_emulated(&bare, Some(ByteRate(1_000_000))).is_some());
        let server = EmulatedVolume { iops: Some(100), by: Some(EmulatedBy::Server), ..bare };
        assert!(ThrottleLayer::of_emulated(&server, Some(ByteRate(1_000_000))).is_none());
    }
}
