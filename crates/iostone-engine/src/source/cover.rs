//! A map of what a pass has touched, for random blocks of several sizes.
//!
//! Blocks of one size are visited once each by a [`Permutation`](super::permutation::Permutation), which needs no
//! memory. With several sizes what is still free depends on the lengths drawn so far; here, as in fio, a bit for
//! each unit remembers it.

/// One bit per unit, set once the unit is touched; above it levels of one bit per full word, so that the next free
/// unit is found in a few steps however full the map is.
#[derive(Debug)]
pub(crate) struct CoverMap {
    units: u64,
    /// The units themselves first; the last level is one word.
    levels: Vec<Vec<u64>>,
}

const WORD: u64 = u64::BITS as u64;

#[expect(
    clippy::cast_possible_truncation,
    reason = "memory is addressed with at least as many bits as it has"
)]
fn index(word: u64) -> usize {
    word as usize
}

impl CoverMap {
    /// A map of `units`, all free.
    pub(crate) fn new(units: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = units.max(1);
        loop {
            let words = bits.div_ceil(WORD);
            levels.push(vec![0; index(words)]);
            bits = words;
            if words == 1 {
                break;
            }
        }
        let mut map = Self { units, levels };
        map.clear();
        map
    }

    /// How many units the map has.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Makes all units free.
    pub(crate) fn clear(&mut self) {
        let mut bits = self.units;
        for level in &mut self.levels {
            level.fill(0);
            // What is beyond the end is never free.
            if let Some(last) = level.last_mut()
                && (bits == 0 || !bits.is_multiple_of(WORD))
            {
                *last = u64::MAX << (bits % WORD);
            }
            bits = bits.div_ceil(WORD);
        }
    }

    /// The first free unit from `unit` on.
    pub(crate) fn next_free(&self, unit: u64) -> Option<u64> {
        let mut bit = unit;
        for (height, level) in self.levels.iter().enumerate() {
            let word = bit / WORD;
            let open = level.get(index(word)).map_or(0, |bits| !bits & (u64::MAX << (bit % WORD)));
            if open != 0 {
                let top = word * WORD + u64::from(open.trailing_zeros());
                let down =
                    |at: u64, level: &Vec<u64>| at * WORD + u64::from(level[index(at)].trailing_ones());
                return Some(self.levels[..height].iter().rev().fold(top, down));
            }
            bit = word + 1;
        }
        None
    }

    /// Takes up to `units` from `first` on, until one that is taken already or the end; says how many.
    pub(crate) fn take(&mut self, first: u64, units: u64) -> u64 {
        let units = units.min(self.units.saturating_sub(first));
        let mut taken = 0;
        while taken < units {
            let unit = first + taken;
            let shift = unit % WORD;
            let bits = &mut self.levels[0][index(unit / WORD)];
            let open = u64::from((*bits >> shift).trailing_zeros()).min(WORD - shift).min(units - taken);
            if open == 0 {
                break;
            }
            *bits |= (u64::MAX >> (WORD - open)) << shift;
            if *bits == u64::MAX {
                self.mark_full(unit / WORD);
            }
            taken += open;
        }
        taken
    }

    /// Carries upwards that a word of the units is full.
    fn mark_full(&mut self, mut word: u64) {
        for level in self.levels.iter_mut().skip(1) {
            let bits = &mut level[index(word / WORD)];
            *bits |= 1 << (word % WORD);
            if *bits != u64::MAX {
                return;
            }
            word /= WORD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_map_has_nothing_free() {
        let mut map = CoverMap::new(0);
        assert_eq!((map.next_free(0), map.take(0, 3)), (None, 0));
    }

    #[test]
    fn the_last_free_unit_of_a_large_map_is_found() {
        let units = 64 * 64 * 64 + 5;
        let mut map = CoverMap::new(units);
        assert_eq!(map.take(0, 100_000), 100_000);
        assert_eq!(map.take(100_001, units), units - 100_001);
        assert_eq!(map.next_free(0), Some(100_000));
        assert_eq!(map.next_free(100_001), None);
        assert_eq!((map.take(99_999, 4), map.take(100_000, 4)), (0, 1));
        assert_eq!(map.next_free(0), None);
        map.clear();
        assert_eq!((map.next_free(units - 1), map.next_free(units)), (Some(units - 1), None));
    }

    proptest! {
        #[test]
        fn a_map_agrees_with_a_list_of_flags(
            units in 1u64..9000,
            takes in prop::collection::vec((0u64..9000, 1u64..300), 0..200),
        ) {
            let mut map = CoverMap::new(units);
            let mut flags = vec![false; index(units)];
            for (first, wish) in takes {
                let free = (first..units).find(|unit| !flags[index(*unit)]);
                prop_assert_eq!(map.next_free(first), free);
                let open = (first..units.min(first + wish)).take_while(|unit| !flags[index(*unit)]).count() as u64;
                prop_assert_eq!(map.take(first, wish), open);
                (first..first + open).for_each(|unit| flags[index(unit)] = true);
            }
        }
    }
}
