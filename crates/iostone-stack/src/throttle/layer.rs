//! The layer that makes a trial's control group, puts the limits of its devices on it, and reads them back.

use iostone_model::experiment::{Limits, LoopVolume};
use iostone_model::trial::Check;

use super::{DeviceLimits, ThrottleController, ThrottleGroup, v2};
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;
use crate::step::{Scope, Step};

/// The layer of limits.
#[derive(Debug)]
pub(crate) struct ThrottleLayer {
    volume: Limits,
    instance: Limits,
}

impl ThrottleLayer {
    /// The limits of a volume and of the instance below it; none if there are none.
    pub(crate) fn of(volume: &LoopVolume) -> Option<Self> {
        let instance = volume.instance.unwrap_or_default();
        volume.is_throttled().then(|| Self { volume: volume.limits(), instance })
    }

    /// Each device that the layers below made with its limits, top first.
    fn devices(&self, site: &Site) -> Result<Vec<DeviceLimits>, StackError> {
        let volume = Some(site.require_device("volume")?);
        let mut devices = Vec::new();
        for (device, limits) in [(volume, &self.volume), (site.instance.as_ref(), &self.instance)] {
            if let Some(device) = device.filter(|_| !limits.is_empty()) {
                let (name, number) = (device.name.clone(), device.number);
                devices.push(DeviceLimits { name, number, limits: *limits });
            }
        }
        Ok(devices)
    }
}

impl Layer for ThrottleLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let controller = ThrottleController::find()?;
        let group = ThrottleGroup {
            version: controller.version,
            path: controller.parent.join(site.directory_name()),
            home: controller.home,
            devices: self.devices(site)?,
        };
        if controller.must_be_handed_down {
            let step = Step::HandDown { group: controller.parent.clone() };
            site.journal.begin(Scope::Trial, step)?;
            v2::hand_down(&controller.parent)?;
        }
        make_group(site, &group)?;
        group.write_limits()?;
        let by = group.version.in_words();
        site.notes.extend(
            group.devices.iter().map(|device| format!("{} limited by {by}: {}", device.name, device.limits)),
        );
        site.throttle = Some(group);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let group = site
            .throttle
            .as_ref()
            .ok_or_else(|| StackError::unexpected("control group", "it was not made"))?;
        let mut checks = Vec::new();
        for device in &group.devices {
            let (now, from) = group.read_limits(device.number)?;
            for ((asked, is_limit), (read_back, _)) in
                device.caps().in_words().into_iter().zip(now.in_words())
            {
                let asked = format!("{} {asked}", device.name);
                let read_back = format!("{} {read_back}", device.name);
                let from = from.clone();
                if asked != read_back {
                    return Err(StackError::NotApplied { layer: "throttle", asked, read_back, from });
                }
                if is_limit {
                    checks.push(Check { layer: "throttle".to_owned(), asked, read_back, from });
                }
            }
        }
        Ok(checks)
    }
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
