//! Which target is next: how several targets take turns.

use iostone_model::load::RandomDistribution;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::draw_below;
use super::places::Places;
use crate::job::{Service, ServiceOrder};

/// Skewed orders are drawn among this many places (as a power of 2) per target, as in fio: a target's share is that
/// of its places together, which is less steep than a distribution over the targets themselves.
const BITS_PER_TARGET: u32 = 10;

/// Chooses targets. One that is finished sits out until all are; then all begin again.
#[derive(Debug)]
pub(crate) struct Turns {
    order: Order,
    every: u32,
    /// I/Os left before it is another's turn.
    left: u32,
    targets: u32,
    /// Those that are not finished, and which of them is being served.
    waiting: Vec<u32>,
    current: usize,
}

#[derive(Debug)]
enum Order {
    RoundRobin,
    Sequential,
    Even,
    /// By a skewed distribution; nobody sits out.
    Skewed(Places),
}

impl Turns {
    /// Turns of `targets`.
    pub(crate) fn new(service: &Service, targets: u32, rng: &mut Xoshiro256PlusPlus) -> Self {
        let order = match &service.order {
            ServiceOrder::RoundRobin => Order::RoundRobin,
            ServiceOrder::Sequential => Order::Sequential,
            ServiceOrder::Random(RandomDistribution::Random) => Order::Even,
            ServiceOrder::Random(skewed) => {
                Order::Skewed(Places::of_targets(skewed, targets.into(), BITS_PER_TARGET, rng))
            }
        };
        let mut turns =
            Self { order, every: service.every.max(1), left: 0, targets, waiting: Vec::new(), current: 0 };
        turns.begin();
        turns
    }

    /// Lets all targets wait for their turn, the first one first.
    fn begin(&mut self) {
        self.waiting.clear();
        self.waiting.extend(0..self.targets);
        self.left = 0;
        self.current = self.waiting.len().saturating_sub(1);
    }

    /// The target of the next I/O; none if there are none.
    #[inline]
    pub(crate) fn take(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        if self.left > 0 {
            self.left -= 1;
        } else {
            self.current = match &mut self.order {
                Order::RoundRobin if self.current + 1 < self.waiting.len() => self.current + 1,
                Order::RoundRobin | Order::Sequential => 0,
                Order::Even => draw_index(self.waiting.len(), rng),
                Order::Skewed(places) => usize::try_from(places.draw(rng)? >> BITS_PER_TARGET).unwrap_or(0),
            };
            self.left = self.every - 1;
        }
        self.waiting.get(self.current).copied()
    }

    /// The target served last has nothing more to give; it is the turn of the next one.
    pub(crate) fn finish(&mut self) {
        if self.current >= self.waiting.len() {
            return;
        }
        if let Order::Skewed(_) = self.order {
            // The neighbour stands in for it, once.
            self.current = (self.current + 1) % self.waiting.len();
            self.left = 1;
            return;
        }
        self.waiting.remove(self.current);
        self.left = 0;
        if self.waiting.is_empty() {
            self.begin();
        } else {
            self.current = self.current.checked_sub(1).unwrap_or(self.waiting.len() - 1);
        }
    }
}

fn draw_index(length: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
    usize::try_from(draw_below(rng, length as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn turns(order: ServiceOrder, every: u32, targets: u32) -> (Turns, Xoshiro256PlusPlus) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(41);
        (Turns::new(&Service { order, every }, targets, &mut rng), rng)
    }

    fn take(turns: &mut (Turns, Xoshiro256PlusPlus), count: usize) -> Vec<u32> {
        (0..count).map(|_| turns.0.take(&mut turns.1).unwrap()).collect()
    }

    #[test]
    fn targets_take_turns_of_some_ios_each() {
        let mut turns = turns(ServiceOrder::RoundRobin, 2, 3);
        assert_eq!(take(&mut turns, 8), [0, 0, 1, 1, 2, 2, 0, 0]);
    }

    #[test]
    fn a_finished_target_sits_out_until_all_are() {
        let mut turns = turns(ServiceOrder::RoundRobin, 1, 3);
        assert_eq!(take(&mut turns, 2), [0, 1]);
        turns.0.finish();
        assert_eq!(take(&mut turns, 5), [2, 0, 2, 0, 2]);
        turns.0.finish();
        assert_eq!(take(&mut turns, 2), [0, 0]);
        turns.0.finish();
        assert_eq!(take(&mut turns, 4), [0, 1, 2, 0]);
    }

    #[test]
    fn in_sequence_each_target_is_finished_before_the_next() {
        let mut turns = turns(ServiceOrder::Sequential, 1, 2);
        assert_eq!(take(&mut turns, 3), [0, 0, 0]);
        turns.0.finish();
        assert_eq!(take(&mut turns, 3), [1, 1, 1]);
        turns.0.finish();
        assert_eq!(take(&mut turns, 2), [0, 0]);
    }

    #[test]
    fn random_turns_are_even_and_leave_out_those_finished() {
        let mut turns = turns(ServiceOrder::Random(RandomDistribution::Random), 4, 4);
        let taken = take(&mut turns, 40_000);
        assert!(taken.chunks(4).all(|turn| turn.iter().all(|target| *target == turn[0])));
        for target in 0..4 {
            let count = taken.iter().filter(|taken| **taken == target).count();
            assert!((9_300..10_700).contains(&count), "{count}");
        }
        let last = *taken.last().unwrap();
        turns.0.finish();
        assert!(!take(&mut turns, 100).contains(&last));
    }

    #[test]
    fn skewed_turns_follow_their_distribution_and_a_neighbour_stands_in() {
        let order = ServiceOrder::Random(RandomDistribution::Pareto { h: 0.25, center: Some(0.0) });
        let mut turns = turns(order, 1, 4);
        let taken = take(&mut turns, 40_000);
        let first = taken.iter().filter(|target| **target == 0).count();
        assert!((29_500..30_500).contains(&first), "{first}");
        let last = *taken.last().unwrap();
        turns.0.finish();
        assert_eq!(take(&mut turns, 1), [(last + 1) % 4]);
    }

    #[test]
    fn no_targets_have_no_turns() {
        for order in [ServiceOrder::RoundRobin, ServiceOrder::Random(RandomDistribution::Random)] {
            let (mut turns, mut rng) = turns(order, 1, 0);
            turns.finish();
            assert_eq!(turns.take(&mut rng), None);
        }
    }
}
