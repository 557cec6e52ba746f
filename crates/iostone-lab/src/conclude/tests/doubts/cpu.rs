//! Builds that took the same CPU time, and builds that did not.

use iostone_model::audit::Severity;
use iostone_model::experiment::read;
use iostone_model::trial::CpuAccount;

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
            (made.signals.steal, made.signals.samples) = (steal, 100);
            made.signals.cpu = Some(CpuAccount {
                user_seconds: Some(user),
                system_seconds: Some(system),
                ..CpuAccount::default()
            });
            trials.push(made);
        }
    }
    let block = |number| BlockRecord { number, order: Vec::new(), counted: true, reason: None, loss: None };
    (trials, (0..3).map(block).collect())
}

fn message(plan: &Plan, (trials, blocks): &(Vec<TrialRecord>, Vec<BlockRecord>)) -> Option<String> {
    let mut told = messages(plan, trials, blocks, "cpu-time");
    assert!(told.len() < 2, "{told:?}");
    told.pop()
}

#[test]
fn ninefold_cpu_time_for_the_same_build_is_told_with_its_figures() {
    let plan = plan(MAKE, LIMIT.0, LIMIT.1);
    let ninefold = |steal| records((7674.352, 3112.487), (901.468, 324.844), steal);
    assert_eq!(
        message(&plan, &ninefold(None)).unwrap(),
        "the same work on the same machine took 8.80 times the CPU time: 10\u{202f}787 s under quota=none, 1\u{202f}226 s under quota=30%: \
         time stolen or throttled was booked as the program's own"
    );
    let found = |steal| {
        let (trials, blocks) = ninefold(steal);
        found(&plan, &trials, &blocks, "cpu-time").remove(0)
    };
    assert_eq!(found(None).severity, Severity::Serious);
    let explained = found(Some(0.02));
    assert_eq!(explained.severity, Severity::Note);
    assert!(explained.message.contains("steal of 2.00 % does not explain it"), "{}", explained.message);
    assert!(found(Some(0.9)).evidence[0].contains("steal 90.0 %"));
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
    assert!(message.contains("3.00 times the CPU time: 30.0 s in /trials/000004/trial.json"), "{message}");
}

#[test]
fn what_the_kernel_does_for_another_stack_is_its_own_matter() {
    let same = plan(MAKE, "volume.path = \"/srv/ext4\"", "volume.path = \"/srv/btrfs\"");
    assert_eq!(message(&same, &records((8.0, 2.0), (8.0, 12.0), Some(0.0))), None);
    let told = message(&same, &records((8.0, 2.0), (16.0, 2.0), Some(0.0))).unwrap();
    assert!(told.contains("2.00 times the CPU time in user mode: 16.0 s under quota=30%"), "{told}");
}

#[test]
fn other_work_and_work_for_a_time_are_not_compared() {
    let other = plan(MAKE, "workload.argv = [\"make\"]", "workload.argv = [\"make\", \"-j2\"]");
    assert_eq!(message(&other, &records((8.0, 2.0), (80.0, 2.0), None)), None);
}
