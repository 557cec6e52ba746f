//! Which direction is next: one only, or reads and writes mixed by percentage.

use iostone_model::load::Direction;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::draw_below;
use crate::job::Job;

/// I/Os per deck: with whole percents, the fewest in which every share comes out exactly.
const DECK: u32 = 100;

/// Chooses directions.
#[derive(Debug, Clone)]
pub(crate) enum Mix {
    /// Always the same.
    Only(Direction),
    /// Reads and writes from a deck of a hundred in which reads have exactly their share. It is drawn from without
    /// putting back, so that the order is random and the share never drifts. (fio tosses a coin per I/O, or per
    /// run of them: its share is right on average only.)
    Deck {
        /// Reads in a full deck.
        percent: u32,
        /// Reads left in this one.
        reads: u32,
        /// I/Os left in this one.
        left: u32,
    },
    /// Each block is discarded, then written: the walk over the target knows which it is.
    Pairs,
}

impl Mix {
    /// The mix of a checked job.
    pub(crate) fn new(job: &Job) -> Self {
        let mut directions = job.directions();
        match (directions.next(), directions.next()) {
            (Some(Direction::Read), Some(_)) => match job.rwmixread {
                0 => Self::Only(Direction::Write),
                percent if percent >= DECK => Self::Only(Direction::Read),
                percent => Self::Deck { percent, reads: percent, left: DECK },
            },
            (Some(_), Some(_)) => Self::Pairs,
            (only, _) => Self::Only(only.unwrap_or(Direction::Read)),
        }
    }

    /// The next direction; none where it depends on the target.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<Direction> {
        match self {
            Self::Only(direction) => Some(*direction),
            Self::Pairs => None,
            Self::Deck { percent, reads, left } => {
                if *left == 0 {
                    (*reads, *left) = (*percent, DECK);
                }
                let read = draw_below(rng, (*left).into()) < u64::from(*reads);
                *left -= 1;
                *reads -= u32::from(read);
                Some(if read { Direction::Read } else { Direction::Write })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::Rw;
    use rand_xoshiro::rand_core::SeedableRng;

    fn mix(rw: Rw, rwmixread: u32) -> Mix {
        let mut job = Job::new("/nowhere", rw);
        job.rwmixread = rwmixread;
        Mix::new(&job)
    }

    fn reads(mix: &mut Mix, draws: usize, seed: u64) -> Vec<bool> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..draws).map(|_| mix.draw(&mut rng) == Some(Direction::Read)).collect()
    }

    #[test]
    fn every_hundred_have_exactly_the_share_of_reads() {
        for percent in [1, 30, 50, 99] {
            let drawn = reads(&mut mix(Rw::RandRw, percent), 10_000, 3);
            for hundred in drawn.chunks(100) {
                assert_eq!(hundred.iter().filter(|read| **read).count(), percent as usize);
            }
        }
    }

    #[test]
    fn reads_and_writes_come_in_random_order() {
        let drawn = reads(&mut mix(Rw::ReadWrite, 50), 100_000, 4);
        // Half of the neighbours differ; drawing without putting back makes it 50/99.
        let changes = drawn.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((49_500..51_600).contains(&changes), "{changes}");
        // Every place in the deck is a read as often as every other.
        for place in 0..100 {
            let count = drawn.iter().skip(place).step_by(100).filter(|read| **read).count();
            assert!((400..600).contains(&count), "{place}: {count}");
        }
    }

    #[test]
    fn the_ends_of_the_percentage_are_one_direction_only() {
        assert!(matches!(mix(Rw::ReadWrite, 0), Mix::Only(Direction::Write)));
        assert!(matches!(mix(Rw::RandRw, 100), Mix::Only(Direction::Read)));
        assert!(matches!(mix(Rw::Trim, 50), Mix::Only(Direction::Trim)));
        assert!(matches!(mix(Rw::RandWrite, 50), Mix::Only(Direction::Write)));
        assert!(matches!(mix(Rw::RandTrimWrite, 50), Mix::Pairs));
    }
}
