//! The governor's process as its starter sees it: started, marked, told when the law begins and ends, watched in between.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iostone_cloud::{Demand, LawState};
use iostone_model::experiment::{Governor, Law};
use iostone_model::trial::GovernorRecord;

use super::active_law::speeds;
use super::serve::{end_at, now};
use super::{Answer, BEGIN, GovernorPlan, quota};
use crate::disk_server;
use crate::error::StackError;
use crate::site::Site;
use crate::tool;

/// A governor that does not answer by then does not on this machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a workload could use is told by at least so much time at full speed.
const LEAST_SEEN_SECONDS: f64 = 0.1;
/// Work that took so much of what a share gives is taken to have wanted more: the kernel's periods leave some unused.
const TAKES_ALL: f64 = 0.97;
/// It has nothing to do at its end but to lift a quota.
const GRACE: Duration = Duration::from_secs(2);
/// As long the record is waited for once the user has asked to stop.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The process that moves a group's quota. Dropping it ends it, which lifts the quota.
#[derive(Debug)]
pub(crate) struct GovernorProcess {
    plan: GovernorPlan,
    child: Child,
    /// Open for as long as it is to govern.
    commands: Option<ChildStdin>,
    answers: Receiver<Answer>,
    watch: Arc<Watch>,
    reader: Option<JoinHandle<()>>,
    log: PathBuf,
    /// The user's own limit, in processors.
    limit: Option<f64>,
    /// It was waited for in vain, so its end is not waited for.
    is_silent: bool,
}

/// What the thread that reads the answers leaves for everybody else.
#[derive(Debug, Default)]
struct Watch {
    /// It has been asked to end, so its end is no failure.
    asked: AtomicBool,
    /// Why it does not govern any more.
    failure: Mutex<Option<String>>,
}

impl GovernorProcess {
    /// Starts it through the journal and waits until the quota stands as the law begins. The thread that calls this has to
    /// outlive it, because the kernel ends it with that thread.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be started, [`StackError::Ungoverned`] with its words when it cannot govern,
    /// [`StackError::Interrupted`] when the user has asked to stop.
    pub(super) fn start(site: &mut Site, plan: GovernorPlan, limit: Option<f64>) -> Result<Self, StackError> {
        let program = site.own_program()?;
        let log = site.trial_directory()?.join("governor.log");
        let said = File::create(&log).map_err(|source| StackError::io("create", &log, source))?;
        let mut command = Command::new(&program);
        command
            .arg("governor")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(said));
        disk_server::mark(site, &mut command)?;
        let mut child = command.spawn().map_err(|source| StackError::io("execute", &program, source))?;
        let (commands, stdout) = (child.stdin.take(), child.stdout.take());
        let watch = Arc::new(Watch::default());
        let (answers, reader) = read_answers(stdout, &watch, &plan.governed);
        let mut process = Self {
            plan,
            child,
            commands,
            answers,
            watch,
            reader: Some(reader),
            log,
            limit,
            is_silent: false,
        };
        let mut text = serde_json::to_vec(&process.plan)
            .map_err(|error| StackError::unexpected("governor", error.to_string()))?;
        text.push(b'\n');
        process.tell(&text)?;
        match process.answer(Duration::ZERO, site.interrupt())? {
            Answer::Ready => Ok(process),
            other => Err(unasked(&other)),
        }
    }

    /// The plan that it works by.
    pub(super) fn plan(&self) -> &GovernorPlan {
        &self.plan
    }

    /// Starts the law. Quick; what the group has used before does not count. `interrupt` ends the waiting.
    ///
    /// # Errors
    /// [`StackError::Ungoverned`] when it is dead, or does not answer; [`StackError::Interrupted`] when the user has asked to
    /// stop.
    pub(crate) fn begin(&mut self, interrupt: Option<&AtomicBool>) -> Result<(), StackError> {
        self.tell(BEGIN.as_bytes())?;
        match self.answer(Duration::ZERO, interrupt)? {
            Answer::Begun => Ok(()),
            other => Err(unasked(&other)),
        }
    }

    /// Ends the law and gives its record. The quota stays as it is until the process ends. Once `interrupt` is raised it is not
    /// waited for any longer than a governor that works takes.
    ///
    /// # Errors
    /// [`StackError::Ungoverned`] when it is dead, which makes whatever ran under it ungoverned, or does not answer;
    /// [`StackError::Interrupted`] when it does not and the user has asked to stop.
    pub(crate) fn end(&mut self, interrupt: Option<&AtomicBool>) -> Result<GovernorRecord, StackError> {
        self.tell(end_at(now()).as_bytes())?;
        match self.answer(LAST_WORD, interrupt)? {
            Answer::Record(mut record) => {
                let demand = demand(&record, self.limit);
                record.other_laws = iostone_cloud::simulate_others(&record.governor, &demand);
                Ok(*record)
            }
            other => Err(unasked(&other)),
        }
    }

    /// Whether it still governs.
    ///
    /// # Errors
    /// [`StackError::Ungoverned`] with why it does not.
    pub(super) fn check(&self) -> Result<(), StackError> {
        match &*self.watch.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(failed(reason)),
        }
    }

    fn tell(&mut self, text: &[u8]) -> Result<(), StackError> {
        let told = self.commands.as_mut().map(|commands| commands.write_all(text));
        // A closed pipe means that it is dead, which its silence tells with the reason.
        match told {
            Some(Err(error)) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(StackError::io("write to", "the governor", error))
            }
            _ => Ok(()),
        }
    }

    /// The next answer. An interrupt ends the waiting after a `grace`.
    fn answer(&mut self, grace: Duration, interrupt: Option<&AtomicBool>) -> Result<Answer, StackError> {
        let deadline = Instant::now() + PATIENCE;
        let mut interrupted = None;
        while Instant::now() < deadline {
            if interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
                let since: &mut Instant = interrupted.get_or_insert_with(Instant::now);
                if since.elapsed() >= grace {
                    self.is_silent = true;
                    return Err(StackError::Interrupted);
                }
            }
            match self.answers.recv_timeout(Duration::from_millis(100)) {
                Ok(Answer::Failed(reason)) => return Err(failed(&reason)),
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.dead()),
            }
        }
        self.is_silent = true;
        Err(failed("it does not answer"))
    }

    /// It ended without having been asked to.
    fn dead(&mut self) -> StackError {
        if let Err(known) = self.check()
            && !known.to_string().contains(ENDED)
        {
            return known;
        }
        let deadline = Instant::now() + GRACE;
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().ok().flatten();
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let said = tool::last_lines(&std::fs::read_to_string(&self.log).unwrap_or_default());
        let said = if said.is_empty() { said } else { format!(": {said}") };
        failed(&format!("{ENDED}{status}{said}"))
    }
}

impl Drop for GovernorProcess {
    fn drop(&mut self) {
        self.watch.asked.store(true, Ordering::Relaxed);
        self.commands = None;
        let deadline = Instant::now() + if self.is_silent { Duration::ZERO } else { GRACE };
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        // It did so itself unless it was killed.
        quota::lift(&self.plan.governed);
    }
}

/// The work that was done, for the other laws: so many CPU seconds, by as many processors as it used while the law let it.
fn demand(record: &GovernorRecord, limit: Option<f64>) -> Demand {
    let used = record.used_cpu_seconds;
    let (full, slow) = speeds(&record.governor.allowance);
    let seconds = record.balance.last().map_or(0.0, |(seconds, _)| *seconds);
    let fast_seconds = seconds - record.slow_seconds;
    let fast_used = used - (slow * record.slow_seconds).min(used);
    let all = f64::from(record.governor.allowance.vcpus);
    let is_known = fast_seconds > LEAST_SEEN_SECONDS && fast_used > 0.0;
    let processors = match record.governor.allowance.law {
        _ if !is_known => all,
        Law::Share { .. } => stretched_to(&record.governor, fast_used / fast_seconds),
        _ if slow < full => (fast_used / fast_seconds).min(all),
        _ => all,
    };
    Demand { cpu_seconds: used, processors, limit }
}

/// The processors that work could use of which a constant share gives so many: a share slows down what computes and not what
/// waits, so that more was wanted than the share's part of it. As many as there are where it took all that it gives.
fn stretched_to(governor: &Governor, given: f64) -> f64 {
    let state = LawState::begin(governor);
    let all = f64::from(governor.allowance.vcpus);
    let (mut less, mut enough) = (0.0, all);
    if given >= state.rate(all) * TAKES_ALL {
        return all;
    }
    while enough - less > all * 1e-6 {
        let middle = f64::midpoint(less, enough);
        if state.rate(middle) < given { less = middle } else { enough = middle }
    }
    enough
}

const ENDED: &str = "it ended early";

fn failed(reason: &str) -> StackError {
    StackError::Ungoverned(reason.to_owned())
}

fn unasked(answer: &Answer) -> StackError {
    failed(&format!("unexpected answer `{answer:?}`"))
}

/// Reads the answers of a governor, until it ends. Should it end unasked, or say that it failed, its group is freed: a
/// workload under a quota that nobody lifts any more would go on for hours, for nothing.
fn read_answers(
    stdout: Option<ChildStdout>,
    watch: &Arc<Watch>,
    governed: &Path,
) -> (Receiver<Answer>, JoinHandle<()>) {
    let (sender, answers) = mpsc::channel();
    let (watch, governed) = (Arc::clone(watch), governed.to_owned());
    let reader = std::thread::spawn(move || {
        let fail = |reason: &str| {
            quota::lift(&governed);
            let mut failure = watch.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| reason.to_owned());
        };
        let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
        for line in lines.map_while(Result::ok) {
            let answer = serde_json::from_str(&line)
                .unwrap_or_else(|error| Answer::Failed(format!("cannot parse its answer: {error}")));
            if let Answer::Failed(reason) = &answer {
                fail(reason);
            }
            if sender.send(answer).is_err() {
                break;
            }
        }
        if !watch.asked.load(Ordering::Relaxed) {
            fail(ENDED);
        }
    });
    (answers, reader)
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Allowance, AllowanceStart, Basis, Governor, Law};
    use iostone_model::units::Fraction;

    use super::*;

    #[test]
    fn the_work_is_what_was_used_and_as_fast_as_it_was_at_full_speed() {
        let allowance = |law| Allowance {
            instance: "t1.micro".to_owned(),
            name: "bucket".to_owned(),
            vcpus: 1,
            law,
            basis: Basis::Assumed,
            source: String::new(),
        };
        let record = |law| GovernorRecord {
            governor: Governor { allowance: allowance(law), speed: 1.0, start: AllowanceStart::Full },
            allowed_cpu_seconds: 2.0,
            used_cpu_seconds: 2.0,
            excess_share: 0.0,
            throttled_times: 1,
            slow_seconds: 10.0,
            balance: vec![(0.0, 1.0), (14.0, 0.5)],
            step_seconds: (0.01, 0.01),
            late_seconds: 0.0,
            other_laws: Vec::new(),
        };
        let part = Fraction(0.05);
        let bucket = Law::Bucket {
            capacity_seconds: 1.0,
            refill: Fraction(0.2),
            throttled_refill: Fraction(0.2),
            slow: part,
            resume: Fraction(1.0),
        };
        // 0.5 of 2 CPU seconds while slow, so 1.5 in the 4 seconds beside.
        let one = demand(&record(bucket), Some(0.5));
        assert!((one.processors - 0.375).abs() < 1e-12, "{one:?}");
        assert_eq!((one.cpu_seconds, one.limit), (2.0, Some(0.5)));
        let share = GovernorRecord {
            slow_seconds: 0.0,
            balance: vec![(4.0, 0.0)],
            ..record(Law::Share { share: Fraction(0.4) })
        };
        let other = demand(&share, None);
        // 0.5 of a processor, more than the share: it would have taken all of it.
        assert!((other.processors - 1.0).abs() < 1e-12, "{other:?}");
        let simulated = iostone_cloud::simulate(&share.governor, &other).wall_seconds;
        assert!((simulated - 5.0).abs() < 1e-9, "{simulated}");
        // Half of what it gives: then the law in force comes to what was measured.
        let waiting = GovernorRecord { used_cpu_seconds: 0.8, ..share };
        let wall = iostone_cloud::simulate(&waiting.governor, &demand(&waiting, None)).wall_seconds;
        assert!((wall - 4.0).abs() < 1e-3, "{wall}");
    }
}
