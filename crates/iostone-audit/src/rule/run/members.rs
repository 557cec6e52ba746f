//! `slow-member` and `idle-member`: members of an array that are not like the others.

use iostone_model::audit::{Finding, Severity, Subject};
use iostone_model::evidence::{Evidence, Group};
use iostone_model::experiment::{Array, BtrfsProfile, MdLevel};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::trial::DeviceActivity;
use iostone_model::units::three_digits;

use super::looked;
use crate::{Outcome, Rule, finding};

/// A member that takes so many times as long an I/O as the others slows the array down.
const SLOWER: f64 = 2.0;
/// A member of stripes that served less than this share of what the others did is not used like them.
const SERVED_LESS: f64 = 0.5;
/// Counters in whole milliseconds say nothing of a few I/Os ...
const ENOUGH_IOS: u64 = 100;
/// ... nor of a few milliseconds.
const ENOUGH_MS: u64 = 50;

/// A member over the trials of a configuration.
struct Member {
    name: String,
    ios: u64,
    ms: u64,
    bytes: u64,
}

impl Member {
    fn ms_an_io(&self) -> f64 {
        self.ms as f64 / self.ios.max(1) as f64
    }
}

/// A member that is slower than the median of the others.
pub(super) struct SlowMember;

/// A member of stripes that served less than half of what the others did.
pub(super) struct IdleMember;

impl Rule for SlowMember {
    fn name(&self) -> &'static str {
        "slow-member"
    }

    fn looks_for(&self) -> &'static str {
        "members of an array that take far longer an I/O than the others"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        of_members(self, evidence, |group, member, others| {
            let usual = median(others.iter().map(|other| other.ms_an_io())).filter(|usual| *usual > 0.0)?;
            let times = member.ms_an_io() / usual;
            let is_slow = member.ios >= ENOUGH_IOS && member.ms >= ENOUGH_MS && times > SLOWER;
            is_slow.then(|| {
                format!(
                    "under `{}` `{}` took {} times as long an I/O as the other members: an array goes at the pace of its \
                     slowest",
                    group.configuration.name,
                    member.name,
                    three_digits(times)
                )
            })
        })
    }
}

impl Rule for IdleMember {
    fn name(&self) -> &'static str {
        "idle-member"
    }

    fn looks_for(&self) -> &'static str {
        "members of a striped array that served far less than the others"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        of_members(self, evidence, |group, member, others| {
            let usual = median(others.iter().map(|other| other.bytes as f64))?;
            let is_idle = is_striped(&group.configuration.stack.array)
                && others.iter().any(|other| other.ios >= ENOUGH_IOS)
                && (member.bytes as f64) < SERVED_LESS * usual;
            is_idle.then(|| {
                format!(
                    "under `{}` `{}` served {}, and the other members {} each: the stripes do not lie evenly",
                    group.configuration.name,
                    member.name,
                    Unit::Bytes.format(member.bytes as f64),
                    Unit::Bytes.format(usual)
                )
            })
        })
    }
}

/// A finding for each member that `describe` says something of, beside the others of its configuration.
fn of_members(
    rule: &dyn Rule,
    evidence: &Evidence<'_>,
    describe: impl Fn(&Group<'_>, &Member, &[&Member]) -> Option<String>,
) -> Outcome {
    looked(evidence, |run| {
        let (mut any, mut findings) = (false, Vec::new());
        for group in &run.groups {
            let members = members(group);
            any |= members.len() > 1;
            for (place, member) in members.iter().enumerate() {
                let others: Vec<&Member> = members
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != place)
                    .map(|(_, other)| other)
                    .collect();
                let subject = || Subject::Configuration { name: group.configuration.name.clone() };
                let advice =
                    "Compare the members by themselves, and replace the one that is not like the others.";
                findings.extend(describe(group, member, &others).map(|message| Finding {
                    subject: subject(),
                    ..finding(rule, Severity::Warning, message, advice)
                }));
            }
        }
        any.then_some(findings)
    })
}

/// Mirrors may read from one side alone, and single copies fill one device after the other.
fn is_striped(array: &Array) -> bool {
    match array {
        Array::Md(md) => matches!(md.level, MdLevel::Raid0 | MdLevel::Raid5),
        Array::Btrfs(btrfs) => btrfs.level == BtrfsProfile::Raid0,
        Array::Lvm(lvm) => lvm.stripes.is_none(),
        Array::None => false,
    }
}

/// The members by their place: a trial may stand on other loop devices than the one before.
fn members(group: &Group<'_>) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for trial in &group.trials {
        let own = trial.signals.devices.iter().filter(|device| device.role == "member");
        for (place, DeviceActivity { name, served, .. }) in own.enumerate() {
            if members.len() <= place {
                members.push(Member { name: name.clone(), ios: 0, ms: 0, bytes: 0 });
            }
            if let Some(member) = members.get_mut(place) {
                name.clone_into(&mut member.name);
                member.ios += served.reads + served.writes;
                member.ms += served.read_ms + served.write_ms;
                member.bytes += served.read_bytes + served.written_bytes;
            }
        }
    }
    members
}
