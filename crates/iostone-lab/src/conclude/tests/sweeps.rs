//! Sweeps from made-up records: what the next block holds, and what they come to.

use iostone_model::verdict::{SweepOutcome, SweepState};
use iostone_stats::schedule::block_order;

use super::*;
use crate::directory::block_records;
use crate::estimate::estimate;

const SWEEP: &str = "name = \"limit\"\n[stack]\nvolume = { kind = \"directory\" }\n[[factor]]\nname = \"quota\"\n\
                     path = \"limit.cpu\"\nsweep = \"10%..100%\"\n[workload]\nkind = \"command\"\nargv = [\"make\"]\n\
                     [decide]\nmetric = \"wall_time\"\n[trials]\nseed = 1\n";

/// The walls of ten limits: one just above an allowance is best.
const WALLS: [f64; 10] = [30.0, 15.0, 10.0, 16.7, 17.0, 17.5, 18.0, 18.5, 18.8, 19.0];

fn plan_of(quick: bool) -> Plan {
    let options = PlanOptions { quick, ..PlanOptions::default() };
    make_plan(read(SWEEP, &[]).unwrap(), options).unwrap()
}

/// Carries a sweep out on paper: each block holds what the one before asked for.
fn carried_out(plan: &Plan, most: u32) -> (Vec<TrialRecord>, Vec<Entry>) {
    carried_out_on(&WALLS, plan, most)
}

fn carried_out_on(walls: &[f64; 10], plan: &Plan, most: u32) -> (Vec<TrialRecord>, Vec<Entry>) {
    let (mut trials, mut entries): (Vec<TrialRecord>, Vec<Entry>) = (Vec::new(), Vec::new());
    for block in 0..most {
        let sweep = PlannedSweep::of(plan, &trials, &block_records(&entries)).unwrap().unwrap();
        let status = sweep.status();
        if status.outcome.is_some() && block > 0 {
            break;
        }
        let held = if block == 0 { (0..10).collect() } else { status.active };
        entries.push(entry(JournalEvent::BlockBegun { block, order: Vec::new() }));
        for level in block_order(7, u64::from(block), 10).into_iter().filter(|level| held.contains(level)) {
            let level_number = u32::try_from(level).unwrap();
            let wall = walls[level] * (1.0 + 0.004 * f64::from((block * 7 + level_number * 3) % 5));
            let number = u32::try_from(trials.len()).unwrap() + 1;
            let name = &plan.experiment.configurations[level].name;
            let mut record = trial(number, block, number, name, 1.0, 0);
            record.metrics = BTreeMap::from([("wall_time".to_owned(), wall)]);
            trials.push(record);
        }
        entries.push(entry(JournalEvent::BlockEnded { block, end: BlockEnd::Counted }));
    }
    (trials, entries)
}

#[test]
fn a_sweep_names_its_best_level_and_what_it_passed_over() {
    let plan = plan_of(false);
    let (trials, entries) = carried_out(&plan, 40);
    assert_eq!(trials.len(), 44, "ten levels twice, three levels eight times more");
    let verdicts = conclude(&plan, &trials, &entries, &Environment::default(), false).unwrap();
    let sweep = verdicts.sweep.as_ref().unwrap();
    assert_eq!((sweep.outcome, sweep.best.as_deref()), (SweepOutcome::UniqueBest, Some("30%")));
    assert_eq!(sweep.not_shown_worse, ["30%"]);
    assert_eq!((sweep.trials, sweep.trials_of_racing_all), (44, Some(90)));
    assert_eq!(sweep.levels[9].state, SweepState::BeyondWorse);
    assert!(verdicts.comparisons.is_empty() && verdicts.baseline.is_empty());
    assert_eq!(verdicts.configurations.len(), 10);
    let headline = &verdicts.headline;
    assert!(headline.starts_with("30% is best if the curve has one optimum, as it looks: 4"), "{headline}");
    assert!(headline.contains("20% and 40% are worse; 10% and 50% to 100% lie beyond"), "{headline}");
    assert!(headline.ends_with("44 trials; racing all levels would have taken about 90."), "{headline}");
    assert!(verdicts.permanent.iter().any(|line| line == "iostone limit 30% -- <command>"));
}

#[test]
fn of_equal_levels_nothing_is_made_permanent_and_the_effort_is_told_as_it_is() {
    let plan = plan_of(false);
    let (trials, entries) = carried_out_on(&[10.0; 10], &plan, 40);
    let verdicts = conclude(&plan, &trials, &entries, &Environment::default(), false).unwrap();
    let sweep = verdicts.sweep.as_ref().unwrap();
    assert_eq!(sweep.outcome, SweepOutcome::WithinMargin);
    assert_eq!(verdicts.permanent, ["# nothing to change: no level was shown to be worse than another"]);
    assert!(!verdicts.headline.contains("one optimum"), "{}", verdicts.headline);
    assert!(sweep.trials >= sweep.trials_of_racing_all.unwrap());
    let fewer = sweep.trials > sweep.trials_of_racing_all.unwrap();
    assert_eq!(verdicts.headline.contains("would have taken fewer"), fewer, "{}", verdicts.headline);
}

#[test]
fn an_open_sweep_says_which_level_looks_best_and_how_long_it_will_take() {
    let plan = plan_of(false);
    let (trials, entries) = carried_out(&plan, 4);
    let verdicts = conclude(&plan, &trials, &entries, &Environment::default(), false).unwrap();
    let sweep = verdicts.sweep.as_ref().unwrap();
    assert_eq!(
        (sweep.outcome, sweep.best.as_deref(), sweep.leader.as_deref()),
        (SweepOutcome::Open, None, Some("30%"))
    );
    assert!(sweep.levels.iter().all(|level| level.state == SweepState::Open));
    let start = "No level is shown to be best after 4 blocks; 30% looks best. About 6 more blocks";
    assert!(verdicts.headline.starts_with(start), "{}", verdicts.headline);
    assert!(verdicts.permanent.is_empty());
    let nothing = conclude(&plan, &[], &[], &Environment::default(), false).unwrap();
    assert_eq!(
        (nothing.sweep, nothing.headline.as_str()),
        (None, "No block is complete yet, so nothing can be said.")
    );
}

#[test]
fn a_rehearsal_of_a_sweep_holds_three_levels_and_decides_nothing() {
    let plan = plan_of(true);
    assert_eq!(plan.experiment.configurations.len(), 3);
    let mut trials = Vec::new();
    for (number, (level, wall)) in (0u32..).zip([("10%", 30.0), ("50%", 17.0), ("100%", 19.0)]) {
        let mut record = trial(number + 1, 0, number, level, 1.0, 0);
        record.metrics = BTreeMap::from([("wall_time".to_owned(), wall)]);
        trials.push(record);
    }
    let entries = [
        entry(JournalEvent::BlockBegun { block: 0, order: Vec::new() }),
        entry(JournalEvent::BlockEnded { block: 0, end: BlockEnd::Counted }),
    ];
    let verdicts = conclude(&plan, &trials, &entries, &Environment::default(), false).unwrap();
    let sweep = verdicts.sweep.unwrap();
    assert_eq!((sweep.outcome, sweep.best, sweep.trials), (SweepOutcome::Open, None, 3));
    assert_eq!(verdicts.headline, "A rehearsal in small: it claims no verdict.");
}

#[test]
fn a_budget_below_the_first_look_is_refused_and_the_estimate_counts_what_runs() {
    let text = SWEEP.replace("metric =", "blocks = { min = 2, max = 9 }\nmetric =");
    let error = make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("too few for a sweep over 10 levels") && error.contains("decide.blocks.max=10"),
        "{error}"
    );
    let estimate = estimate(&plan_of(false));
    // A warm-up of each, each twice, and two of them eight times more; at most all of them in forty blocks.
    assert_eq!((estimate.trials, estimate.blocks), ((30 + 16, 410), (10, 40)));
}
