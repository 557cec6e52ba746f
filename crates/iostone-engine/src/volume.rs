//! Where the bytes of a volume lie: several targets as one, concatenated or striped.

use crate::job::Volume;

/// Members of a concatenation end at multiples of this, so that no block of a device or a page is cut in two.
const MEMBER_UNIT_BYTES: u64 = 4096;

/// Members of a volume are used in multiples of this many bytes.
pub(crate) fn unit_bytes(volume: Volume) -> u64 {
    match volume {
        Volume::Concat => MEMBER_UNIT_BYTES,
        Volume::Raid0 { chunk } => chunk.0.max(1),
    }
}

/// Maps places in a volume to places in its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumeMap {
    layout: Layout,
    members: u32,
    length_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Layout {
    /// Where each member ends in the volume, ascending.
    Concat { ends: Box<[u64]> },
    /// Chunk after chunk, each on the next member.
    Raid0 { chunk: u64 },
}

/// What of a request lies on one member at a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) member: u32,
    /// In the member.
    pub(crate) offset_bytes: u64,
    /// In the request.
    pub(crate) start_bytes: u32,
    pub(crate) length_bytes: u32,
}

impl VolumeMap {
    /// The volume over members of these lengths in bytes. What is left over of a member, beyond its last whole
    /// [unit](MEMBER_UNIT_BYTES) or chunk, is not used; of striped members, neither is what the smallest one lacks.
    pub(crate) fn new(volume: Volume, lengths: &[u64]) -> Self {
        let members = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
        let unit = unit_bytes(volume);
        let floor = |length: u64| length / unit * unit;
        match volume {
            Volume::Raid0 { .. } if members > 1 => {
                let smallest = lengths.iter().copied().min().unwrap_or(0);
                let length_bytes = floor(smallest).saturating_mul(members.into());
                Self { layout: Layout::Raid0 { chunk: unit }, members, length_bytes }
            }
            // Chunks of a single member follow each other.
            _ => {
                let mut end = 0u64;
                let ends = lengths.iter().map(|length| {
                    end = end.saturating_add(floor(*length));
                    end
                });
                let ends: Box<[u64]> = ends.collect();
                Self { layout: Layout::Concat { ends }, members, length_bytes: end }
            }
        }
    }

    /// Bytes of the volume.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// How many targets it consists of.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// The pieces of a request, in its order. What lies beyond the volume's end has none.
    #[inline]
    pub(crate) fn pieces(&self, offset_bytes: u64, length_bytes: u32) -> Pieces<'_> {
        Pieces { map: self, offset_bytes, start_bytes: 0, left_bytes: length_bytes }
    }

    /// The most pieces that a request of `length_bytes` can have, wherever it lies.
    pub(crate) fn most_pieces(&self, length_bytes: u64) -> u64 {
        let touched = |unit: u64| length_bytes.saturating_sub(1).div_ceil(unit.max(1)) + 1;
        match &self.layout {
            Layout::Raid0 { chunk } => touched(*chunk),
            Layout::Concat { ends } => {
                let lengths = ends.iter().scan(0, |begin, end| Some(*end - std::mem::replace(begin, *end)));
                let (used, smallest) = lengths
                    .filter(|length| *length > 0)
                    .fold((0, u64::MAX), |(used, smallest), length| (used + 1, smallest.min(length)));
                touched(smallest).min(used).max(1)
            }
        }
    }

    /// How far each member is used when the volume is used up to `end_bytes`.
    pub(crate) fn member_ends(&self, end_bytes: u64) -> Vec<u64> {
        match &self.layout {
            Layout::Raid0 { chunk } => {
                let stripe = chunk.saturating_mul(self.members.into());
                let (whole, rest) = (end_bytes / stripe, end_bytes % stripe);
                let last = |member: u32| rest.saturating_sub(u64::from(member) * chunk).min(*chunk);
                (0..self.members).map(|member| whole * chunk + last(member)).collect()
            }
            Layout::Concat { ends } => {
                let begins = std::iter::once(&0).chain(ends.iter());
                begins.zip(ends).map(|(begin, end)| end_bytes.min(*end).saturating_sub(*begin)).collect()
            }
        }
    }

    /// The member at a place of the volume, the place in the member, and how many bytes follow there at a stretch.
    #[inline]
    fn locate(&self, offset_bytes: u64) -> Option<(u32, u64, u64)> {
        match &self.layout {
            Layout::Raid0 { chunk } => {
                let (number, within) = (offset_bytes / chunk, offset_bytes % chunk);
                let members = u64::from(self.members);
                let member = u32::try_from(number % members).ok()?;
                (offset_bytes < self.length_bytes)
                    .then(|| (member, number / members * chunk + within, chunk - within))
            }
            Layout::Concat { ends } => {
                let index = ends.partition_point(|end| *end <= offset_bytes);
                let begin = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                let end = ends.get(index)?;
                Some((u32::try_from(index).ok()?, offset_bytes - begin, end - offset_bytes))
            }
        }
    }
}

/// The pieces of one request; see [`VolumeMap::pieces`].
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    map: &'a VolumeMap,
    offset_bytes: u64,
    start_bytes: u32,
    left_bytes: u32,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.left_bytes == 0 {
            return None;
        }
        let (member, offset_bytes, stretch) = self.map.locate(self.offset_bytes)?;
        let length_bytes = u32::try_from(stretch).unwrap_or(u32::MAX).min(self.left_bytes);
        let piece = Piece { member, offset_bytes, start_bytes: self.start_bytes, length_bytes };
        self.offset_bytes += u64::from(length_bytes);
        self.start_bytes += length_bytes;
        self.left_bytes -= length_bytes;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::Bytes;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    /// Where each byte of the volume lies, laid out one by one.
    fn lay_out(volume: Volume, lengths: &[u64]) -> Vec<(u32, u64)> {
        let members = 0u32..;
        match volume {
            Volume::Concat => members
                .zip(lengths)
                .flat_map(|(member, length)| (0..length / 4096 * 4096).map(move |byte| (member, byte)))
                .collect(),
            Volume::Raid0 { chunk } => {
                let mut places = Vec::new();
                let mut row = 0;
                while lengths.iter().all(|length| *length >= row + chunk.0) {
                    for (member, _) in members.clone().zip(lengths) {
                        places.extend((row..row + chunk.0).map(|byte| (member, byte)));
                    }
                    row += chunk.0;
                }
                places
            }
        }
    }

    fn volume() -> impl Strategy<Value = (Volume, Vec<u64>)> {
        let striped = (1u64..700, vec(0u64..3000, 1..6))
            .prop_map(|(chunk, lengths)| (Volume::Raid0 { chunk: Bytes(chunk) }, lengths));
        prop_oneof![striped, vec(0u64..20_000, 1..6).prop_map(|lengths| (Volume::Concat, lengths))]
    }

    proptest! {
        #[test]
        fn every_request_lies_where_its_bytes_were_laid_out(
            (volume, lengths) in volume(), at in any::<Index>(), length in 1u32..5000,
        ) {
            let map = VolumeMap::new(volume, &lengths);
            let places = lay_out(volume, &lengths);
            prop_assert_eq!(map.length_bytes(), places.len() as u64);
            prop_assume!(!places.is_empty());
            let first = at.index(places.len());
            let length = length.min(u32::try_from(places.len() - first).unwrap());
            let pieces: Vec<Piece> = map.pieces(first as u64, length).collect();
            let mut start = 0;
            let mut found = Vec::new();
            for piece in &pieces {
                prop_assert_eq!(piece.start_bytes, start);
                prop_assert!(piece.length_bytes > 0);
                start += piece.length_bytes;
                found.extend((0..u64::from(piece.length_bytes)).map(|n| (piece.member, piece.offset_bytes + n)));
            }
            prop_assert_eq!(&found[..], &places[first..first + length as usize]);
            prop_assert!(pieces.len() as u64 <= map.most_pieces(length.into()));
        }

        #[test]
        fn blocks_of_any_size_cover_the_volume_once((volume, lengths) in volume(), block in 1u32..9000) {
            let map = VolumeMap::new(volume, &lengths);
            let mut found = Vec::new();
            for offset in (0..map.length_bytes()).step_by(block as usize) {
                for piece in map.pieces(offset, block) {
                    found.extend((0..u64::from(piece.length_bytes)).map(|n| (piece.member, piece.offset_bytes + n)));
                }
            }
            prop_assert_eq!(found, lay_out(volume, &lengths));
        }

        #[test]
        fn members_are_used_as_far_as_their_furthest_byte((volume, lengths) in volume(), at in any::<Index>()) {
            let map = VolumeMap::new(volume, &lengths);
            let places = lay_out(volume, &lengths);
            let end = at.index(places.len() + 1);
            let mut ends = vec![0; lengths.len()];
            for (member, byte) in &places[..end] {
                ends[*member as usize] = ends[*member as usize].max(byte + 1);
            }
            prop_assert_eq!(map.member_ends(end as u64), ends);
        }
    }

    #[test]
    fn a_single_member_is_never_cut() {
        let map = VolumeMap::new(Volume::Raid0 { chunk: Bytes(512) }, &[10_000]);
        assert_eq!((map.length_bytes(), map.most_pieces(8192), map.members()), (9728, 1, 1));
        let whole = Piece { member: 0, offset_bytes: 100, start_bytes: 0, length_bytes: 8192 };
        assert_eq!(map.pieces(100, 8192).collect::<Vec<_>>(), [whole]);
    }

    #[test]
    fn nothing_lies_beyond_the_end() {
        for volume in [Volume::Concat, Volume::Raid0 { chunk: Bytes(4096) }] {
            let map = VolumeMap::new(volume, &[8192, 8192]);
            assert_eq!(map.pieces(4 * 4096, 1).next(), None);
            assert_eq!(map.pieces(3 * 4096, 8192).map(|piece| piece.length_bytes).sum::<u32>(), 4096);
        }
    }
}
