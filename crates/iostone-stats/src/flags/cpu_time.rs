//! CPU time of identical work: what differs by more was not the work's own.

/// Caches and frequency explain less than this on one machine. A rule of thumb; the published case that it is made for, a
/// build whose CPU time held what the hypervisor stole, is at nine.
pub const SAME_WORK_RATIO: f64 = 1.5;
/// In shorter times starting up and ticks of the clock count.
pub const SHORTEST_CPU_SECONDS: f64 = 1.0;
/// A share of steal below this cannot make half as much again.
pub const LITTLE_STEAL: f64 = 0.1;

/// The places of the least and the most of these CPU times, in seconds, if the most is [`SAME_WORK_RATIO`] times the least
/// or more; none also where one of the two is below [`SHORTEST_CPU_SECONDS`].
pub fn cpu_time_differs(seconds: &[f64]) -> Option<(usize, usize)> {
    let mut known = seconds.iter().enumerate().filter(|(_, seconds)| seconds.is_finite());
    let first = known.next()?;
    let (least, most) = known.fold((first, first), |(least, most), one| {
        (if one.1 < least.1 { one } else { least }, if one.1 > most.1 { one } else { most })
    });
    (*least.1 >= SHORTEST_CPU_SECONDS && *most.1 >= SAME_WORK_RATIO * *least.1).then_some((least.0, most.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_as_much_again_is_another_matter() {
        assert_eq!(cpu_time_differs(&[1226.0, 10_787.0, 1236.0]), Some((0, 1)));
        assert_eq!(cpu_time_differs(&[904.3, 1236.0]), None);
        assert_eq!(cpu_time_differs(&[0.1, 5.0]), None, "ticks");
        assert_eq!(cpu_time_differs(&[5.0]), None);
        assert_eq!(cpu_time_differs(&[]), None);
    }

    proptest! {
        #[test]
        fn what_is_told_apart_is_apart(seconds in proptest::collection::vec(any::<f64>(), 0..9)) {
            if let Some((least, most)) = cpu_time_differs(&seconds) {
                prop_assert!(seconds[most] >= SAME_WORK_RATIO * seconds[least]);
            }
        }
    }
}
