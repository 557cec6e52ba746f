//! What levels differ in beside the factor that is named: by the experiment itself, or by what trials met.

use std::collections::BTreeMap;

use iostone_model::trial::{ContainerFacts, GuestFacts, WorkloadReport};

use super::super::entry;
use super::{messages, trial};
use crate::conclude::*;
use crate::journal::{BlockEnd, Entry, JournalEvent};
use crate::plan::{PlanOptions, make_plan, plan_notes, plan_warnings};

fn plan(factors: &str, baseline: &str) -> Plan {
    let text = format!(
        "name = \"c\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"1GiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
         {factors}\n[workload]\nkind = \"io\"\nrw = \"randwrite\"\nsize = \"64MiB\"\nruntime = \"1s\"\n[decide]\n\
         metric = \"iops\"\nbaseline = \"{baseline}\"\n"
    );
    make_plan(iostone_model::experiment::read(&text, &[]).unwrap(), PlanOptions::default()).unwrap()
}

fn recorded(change: impl Fn(&mut TrialRecord)) -> (Vec<TrialRecord>, Vec<Entry>) {
    let (mut trials, mut entries) = (Vec::new(), Vec::new());
    for block in 0..8 {
        entries.push(entry(JournalEvent::BlockBegun { block, order: Vec::new() }));
        for (position, name) in ["on", "off"].into_iter().enumerate() {
            let position = u32::try_from(position).unwrap();
            let mut one = trial(2 * block + position + 1, block, position, name, 100.0 + f64::from(block), 0);
            change(&mut one);
            trials.push(one);
        }
        entries.push(entry(JournalEvent::BlockEnded { block, end: BlockEnd::Counted }));
    }
    (trials, entries)
}

fn flags(plan: &Plan, change: impl Fn(&mut TrialRecord)) -> Vec<(String, String)> {
    let (trials, entries) = recorded(change);
    let verdicts = conclude(plan, &trials, &entries, &Environment::default(), false).unwrap();
    let own = verdicts.comparisons.iter().flat_map(|comparison| comparison.flags.clone());
    own.chain(verdicts.flags.clone())
        .filter(|flag| flag.name.starts_with("confounded"))
        .map(|flag| (flag.name, flag.message))
        .collect()
}

const TWO_THINGS: &str = "[[factor]]\nname = \"filesystem\"\nlevels = { on = { machine.kernel = \"6.1\" }, off = { \
                          filesystem.kind = \"xfs\", machine.kernel = \"6.12\" } }";
const ONE_THING: &str = "[[factor]]\nname = \"filesystem\"\nlevels = { on = { filesystem.kind = \"ext4\" }, off = { \
                         filesystem.kind = \"xfs\" } }";

#[test]
fn two_things_behind_one_factor_are_warned_of_and_flagged() {
    let plan = plan(TWO_THINGS, "on");
    let [warning] = &plan_warnings(&plan)[..] else { panic!("one warning") };
    assert!(
        warning.starts_with("factor `filesystem` changes two things at once: `off` differs from `on` in")
    );
    let [(name, message)] = &flags(&plan, |_| {})[..] else { panic!("one flag") };
    assert_eq!(name, "confounded-levels");
    assert_eq!(
        message,
        "`off` differs from `on` in 2 things at once, `filesystem.kind` and `machine.kernel`: the ratio is of all \
         together and cannot be put down to any one of them"
    );
}

#[test]
fn a_plan_without_a_list_of_them_is_looked_through_itself() {
    let mut old = serde_json::to_value(plan(TWO_THINGS, "on")).unwrap();
    assert!(old.as_object_mut().unwrap().remove("confounded").is_some());
    let old: Plan = serde_json::from_value(old).unwrap();
    assert_eq!(plan_warnings(&old).len(), 1);
    let [(name, _)] = &flags(&old, |_| {})[..] else { panic!("one flag") };
    assert_eq!(name, "confounded-levels");
}

#[test]
fn one_thing_is_neither_warned_of_nor_flagged() {
    let plan = plan(ONE_THING, "on");
    assert!(plan_warnings(&plan).is_empty() && flags(&plan, |_| {}).is_empty());
}

#[test]
fn factors_that_go_together_are_a_note_and_no_flag() {
    let zipped = "[[factor]]\nname = \"fs\"\nlevels = { on = { filesystem.kind = \"ext4\" }, off = { filesystem.kind = \
                  \"xfs\" } }\n[[factor]]\nname = \"bs\"\nlevels = { small = { workload.bs = \"4KiB\" }, large = { \
                  workload.bs = \"8KiB\" } }\n[combine]\nzip = [[\"fs\", \"bs\"]]";
    let plan = plan(zipped, "on+small");
    assert!(plan_warnings(&plan).is_empty());
    assert!(plan_notes(&plan).iter().any(|note| note.contains("as the experiment declares")));
}

#[test]
fn a_factor_beside_the_one_compared_is_flagged_on_the_run() {
    let beside = "[[factor]]\nname = \"barrier\"\nlevels = { on = { mount.options = [\"barrier=1\"] }, off = { \
                  mount.options = [\"barrier=0\"] } }\n[[factor]]\nname = \"load\"\nlevels = { light = { workload.bs = \
                  \"4KiB\" }, heavy = { workload = { bs = \"8KiB\", iodepth = 8 } } }";
    let plan = plan(beside, "on");
    let found = messages(&plan, &[], &[], "confounded-levels");
    assert!(found.len() == 1 && found[0].contains("factor `load` changes two things"), "{found:?}");
}

#[test]
fn what_differs_though_no_factor_set_it_is_flagged() {
    let kernels = |trial: &mut TrialRecord| {
        let release = if trial.configuration == "on" { "6.1.0" } else { "6.12.9" };
        trial.guest =
            Some(Box::new(GuestFacts { kernel_release: release.to_owned(), ..GuestFacts::default() }));
    };
    let [(name, message)] = &flags(&plan(ONE_THING, "on"), kernels)[..] else { panic!("one flag") };
    assert_eq!(name, "confounded-circumstances");
    assert_eq!(
        message,
        "`off` and `on` differ in what no factor set: the kernel (6.12.9 against 6.1.0); the ratio holds that \
         difference too"
    );
    // Where the kernel is what was varied, it is not a circumstance.
    assert!(flags(&plan(TWO_THINGS, "on"), kernels).iter().all(|(name, _)| name == "confounded-levels"));
}

const PLACE: &str = "[[factor]]\nname = \"place\"\nlevels = { on = { container = { kind = \"docker\", place = \"host\" } }, \
                     off = { container = { kind = \"docker\", place = \"layer\" } } }";

#[test]
fn an_engine_that_was_declined_something_on_one_side_is_flagged() {
    let engines = |trial: &mut TrialRecord| {
        let mut facts = BTreeMap::from([("engine".to_owned(), "io_uring: the kernel has it".to_owned())]);
        if trial.configuration == "off" {
            facts.insert("engine_declined".to_owned(), "registered-buffers: too low".to_owned());
        }
        trial.workload = WorkloadReport { kind: "io".to_owned(), facts, ..WorkloadReport::default() };
    };
    let [(name, message)] = &flags(&plan(PLACE, "on"), engines)[..] else { panic!("one flag") };
    assert_eq!(name, "confounded-circumstances");
    let words = "what the I/O engine was declined (registered-buffers: too low against nothing)";
    assert!(message.contains(words), "{message}");
    // What it is declined follows from how it is asked.
    let of_load = "[[factor]]\nname = \"depth\"\nlevels = { on = { workload.iodepth = 1 }, off = { workload.iodepth = 64 } }";
    assert!(flags(&plan(of_load, "on"), engines).is_empty());
}

#[test]
fn a_limit_that_holds_one_side_only_is_flagged_and_one_that_holds_neither_is_not() {
    let limited = |trial: &mut TrialRecord, places: &[&str]| {
        let unheld_limits =
            places.contains(&trial.configuration.as_str()).then(|| "memory to 1GiB by `/batch`".to_owned());
        trial.container = Some(Box::new(ContainerFacts { unheld_limits, ..ContainerFacts::default() }));
    };
    let [(_, message)] = &flags(&plan(PLACE, "on"), |trial| limited(trial, &["off"]))[..] else {
        panic!("one flag")
    };
    assert_eq!(
        message,
        "`off` and `on` differ in what no factor set: limits on iostone's own control group that do not hold (memory \
         to 1GiB by `/batch` against none); the ratio holds that difference too"
    );
    assert!(flags(&plan(PLACE, "on"), |trial| limited(trial, &["on", "off"])).is_empty());
    // Against no container at all.
    let beside = "[[factor]]\nname = \"container\"\nlevels = { on = { container.kind = \"none\" }, off = { container = { kind = \
                  \"docker\", place = \"bind\" } } }";
    let off_only = |trial: &mut TrialRecord| {
        if trial.configuration == "off" {
            limited(trial, &["off"]);
        }
    };
    assert_eq!(flags(&plan(beside, "on"), off_only).len(), 1);
}

#[test]
fn names_that_the_kernel_knows_already_are_no_effect_of_a_place() {
    let text = include_str!("../../../../../../experiments/copy-up.toml")
        .replace("baseline = \"host\"", "baseline = \"on\"");
    let text = text
        .replace("{ host = {", "{ on = {")
        .replace("layer = {", "off = {")
        .replace("bind = { container.place = \"bind\" }, ", "");
    let origins = |trial: &mut TrialRecord| {
        let origin = if trial.configuration == "on" { "laid out in this place" } else { "of the image" };
        trial.workload.kind = "copy-up".to_owned();
        trial.workload.facts.insert("files".to_owned(), origin.to_owned());
        let figure = trial.metrics["iops"];
        for metric in ["copy_up_time", "stat_time"] {
            trial.metrics.insert(metric.to_owned(), figure);
        }
    };
    let of = |metric: &str| {
        let text = text.replace("\"copy_up_time\"", &format!("\"{metric}\""));
        let experiment = iostone_model::experiment::read(&text, &[]).unwrap();
        flags(&make_plan(experiment, PlanOptions::default()).unwrap(), origins)
    };
    assert_eq!(of("copy_up_time"), []);
    let [(name, message)] = &of("stat_time")[..] else { panic!("one flag") };
    assert_eq!(name, "confounded-circumstances");
    assert!(
        message.contains("where the small files come from (of the image against laid out in this place)"),
        "{message}"
    );
}

#[test]
fn what_follows_from_the_factor_is_none_of_its_own() {
    let of_driver = "[[factor]]\nname = \"driver\"\nlevels = { on = { container = { kind = \"docker\", driver = \
                     \"overlay2\" } }, off = { container = { kind = \"docker\", driver = \"vfs\" } } }";
    let facts = |trial: &mut TrialRecord, version: &str| {
        let is_on = trial.configuration == "on";
        trial.container = Some(Box::new(ContainerFacts {
            driver: if is_on { "overlay2" } else { "vfs" }.to_owned(),
            engine_version: Some(if is_on { "20.10.24".to_owned() } else { version.to_owned() }),
            ..ContainerFacts::default()
        }));
    };
    let plan = plan(of_driver, "on");
    assert!(flags(&plan, |trial| facts(trial, "20.10.24")).is_empty());
    let [(_, message)] = &flags(&plan, |trial| facts(trial, "28.2.2"))[..] else { panic!("one flag") };
    assert!(message.contains("the engine's version (28.2.2 against 20.10.24)"), "{message}");
}
