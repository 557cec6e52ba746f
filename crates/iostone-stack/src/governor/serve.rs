//! The governor's process: looks at the group every few milliseconds and moves its quota by the law, until it is told to end.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_cloud::LawState;
use iostone_model::experiment::Governor;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::time::{ClockId, clock_gettime};

use super::active_law::{ActiveLaw, speeds};
use super::quota::{GovernedGroup, Quota};
use super::{Answer, BEGIN, END, GovernorPlan, priority};
use crate::error::StackError;

/// While no law runs, commands and the request to stop are looked for this often.
const IDLE_STEP: Duration = Duration::from_millis(100);
/// A plan is some kilobytes; whoever sends more does not send a plan.
const LONGEST_LINE: usize = 1 << 20;

/// Why the governor's process cannot do its work at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The first line is no plan.
    #[error(
        "standard input does not begin with a plan: {0}; a machine with `kind = \"governed\"` starts this by itself"
    )]
    NoPlan(String),
    /// Standard input or output.
    #[error("{0} failed: {1}")]
    Io(&'static str, io::Error),
}

/// Governs a group by a plan, one line of JSON on `input`. Further lines are commands: `begin` starts the law, `end` ends it
/// and is answered with the record. At the end of `input`, or once `stop` is raised, the quota is lifted and it returns.
/// What goes wrong with the group is an `Answer::Failed`; then it lets go of it, and waits for the end.
///
/// # Errors
/// [`ServeError`].
pub fn serve(
    input: &mut (impl Read + AsFd),
    output: &mut impl Write,
    stop: &AtomicBool,
) -> Result<(), ServeError> {
    let mut lines = Lines { input, pending: Vec::new() };
    let Some(plan) = lines.first(stop)? else { return Ok(()) };
    let plan: GovernorPlan =
        serde_json::from_str(&plan).map_err(|error| ServeError::NoPlan(error.to_string()))?;
    priority::raise();
    let mut say = |answer: &Answer| {
        let mut line = serde_json::to_vec(answer).map_err(io::Error::other)?;
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    };
    let mut said = |answer: &Answer| say(answer).map_err(|error| ServeError::Io("writing an answer", error));
    let mut at_work = match Work::start(plan) {
        Ok(work) => {
            said(&Answer::Ready)?;
            Some(work)
        }
        Err(error) => {
            said(&Answer::Failed(error.to_string()))?;
            None
        }
    };
    while !stop.load(Ordering::Relaxed) {
        let wait = at_work.as_ref().map_or(IDLE_STEP, Work::next_look);
        let command = lines.next(wait)?;
        let Some(work) = at_work.as_mut() else {
            match command {
                Command::Closed => break,
                // Whoever asks is told that there is no answer; the reason has been said.
                Command::Line(_) => said(&Answer::Failed("it has stopped governing".to_owned()))?,
                Command::Nothing => {}
            }
            continue;
        };
        let outcome = match command {
            Command::Closed => break,
            Command::Nothing => work.look().map(|()| None),
            Command::Line(line) if line == BEGIN.trim_end() => work.begin().map(|()| Some(Answer::Begun)),
            Command::Line(line) => {
                let Some(at) = end_of(&line) else {
                    said(&Answer::Failed(format!("`{}` is not a command", line.escape_debug())))?;
                    continue;
                };
                work.end(at).map(Some)
            }
        };
        match outcome {
            Ok(Some(answer)) => said(&answer)?,
            Ok(None) => {}
            // Never a run that the law does not hold without anybody knowing: said at once, and the group let go of.
            Err(error) => {
                at_work = None;
                said(&Answer::Failed(error.to_string()))?;
            }
        }
    }
    Ok(())
}

/// The two quotas that a law moves between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Speeds {
    pub(super) full: Quota,
    /// Once the allowance is used up.
    pub(super) slow: Quota,
}

impl Speeds {
    /// # Errors
    /// [`StackError::Usage`] for a share that is too small for any quota.
    pub(super) fn of(governor: &Governor, group: &GovernedGroup) -> Result<Self, StackError> {
        let (full, slow) = speeds(&governor.allowance);
        let period = Quota::check_share(full.min(slow))?;
        // As much as there is: of processors, or of what the groups above let through.
        let ceiling = group.ceiling();
        let quota = |share| Quota::of_share(share, period, ceiling);
        Ok(Self { full: quota(full), slow: quota(slow) })
    }
}

/// A group in the hands of a law; letting go of it lifts its quota.
struct Work {
    plan: GovernorPlan,
    group: GovernedGroup,
    speeds: Speeds,
    set: Quota,
    /// With the time and the group's CPU time of the last look; none while no law runs.
    law: Option<(ActiveLaw, Duration, Duration)>,
}

impl Work {
    fn start(plan: GovernorPlan) -> Result<Self, StackError> {
        let group = GovernedGroup::open(plan.version, &plan.governed, &plan.usage)?;
        let speeds = Speeds::of(&plan.governor, &group)?;
        group.write_period(speeds.full)?;
        // As the law begins: nothing is used before it runs.
        let slow = LawState::begin(&plan.governor).is_slow();
        let set = if slow { speeds.slow } else { speeds.full };
        let work = Self { plan, group, speeds, set, law: None };
        work.group.write(set)?;
        Ok(work)
    }

    fn next_look(&self) -> Duration {
        self.law.as_ref().map_or(IDLE_STEP, |(law, ..)| law.next_look())
    }

    fn begin(&mut self) -> Result<(), StackError> {
        let law = ActiveLaw::begin(self.plan.governor.clone(), self.group.ceiling());
        let slow = law.is_slow();
        self.law = Some((law, now(), self.group.used()?));
        self.set(slow)
    }

    fn look(&mut self) -> Result<(), StackError> {
        self.look_at(None)
    }

    /// Looks at what was used until now, or until an earlier moment after which nothing was.
    fn look_at(&mut self, end: Option<Duration>) -> Result<(), StackError> {
        let Some((law, at, before)) = &mut self.law else { return Ok(()) };
        let used = self.group.used()?;
        let now = end.unwrap_or(Duration::MAX).min(now());
        law.advance(now.saturating_sub(*at), used.saturating_sub(*before));
        (*at, *before) = (now, used);
        let slow = law.is_slow();
        self.set(slow)
    }

    fn end(&mut self, at: Duration) -> Result<Answer, StackError> {
        self.look_at(Some(at))?;
        let Some((law, ..)) = self.law.take() else {
            return Ok(Answer::Failed("no model was started".to_owned()));
        };
        Ok(Answer::Record(Box::new(law.end())))
    }

    /// Every writing of a quota begins a period anew, with all of it: so only what changes is written.
    fn set(&mut self, slow: bool) -> Result<(), StackError> {
        let quota = if slow { self.speeds.slow } else { self.speeds.full };
        if quota != self.set {
            self.group.write(quota)?;
            self.set = quota;
        }
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.group.lift();
    }
}

/// The monotonic clock, which all processes share (`clock_gettime(2)`).
pub(super) fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    let part = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), part)
}

/// The line that ends the law at that moment.
pub(super) fn end_at(moment: Duration) -> String {
    format!("{END} {}\n", moment.as_nanos())
}

/// When a line ends the law; none if it does not.
fn end_of(line: &str) -> Option<Duration> {
    line.strip_prefix(END)?.strip_prefix(' ')?.parse().ok().map(Duration::from_nanos)
}

/// Processors that this process may run on (`sched_setaffinity(2)`).
pub(super) fn processors_here() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count())
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Nothing,
    Line(String),
    Closed,
}

/// Lines of a stream that is waited for no longer than is said.
struct Lines<'a, Input> {
    input: &'a mut Input,
    pending: Vec<u8>,
}

impl<Input: Read + AsFd> Lines<'_, Input> {
    /// The first line; none at the end of the stream, or once `stop` is raised.
    fn first(&mut self, stop: &AtomicBool) -> Result<Option<String>, ServeError> {
        while !stop.load(Ordering::Relaxed) {
            match self.next(IDLE_STEP)? {
                Command::Line(line) => return Ok(Some(line)),
                Command::Closed => return Ok(None),
                Command::Nothing => {}
            }
        }
        Ok(None)
    }

    fn next(&mut self, wait: Duration) -> Result<Command, ServeError> {
        if let Some(line) = self.take_line() {
            return Ok(Command::Line(line));
        }
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        let ready = {
            let mut watched = [PollFd::new(&*self.input, PollFlags::IN)];
            rustix::event::poll(&mut watched, Some(&wait))
        };
        match ready {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Command::Nothing),
            Ok(_) => {}
            Err(error) => return Err(ServeError::Io("waiting for a command", error.into())),
        }
        let mut some = [0; 4096];
        match self.input.read(&mut some) {
            Ok(0) => return Ok(Command::Closed),
            Ok(count) => self.pending.extend_from_slice(some.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ServeError::Io("reading a command", error)),
        }
        if self.pending.len() > LONGEST_LINE {
            return Err(ServeError::NoPlan("it is too long".to_owned()));
        }
        Ok(self.take_line().map_or(Command::Nothing, Command::Line))
    }

    fn take_line(&mut self) -> Option<String> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }
}
