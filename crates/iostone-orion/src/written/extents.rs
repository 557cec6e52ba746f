//! Which bytes of a file were never written, from its map of extents or else from its holes.

use std::fs::File;
use std::io;
use std::ops::Range;

use iostone_engine::{FileExtent, extents_of};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::Method;

/// The ranges of a file of that size that were never written, ascending, and how they were found.
pub(super) fn find_unwritten(file: &File, bytes: u64) -> io::Result<(Vec<Range<u64>>, Method)> {
    if let Ok(extents) = extents_of(file) {
        return Ok((complement(&written_of(&extents), bytes), Method::Fiemap));
    }
    Ok((complement(&written_by_seeking(file)?, bytes), Method::SeekHole))
}

fn written_of(extents: &[FileExtent]) -> Vec<Range<u64>> {
    let written = extents.iter().filter(|extent| !extent.is_unwritten());
    written.map(|extent| extent.logical..extent.logical.saturating_add(extent.length)).collect()
}

/// What lies between holes. A filesystem that knows of none calls the whole file data.
fn written_by_seeking(file: &File) -> io::Result<Vec<Range<u64>>> {
    let mut written = Vec::new();
    let mut from = 0;
    loop {
        let start = match seek(file, SeekFrom::Data(from)) {
            Ok(start) => start,
            // No more data.
            Err(Errno::NXIO) => return Ok(written),
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(start))?;
        if end <= from {
            return Ok(written);
        }
        written.push(start..end);
        from = end;
    }
}

/// What of `0..bytes` is in none of the ranges, which are ascending.
pub(super) fn complement(ranges: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    let mut between = Vec::new();
    let mut from = 0;
    for range in ranges {
        let start = range.start.min(bytes);
        if start > from {
            between.push(from..start);
        }
        from = from.max(range.end.min(bytes));
    }
    if from < bytes {
        between.push(from..bytes);
    }
    between
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_between_is_the_rest() {
        assert_eq!(complement(&[], 10), [0..10]);
        assert_eq!(complement(&[0..4, 6..20], 10), [4..6]);
        assert_eq!(complement(&[2..4, 4..6], 10), [0..2, 6..10]);
        assert!(complement(&[0..4096], 100).is_empty(), "the last block ends behind the file");
        assert!(complement(&[], 0).is_empty());
    }

    proptest! {
        #[test]
        fn the_rest_of_the_rest_is_the_same(lengths in proptest::collection::vec((1u64..50, 1u64..50), 0..10)) {
            let mut at = 0;
            let ranges: Vec<Range<u64>> = lengths.iter().map(|(gap, length)| {
                let start = at + gap;
                at = start + length;
                start..at
            }).collect();
            prop_assert_eq!(complement(&complement(&ranges, at), at), ranges);
        }
    }
}
