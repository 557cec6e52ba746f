//! The probe: a thread that samples every signal at fixed moments and keeps what it saw in memory.

mod account;
mod clock;
mod series;
mod summary;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iostone_model::sample::{DiskCounters, Sample};
use iostone_model::trial::SignalSummary;

use crate::error::ProbeError;
use crate::root::Root;
pub use crate::signal::WatchedGroups;
use crate::signal::disk::{Role, WatchedDevice};
use crate::signal::{Order, Reading, Signals};
use clock::{ClockPair, thread_cpu_time};
use series::Series;

/// Ten samples a second.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);

/// A longer interval is as good as none, and this one cannot overflow a clock.
const LONGEST_INTERVAL: Duration = Duration::from_secs(7 * 24 * 3600);

/// What to sample, and how often.
#[derive(Debug, Clone)]
pub struct ProbePlan {
    /// Devices, top first; samples list them in this order.
    pub devices: Vec<WatchedDevice>,
    /// Time between samples.
    pub interval: Duration,
    /// The workload's control groups.
    pub groups: WatchedGroups,
    /// Where the kernel's files are.
    pub root: Root,
}

/// A running probe. Dropping it ends its thread.
///
/// Samples are kept in memory, so that sampling never writes to the disk that is being measured. A signal that the
/// machine does not offer is `None` in all samples, never zero; one exception is [`DiskCounters::flushes`], see
/// [`DeviceRecord::flushes_counted`].
#[derive(Debug)]
pub struct Probe {
    shared: Arc<Shared>,
    /// Ends with the CPU time that the thread used.
    thread: Option<JoinHandle<Duration>>,
}

/// All that a probe saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Every sample in order of time, those before and after the measured part included.
    pub samples: Vec<Sample>,
    /// What the machine did during the measured part: from [`Probe::mark_start`] to [`Probe::mark_end`], or from the
    /// first to the last sample without them.
    pub summary: SignalSummary,
    /// The devices in the order of [`Sample::disks`].
    pub devices: Vec<DeviceRecord>,
    /// Start and end of the measured part in nanoseconds since the probe started, as in [`Sample::at_ns`].
    pub measured_ns: (u64, u64),
    /// Time between samples at the end: it doubles, and every other sample goes, whenever a long trial has filled
    /// 65,536 of them. Counters are cumulative, so nothing is lost but resolution.
    pub interval: Duration,
    /// Moments at which no sample was taken because the one before was late.
    pub missed: u32,
    /// Signals that were lost while the probe ran and devices that do not count, as sentences.
    pub losses: Vec<String>,
}

/// What is to be known about a device's series beside its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Kernel name.
    pub name: String,
    /// Its place in the stack.
    pub role: Role,
    /// Whether the kernel counts flushes (since Linux 5.5); where it does not, a count of 0 says nothing.
    pub flushes_counted: bool,
    /// Whether the device counts its I/O at all: where `queue/iostats` is 0, counters of 0 say nothing.
    pub counting: bool,
    /// Set when the device went while the probe ran; from then on samples repeat its last counters.
    pub ended: Option<DeviceEnd>,
}

/// The end of a device's series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceEnd {
    /// Nanoseconds since the probe started.
    pub at_ns: u64,
    /// What happened, as a sentence.
    pub reason: String,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Whether the thread is to end.
    ending: Mutex<bool>,
    wake: Condvar,
}

#[derive(Debug)]
struct State {
    signals: Signals,
    /// That the machine's times are summed over.
    processors: u32,
    series: Series,
    interval: Duration,
    start: Option<Mark>,
    end: Option<Mark>,
    /// Since the start of the measured part, up to its end.
    dirty_peak_bytes: u64,
    missed: u32,
    /// CPU time of calls to the probe from other threads than its own.
    outside: Duration,
}

/// A sample that bounds the measured part.
#[derive(Debug, Clone)]
struct Mark {
    reading: Reading,
    counters: Vec<DiskCounters>,
    clocks: ClockPair,
}

impl Probe {
    /// Watches this machine, `devices` and the process's own control group, every `interval`
    /// (usually [`DEFAULT_INTERVAL`]).
    ///
    /// # Errors
    /// A device that the kernel does not know, or a `/proc` that is not there; see [`ProbeError`].
    pub fn start(devices: &[WatchedDevice], interval: Duration) -> Result<Self, ProbeError> {
        let groups = WatchedGroups::default();
        Self::start_with(&ProbePlan { devices: devices.to_vec(), interval, groups, root: Root::live() })
    }

    /// Starts a probe with everything given.
    ///
    /// # Errors
    /// As [`Probe::start`].
    pub fn start_with(plan: &ProbePlan) -> Result<Self, ProbeError> {
        if plan.interval.is_zero() {
            return Err(ProbeError::ZeroInterval);
        }
        let mut signals = Signals::open(&plan.root, &plan.devices, &plan.groups)?;
        let reading = signals.take(Order::DevicesLast);
        let mut series = Series::with_room(plan.devices.len());
        series.push(reading, &signals.disks.counters);
        let start = Mark { reading, counters: signals.disks.counters.clone(), clocks: ClockPair::read() };
        let state = State {
            processors: count_processors(&plan.root),
            dirty_peak_bytes: reading.memory.dirty_bytes,
            signals,
            series,
            interval: plan.interval,
            start: Some(start),
            end: None,
            missed: 0,
            outside: Duration::ZERO,
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), ending: Mutex::new(false), wake: Condvar::new() });
        let thread = std::thread::Builder::new()
            .name("probe".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.sample_until_ended()
            })
            .map_err(|source| ProbeError::Thread { source })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes a sample now and lets the measured part begin with it. The devices are read last, so that what they
    /// serve for the workload is all behind this sample. A second call moves the beginning and forgets an end that
    /// was marked.
    pub fn mark_start(&self) {
        let mut state = self.shared.lock_state();
        let mark = state.take_mark(Order::DevicesLast);
        state.dirty_peak_bytes = mark.reading.memory.dirty_bytes;
        state.start = Some(mark);
        state.end = None;
    }

    /// Takes a sample now, devices first, and lets the measured part end with it. A second call moves the end.
    pub fn mark_end(&self) {
        let mut state = self.shared.lock_state();
        // An end that is moved covers what came after the first as well.
        state.end = None;
        let mark = state.take_mark(Order::DevicesFirst);
        state.end = Some(mark);
    }

    /// Takes a last sample, ends the thread without waiting for its next moment, and hands out everything.
    pub fn stop(mut self) -> Recording {
        {
            let mut state = self.shared.lock_state();
            if state.end.is_none() {
                let mark = state.take_mark(Order::DevicesFirst);
                state.end = Some(mark);
            }
        }
        let thread_time = self.end_thread();
        let mut state = self.shared.lock_state();
        summary::summarise(&mut state, thread_time)
    }

    fn end_thread(&mut self) -> Duration {
        *self.shared.ending.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

/// The lines `cpu0`, `cpu1`, ... of `/proc/stat`: processors that are online.
fn count_processors(root: &Root) -> u32 {
    let text = root.text("/proc/stat").unwrap_or_default();
    let is_one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    u32::try_from(text.lines().filter(is_one).count()).unwrap_or(u32::MAX).max(1)
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.end_thread();
    }
}

impl State {
    fn take_sample(&mut self, order: Order) -> Reading {
        let reading = self.signals.take(order);
        if self.end.is_none() {
            self.dirty_peak_bytes = self.dirty_peak_bytes.max(reading.memory.dirty_bytes);
        }
        if self.series.push(reading, &self.signals.disks.counters) {
            self.interval = self.interval.saturating_mul(2);
        }
        reading
    }

    /// A sample that is also kept aside, where thinning the series does not reach it.
    fn take_mark(&mut self, order: Order) -> Mark {
        let before = thread_cpu_time();
        let clocks_before = (order == Order::DevicesFirst).then(ClockPair::read);
        let reading = self.take_sample(order);
        let mark = Mark {
            reading,
            counters: self.signals.disks.counters.clone(),
            clocks: clocks_before.unwrap_or_else(ClockPair::read),
        };
        self.outside += thread_cpu_time().saturating_sub(before);
        mark
    }
}

impl Shared {
    /// A panic while the lock was held leaves at worst half a sample, which the next one overwrites.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: samples at moments counted from the start, so that the time a sample takes does not add up.
    fn sample_until_ended(&self) -> Duration {
        let mut interval = self.lock_state().interval.min(LONGEST_INTERVAL);
        let mut moment = Instant::now() + interval;
        while !self.wait_until(moment) {
            let mut state = self.lock_state();
            state.take_sample(Order::DevicesFirst);
            interval = state.interval.min(LONGEST_INTERVAL);
            moment += interval;
            let late = Instant::now().saturating_duration_since(moment);
            if !late.is_zero() {
                // Catching up in a burst would tell nothing new; go on at the next moment of the grid.
                let skipped =
                    u32::try_from(late.as_nanos() / interval.as_nanos()).unwrap_or(u32::MAX - 1) + 1;
                state.missed = state.missed.saturating_add(skipped);
                moment += interval.saturating_mul(skipped);
            }
        }
        thread_cpu_time()
    }

    /// Waits until `moment` or until the probe ends; tells whether it ends.
    fn wait_until(&self, moment: Instant) -> bool {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if *ending || left.is_zero() {
                return *ending;
            }
            ending = self.wake.wait_timeout(ending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests;
