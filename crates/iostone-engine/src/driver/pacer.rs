//! When the I/Os of an open loop are to begin, whatever became of those before them.

use iostone_model::load::{Direction, PerDirection, RateProcess};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::job::{Pace, Rate};

/// The arrivals of one direction.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    rate: Rate,
    /// When the next one is due, in nanoseconds on the job's clock. A double counts nanoseconds exactly for a
    /// hundred days, and keeps the fractions that would else add up.
    due_ns: f64,
}

/// The arrivals of a thread.
#[derive(Debug)]
pub(crate) struct Pacer {
    schedules: PerDirection<Option<Schedule>>,
    arrivals: RateProcess,
    rng: Xoshiro256PlusPlus,
    /// The direction without a rate, which goes on while the others wait. None where every direction of the job has
    /// one: then the rates decide which is next.
    unrated: Option<Direction>,
}

impl Pacer {
    /// The arrivals from `begun_ns` on of a job that goes in these directions; None for a closed loop.
    pub(crate) fn begin(
        pace: &Pace,
        directions: impl Iterator<Item = Direction>,
        begun_ns: u64,
        rng: Xoshiro256PlusPlus,
    ) -> Option<Self> {
        if !pace.is_open_loop() {
            return None;
        }
        let mut schedules = PerDirection::all(None);
        let mut unrated = None;
        for direction in directions {
            let Some(rate) = *pace.rate.of(direction) else {
                unrated = Some(direction);
                continue;
            };
            *schedules.of_mut(direction) = Some(Schedule { rate, due_ns: begun_ns as f64 });
        }
        Some(Self { schedules, arrivals: pace.arrivals, rng, unrated })
    }

    /// The direction that goes next: the one that is due first where all have a rate. Else the one without a rate while
    /// one that has a rate waits, and whichever the mix draws (None) while none does (fio's `rate_ddir`).
    #[inline]
    pub(crate) fn wanted(&self, now_ns: u64) -> Option<Direction> {
        if self.unrated.is_none() {
            return self.first_due();
        }
        let waits = |direction| self.due_ns(direction).is_some_and(|due_ns| due_ns > now_ns);
        self.unrated.filter(|_| Direction::ALL.into_iter().any(waits))
    }

    /// The direction with a rate whose next arrival is due first.
    #[inline]
    pub(crate) fn first_due(&self) -> Option<Direction> {
        let due = |direction: &Direction| self.schedules.of(*direction).map(|schedule| schedule.due_ns);
        Direction::ALL
            .into_iter()
            .filter(|direction| due(direction).is_some())
            .min_by(|a, b| due(a).unwrap_or(f64::MAX).total_cmp(&due(b).unwrap_or(f64::MAX)))
    }

    /// When the next I/O of a direction is due; None if nothing bounds it.
    #[inline]
    pub(crate) fn due_ns(&self, direction: Direction) -> Option<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time since boot")]
        self.schedules.of(direction).map(|schedule| schedule.due_ns as u64)
    }

    /// Goes on to the arrival after one of `length_bytes`.
    #[inline]
    pub(crate) fn advance(&mut self, direction: Direction, length_bytes: u32) {
        let Some(schedule) = self.schedules.of_mut(direction) else { return };
        let mean_ns = match schedule.rate {
            Rate::Iops(rate) => 1e9 / rate,
            Rate::Bytes(rate) => 1e9 * f64::from(length_bytes) / rate.0,
        };
        schedule.due_ns += match self.arrivals {
            RateProcess::Linear => mean_ns,
            // The gaps of a Poisson process are exponential. 53 random bits make a uniform number above 0.
            RateProcess::Poisson => {
                let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                -uniform.ln() * mean_ns
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::BytesPerSecond;
    use rand_xoshiro::rand_core::SeedableRng;

    fn pacer(pace: Pace, directions: &[Direction]) -> Pacer {
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        Pacer::begin(&pace, directions.iter().copied(), 1000, rng).unwrap()
    }

    #[test]
    fn constant_arrivals_keep_their_distance_without_drift() {
        let mut pace = Pace::default();
        pace.rate.read = Some(Rate::Iops(3000.0));
        let mut pacer = pacer(pace, &[Direction::Read]);
        for _ in 0..3_000_000 {
            pacer.advance(Direction::Read, 4096);
        }
        assert!(pacer.due_ns(Direction::Read).unwrap().abs_diff(1000 + 1_000_000_000_000) < 1000);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let mut pace = Pace { arrivals: RateProcess::Poisson, ..Pace::default() };
        pace.rate.write = Some(Rate::Iops(1e6));
        let mut pacer = pacer(pace, &[Direction::Write]);
        let mut last = 1000;
        let gaps: Vec<f64> = (0..100_000)
            .map(|_| {
                pacer.advance(Direction::Write, 4096);
                let due = pacer.due_ns(Direction::Write).unwrap();
                (due - std::mem::replace(&mut last, due)) as f64
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let beyond = gaps.iter().filter(|gap| **gap > 2000.0).count() as f64 / gaps.len() as f64;
        assert!((mean - 1000.0).abs() < 15.0, "{mean}");
        // A share of e^-2 lies beyond twice the mean.
        assert!((beyond - 0.1353).abs() < 0.005, "{beyond}");
    }

    #[test]
    fn rates_of_all_directions_decide_which_is_next() {
        let mut pace = Pace::default();
        pace.rate.read = Some(Rate::Iops(300.0));
        pace.rate.write = Some(Rate::Bytes(BytesPerSecond(409_600.0)));
        let mut pacer = pacer(pace, &[Direction::Read, Direction::Write]);
        let mut reads = 0;
        for _ in 0..400 {
            let next = pacer.wanted(0).unwrap();
            reads += u32::from(next == Direction::Read);
            pacer.advance(next, 4096);
        }
        assert!((299..=301).contains(&reads), "{reads}");
        assert!(Pacer::begin(&Pace::default(), [Direction::Read].into_iter(), 0, pacer.rng).is_none());
    }

    #[test]
    fn a_direction_without_a_rate_goes_on_while_the_other_waits() {
        let mut pace = Pace::default();
        pace.rate.write = Some(Rate::Iops(10.0));
        let mut pacer = pacer(pace, &[Direction::Read, Direction::Write]);
        assert_eq!((pacer.wanted(999), pacer.wanted(1000)), (Some(Direction::Read), None));
        assert_eq!((pacer.due_ns(Direction::Read), pacer.due_ns(Direction::Write)), (None, Some(1000)));
        pacer.advance(Direction::Write, 4096);
        assert_eq!((pacer.wanted(100_000_999), pacer.wanted(100_001_000)), (Some(Direction::Read), None));
    }

    #[test]
    fn the_rate_of_a_direction_that_a_job_does_not_go_in_is_nothing_to_it() {
        let mut pace = Pace::default();
        pace.rate.write = Some(Rate::Iops(10.0));
        let pacer = pacer(pace, &[Direction::Read]);
        assert_eq!((pacer.wanted(0), pacer.due_ns(Direction::Write)), (None, None));
    }
}
