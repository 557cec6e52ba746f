//! Members of an array that are not like the others, and guests of one configuration that were not the same.

use iostone_model::experiment::{Array, BtrfsProfile, MdLevel};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::{DeviceActivity, TrialRecord};
use iostone_model::units::three_digits;
use iostone_model::verdict::Flag;

use super::evidence::counted;

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

/// A flag for each member that was slower by half than the median of the others, or served less than half of it.
pub(super) fn unequal(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    let mut flags = Vec::new();
    for configuration in &plan.experiment.configurations {
        let members = members(counted(&configuration.name, trials, blocks));
        for (index, member) in members.iter().enumerate() {
            let others = || members.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, m)| m);
            let usual = median(others().map(Member::ms_an_io));
            let measurable = member.ios >= ENOUGH_IOS && member.ms >= ENOUGH_MS;
            let name = &configuration.name;
            if let Some(usual) = usual.filter(|usual| measurable && *usual > 0.0) {
                let times = member.ms_an_io() / usual;
                if times > SLOWER {
                    flags.push(Flag::new(
                        "slow-member",
                        format!(
                            "under {name} `{}` took {} times as long an I/O as the other members: an array goes at the \
                             pace of its slowest",
                            member.name,
                            three_digits(times)
                        ),
                    ));
                }
            }
            let usual = median(others().map(|other| other.bytes as f64)).unwrap_or(0.0);
            let is_used = others().any(|other| other.ios >= ENOUGH_IOS);
            if is_striped(&configuration.stack.array)
                && is_used
                && (member.bytes as f64) < SERVED_LESS * usual
            {
                flags.push(Flag::new(
                    "idle-member",
                    format!(
                        "under {name} `{}` served {}, and the other members {} each: the stripes do not lie evenly",
                        member.name,
                        Unit::Bytes.format(member.bytes as f64),
                        Unit::Bytes.format(usual)
                    ),
                ));
            }
        }
    }
    flags
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
fn members<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for trial in trials {
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

/// A flag for each configuration whose guests told of different kernels.
pub(super) fn other_kernels(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    let flag = |name: &String| {
        let mut unames: Vec<&str> = counted(name, trials, blocks)
            .filter_map(|trial| trial.guest.as_deref())
            .map(|guest| guest.uname.as_str())
            .collect();
        unames.sort_unstable();
        unames.dedup();
        (unames.len() > 1).then(|| {
            let told = unames.iter().map(|uname| format!("`{uname}`")).collect::<Vec<_>>().join(" and ");
            Flag::new("kernel-changed", format!("the trials of {name} did not run under one kernel: {told}"))
        })
    };
    plan.experiment.configurations.iter().filter_map(|configuration| flag(&configuration.name)).collect()
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::read;
    use iostone_model::sample::DiskCounters;
    use iostone_model::trial::GuestFacts;

    use super::super::tests::trial;
    use super::*;
    use crate::plan::{PlanOptions, make_plan};

    fn plan() -> Plan {
        let text = "name = \"s\"\n[stack]\nvolume = { kind = \"emulated\", size = \"256MiB\", count = 3 }\narray = { kind = \
                    \"md\", level = \"raid0\" }\n[[factor]]\nname = \"chunk\"\nlevels = { a = { array.chunk = \"64KiB\" }, b \
                    = { array.chunk = \"256KiB\" } }\n[workload]\nkind = \"io\"\nrw = \"read\"\nbs = \"4KiB\"\ndirect = \
                    true\nruntime = \"1s\"\n[decide]\nmetric = \"iops\"\nbaseline = \"a\"\n";
        make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap()
    }

    fn with_members(members: &[(&str, u64, u64, u64)]) -> Vec<TrialRecord> {
        let mut trial = trial(1, 0, 0, "a", 1.0, 0);
        let activity = |(name, ios, ms, bytes): &(&str, u64, u64, u64)| DeviceActivity {
            name: (*name).to_owned(),
            role: "member".to_owned(),
            served: DiskCounters { reads: *ios, read_ms: *ms, read_bytes: *bytes, ..DiskCounters::default() },
            flushes_counted: true,
            volatile_cache: None,
        };
        trial.signals.devices.extend(members.iter().map(activity));
        vec![trial]
    }

    fn one_block() -> Vec<BlockRecord> {
        vec![BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None }]
    }

    #[test]
    fn a_member_slower_by_half_is_named() {
        let trials = with_members(&[
            ("vdb", 1000, 1000, 4 << 20),
            ("vdc", 1000, 2400, 4 << 20),
            ("vdd", 1000, 1000, 4 << 20),
        ]);
        let flags = unequal(&plan(), &trials, &one_block());
        assert_eq!(flags.len(), 1, "{flags:?}");
        assert_eq!(
            flags[0].message,
            "under a `vdc` took 2.40 times as long an I/O as the other members: an array goes at the pace of its slowest"
        );
    }

    #[test]
    fn a_member_that_hardly_serves_is_named_and_a_few_ios_say_nothing() {
        let trials = with_members(&[("vdb", 1000, 1000, 4 << 20), ("vdc", 10, 30, 1 << 20)]);
        let flags = unequal(&plan(), &trials, &one_block());
        assert_eq!(flags.iter().map(|flag| flag.name.as_str()).collect::<Vec<_>>(), ["idle-member"]);
        let trials = with_members(&[("vdb", 10, 1, 4096), ("vdc", 10, 9, 4096)]);
        assert_eq!(unequal(&plan(), &trials, &one_block()), Vec::new());
    }

    #[test]
    fn guests_of_one_configuration_under_two_kernels_are_flagged() {
        let guest = |uname: &str| {
            let mut trial = trial(1, 0, 0, "a", 1.0, 0);
            trial.guest = Some(Box::new(GuestFacts { uname: uname.to_owned(), ..GuestFacts::default() }));
            trial
        };
        let same = [guest("Linux 6.1"), guest("Linux 6.1")];
        assert_eq!(other_kernels(&plan(), &same, &one_block()), Vec::new());
        let flags = other_kernels(&plan(), &[guest("Linux 6.1"), guest("Linux 6.12")], &one_block());
        assert!(flags[0].message.contains("`Linux 6.1` and `Linux 6.12`"), "{}", flags[0].message);
    }
}
