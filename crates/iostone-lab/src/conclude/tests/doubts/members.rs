//! Members of arrays that are not like the others, and guests that were not the same.

use iostone_model::experiment::read;
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{DeviceActivity, GuestFacts};

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

#[test]
fn a_member_slower_by_half_is_named() {
    let trials = with_members(&[
        ("vdb", 1000, 1000, 4 << 20),
        ("vdc", 1000, 2400, 4 << 20),
        ("vdd", 1000, 1000, 4 << 20),
    ]);
    assert_eq!(
        messages(&plan(), &trials, &one_block(), "slow-member"),
        [
            "under `a` `vdc` took 2.40 times as long an I/O as the other members: an array goes at the pace of its slowest"
        ]
    );
}

#[test]
fn a_member_that_hardly_serves_is_named_and_a_few_ios_say_nothing() {
    let trials = with_members(&[("vdb", 1000, 1000, 4 << 20), ("vdc", 10, 30, 1 << 20)]);
    let told = |trials: &[TrialRecord]| {
        ["slow-member", "idle-member"].map(|rule| messages(&plan(), trials, &one_block(), rule).len())
    };
    assert_eq!(told(&trials), [0, 1]);
    assert_eq!(told(&with_members(&[("vdb", 10, 1, 4096), ("vdc", 10, 9, 4096)])), [0, 0]);
}

#[test]
fn guests_of_one_configuration_under_two_kernels_are_flagged() {
    let guest = |uname: &str| {
        let mut trial = trial(1, 0, 0, "a", 1.0, 0);
        trial.guest = Some(Box::new(GuestFacts { uname: uname.to_owned(), ..GuestFacts::default() }));
        trial
    };
    let told = |trials: &[TrialRecord]| messages(&plan(), trials, &one_block(), "kernel-changed");
    assert!(told(&[guest("Linux 6.1"), guest("Linux 6.1")]).is_empty());
    let changed = told(&[guest("Linux 6.1"), guest("Linux 6.12")]);
    assert!(changed[0].contains("`Linux 6.1`, `Linux 6.12`"), "{changed:?}");
}
