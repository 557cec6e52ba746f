//! The layer that makes the groups of a limit, puts the limits on them and reads them back.

use std::path::Path;

use iostone_model::trial::Check;

use super::arrangement::{Arrangement, LimitGroup};
use super::read_back::{LAYER, check_memory, check_plain, check_processors, check_quota};
use super::settings::{Setting, settings};
use super::{LimitRequest, above};
use crate::control_groups::{self, CgroupVersion, Controller, Hierarchies, write_line};
use crate::device::BlockDevice;
use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;
use crate::throttle::{DeviceLimits, ThrottleGroup};

/// The layer of limits on the workload.
#[derive(Debug)]
pub(crate) struct LimitLayer {
    asked: LimitRequest,
    made: Option<Made>,
}

/// What stands.
#[derive(Debug)]
struct Made {
    arrangement: Arrangement,
    /// The devices that this layer itself limits.
    devices: Option<ThrottleGroup>,
}

impl LimitLayer {
    pub(crate) fn new(asked: LimitRequest) -> Self {
        Self { asked, made: None }
    }

    /// The group with limits on the stack's own devices; none without any, or where the volume's own limits were
    /// tightened in their place.
    fn limit_devices(
        &self,
        site: &Site,
        arrangement: &Arrangement,
    ) -> Result<Option<ThrottleGroup>, StackError> {
        let Some(limits) = self.asked.limit.io.filter(|io| !io.is_empty()) else { return Ok(None) };
        let group = arrangement
            .with(Controller::Io)
            .ok_or_else(|| StackError::unexpected("control group", "none was made for `stack.limit.io`"))?;
        let throttled = site.throttle.as_ref().map(|group| group.devices.as_slice()).unwrap_or_default();
        let devices: Vec<DeviceLimits> = own_devices(site)?
            .into_iter()
            .filter(|device| throttled.iter().all(|known| known.number != device.number))
            .map(|device| DeviceLimits {
                name: device.name.clone(),
                number: device.number,
                limits,
                burst: None,
            })
            .collect();
        let group = ThrottleGroup {
            version: group.place.version,
            path: group.path.clone(),
            home: group.place.home.clone(),
            devices,
        };
        group.write_limits()?;
        Ok((!group.devices.is_empty()).then_some(group))
    }
}

/// The device of a stack, or its members where none stands above them.
fn own_devices(site: &Site) -> Result<Vec<&BlockDevice>, StackError> {
    let is_member = |device: &BlockDevice| site.members.iter().any(|one| one.number == device.number);
    match &site.device {
        Some(device) if !is_member(device) => Ok(vec![device]),
        _ if !site.members.is_empty() => Ok(site.members.iter().collect()),
        _ => site.require_device("limit.io").map(|device| vec![device]),
    }
}

/// Makes a group of the limit unless the throttle layer made it for its volumes; both have the session's name for it.
fn make(site: &mut Site, group: &LimitGroup) -> Result<(), StackError> {
    if site.throttle.as_ref().is_some_and(|known| known.path == group.path) {
        return Ok(());
    }
    control_groups::hand_down_in(site, LAYER, &group.place.parent, &group.place.hand_down)?;
    control_groups::make_group(site, &group.path, &group.place.home)
}

/// Makes the governor's group within that of the limit, whose journalled removal takes it along.
fn make_governed(outer: &LimitGroup, governed: &Path) -> Result<(), StackError> {
    if outer.place.version == CgroupVersion::Two {
        control_groups::hand_down(LAYER, &outer.path, &[Controller::Cpu])?;
    }
    std::fs::create_dir(governed).map_err(|source| StackError::io("mkdir", governed, source))
}

fn write(group: &Path, setting: &Setting) -> Result<(), StackError> {
    let file = group.join(setting.file);
    if setting.is_optional && !file.exists() {
        return Ok(());
    }
    write_line(&file, &setting.value).map_err(|error| {
        let read_back = match error.raw_os_error() {
            Some(libc::ENOENT) if setting.file.contains("burst") => {
                "no such file: CPU bursts need Linux 5.14".to_owned()
            }
            Some(libc::ENOENT) => format!("no such file: the kernel was built without it ({error})"),
            // What is wrong by itself was found before anything was made.
            Some(libc::EINVAL) if setting.file.contains("quota") => {
                format!("{error}: a parent cgroup, perhaps one not visible here, has a lower limit")
            }
            _ => error.to_string(),
        };
        let (asked, from) = (setting.value.clone(), file.display().to_string());
        StackError::NotApplied { layer: LAYER, asked, read_back, from }
    })
}

impl Layer for LimitLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let arrangement = Arrangement::find(&self.asked, &Hierarchies::look()?, &site.directory_name())?;
        site.notes.extend(above::check(&self.asked, &arrangement)?);
        for group in &arrangement.groups {
            make(site, group)?;
            for &controller in &group.place.controllers {
                for setting in settings(&self.asked, controller, group.place.version, &group.place.parent) {
                    write(&group.path, &setting)?;
                }
            }
        }
        if let Some((outer, governed)) = arrangement.with(Controller::Cpu).zip(arrangement.governed()) {
            make_governed(outer, &governed)?;
        }
        let devices = self.limit_devices(site, &arrangement)?;
        site.notes.extend(super::examine::notes(&self.asked, &arrangement));
        site.groups = Some(arrangement.trial_groups());
        self.made = Some(Made { arrangement, devices });
        Ok(())
    }

    fn verify(&self, _site: &Site) -> Result<Vec<Check>, StackError> {
        let made =
            self.made.as_ref().ok_or_else(|| StackError::unexpected("control group", "it was not made"))?;
        let mut checks = Vec::new();
        for group in &made.arrangement.groups {
            let (path, version, limit) = (&group.path, group.place.version, &self.asked.limit);
            if group.has(Controller::Cpu) {
                if let Some(quota) = limit.cpu.quota() {
                    checks.push(check_quota(path, version, quota)?);
                }
                let of_cpu = settings(&self.asked, Controller::Cpu, version, &group.place.parent);
                let is_weight = |one: &&Setting| matches!(one.file, "cpu.shares" | "cpu.weight");
                for weight in of_cpu.iter().filter(is_weight) {
                    checks.push(check_plain(path, weight)?);
                }
            }
            if let Some(memory) = limit.memory.filter(|_| group.has(Controller::Memory)) {
                checks.extend(check_memory(path, version, memory)?);
            }
            if let Some(processors) = limit.processors().filter(|_| group.has(Controller::Cpuset)) {
                checks.push(check_processors(path, version, &processors)?);
            }
        }
        if let Some(devices) = &made.devices {
            checks.extend(devices.verify(LAYER)?);
        }
        Ok(checks)
    }

    fn release(&mut self) {
        self.made = None;
    }
}
