//! The layer that has a trial's inner control group governed by a law, and reads back that it is.

use std::path::PathBuf;

use iostone_cloud::LawState;
use iostone_model::experiment::{Governor, Limit};
use iostone_model::figures::counted;
use iostone_model::trial::Check;

use super::GovernorPlan;
use super::active_law::speeds;
use super::process::GovernorProcess;
use super::quota::{GovernedGroup, Quota, read_quota};
use super::serve::{Speeds, processors_here};
use crate::error::StackError;
use crate::layer::Layer;
use crate::plan::PlannedStep;
use crate::site::Site;

/// Less than this, in CPU seconds, is emptied within some tens of looks.
const LITTLE_SECONDS: f64 = 0.2;

/// An emulated CPU allowance. It stands on the limit layer, which makes the groups.
#[derive(Debug)]
pub(crate) struct GovernorLayer {
    governor: Governor,
    /// The user's own limit around it, in processors.
    limit: Option<f64>,
}

impl GovernorLayer {
    pub(crate) fn new(governor: &Governor, limit: &Limit) -> Self {
        Self { governor: governor.clone(), limit: limit.cpu.quota().map(|quota| quota.share()) }
    }
}

impl Layer for GovernorLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let groups = site
            .groups
            .as_ref()
            .ok_or_else(|| StackError::unexpected("governor", "there is no group to govern"))?;
        let governed: PathBuf = groups
            .governed
            .clone()
            .ok_or_else(|| StackError::unexpected("governor", "there is no inner group to govern"))?;
        let plan = GovernorPlan {
            version: groups.version,
            usage: groups.usage.clone().unwrap_or_else(|| governed.clone()),
            governed,
            governor: self.governor.clone(),
        };
        site.governor = Some(GovernorProcess::start(site, plan, self.limit)?);
        site.notes.push(format!("emulated by control groups: {}", self.governor.in_words()));
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let process =
            site.governor.as_ref().ok_or_else(|| StackError::unexpected("governor", "it was not started"))?;
        process.check()?;
        let plan = process.plan();
        let group = GovernedGroup::open(plan.version, &plan.governed, &plan.usage)?;
        let speeds = Speeds::of(&self.governor, &group)?;
        let now = read_quota(plan.version, &plan.governed)?;
        compare(&self.governor, speeds, now, &plan.governed.display().to_string()).map(|check| vec![check])
    }
}

/// Whether the kernel has one of the quotas that the law gives.
fn compare(governor: &Governor, speeds: Speeds, now: Quota, from: &str) -> Result<Check, StackError> {
    let asked = if speeds.full == speeds.slow {
        format!("{}: {}", governor.in_words(), speeds.full.in_words())
    } else {
        let (full, slow) = (speeds.full.in_words(), speeds.slow.in_words());
        format!("{}: {full}, {slow} once it is used up", governor.in_words())
    };
    // Without a quota the period means nothing.
    let is_it = |quota: Quota| {
        now.quota_us == quota.quota_us && (now.quota_us.is_none() || now.period_us == quota.period_us)
    };
    if !is_it(speeds.full) && !is_it(speeds.slow) {
        // The governor sees to it that it is, so somebody else wrote there: a matter of this trial, not of the run.
        return Err(StackError::Ungoverned(format!(
            "the quota of `{from}` is not its own any more: {}, not {asked}",
            now.in_words()
        )));
    }
    // Which of them it is at this moment is no setting.
    Ok(Check { layer: "governor".to_owned(), read_back: asked.clone(), asked, from: from.to_owned() })
}

/// What can be known of an emulated allowance before anything is touched, in words; its groups are the limit layer's to
/// examine.
///
/// # Errors
/// [`StackError::Usage`] for an allowance that this machine cannot have.
pub(crate) fn examine(governor: &Governor, limit: &Limit) -> Result<Vec<String>, StackError> {
    examine_on(governor, processors_here(), limit)
}

fn examine_on(governor: &Governor, processors: u32, limit: &Limit) -> Result<Vec<String>, StackError> {
    let allowance = &governor.allowance;
    let of_limit = limit.processors().map(|set| u32::try_from(set.0.len()).unwrap_or(u32::MAX));
    if let Some((few, cpuset)) = of_limit.zip(limit.cpuset.as_deref())
        && few < allowance.vcpus
        && few < processors
    {
        return Err(StackError::setting(
            "machine.cpu",
            format!(
                "`{}` has {} processors, but `limit.cpuset = \"{cpuset}\"` leaves {few}; take more into the `cpuset`, or a \
                 type with fewer processors: `iostone credits --list` shows them",
                allowance.instance, allowance.vcpus
            ),
        ));
    }
    if allowance.vcpus > processors {
        return Err(StackError::setting(
            "machine.cpu",
            format!(
                "`{}` has {} processors, but this machine has {processors} to give; take a type with at most \
                 {}: `iostone credits --list` shows them",
                allowance.instance,
                allowance.vcpus,
                counted(processors, "processor")
            ),
        ));
    }
    let (full, slow) = speeds(allowance);
    Quota::check_share(full.min(slow))?;
    let mut notes = vec![format!("emulated by control groups: {}", governor.in_words())];
    let state = LawState::begin(governor);
    let holds = (!state.is_constant()).then(|| state.most_seconds());
    if let Some(holds) = holds.filter(|holds| *holds < LITTLE_SECONDS) {
        notes.push(format!(
            "{} times faster the allowance holds no more than {holds:.3} CPU seconds, which a quota that is moved every few \
             milliseconds only follows roughly; a lower `machine.speed` is more exact",
            governor.speed
        ));
    }
    Ok(notes)
}

/// What the governor does, for a dry run.
pub(crate) fn plan_step(governor: &Governor, group: &str) -> PlannedStep {
    PlannedStep {
        layer: "governor".to_owned(),
        text: format!(
            "start `iostone governor`, which moves the CPU quota of {group}/governed as {} has it: {}",
            governor.allowance.instance,
            governor.allowance.law.in_words()
        ),
        creates: None,
        bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::AllowanceStart;

    use super::*;

    #[test]
    fn a_set_of_processors_smaller_than_the_instance_has_is_refused() {
        let allowance = iostone_cloud::allowance("t2.medium", None).unwrap();
        let governor = Governor { allowance, speed: 1.0, start: AllowanceStart::Launch };
        let on = |processors, cpuset: Option<&str>| {
            let limit = Limit { cpuset: cpuset.map(str::to_owned), ..Limit::default() };
            examine_on(&governor, processors, &limit).map_err(|error| error.to_string())
        };
        assert!(on(2, None).is_ok() && on(2, Some("0-1")).is_ok());
        let refused = on(2, Some("0")).unwrap_err();
        assert!(refused.contains("has 2 processors") && refused.contains("leaves 1"), "{refused}");
        assert!(on(1, Some("0")).unwrap_err().contains("this machine has 1"));
    }
}
