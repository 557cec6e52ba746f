//! Where the CPU time of the measured part went.

use iostone_model::sample::{CpuTimes, Throttling};
use iostone_model::trial::CpuAccount;

use crate::signal::Reading;

/// Adds up what lies between two readings of a machine with so many processors.
///
/// The kernel sums `throttled_time` over processors, and adds a stretch to it when it ends (`unthrottle_cfs_rq`,
/// kernel/sched/fair.c): a group whose tasks stand still on two processors gains two seconds a second, and one that
/// stands still at the end misses up to the rest of its period. Nothing of it is cut off here.
pub(super) fn add_up(start: &Reading, end: &Reading, processors: u32, steal_seen: bool) -> CpuAccount {
    let times = difference(&start.cpu, &end.cpu);
    let group = start.group.zip(end.group);
    let used = group.map(|(before, after)| {
        let all = after.cpu_ns.saturating_sub(before.cpu_ns);
        // Two readings of ticks may divide a little differently than the time between them did.
        let user = after.user_ns.saturating_sub(before.user_ns).min(all);
        (seconds(user), seconds(all - user))
    });
    let of_group = group.and_then(|(before, after)| Some((before.io_some_us?, after.io_some_us?)));
    let of_machine =
        start.pressure.zip(end.pressure).map(|(before, after)| (before.io_some_us, after.io_some_us));
    CpuAccount {
        wall_seconds: seconds(end.at_ns.saturating_sub(start.at_ns)),
        processors,
        machine_user_seconds: seconds(times.user_ns),
        machine_system_seconds: seconds(times.system_ns),
        machine_iowait_seconds: seconds(times.iowait_ns),
        machine_idle_seconds: seconds(times.idle_ns),
        machine_steal_seconds: steal_seen.then(|| seconds(times.steal_ns)),
        user_seconds: used.map(|(user, _)| user),
        system_seconds: used.map(|(_, system)| system),
        throttled_seconds: stood_still(start.throttling, end.throttling),
        governed_seconds: stood_still(start.governed, end.governed),
        io_wait_seconds: of_group.map(waited),
        machine_io_pressure_seconds: of_machine.map(waited),
        host_steal_seconds: None,
    }
}

/// Seconds between two counters of microseconds.
fn waited((before, after): (u64, u64)) -> f64 {
    after.saturating_sub(before) as f64 / 1e6
}

/// What each kind of time grew by. The kernel lets idle and iowait slip back now and then (`proc_stat(5)`); a step back
/// counts as nothing.
pub(super) fn difference(before: &CpuTimes, after: &CpuTimes) -> CpuTimes {
    CpuTimes {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        idle_ns: after.idle_ns.saturating_sub(before.idle_ns),
        iowait_ns: after.iowait_ns.saturating_sub(before.iowait_ns),
        steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
    }
}

fn stood_still(before: Option<Throttling>, after: Option<Throttling>) -> Option<f64> {
    Some(seconds(after?.throttled_ns.saturating_sub(before?.throttled_ns)))
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use iostone_model::sample::Pressure;
    use proptest::prelude::*;

    use super::*;
    use crate::signal::cpu::parse_cpu_line;
    use crate::signal::group::GroupUse;

    const TICK_NS: u64 = 10_000_000;

    fn throttled(throttled_ns: u64) -> Throttling {
        Throttling { periods: 1, throttled_periods: 1, throttled_ns }
    }

    #[test]
    fn what_the_machine_does_not_tell_is_none() {
        let end = Reading { at_ns: 2_000_000_000, ..Reading::default() };
        let account = add_up(&Reading::default(), &end, 2, false);
        let expected = CpuAccount { wall_seconds: 2.0, processors: 2, ..CpuAccount::default() };
        assert_eq!(account, expected);
        assert_eq!(account.used_seconds(), None);
        assert_eq!(add_up(&Reading::default(), &end, 2, true).machine_steal_seconds, Some(0.0));
    }

    #[test]
    fn time_that_two_processors_stood_still_is_not_cut_at_the_wall() {
        let start =
            Reading { throttling: Some(throttled(5)), governed: Some(throttled(0)), ..Reading::default() };
        let end = Reading {
            at_ns: 1_000_000_000,
            throttling: Some(throttled(1_500_000_005)),
            governed: Some(throttled(250_000_000)),
            ..Reading::default()
        };
        let account = add_up(&start, &end, 2, true);
        assert_eq!((account.throttled_seconds, account.governed_seconds), (Some(1.5), Some(0.25)));
    }

    #[test]
    fn the_machine_s_waiting_is_never_taken_for_the_group_s() {
        let waited = |machine: u64, group: Option<u64>| Reading {
            pressure: Some(Pressure { io_some_us: machine, ..Pressure::default() }),
            group: Some(GroupUse { cpu_ns: machine * 7000, user_ns: machine * 5000, io_some_us: group }),
            ..Reading::default()
        };
        let account = add_up(&waited(0, Some(0)), &waited(4_000_000, Some(1_000_000)), 1, true);
        assert_eq!((account.io_wait_seconds, account.machine_io_pressure_seconds), (Some(1.0), Some(4.0)));
        assert_eq!((account.user_seconds, account.system_seconds), (Some(20.0), Some(8.0)));
        let account = add_up(&waited(0, None), &waited(4_000_000, None), 1, true);
        assert_eq!((account.io_wait_seconds, account.machine_io_pressure_seconds), (None, Some(4.0)));
    }

    /// `/proc/stat` of a machine whose processors did so many ticks of each kind, with the parts of a tick that it
    /// does not show cut off, as the kernel does.
    fn stat_line(ns: &[u64; 8]) -> String {
        let ticks: Vec<String> = ns.iter().map(|ns| (ns / TICK_NS).to_string()).collect();
        format!("cpu  {} 0 0\n", ticks.join(" "))
    }

    proptest! {
        /// Every processor does one thing at a time, so the kinds of time add up to processors times wall time, up to
        /// one tick cut off at each of the eight counters.
        #[test]
        fn the_account_adds_up_to_processors_times_wall(
            before in proptest::array::uniform8(0u64..1_000_000_000_000),
            stretches in proptest::collection::vec((0usize..8, 1u64..500_000_000), 1..60),
            processors in 1u32..9,
        ) {
            let mut after = before;
            // Each processor does the same things, in turn.
            for (kind, ns) in &stretches {
                after[*kind] += ns * u64::from(processors);
            }
            let wall_ns: u64 = stretches.iter().map(|(_, ns)| ns).sum();
            let read = |ns: &[u64; 8]| parse_cpu_line(stat_line(ns).as_bytes(), TICK_NS).unwrap();
            let start = Reading { cpu: read(&before), ..Reading::default() };
            let end = Reading { at_ns: wall_ns, cpu: read(&after), ..Reading::default() };
            let account = add_up(&start, &end, processors, true);
            let sum = account.machine_user_seconds
                + account.machine_system_seconds
                + account.machine_iowait_seconds
                + account.machine_idle_seconds
                + account.machine_steal_seconds.unwrap();
            let whole = account.wall_seconds * f64::from(processors);
            prop_assert!((sum - whole).abs() <= 8.0 * TICK_NS as f64 / 1e9 + 1e-6, "{sum} of {whole}");
        }

        #[test]
        fn no_counters_give_less_than_nothing(numbers: [u64; 14]) {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = numbers;
            let reading = |at_ns, user_ns, idle_ns, steal_ns, cpu_ns, throttled_ns, io_some_us| Reading {
                at_ns,
                cpu: CpuTimes { user_ns, idle_ns, steal_ns, ..CpuTimes::default() },
                throttling: Some(throttled(throttled_ns)),
                group: Some(GroupUse { cpu_ns, user_ns: cpu_ns / 2, io_some_us: Some(io_some_us) }),
                ..Reading::default()
            };
            let account = add_up(&reading(a, b, c, d, e, f, g), &reading(h, i, j, k, l, m, n), 2, true);
            let figures = [
                account.wall_seconds,
                account.machine_user_seconds,
                account.machine_idle_seconds,
                account.machine_steal_seconds.unwrap(),
                account.user_seconds.unwrap(),
                account.system_seconds.unwrap(),
                account.throttled_seconds.unwrap(),
                account.io_wait_seconds.unwrap(),
            ];
            prop_assert!(figures.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{account:?}");
        }
    }
}
