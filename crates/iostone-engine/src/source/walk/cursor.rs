//! A position in a sequence of blocks.

/// Where the last block of a direction lies, from the start of its range; 0 to 0 before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Cursor {
    /// The place of the next block in a range of `length` bytes: where the last one ended, and `skip` bytes on. Where
    /// no block of at least `smallest` bytes follows: the place to begin again.
    ///
    /// As in fio, the first block lies at the start also when the walk goes backwards; from there it goes to `-skip`
    /// bytes before the end.
    #[inline]
    pub(super) fn go_on(self, length: u64, smallest: u64, skip: i64) -> Result<u64, u64> {
        let place = if self.end == 0 { Some(0) } else { self.end.checked_add_signed(skip) };
        match place {
            None => Err(length.saturating_sub(skip.unsigned_abs())),
            Some(place) if place.saturating_add(smallest) <= length => Ok(place),
            Some(_) => Err(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of blocks of 4, and where the walk begins again.
    fn places(length: u64, skip: i64, count: usize) -> (Vec<u64>, Vec<usize>) {
        let mut cursor = Cursor::default();
        let mut again = Vec::new();
        let places = (0..count).map(|number| {
            let start = cursor.go_on(length, 4, skip).unwrap_or_else(|place| {
                again.push(number);
                place
            });
            cursor = Cursor { start, end: start + 4 };
            start
        });
        let places = places.collect();
        (places, again)
    }

    #[test]
    fn blocks_follow_each_other_and_the_rest_is_left() {
        assert_eq!(places(14, 0, 5), (vec![0, 4, 8, 0, 4], vec![3]));
    }

    #[test]
    fn holes_are_skipped() {
        assert_eq!(places(32, 4, 6), (vec![0, 8, 16, 24, 0, 8], vec![4]));
    }

    #[test]
    fn a_walk_goes_backwards() {
        assert_eq!(places(20, -8, 7), (vec![0, 12, 8, 4, 0, 12, 8], vec![1, 5]));
    }

    #[test]
    fn a_walk_can_overlap_itself_or_stand_still() {
        assert_eq!(places(12, -2, 6), (vec![0, 2, 4, 6, 8, 0], vec![5]));
        assert_eq!(places(12, -4, 3), (vec![0, 0, 0], vec![]));
    }

    #[test]
    fn a_skip_longer_than_the_range_begins_again_each_time() {
        assert_eq!(places(12, 100, 3).0, [0, 0, 0]);
        assert_eq!(places(12, -100, 3).0, [0, 0, 0]);
    }
}
