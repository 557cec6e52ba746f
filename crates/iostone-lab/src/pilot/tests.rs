//! Pilots on made-up series: their lengths, their cuts, the ramp, and where there is none.

use iostone_model::experiment::read;
use iostone_model::warm_up::PILOT_SCHEMA;

use super::*;
use crate::plan::{PlanOptions, make_plan};

const BARRIER: &str = include_str!("../../../../experiments/barrier.toml");

fn plan(ramp: &str, runtime: &str, quick: bool) -> Plan {
    let text = BARRIER
        .replace("ramp_time = \"1s\"", &format!("ramp_time = \"{ramp}\""))
        .replace("runtime = \"10s\"", &format!("runtime = \"{runtime}\""));
    make_plan(read(&text, &[]).unwrap(), PlanOptions { quick, ..PlanOptions::default() }).unwrap()
}

fn seconds(seconds: f64) -> Span {
    Span(Duration::from_secs_f64(seconds))
}

/// A pilot whose rate is low for so many seconds.
fn pilot(number: u32, configuration: &str, runtime: u32, slow: f64) -> PilotRecord {
    let series = (0..runtime * 10).map(|i| if f64::from(i) < slow * 10.0 { 100 } else { 1000 }).collect();
    let runtime = f64::from(runtime);
    let workload = WorkloadReport {
        kind: "io".to_owned(),
        measured_seconds: runtime,
        operations_per_100ms: series,
        ..WorkloadReport::default()
    };
    PilotRecord {
        schema: PILOT_SCHEMA.to_owned(),
        number,
        configuration: configuration.to_owned(),
        session: 0,
        started_at: String::new(),
        total_seconds: runtime,
        runtime: seconds(runtime),
        cut: cut_of(&workload),
        metrics: std::collections::BTreeMap::new(),
        workload,
        checks: Vec::new(),
        notes: Vec::new(),
        signals: iostone_model::trial::SignalSummary::default(),
        gates: Vec::new(),
        seconds: Vec::new(),
    }
}

/// A pilot whose rate climbs all the time.
fn climbing(number: u32, configuration: &str, runtime: u32) -> PilotRecord {
    let mut pilot = pilot(number, configuration, runtime, 0.0);
    pilot.workload.operations_per_100ms = (0..u64::from(runtime) * 10).map(|i| 100 + i).collect();
    pilot.cut = cut_of(&pilot.workload);
    pilot
}

#[track_caller]
fn asked<'a>(plan: &'a Plan, pilots: &[PilotRecord]) -> (&'a str, f64) {
    match next_pilot(plan, pilots).unwrap() {
        NextPilot::Run(configuration, runtime) => (&configuration.name, runtime.0.as_secs_f64()),
        NextPilot::Declare(ramp) => panic!("declared {ramp:?}"),
    }
}

#[test]
fn each_configuration_has_a_pilot_and_the_longest_cut_is_the_ramp_of_all() {
    let plan = plan("auto", "10s", false);
    assert!(plan.needs_pilots());
    assert_eq!(asked(&plan, &[]), ("on", 20.0));
    let mut pilots = vec![pilot(1, "on", 20, 1.5)];
    assert_eq!(asked(&plan, &pilots), ("off", 20.0));
    pilots.push(pilot(2, "off", 20, 4.0));
    let expected = DeclaredRamp {
        ramp: seconds(4.0),
        rule: "largest".to_owned(),
        pilots: 2,
        asked_by: "off".to_owned(),
        at_limit: false,
        runtime: None,
    };
    assert_eq!(next_pilot(&plan, &pilots).unwrap(), NextPilot::Declare(expected));
}

#[test]
fn a_pilot_without_an_end_of_its_warm_up_is_run_longer_and_then_given_up() {
    let plan = plan("auto", "10s", false);
    let mut pilots = vec![pilot(1, "on", 20, 1.0), climbing(2, "off", 20)];
    assert_eq!(asked(&plan, &pilots), ("off", 40.0));
    pilots.push(climbing(3, "off", 40));
    assert_eq!(asked(&plan, &pilots), ("off", 80.0));
    // What the longer one finds is what counts.
    let mut found = pilots.clone();
    found.push(pilot(4, "off", 80, 15.0));
    assert!(
        matches!(next_pilot(&plan, &found).unwrap(), NextPilot::Declare(ramp) if ramp.ramp == seconds(15.0))
    );
    pilots.push(climbing(4, "off", 80));
    let error = next_pilot(&plan, &pilots).unwrap_err().to_string();
    assert!(error.contains("the warm-up of `off` has no end within half of a pilot of 80s"), "{error}");
    assert!(error.contains("workload.ramp_time = \"0s\"") && error.contains("workload.runtime"), "{error}");
}

#[test]
fn a_short_trial_has_a_pilot_of_five_seconds_and_a_rehearsal_a_shorter_one() {
    let short = plan("auto", "500ms", false);
    assert_eq!(asked(&short, &[]), ("on", 5.0));
    let rehearsal = plan("auto", "10s", true);
    assert_eq!(asked(&rehearsal, &[]), ("on", 2.0));
    // A rehearsal takes what it gets, and says so.
    let pilots = [climbing(1, "on", 2), climbing(2, "off", 2)];
    match next_pilot(&rehearsal, &pilots).unwrap() {
        NextPilot::Declare(ramp) => assert!(ramp.at_limit && ramp.ramp < seconds(1.0), "{ramp:?}"),
        NextPilot::Run(..) => panic!("a rehearsal repeats no pilot"),
    }
}

#[test]
fn a_declared_ramp_needs_no_pilot() {
    let plan = plan("2s", "10s", false);
    assert!(!plan.needs_pilots());
    assert_eq!(first_pilot(&plan, &plan.experiment.configurations[0]), None);
}

#[test]
fn a_pilot_differs_from_a_trial_in_time_alone() {
    let plan = plan("auto", "10s", false);
    let configuration = &plan.experiment.configurations[1];
    let pilot = as_pilot(configuration, seconds(20.0));
    let Workload::Io(io) = &pilot.workload else { panic!("an io workload") };
    assert_eq!((io.asked_runtime(), io.ramp_time), (Some(seconds(20.0)), Timing::default()));
    let trial = settled(configuration, Some(&declared(3.0, None)));
    let Workload::Io(io) = &trial.workload else { panic!("an io workload") };
    assert_eq!((io.asked_runtime(), io.ramp_time), (Some(seconds(10.0)), Timing::Fixed(seconds(3.0))));
    // What the file declares stays.
    assert_eq!(settled(&trial, Some(&declared(9.0, None))), trial);
}

fn declared(ramp: f64, runtime: Option<DeclaredRuntime>) -> DeclaredRamp {
    DeclaredRamp {
        ramp: seconds(ramp),
        rule: "largest".to_owned(),
        pilots: 2,
        asked_by: "on".to_owned(),
        at_limit: false,
        runtime,
    }
}

/// A pilot that cost 3 s beside its measured time, with noise of each 100 ms.
fn noisy(number: u32, configuration: &str, runtime: u32) -> PilotRecord {
    let mut pilot = pilot(number, configuration, runtime, 0.0);
    let mut state = u64::from(number);
    for operations in &mut pilot.workload.operations_per_100ms {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *operations = 1000 + state % 100;
    }
    pilot.total_seconds += 3.0;
    pilot
}

#[test]
fn pilots_find_how_long_trials_are_measured() {
    let text = BARRIER
        .replace("ramp_time = \"1s\"", "ramp_time = \"auto\"")
        .replace("runtime = \"10s\"", "runtime = \"auto\"");
    let plan = make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap();
    let configuration = &plan.experiment.configurations[0];
    assert_eq!(next_pilot(&plan, &[]).unwrap(), NextPilot::Run(configuration, seconds(30.0)));
    let pilots = [noisy(1, "on", 30), noisy(2, "off", 30)];
    let NextPilot::Declare(found) = next_pilot(&plan, &pilots).unwrap() else { panic!("no ramp") };
    let runtime = found.runtime.clone().unwrap();
    assert_eq!((runtime.runtime, runtime.blocks, runtime.gap_seconds.round()), (seconds(2.5), 6, 3.0));
    let trial = settled(configuration, Some(&found));
    let Workload::Io(io) = &trial.workload else { panic!("an io workload") };
    assert_eq!((io.asked_runtime(), io.ramp_time), (Some(seconds(2.5)), Timing::Fixed(found.ramp)));
    // One that costs a minute beside its measured time takes longer pilots to judge.
    let dear = pilots.map(|pilot| PilotRecord { total_seconds: pilot.total_seconds + 20.0, ..pilot });
    assert_eq!(next_pilot(&plan, &dear).unwrap(), NextPilot::Run(configuration, seconds(60.0)));
}

#[test]
fn a_runtime_left_to_pilots_needs_a_ramp_left_to_them() {
    let text = BARRIER.replace("runtime = \"10s\"", "runtime = \"auto\"");
    let found = read(&text, &[]).unwrap_err();
    assert_eq!(found[0].message, "pilots choose the runtime, and only `ramp_time = \"auto\"` runs pilots");
}
