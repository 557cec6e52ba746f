//! Builds that took the same CPU time, and builds that did not.

use iostone_model::experiment::read;
use iostone_model::trial::CpuAccount;

use super::super::tests::trial;
use super::*;
use crate::plan::{PlanOptions, make_plan};

/// An experiment on a build under two CPU limits.
fn plan(workload: &str, on: &str, off: &str) -> Plan {
    let text = format!(
        r#"
        name = "x"
        [stack]
        volume = {{ kind = "directory" }}
        [[factor]]
        name = "quota"
        levels = {{ none = {{ {on} }}, "30%" = {{ {off} }} }}
        [workload]
        {workload}
        [decide]
        metric = "wall_time"
        baseline = "none"
        margin = "3%"
        "#
    );
    make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap()
}

const MAKE: &str = "kind = \"command\"\nargv = [\"make\"]";
const LIMIT: (&str, &str) = ("limit.cpu = \"none\"", "limit.cpu = \"30%\"");

/// Three counted blocks; each level's user and system time, and the steal of all.
fn records(
    none: (f64, f64),
    limited: (f64, f64),
    steal: Option<f64>,
) -> (Vec<TrialRecord>, Vec<BlockRecord>) {
    let mut trials = Vec::new();
    for block in 0..3 {
        for (position, (name, (user, system))) in [("none", none), ("30%", limited)].into_iter().enumerate() {
            let position = u32::try_from(position).unwrap();
            let mut made = trial(block * 2 + position + 1, block, position, name, 1.0, 0);
            made.signals.steal = steal;
            made.signals.cpu = Some(CpuAccount {
                user_seconds: Some(user),
                system_seconds: Some(system),
                ..CpuAccount::default()
            });
            trials.push(made);
        }
    }
    let block = |number| BlockRecord { number, order: Vec::new(), counted: true, reason: None };
    (trials, (0..3).map(block).collect())
}

fn message(plan: &Plan, (trials, blocks): &(Vec<TrialRecord>, Vec<BlockRecord>)) -> Option<String> {
    let mut flags = differs(plan, trials, blocks);
    assert!(flags.len() < 2, "{flags:?}");
    assert!(flags.iter().all(|flag| flag.name == "cpu-time-differs"));
    flags.pop().map(|flag| flag.message)
}

#[test]
fn ninefold_cpu_time_for_the_same_build_is_told_with_its_figures() {
    let plan = plan(MAKE, LIMIT.0, LIMIT.1);
    let ninefold = |steal| records((7674.352, 3112.487), (901.468, 324.844), steal);
    assert_eq!(
        message(&plan, &ninefold(None)).unwrap(),
        "the same work took 8.80 times the CPU time: 10\u{202f}787 s under `none`, 1\u{202f}226 s under `30%` (medians); steal is not \
         observable here, so stolen time may have been booked as the program's own; else a slower or slower clocked \
         processor, or work that was not the same"
    );
    assert!(message(&plan, &ninefold(Some(0.02))).unwrap().contains("steal of at most 2"));
    assert!(message(&plan, &ninefold(Some(0.9))).unwrap().contains("steal came to 90"));
}

#[test]
fn a_build_that_takes_the_same_time_is_no_matter() {
    let plan = plan(MAKE, LIMIT.0, LIMIT.1);
    assert_eq!(message(&plan, &records((904.3, 331.5), (901.5, 324.8), None)), None);
    assert_eq!(message(&plan, &records((0.05, 0.0), (0.5, 0.0), None)), None, "ticks");
    let (mut trials, blocks) = records((904.3, 331.5), (901.5, 324.8), None);
    for trial in &mut trials {
        trial.signals.cpu = None;
    }
    assert_eq!(message(&plan, &(trials, blocks)), None, "records of before the account was kept");
}

#[test]
fn one_trial_that_took_longer_is_named() {
    let plan = plan(MAKE, LIMIT.0, LIMIT.1);
    let mut records = records((8.0, 2.0), (8.0, 2.0), Some(0.0));
    records.0[3].signals.cpu.as_mut().unwrap().user_seconds = Some(28.0);
    let message = message(&plan, &records).unwrap();
    assert!(message.contains("3.00 times the CPU time: 30.0 s in trial 4, 10.0 s in trial 1;"), "{message}");
}

#[test]
fn what_the_kernel_does_for_another_stack_is_its_own_matter() {
    let same = plan(MAKE, "volume.path = \"/srv/ext4\"", "volume.path = \"/srv/btrfs\"");
    assert_eq!(message(&same, &records((8.0, 2.0), (8.0, 12.0), Some(0.0))), None);
    let told = message(&same, &records((8.0, 2.0), (16.0, 2.0), Some(0.0))).unwrap();
    assert!(told.contains("2.00 times the CPU time in user mode: 16.0 s under `30%`"), "{told}");
}

#[test]
fn other_work_and_work_for_a_time_are_not_compared() {
    let other = plan(MAKE, "workload.argv = [\"make\"]", "workload.argv = [\"make\", \"-j2\"]");
    assert_eq!(message(&other, &records((8.0, 2.0), (80.0, 2.0), None)), None);
}

#[test]
fn steal_below_an_experiment_that_limits_cpu_time_is_flagged_and_elsewhere_left_to_the_gate() {
    let limited = plan(MAKE, LIMIT.0, LIMIT.1);
    let (mut trials, blocks) = records((8.0, 2.0), (8.0, 2.0), Some(0.01));
    assert_eq!(host_steal(&limited, &trials, &blocks), None);
    trials[2].signals.steal = Some(0.25);
    let flag = host_steal(&limited, &trials, &blocks).unwrap();
    assert_eq!(
        flag.message,
        "in 1 of 6 trials the hypervisor below this machine took more than 5.00 % of CPU time, up to 25.0 %: that \
         came on top of the limits of this experiment, and no gate judged it"
    );
    let other = plan(MAKE, "limit.memory = \"1GiB\"", "limit.memory = \"2GiB\"");
    assert_eq!(host_steal(&other, &trials, &blocks), None);
    let mut off = limited.clone();
    off.experiment.gates.steal = Gate::Off;
    assert_eq!(host_steal(&off, &trials, &blocks), None);
}
