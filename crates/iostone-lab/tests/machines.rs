//! Runs on a machine made of a script: guests that die, and levels whose kernel has to be booted first.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostone_lab::{
    Conductor, Ending, LabError, Observer, PlanOptions, Progress, RunDirectory, make_plan, read_or_make,
    read_run,
};
use iostone_machine::{Event, Failure, FailureKind, Machine, Measured, Reply, Request};
use iostone_model::environment::Environment;
use iostone_model::experiment::read;
use iostone_model::run::Plan;
use iostone_model::summary::{RunState, RunSummary};
use iostone_model::trial::WorkloadReport;
use iostone_model::verdict::Verdicts;
use iostone_workload::RawOutput;

/// A host under some kernel, on which nothing takes any time.
struct Scripted {
    kernel: &'static str,
    /// Trials applied so far.
    applied: u32,
    /// Whether the guest of a trial dies, by the number of trials applied; and in which request.
    dies: fn(u32) -> Option<&'static str>,
    /// Whether it is the trial's container that dies, and no guest.
    is_container: bool,
    /// Whether others use its disks all the time.
    is_busy: bool,
    evidence: u32,
    undone: u32,
    finished: bool,
}

impl Scripted {
    fn new(kernel: &'static str) -> Self {
        Self {
            kernel,
            applied: 0,
            dies: |_| None,
            is_container: false,
            is_busy: false,
            evidence: 0,
            undone: 0,
            finished: false,
        }
    }

    fn may_die(&self, request: &str) -> Result<(), Failure> {
        if (self.dies)(self.applied) == Some(request) && self.is_container {
            return Err(Failure::new(
                FailureKind::Container,
                "docker: its agent's process ended in mid-trial",
            ));
        }
        if (self.dies)(self.applied) == Some(request) {
            let message =
                "the guest's kernel panicked\n[    3.1] Kernel panic - not syncing: Attempted to kill init!";
            return Err(Failure::new(FailureKind::Guest, message));
        }
        Ok(())
    }
}

impl Machine for Scripted {
    fn call(&mut self, request: Request, _: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        // From JSON, as over the wire: what replies hold is the stack's affair.
        let reply = |text: &str| serde_json::from_str(text).unwrap();
        Ok(match request {
            Request::Describe { .. } => {
                let mut environment = Environment::default();
                self.kernel.clone_into(&mut environment.kernel.release);
                Reply::Environment(Box::new(environment))
            }
            Request::Preflight { .. } => Reply::Preflight { stacks: Vec::new() },
            Request::Apply { .. } => {
                self.applied += 1;
                self.may_die("apply")?;
                reply(
                    r#"{"reply":"applied","target":{"directory":"/","device":null,"mount":null},"checks":[],"notes":[],"devices":[]}"#,
                )
            }
            Request::Verify => Reply::Verified { checks: Vec::new() },
            Request::Prepare(_) => reply(r#"{"reply":"prepared","seconds":0.0}"#),
            Request::Settle(_) if self.is_busy => reply(
                r#"{"reply":"settled","at_rest":false,"waited_seconds":5.0,"bytes_per_second":5e8,"busiest":"vda"}"#,
            ),
            Request::Settle(_) => reply(
                r#"{"reply":"settled","at_rest":true,"waited_seconds":0.0,"bytes_per_second":0.0,"busiest":null}"#,
            ),
            Request::Run(_) => {
                self.may_die("run")?;
                Reply::Measured(Box::new(Measured {
                    metrics: [("iops".to_owned(), 1000.0 + f64::from(self.applied % 3))].into(),
                    report: WorkloadReport { kind: "io".to_owned(), ..WorkloadReport::default() },
                    ..Measured::default()
                }))
            }
            Request::Evidence => {
                self.evidence += 1;
                let text = format!("console of guest {}\n", self.applied);
                Reply::Evidence { raw: vec![RawOutput { name: "console.log".to_owned(), text }] }
            }
            Request::Undo => {
                self.undone += 1;
                self.may_die("undo")?;
                Reply::Done
            }
            Request::Finish => {
                self.finished = true;
                Reply::Done
            }
            Request::Begin(_) => Reply::Done,
            other => return Err(Failure::new(FailureKind::Usage, format!("{other:?} is not scripted"))),
        })
    }
}

struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: Progress<'_>) {}
}

fn experiment(levels: &str, machine: &str) -> String {
    format!(
        "name = \"k\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\n[[factor]]\nname = \"kernel\"\n{levels}\n\
         [workload]\nkind = \"io\"\nrw = \"read\"\nbs = \"4KiB\"\ndirect = true\nruntime = \"1s\"\n[trials]\nwarmups = 0\n\
         seed = 7\n[decide]\nmetric = \"iops\"\nbaseline = \"old\"\nblocks = {{ min = 6, max = 8 }}\n[machine]\n{machine}\n"
    )
}

fn new_run(parent: &Path, text: &str) -> (Plan, RunDirectory) {
    let plan = make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap();
    let directory = RunDirectory::create(parent, &plan, text).unwrap();
    (plan, directory)
}

fn conduct(
    plan: &Plan,
    directory: &mut RunDirectory,
    machine: &mut Scripted,
) -> Result<(Ending, Verdicts), LabError> {
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Conductor::new(plan, directory, machine, &mut Silent, stop).unwrap().run();
    assert!(machine.finished, "the session was left open");
    assert_eq!(machine.undone, machine.applied, "a trial was not undone");
    ended
}

const TWO_KERNELS: &str =
    "levels = { old = { machine.kernel = \"6.1\" }, new = { machine.kernel = \"6.12\" } }";
const TWO_GUESTS: &str = "levels = { old = { machine.kernel = \"/a\" }, new = { machine.kernel = \"/b\" } }";

#[test]
fn blocks_wait_for_reboots_and_go_on_after_them() {
    let parent = tempfile::tempdir().unwrap();
    let text = experiment(TWO_KERNELS, "kind = \"local\"");
    let (plan, directory) = new_run(parent.path(), &text);
    let path = directory.path().to_owned();
    drop(directory);
    let (mut kernel, mut sessions) = ("6.12", 0);
    let ending = loop {
        let (mut directory, plan_read, _) = RunDirectory::resume(&path).unwrap();
        assert_eq!(plan_read, plan);
        let mut machine = Scripted::new(kernel);
        sessions += 1;
        match conduct(&plan, &mut directory, &mut machine) {
            Ok((ending, verdicts)) => {
                let flag = verdicts.flags.iter().find(|flag| flag.name == "not-interleaved").unwrap();
                assert!(flag.message.contains("cannot be told apart within a block"), "{}", flag.message);
                break ending;
            }
            Err(error) => {
                assert!(error.is_reboot(), "{error}");
                let other = if kernel == "6.1" { "6.12" } else { "6.1" };
                assert!(error.to_string().contains(&format!("asks for kernel `{other}`")), "{error}");
                if sessions == 1 {
                    // Resumed without the reboot, nothing is measured, and the same is asked for again.
                    drop(directory);
                    let (mut directory, _, _) = RunDirectory::resume(&path).unwrap();
                    let mut machine = Scripted::new(kernel);
                    assert!(conduct(&plan, &mut directory, &mut machine).unwrap_err().is_reboot());
                    assert_eq!(machine.applied, 0);
                }
                kernel = other;
            }
        }
    };
    let record = read_run(&path).unwrap();
    assert_eq!(record.defects, Vec::<String>::new());
    assert!(matches!(ending, Ending::Decided | Ending::BlocksSpent), "{ending:?}");
    assert!(record.blocks.iter().all(|block| block.counted), "{:?}", record.blocks);
    // One boot a block: each begins under the kernel with which the one before ended.
    assert_eq!(sessions, record.blocks.len() + 1);
    for (index, block) in record.blocks.iter().enumerate() {
        let expected = if index % 2 == 0 { ["new", "old"] } else { ["old", "new"] };
        assert_eq!(block.order, expected);
    }
    let read_back: BTreeMap<&str, &str> = record
        .trials
        .iter()
        .flat_map(|trial| &trial.checks)
        .map(|check| (check.asked.as_str(), check.read_back.as_str()))
        .collect();
    assert_eq!(read_back, BTreeMap::from([("kernel=6.1", "6.1"), ("kernel=6.12", "6.12")]));
}

#[test]
fn another_kernel_is_another_machine_where_no_level_asks_for_it() {
    let parent = tempfile::tempdir().unwrap();
    let levels = "levels = { old = { volume.size = \"32MiB\" }, new = { volume.size = \"64MiB\" } }";
    let text = experiment(levels, "kind = \"local\"");
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted::new("6.1");
    machine.dies = |_| Some("run");
    assert!(conduct(&plan, &mut directory, &mut machine).is_err());
    let path = directory.path().to_owned();
    drop(directory);
    let (mut directory, _, _) = RunDirectory::resume(&path).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut machine = Scripted::new("6.12");
    let error = Conductor::new(&plan, &mut directory, &mut machine, &mut Silent, stop).unwrap().run();
    assert!(error.unwrap_err().to_string().contains("another machine or kernel"));
}

#[test]
fn a_guest_that_dies_fails_its_trial_and_its_block_is_repeated() {
    let parent = tempfile::tempdir().unwrap();
    let text = experiment(TWO_GUESTS, "kind = \"guest\"\nkernel = \"/a\"");
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted::new("6.1");
    machine.dies = |number| match number {
        2 => Some("apply"),
        7 => Some("undo"),
        _ => None,
    };
    // Two of ten blocks: no more than a fifth.
    conduct(&plan, &mut directory, &mut machine).unwrap();
    assert_eq!(machine.evidence, machine.applied, "evidence is kept of every guest");
    let record = read_run(directory.path()).unwrap();
    let dead: Vec<u32> =
        record.trials.iter().filter(|trial| !trial.valid).map(|trial| trial.number).collect();
    assert_eq!(dead, [2, 7]);
    for trial in record.trials.iter().filter(|trial| !trial.valid) {
        assert!(trial.workload.error.as_deref().unwrap().contains("Kernel panic"));
        let gate = trial.gates.iter().find(|gate| gate.gate == "workload").unwrap();
        assert!(!gate.passed);
    }
    let console = directory.path().join("trials/000002/raw/console.log");
    assert_eq!(std::fs::read_to_string(console).unwrap(), "console of guest 2\n");
    let discarded: Vec<u32> =
        record.blocks.iter().filter(|block| !block.counted).map(|block| block.number).collect();
    assert_eq!(discarded, [0, 3]);
}

#[test]
fn a_rehearsal_on_a_busy_machine_repeats_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let text = experiment(TWO_GUESTS, "kind = \"guest\"\nkernel = \"/a\"");
    let options = PlanOptions { quick: true, ..PlanOptions::default() };
    let plan = make_plan(read(&text, &[]).unwrap(), options).unwrap();
    let mut directory = RunDirectory::create(parent.path(), &plan, &text).unwrap();
    let mut machine = Scripted { is_busy: true, ..Scripted::new("6.1") };
    let (ending, _) = conduct(&plan, &mut directory, &mut machine).unwrap();
    assert_eq!((ending, machine.applied), (Ending::Rehearsed, 2));
    let record = read_run(directory.path()).unwrap();
    assert_eq!(record.defects, Vec::<String>::new());
    assert_eq!(record.blocks.iter().map(|block| block.counted).collect::<Vec<_>>(), [true]);
    let failed = record.trials.iter().flat_map(|trial| &trial.gates).filter(|gate| !gate.passed);
    assert_eq!(failed.map(|gate| gate.gate.as_str()).collect::<Vec<_>>(), ["idle", "idle"]);

    // A workload that fails does so the next time as well.
    let mut directory = RunDirectory::create(&parent.path().join("dying"), &plan, &text).unwrap();
    let mut machine = Scripted { dies: |_| Some("run"), ..Scripted::new("6.1") };
    let error = conduct(&plan, &mut directory, &mut machine).unwrap_err().to_string();
    assert!(error.contains("it failed in 1 of 1 blocks"), "{error}");
    assert_eq!(machine.applied, 2);
}

#[test]
fn guests_that_always_die_end_the_run_after_three_blocks() {
    let parent = tempfile::tempdir().unwrap();
    let text = experiment(TWO_GUESTS, "kind = \"guest\"\nkernel = \"/a\"");
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted::new("6.1");
    machine.dies = |_| Some("run");
    let error = conduct(&plan, &mut directory, &mut machine).unwrap_err();
    assert!(matches!(error, LabError::Workload { .. }), "{error}");
    let told = error.to_string();
    assert!(told.contains("the guest's kernel panicked (it failed in 3 of 3 blocks)"), "{told}");
    assert!(told.ends_with("Attempted to kill init!"), "{told}");
    assert_eq!(machine.applied, 6);
}

/// Warm-ups in containers of which some die.
fn warm_up_in_containers(dies: fn(u32) -> Option<&'static str>) -> (Result<Ending, LabError>, Scripted) {
    let parent = tempfile::tempdir().unwrap();
    let levels = "levels = { old = { mount.options = [] }, new = { mount.options = [\"noatime\"] } }";
    let stack = "filesystem = { kind = \"ext4\" }\ncontainer = { kind = \"docker\" }\n[[factor]]";
    let mut text = experiment(levels, "kind = \"local\"");
    for (old, new) in [
        ("warmups = 0", "warmups = 1"),
        ("64MiB", "1GiB"),
        ("direct = true", "direct = true\nsize = \"8MiB\""),
        ("[[factor]]", stack),
    ] {
        text = text.replacen(old, new, 1);
    }
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted { dies, is_container: true, ..Scripted::new("6.1") };
    let ended = conduct(&plan, &mut directory, &mut machine).map(|(ending, _)| ending);
    (ended, machine)
}

#[test]
fn a_warm_up_whose_container_dies_gets_another_one() {
    let dies = |number| match number {
        1 => Some("apply"),
        2 | 4 => Some("run"),
        _ => None,
    };
    let (ended, machine) = warm_up_in_containers(dies);
    ended.unwrap();
    // Five warm-ups, and no block more than without.
    assert!(machine.applied >= 5 + 2 * 6, "{}", machine.applied);
}

#[test]
fn a_warm_up_whose_containers_always_die_ends_the_run_with_their_reason() {
    let (ended, machine) = warm_up_in_containers(|_| Some("run"));
    let told = ended.unwrap_err().to_string();
    assert!(told.contains("docker: its agent's process ended in mid-trial (in the warm-up)"), "{told}");
    assert_eq!(machine.applied, 3);
}

#[test]
fn a_summary_is_kept_at_every_end_and_made_of_the_records_where_it_is_lost() {
    let parent = tempfile::tempdir().unwrap();
    let text = experiment(TWO_GUESTS, "kind = \"guest\"\nkernel = \"/a\"");
    let (plan, mut directory) = new_run(parent.path(), &text);
    let mut machine = Scripted { dies: |_| Some("run"), ..Scripted::new("6.1") };
    conduct(&plan, &mut directory, &mut machine).unwrap_err();
    let path = directory.path().to_owned();
    drop(directory);
    let kept = |path: &Path| -> RunSummary {
        serde_json::from_slice(&std::fs::read(path.join("summary.json")).unwrap()).unwrap()
    };
    let early = kept(&path);
    assert_eq!((early.state, early.trials, early.blocks), (RunState::Failed, 6, 0));
    let (mut directory, _, _) = RunDirectory::resume(&path).unwrap();
    conduct(&plan, &mut directory, &mut Scripted::new("6.1")).unwrap();
    let whole = kept(&path);
    assert_eq!(whole.state, RunState::Finished);
    assert_eq!(whole.experiment_digest, early.experiment_digest);
    assert!(whole.blocks >= 6 && whole.configurations.iter().all(|one| one.values["iops"].len() >= 6));
    assert_eq!(whole.comparisons.len(), 1);
    assert_eq!(read_or_make(&path).unwrap(), whole);
    for spoil in [None, Some("{"), Some("{\"schema\":\"iostone/summary/9\"}")] {
        match spoil {
            None => std::fs::remove_file(path.join("summary.json")).unwrap(),
            Some(text) => std::fs::write(path.join("summary.json"), text).unwrap(),
        }
        assert_eq!(read_or_make(&path).unwrap(), whole, "{spoil:?}");
    }
}
