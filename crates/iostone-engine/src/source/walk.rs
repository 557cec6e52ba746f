//! The walk over one target: where the next block of each direction lies, in sequence or at random.

mod cursor;

use iostone_model::load::Direction;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Part;
use super::chance::{branch, draw_percent};
use super::rules::Rules;
use super::visits::Visits;
use cursor::Cursor;

/// One block: where, from the start of the target, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) direction: Direction,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u32,
}

/// The walk of one thread over its part of one target.
///
/// Directions have positions of their own, as in fio: in a sequential mix reads and writes each begin at the start
/// of the part. A block that would cross the end of the part is not issued; the walk begins again before that.
#[derive(Debug)]
pub(crate) struct Walk {
    part: Part,
    /// Begins again by itself at the end of a pass.
    is_endless: bool,
    /// What is walked over now: the part, or with strides a range of it.
    range: Range,
    cursors: [Cursor; 3],
    /// None in a sequential job.
    visits: Option<Visits>,
    /// Transferred in this pass.
    passed_bytes: u64,
    /// A block that was discarded and is to be written next.
    discarded: Option<Block>,
    rng: Xoshiro256PlusPlus,
}

/// A range of a part, in bytes.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// From the start of the part.
    offset: u64,
    length: u64,
    /// To be transferred before it is left for the next one.
    left: u64,
}

impl Walk {
    /// A walk over `part`.
    pub(crate) fn new(rules: &Rules, part: Part, is_endless: bool, mut rng: Xoshiro256PlusPlus) -> Self {
        let range = cut_range(rules, part, 0);
        let begin = |direction: &Direction| {
            let block = u64::from(rules.sizes.of(*direction).smallest()).max(1);
            let start = rules.start_bytes / block * block;
            Cursor { start, end: start }
        };
        let visits = rules.is_random.then(|| Visits::new(rules, range.length, rng.clone()));
        Self {
            part,
            is_endless,
            range,
            cursors: Direction::ALL.each_ref().map(begin),
            visits,
            passed_bytes: 0,
            discarded: None,
            rng: branch(&mut rng),
        }
    }

    /// Begins a new pass.
    pub(crate) fn restart(&mut self, rules: &Rules) {
        self.passed_bytes = 0;
        self.discarded = None;
        self.enter(rules, 0);
    }

    /// The next block in this direction, at a fresh place or going on from the last; none at the end of a pass, or
    /// when no block fits.
    #[inline]
    pub(crate) fn advance(&mut self, direction: Direction, fresh: bool, rules: &Rules) -> Option<Block> {
        if self.range.left == 0 {
            self.enter_next(rules)?;
        }
        let (place, is_visit) = match &self.visits {
            None => (self.go_on(direction, rules)?, false),
            Some(_) => self.find(direction, fresh, rules)?,
        };
        let room = self.range.length.checked_sub(place)?;
        let mut length = rules.sizes.of(direction).draw(room, &mut self.rng)?;
        if let Some(visits) = &mut self.visits
            && is_visit
        {
            length = visits.cut(place, length);
        }
        self.cursors[direction as usize] = Cursor { start: place, end: place + u64::from(length) };
        self.count(length, rules);
        let offset_bytes = self.part.offset_bytes + self.range.offset + place;
        Some(Block { direction, offset_bytes, length_bytes: length })
    }

    /// The next block of a job that discards each block and then writes it.
    #[inline]
    pub(crate) fn advance_pair(&mut self, fresh: bool, rules: &Rules) -> Option<Block> {
        if let Some(discarded) = self.discarded.take() {
            self.count(discarded.length_bytes, rules);
            return Some(Block { direction: Direction::Write, ..discarded });
        }
        let block = self.advance(Direction::Trim, fresh, rules)?;
        self.discarded = Some(block);
        Some(block)
    }

    #[inline]
    fn count(&mut self, length_bytes: u32, rules: &Rules) {
        self.passed_bytes += u64::from(length_bytes);
        if rules.strides.is_some() {
            self.range.left = self.range.left.saturating_sub(length_bytes.into());
        }
    }

    /// The place in sequence, from the start of the range.
    #[inline]
    fn go_on(&self, direction: Direction, rules: &Rules) -> Option<u64> {
        let smallest = u64::from(rules.sizes.of(direction).smallest());
        let cursor = self.cursors[direction as usize];
        match cursor.go_on(self.range.length, smallest, rules.skip_bytes) {
            Ok(place) => Some(place),
            // Within a range there is always more to do.
            Err(again) => (self.is_endless || rules.strides.is_some()).then_some(again),
        }
    }

    /// The place in a random job, and whether it is a visit of its pass.
    #[inline]
    fn find(&mut self, direction: Direction, fresh: bool, rules: &Rules) -> Option<(u64, bool)> {
        let percent = *rules.percentage_random.of(direction);
        let at_random = fresh && (percent >= 100 || draw_percent(&mut self.rng, percent));
        if !at_random {
            let cursor = self.cursors[direction as usize];
            if rules.repeat_place && !fresh {
                return Some((cursor.start, false));
            }
            let smallest = u64::from(rules.sizes.of(direction).smallest());
            match cursor.go_on(self.range.length, smallest, 0) {
                Ok(place) => return Some((place, false)),
                // At the end a walk goes on at random, unless nothing of it is random.
                Err(_) if percent == 0 => return self.go_on(direction, rules).map(|place| (place, false)),
                Err(_) => (),
            }
        }
        Some((self.visit(direction, rules)?, true))
    }

    /// A random place.
    #[inline]
    fn visit(&mut self, direction: Direction, rules: &Rules) -> Option<u64> {
        let wraps = self.is_endless || rules.strides.is_some();
        let visits = self.visits.as_mut()?;
        if !wraps
            && !visits.are_remembered()
            && self.passed_bytes + rules.least_bytes > self.part.length_bytes
        {
            return None;
        }
        visits.draw(direction, &mut self.rng).or_else(|| {
            if !wraps {
                return None;
            }
            visits.restart(&mut self.rng);
            visits.draw(direction, &mut self.rng)
        })
    }

    /// Goes to the next range; none if this was the last one and the pass ends with it.
    fn enter_next(&mut self, rules: &Rules) -> Option<()> {
        let strides = rules.strides?;
        let stride = strides.range.0.saturating_add(strides.skip.0);
        let offset = self.range.offset.saturating_add(stride);
        if offset.saturating_add(rules.least_bytes) <= self.part.length_bytes {
            self.enter(rules, offset);
        } else if self.is_endless {
            self.enter(rules, 0);
        } else {
            return None;
        }
        Some(())
    }

    /// Begins the range at `offset` bytes from the start of the part.
    fn enter(&mut self, rules: &Rules, offset: u64) {
        let before = self.range.length;
        self.range = cut_range(rules, self.part, offset);
        self.cursors = [Cursor::default(); 3];
        if let Some(visits) = &mut self.visits {
            if before == self.range.length {
                visits.restart(&mut self.rng);
            } else {
                *visits = Visits::new(rules, self.range.length, branch(&mut self.rng));
            }
        }
    }
}

/// The range at `offset` of a part. The last one may be cut short by the end; then no more is done there than there
/// are whole blocks.
fn cut_range(rules: &Rules, part: Part, offset: u64) -> Range {
    let rest = part.length_bytes - offset;
    let Some(strides) = rules.strides else {
        return Range { offset, length: rest, left: u64::MAX };
    };
    let length = rest.min(strides.range.0);
    let whole = length - length % rules.least_bytes.max(1);
    let left = if length < strides.range.0 { strides.io.0.min(whole) } else { strides.io.0 };
    Range { offset, length, left }
}
