//! Laws on their way with an ideal kernel, and the governor at a real control group.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iostone_model::experiment::{Allowance, AllowanceStart, Basis, Governor, Law};
use iostone_model::trial::GovernorRecord;
use iostone_model::units::Fraction;
use proptest::prelude::*;

use super::active_law::ActiveLaw;
use super::quota::{CFS_QUOTA, read_quota};
use super::serve::{end_at, now};
use super::{Answer, BEGIN, GovernorPlan, serve};
use crate::control_groups::CgroupVersion;

fn governor(law: Law, speed: f64, start: AllowanceStart) -> Governor {
    let allowance = Allowance {
        instance: "t1.micro".to_owned(),
        name: "penalty".to_owned(),
        vcpus: 1,
        law,
        basis: Basis::Measured,
        source: "a test".to_owned(),
    };
    Governor { allowance, speed, start }
}

fn bucket(capacity_seconds: f64, throttled_refill: f64) -> Law {
    Law::Bucket {
        capacity_seconds,
        refill: Fraction(0.2),
        throttled_refill: Fraction(throttled_refill),
        slow: Fraction(0.03),
        resume: Fraction(1.0),
    }
}

/// A job of so many CPU seconds under a limit, with a kernel that holds every share exactly: wall seconds, and the record.
fn run_ideally(governor: Governor, work: f64, limit: f64) -> (f64, GovernorRecord) {
    let (full, slow) = super::active_law::speeds(&governor.allowance);
    let mut law = ActiveLaw::begin(governor, f64::INFINITY);
    let (mut done, mut wall) = (0.0, 0.0);
    while done < work {
        let look = law.next_look().as_secs_f64();
        let share = limit.min(if law.is_slow() { slow } else { full });
        let elapsed = look.min((work - done) / share);
        law.advance(Duration::from_secs_f64(elapsed), Duration::from_secs_f64(elapsed * share));
        done += elapsed * share;
        wall += elapsed;
        if work - done < 1e-6 {
            break;
        }
    }
    (wall, law.end())
}

#[test]
fn a_job_of_6_seconds_takes_as_long_as_the_law_has_it() {
    // Bucket of 2 CPU seconds, speed 10: full at 100 % for 2 / 0.8 s, then 3 % until 10 % - 3 % have filled it.
    let job = |limit| run_ideally(governor(bucket(20.0, 0.1), 10.0, AllowanceStart::Launch), 6.0, limit);
    for (limit, wall, times) in [(0.25, 24.0, 0), (0.28, 21.43, 0), (0.40, 41.5, 1), (10.0, 38.33, 2)] {
        let (measured, record) = job(limit);
        assert!((measured - wall).abs() < 0.15, "{limit}: {measured} s, not {wall} s");
        assert_eq!(record.throttled_times, times, "{limit}");
        assert!(record.excess_share < 0.005, "{record:?}");
        assert!((record.used_cpu_seconds - 6.0).abs() < 1e-3);
        assert!(record.used_cpu_seconds <= record.allowed_cpu_seconds + 0.02);
    }
}

#[test]
fn what_is_used_beyond_the_bucket_is_an_excess() {
    let mut law = ActiveLaw::begin(governor(bucket(20.0, 0.1), 10.0, AllowanceStart::Launch), 1.0);
    law.advance(Duration::from_secs(3), Duration::from_secs(3));
    assert!(law.is_slow());
    let record = law.end();
    // 2 were in it and 0.5 were earned in the 2.5 s that it lasts; then 3 % for 0.5 s.
    assert!((record.allowed_cpu_seconds - 2.515).abs() < 0.02, "{record:?}");
    assert!((record.excess_share - 0.485 / 3.0).abs() < 0.01, "{record:?}");
    assert!((record.late_seconds - 0.5).abs() < 0.02, "{record:?}");
}

#[test]
fn a_governor_that_is_held_up_gives_no_credit_for_what_was_used_meanwhile() {
    // A bucket of 0.5 CPU seconds that lasts 0.625 s, a job of 1 CPU second, and a governor that stands still from 0.3 s on.
    let ms = Duration::from_millis;
    let held_up = |elapsed: Duration| {
        let mut law = ActiveLaw::begin(governor(bucket(10.0, 0.1), 20.0, AllowanceStart::Launch), 1.0);
        for _ in 0..30 {
            law.advance(ms(10), ms(10));
        }
        law.advance(elapsed, ms(700));
        law.end()
    };
    let to_the_end = held_up(ms(700));
    assert!((to_the_end.excess_share - 0.364).abs() < 0.02, "{to_the_end:?}");
    assert!((to_the_end.late_seconds - 0.375).abs() < 0.02, "{to_the_end:?}");
    let long_after = held_up(ms(8000));
    assert!(long_after.excess_share > 0.1 && long_after.late_seconds > 7.0, "{long_after:?}");
}

#[test]
fn a_governor_that_is_held_up_where_it_had_nothing_to_do_was_not_late() {
    let mut law = ActiveLaw::begin(governor(bucket(20.0, 0.1), 1.0, AllowanceStart::Launch), 1.0);
    law.advance(Duration::from_secs(8), Duration::from_secs(4));
    let record = law.end();
    assert!(record.excess_share < 1e-9 && record.late_seconds < 1e-9, "{record:?}");
}

#[test]
fn credits_that_run_out_come_down_to_the_baseline_and_stay_there() {
    let law = Law::Credits {
        baseline: Fraction(0.1),
        earned_per_hour: 6.0,
        maximum: 144.0,
        launch: 1.0,
        unlimited: false,
    };
    // A launch credit is a minute, at speed 60 a second.
    let mut law = ActiveLaw::begin(governor(law, 60.0, AllowanceStart::Launch), 1.0);
    let mut wall = Duration::ZERO;
    let ms = Duration::from_millis;
    // A quota of 10 ms is used in the first 10 ms of each period.
    while wall < Duration::from_secs(30) {
        let used = if !law.is_slow() || wall.as_millis() % 100 < 10 { ms(2) } else { ms(0) };
        law.advance(ms(2), used);
        wall += ms(2);
    }
    let record = law.end();
    assert_eq!(record.throttled_times, 1, "{}", record.slow_seconds);
    assert!((record.used_cpu_seconds - (1.0 + 0.1 * 30.0)).abs() < 0.05, "{}", record.used_cpu_seconds);
    assert!(record.excess_share < 0.01, "{}", record.excess_share);
}

#[test]
fn a_share_is_never_slow_and_unlimited_credits_are_neither() {
    let share = Law::Share { share: Fraction(0.45) };
    let (wall, record) = run_ideally(governor(share, 20.0, AllowanceStart::Launch), 4.5, 10.0);
    assert!((wall - 10.0).abs() < 0.02, "{wall}");
    assert_eq!(record.throttled_times, 0);
    assert!(record.excess_share < 1e-9 && (record.allowed_cpu_seconds - 4.5).abs() < 0.01, "{record:?}");
    let unlimited = Law::Credits {
        baseline: Fraction(0.1),
        earned_per_hour: 6.0,
        maximum: 144.0,
        launch: 0.0,
        unlimited: true,
    };
    let (wall, record) = run_ideally(governor(unlimited, 20.0, AllowanceStart::Empty), 4.5, 10.0);
    assert!((wall - 4.5).abs() < 0.02, "{wall}");
    assert_eq!((record.throttled_times, record.slow_seconds), (0, 0.0));
    assert!(record.excess_share < 1e-9);
}

proptest! {
    /// Whatever a workload does, nothing is used that the law did not allow where the kernel holds every share.
    #[test]
    fn an_ideal_kernel_leaves_no_excess_but_of_the_last_look(
        capacity in 2.0..60.0_f64, throttled in 0.04..0.2_f64, speed in 1.0..40.0_f64, limit in 0.05..1.0_f64,
    ) {
        let (_, record) =
            run_ideally(governor(bucket(capacity, throttled), speed, AllowanceStart::Launch), 6.0, limit);
        // At most a shortest step of each emptying, and what rounding leaves.
        let most = 0.002 * f64::from(record.throttled_times) + 1e-4;
        prop_assert!(record.excess_share * record.used_cpu_seconds <= most, "{:?}", record.excess_share);
    }
}

/// Control groups of version 1, made by hand.
struct Groups {
    cpu: PathBuf,
    cpuacct: PathBuf,
    busy: Option<Child>,
}

impl Groups {
    fn make(name: &str) -> Option<Self> {
        let name = format!("governor-test-{name}-{}", std::process::id());
        let at = |controller: &str| Path::new("/sys/fs/cgroup").join(controller).join(&name);
        let (cpu, cpuacct) = (at("cpu"), at("cpuacct"));
        if !rustix::process::geteuid().is_root() || fs::create_dir(&cpu).is_err() {
            eprintln!("skipped: needs root, and the controllers `cpu` and `cpuacct` of cgroup v1");
            return None;
        }
        let _ = fs::create_dir(&cpuacct);
        let groups = Self { cpu, cpuacct, busy: None };
        if groups.cpu.join(CFS_QUOTA).exists() && groups.cpuacct.join("cpuacct.usage").exists() {
            return Some(groups);
        }
        eprintln!("skipped: needs the controllers `cpu` and `cpuacct` of cgroup v1");
        None
    }

    fn make_busy(&mut self) {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        for group in [&self.cpu, &self.cpuacct] {
            fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        }
        self.busy = Some(child);
    }

    fn end_busy(&mut self) {
        if let Some(mut busy) = self.busy.take() {
            busy.kill().unwrap();
            busy.wait().unwrap();
        }
    }

    fn quota_us(&self) -> Option<u64> {
        read_quota(CgroupVersion::One, &self.cpu).unwrap().quota_us
    }

    fn remove(&mut self) {
        self.end_busy();
        for group in [&self.cpu, &self.cpuacct] {
            while group.exists() && fs::remove_dir(group).is_err() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The governor in a thread of its own, spoken to as a process.
struct Served {
    commands: Option<PipeWriter>,
    answers: BufReader<PipeReader>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start(groups: &Groups, governor: Governor) -> Self {
        let (mut input, mut commands) = std::io::pipe().unwrap();
        let (answers, mut output) = std::io::pipe().unwrap();
        let plan = GovernorPlan {
            version: CgroupVersion::One,
            governed: groups.cpu.clone(),
            usage: groups.cpuacct.clone(),
            governor,
        };
        writeln!(commands, "{}", serde_json::to_string(&plan).unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn(move || serve(&mut input, &mut output, &stop).unwrap());
        Self { commands: Some(commands), answers: BufReader::new(answers), thread: Some(thread) }
    }

    fn ask(&mut self, command: &str) -> Answer {
        self.commands.as_mut().unwrap().write_all(command.as_bytes()).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn end(mut self) {
        self.commands = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_busy_group_is_slowed_down_once_its_bucket_is_empty_and_freed_at_the_end() {
    let Some(mut groups) = Groups::make("bucket") else { return };
    // 0.2 CPU seconds.
    let mut served = Served::start(&groups, governor(bucket(20.0, 0.1), 100.0, AllowanceStart::Launch));
    assert_eq!(served.answer(), Answer::Ready);
    groups.make_busy();
    assert_eq!(served.ask(BEGIN), Answer::Begun);
    // A machine that is busy may take its time.
    let deadline = Instant::now() + Duration::from_secs(60);
    while groups.quota_us() != Some(3000) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(groups.quota_us(), Some(3000));
    std::thread::sleep(Duration::from_millis(500));
    let Answer::Record(record) = served.ask(&end_at(now())) else { panic!("no record") };
    assert_eq!(record.throttled_times, 1, "{record:?}");
    assert!(record.slow_seconds >= 0.5, "{record:?}");
    assert!(record.used_cpu_seconds >= 0.2, "it was empty, {record:?}");
    assert!(record.allowed_cpu_seconds > 0.2, "{record:?}");
    served.end();
    assert_eq!(groups.quota_us(), None, "lifted");
}

#[test]
fn an_empty_allowance_is_slow_from_the_first_moment_and_a_group_that_goes_is_told() {
    let Some(mut groups) = Groups::make("gone") else { return };
    let mut served = Served::start(&groups, governor(bucket(20.0, 0.1), 1.0, AllowanceStart::Empty));
    assert_eq!(served.answer(), Answer::Ready);
    assert_eq!(groups.quota_us(), Some(3000), "before the law begins");
    assert_eq!(served.ask(BEGIN), Answer::Begun);
    groups.remove();
    let Answer::Failed(reason) = served.answer() else { panic!("it governs a group that is gone") };
    assert!(reason.contains("cpuacct.usage"), "{reason}");
    assert!(matches!(served.ask(&end_at(now())), Answer::Failed(_)));
    served.end();
}

#[test]
fn a_group_below_a_tighter_one_is_not_asked_to_have_more() {
    let Some(outer) = Groups::make("outer") else { return };
    fs::write(outer.cpu.join(CFS_QUOTA), "30000").unwrap();
    let inner =
        Groups { cpu: outer.cpu.join("governed"), cpuacct: outer.cpuacct.join("governed"), busy: None };
    fs::create_dir(&inner.cpu).unwrap();
    fs::create_dir(&inner.cpuacct).unwrap();
    // With version 1 the kernel refuses a share above that of the group around.
    let mut served = Served::start(&inner, governor(bucket(20.0, 0.1), 10.0, AllowanceStart::Launch));
    assert_eq!(served.answer(), Answer::Ready);
    assert_eq!(inner.quota_us(), None);
    served.end();
    let share = Law::Share { share: Fraction(0.2) };
    let mut served = Served::start(&inner, governor(share, 10.0, AllowanceStart::Launch));
    assert_eq!(served.answer(), Answer::Ready);
    assert_eq!(inner.quota_us(), Some(20_000));
    served.end();
    drop(inner);
}

#[test]
fn what_is_no_plan_is_said_and_an_end_without_one_is_an_end() {
    let (mut input, mut commands) = std::io::pipe().unwrap();
    commands.write_all(b"hello\n").unwrap();
    let stop = AtomicBool::new(false);
    let error = serve(&mut input, &mut Vec::new(), &stop).unwrap_err().to_string();
    assert!(error.contains("no") && error.contains("plan"), "{error}");
    drop(commands);
    serve(&mut input, &mut Vec::new(), &stop).unwrap();
}
