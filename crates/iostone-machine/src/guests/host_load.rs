//! What this host does beside a guest, which the guest cannot see: its disks below the images, and processors that
//! QEMU waits for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_model::figures::percent;
use iostone_model::trial::DeviceActivity;
use iostone_probe::{Probe, WatchedDevice};
use iostone_stack::StackDevice;

use crate::StopFlag;
use crate::agent::{await_rest, probe_failure, watch};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Measured, RunTrial, Settle, Settled};

/// QEMU calls the threads of its virtual processors `CPU 0/KVM`, `CPU 1/TCG`, where it was asked to name its threads.
const PROCESSOR_THREAD: &str = "CPU ";

/// This host below a guest.
#[derive(Debug, Clone, Default)]
pub(super) struct HostLoad {
    devices: Vec<WatchedDevice>,
    /// QEMU's process.
    qemu: u32,
}

impl HostLoad {
    /// Watches those disks, and the threads of that QEMU.
    pub(super) fn new(below: &[StackDevice], qemu: u32) -> Self {
        Self { devices: below.iter().map(watch).collect(), qemu }
    }

    /// Has `inside` wait for rest, and waits for the rest of the host's disks meanwhile; answers the worse of both.
    ///
    /// # Errors
    /// That of `inside`; a disk that went.
    pub(super) fn settle(
        &self,
        settle: &Settle,
        stop: &StopFlag,
        inside: impl FnOnce() -> Result<Settled, Failure>,
    ) -> Result<Settled, Failure> {
        if self.devices.is_empty() {
            return inside();
        }
        let answered = AtomicBool::new(false);
        let (inside, host) = std::thread::scope(|scope| {
            let host = scope.spawn(|| {
                // The last look has to be as late as the guest's own.
                await_rest(&self.devices, settle, stop, &|| answered.load(Ordering::Relaxed))
            });
            let inside = inside();
            answered.store(true, Ordering::Relaxed);
            (inside, host.join())
        });
        let inside = inside?;
        let host = host.map_err(|_| Failure::new(FailureKind::Failed, "watching the host's disks failed"))?;
        Ok(worse(inside, &host?))
    }

    /// Has `inside` run the workload, and samples this host meanwhile.
    ///
    /// # Errors
    /// That of `inside`; a probe that cannot start.
    pub(super) fn sample(
        &self,
        run: RunTrial,
        inside: impl FnOnce() -> Result<Box<Measured>, Failure>,
    ) -> Result<Box<Measured>, Failure> {
        let every =
            if run.sample_every.0.is_zero() { Duration::from_millis(100) } else { run.sample_every.0 };
        let probe = Probe::start(&self.devices, every).map_err(|error| probe_failure(&error))?;
        let began = Instant::now();
        let before = processor_times(self.qemu);
        probe.mark_start();
        let measured = inside();
        probe.mark_end();
        let after = processor_times(self.qemu);
        let recording = probe.stop();
        let mut measured = measured?;
        let waited = waiting_share(&before, &after, began.elapsed());
        add_steal(&mut measured, recording.summary.steal, waited);
        let seen = recording.summary.devices.into_iter();
        let devices = seen.map(|device| DeviceActivity { name: of_host(&device.name), ..device });
        measured.signals.devices.extend(devices);
        measured.losses.extend(recording.losses.into_iter().map(|loss| format!("on the host, {loss}")));
        Ok(measured)
    }
}

/// The name of a disk of this host's in a trial whose own devices are the guest's.
fn of_host(name: &str) -> String {
    format!("{name} of the host")
}

/// One that is not at rest is worse than any that is; else the busier.
fn worse(inside: Settled, host: &Settled) -> Settled {
    let waited_seconds = inside.waited_seconds.max(host.waited_seconds);
    let rank = |settled: &Settled| (!settled.at_rest, settled.bytes_per_second);
    if rank(host) > rank(&inside) {
        Settled { busiest: host.busiest.as_deref().map(of_host), waited_seconds, ..host.clone() }
    } else {
        Settled { waited_seconds, ..inside }
    }
}

/// Takes the largest of what the guest saw stolen, what was stolen from this host, and what QEMU waited, as far as each
/// can be seen, and says where it was seen if not by the guest. What is on no account stays none.
fn add_steal(measured: &mut Measured, host: Option<f64>, waited: Option<f64>) {
    let inside = measured.signals.steal;
    // Nothing stolen from the host does not mean that the guest's processors did not wait for the host's.
    let host = host.filter(|share| waited.is_some() || inside.is_some() || *share > 0.0);
    let outside = match (waited, host) {
        (Some(waited), host) if host.is_none_or(|host| waited >= host) => (
            waited,
            format!(
                "the guest's vCPUs waited for a host CPU during {} of their runnable time",
                percent(waited)
            ),
        ),
        (_, Some(host)) => (host, format!("{} of the host's CPU time was stolen", percent(host))),
        (_, None) => {
            if inside.is_none() {
                measured
                    .losses
                    .push("steal: not observable, neither in the guest nor from the host".to_owned());
            }
            return;
        }
    };
    let (share, sentence) = outside;
    let note = match inside {
        Some(inside) if inside >= share => return,
        Some(_) => format!("steal: {sentence}"),
        None => format!("steal: not observable in the guest; seen from the host, {sentence}"),
    };
    measured.signals.steal = Some(share);
    if let Some(account) = &mut measured.signals.cpu {
        account.host_steal_seconds = Some(share * account.wall_seconds * f64::from(account.processors));
    }
    measured.losses.push(note);
}

/// Nanoseconds on a processor, and waiting for one.
type Times = (u64, u64);

/// What each virtual processor's thread ran and waited so far: the first two numbers of `/proc/PID/task/TID/schedstat`
/// (Documentation/scheduler/sched-stats.rst). Empty where the kernel does not count.
fn processor_times(process: u32) -> BTreeMap<u32, Times> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return BTreeMap::new() };
    tasks.flatten().filter_map(|task| times_of(&task.path())).collect()
}

fn times_of(task: &Path) -> Option<(u32, Times)> {
    let number = task.file_name()?.to_str()?.parse().ok()?;
    let name = fs::read_to_string(task.join("comm")).ok()?;
    if !name.starts_with(PROCESSOR_THREAD) {
        return None;
    }
    Some((number, parse_times(&fs::read_to_string(task.join("schedstat")).ok()?)?))
}

fn parse_times(text: &str) -> Option<Times> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Of all the time of the threads, the share that they had work and waited for a processor, as steal is counted.
fn waiting_share(
    before: &BTreeMap<u32, Times>,
    after: &BTreeMap<u32, Times>,
    elapsed: Duration,
) -> Option<f64> {
    let mut waited = 0u64;
    for (thread, now) in after {
        let then = before.get(thread)?;
        waited += now.1.saturating_sub(then.1);
    }
    let all = elapsed.as_nanos() as f64 * after.len() as f64;
    (all > 0.0).then(|| waited as f64 / all)
}

#[cfg(test)]
mod tests {
    use iostone_model::trial::CpuAccount;

    use super::*;

    fn settled(at_rest: bool, rate: f64) -> Settled {
        Settled { at_rest, waited_seconds: 1.0, bytes_per_second: rate, busiest: Some("vda".to_owned()) }
    }

    #[test]
    fn a_busy_host_is_worse_than_a_guest_at_rest() {
        let found = worse(settled(true, 5.0), &settled(false, 3.0));
        assert_eq!((found.at_rest, found.busiest.as_deref()), (false, Some("vda of the host")));
        let found = worse(settled(true, 5.0), &settled(true, 3.0));
        assert_eq!(found.busiest.as_deref(), Some("vda"));
    }

    #[test]
    fn the_share_waited_is_of_all_time_of_the_threads() {
        let times = |one: Times, other: Times| [(7, one), (8, other)].into();
        let share =
            waiting_share(&times((10, 5), (0, 0)), &times((40, 15), (30, 30)), Duration::from_nanos(100))
                .unwrap();
        assert!((share - 0.2).abs() < 1e-9, "{share}");
        let second = Duration::from_secs(1);
        assert_eq!(waiting_share(&BTreeMap::new(), &times((1, 1), (1, 1)), second), None);
        assert_eq!(waiting_share(&BTreeMap::new(), &BTreeMap::new(), second), None);
        assert_eq!(parse_times("123 45 6\n"), Some((123, 45)));
        assert_eq!(parse_times("0\n"), None);
    }

    #[test]
    fn the_largest_steal_counts_and_is_said() {
        let taken = |inside: Option<f64>, host: Option<f64>, waited: Option<f64>| {
            let mut measured = Measured::default();
            measured.signals.steal = inside;
            add_steal(&mut measured, host, waited);
            (measured.signals.steal, measured.losses.pop().unwrap_or_default())
        };
        assert_eq!(taken(Some(0.02), Some(0.01), Some(0.01)), (Some(0.02), String::new()));
        let (share, note) = taken(Some(0.02), Some(0.03), Some(0.2));
        assert!(share == Some(0.2) && note.contains("20.0 %"), "{note}");
        let (share, note) = taken(Some(0.0), Some(0.03), None);
        assert!(share == Some(0.03) && note.contains("of the host's CPU time was stolen"), "{note}");
        assert_eq!(taken(Some(0.0), None, None), (Some(0.0), String::new()));
    }

    #[test]
    fn what_a_guest_cannot_see_is_seen_from_the_host_or_not_at_all() {
        let taken = |host: Option<f64>, waited: Option<f64>| {
            let mut measured = Measured::default();
            add_steal(&mut measured, host, waited);
            (measured.signals.steal, measured.losses.pop().unwrap_or_default())
        };
        let (share, note) = taken(Some(0.0), Some(0.004));
        assert_eq!(share, Some(0.004));
        assert_eq!(
            note,
            "steal: not observable in the guest; seen from the host, the guest's vCPUs waited for a host CPU during 0.4 % of their runnable time"
        );
        assert_eq!(taken(None, Some(0.0)).0, Some(0.0));
        assert_eq!(taken(Some(0.1), None).0, Some(0.1));
        let mut measured = Measured::default();
        measured.signals.cpu = Some(CpuAccount { wall_seconds: 4.0, processors: 2, ..CpuAccount::default() });
        add_steal(&mut measured, None, Some(0.25));
        assert_eq!(measured.signals.cpu.unwrap().host_steal_seconds, Some(2.0));
        for host in [None, Some(0.0)] {
            let (share, note) = taken(host, None);
            assert!(share.is_none() && note.contains("neither"), "{note}");
        }
    }
}
