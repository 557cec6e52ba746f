//! How much memory the I/O of one thread takes, and whether reads and writes have buffers of their own.

use iostone_model::load::Direction;

use crate::job::Job;
use crate::payload::Renewal;

/// Blocks begin at multiples of this, which suits `O_DIRECT` on every device.
pub(super) const PAGE_BYTES: usize = 4096;
/// Writes rotate through at least this much memory, so that no compressor with a window up to a record of ZFS or
/// btrfs sees the same bytes twice (a block in it differs from its last use only by its stamps).
const ROTATION_BYTES: usize = 2 << 20;

/// Who uses the buffers of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Reads only, or writes only.
    Alone,
    /// Reads and writes the same ones: what a read left there must not be written, so each write is made anew.
    Shared,
    /// Reads their own, and writes theirs: these hold what was written last, and little has to change for the next.
    Apart,
}

/// The buffers of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArenaPlan {
    /// Blocks in flight, at most.
    pub(crate) slots: u32,
    /// Length of a buffer: the largest block of either direction.
    pub(crate) block_bytes: u32,
    /// Whether each slot's writes go round through several buffers.
    pub(crate) rotates: bool,
    pub(crate) sharing: Sharing,
}

impl ArenaPlan {
    /// What each thread of a checked job gets.
    ///
    /// Buffers that reads and writes share cost nothing where every write is made anew whatever was there: what
    /// compresses, repeats or is refilled, and what is verified.
    pub(crate) fn of(job: &Job) -> Self {
        let goes = |wanted| job.directions_taken().any(|direction| direction == wanted);
        let (reads, writes) = (goes(Direction::Read), goes(Direction::Write));
        let renewal = Renewal::of(&job.data);
        let is_remade = renewal == Renewal::Remake || job.verify.is_some();
        Self {
            slots: job.iodepth,
            // `check` has seen to it that a block is at most 1 GiB.
            block_bytes: u32::try_from(job.largest_block().0).unwrap_or(u32::MAX),
            // Where only a few words of a block change from write to write, a compressor would find the rest again.
            rotates: writes && renewal == Renewal::Stamp && !is_remade,
            sharing: match (reads && writes, is_remade) {
                (false, _) => Sharing::Alone,
                (true, true) => Sharing::Shared,
                (true, false) => Sharing::Apart,
            },
        }
    }

    /// Memory that the buffers take in bytes; None if that has no number.
    pub(crate) fn used_bytes(&self) -> Option<usize> {
        self.in_flight_bytes()?.checked_mul(self.rotation()?)?.checked_add(self.writes_at()?)
    }

    /// From one buffer to the next.
    pub(super) fn stride(&self) -> usize {
        (self.block_bytes as usize).next_multiple_of(PAGE_BYTES)
    }

    /// Buffers per slot, those for reads not counted where they are apart.
    pub(super) fn rotation(&self) -> Option<usize> {
        let in_flight = self.in_flight_bytes()?.max(1);
        Some(if self.rotates { ROTATION_BYTES.div_ceil(in_flight).max(1) } else { 1 })
    }

    /// Where the buffers of writes begin: behind those of reads where these are apart, else at the start.
    pub(super) fn writes_at(&self) -> Option<usize> {
        if self.sharing == Sharing::Apart { self.in_flight_bytes() } else { Some(0) }
    }

    fn in_flight_bytes(&self) -> Option<usize> {
        self.stride().checked_mul(self.slots as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Content, Data, Verify};
    use iostone_model::load::Rw;
    use iostone_model::units::Bytes;

    fn job(rw: Rw) -> Job {
        let mut job = Job::new("/dev/null", rw);
        (job.bs, job.iodepth) = (Bytes(1 << 20).into(), 4);
        job
    }

    #[test]
    fn only_a_job_that_both_reads_and_writes_pays_for_buffers_apart() {
        for rw in [Rw::Read, Rw::RandRead, Rw::Write, Rw::RandWrite, Rw::Trim, Rw::TrimWrite] {
            let plan = ArenaPlan::of(&job(rw));
            assert_eq!((plan.sharing, plan.used_bytes()), (Sharing::Alone, Some(4 << 20)), "{rw:?}");
        }
        for rw in [Rw::ReadWrite, Rw::RandRw] {
            let mut job = job(rw);
            let plan = ArenaPlan::of(&job);
            assert_eq!(
                (plan.sharing, plan.used_bytes(), plan.rotates),
                (Sharing::Apart, Some(8 << 20), true)
            );
            for (rwmixread, rotates) in [(0, true), (100, false)] {
                job.rwmixread = rwmixread;
                let plan = ArenaPlan::of(&job);
                assert_eq!((plan.sharing, plan.rotates), (Sharing::Alone, rotates), "{rwmixread}");
            }
        }
    }

    #[test]
    fn what_is_made_anew_for_each_write_needs_no_buffers_apart() {
        let sharing = |data| ArenaPlan::of(&Job { data, ..job(Rw::RandRw) }).sharing;
        for content in [Content::Noise, Content::Same, Content::Zeros, Content::Pattern(vec![1])] {
            assert_eq!(sharing(Data { content, ..Data::default() }), Sharing::Apart);
        }
        assert_eq!(sharing(Data { refill: true, ..Data::default() }), Sharing::Shared);
        assert_eq!(sharing(Data { compress_percent: 50, ..Data::default() }), Sharing::Shared);
        assert_eq!(sharing(Data { compress_percent: 100, ..Data::default() }), Sharing::Apart);
        assert_eq!(sharing(Data { dedupe_percent: 50, ..Data::default() }), Sharing::Shared);
        let verified = Job { verify: Some(Verify::default()), ..job(Rw::RandRw) };
        let plan = ArenaPlan::of(&verified);
        assert_eq!((plan.sharing, plan.rotates, plan.used_bytes()), (Sharing::Shared, false, Some(4 << 20)));
    }

    #[test]
    fn writes_of_a_mix_rotate_and_its_reads_do_not() {
        let mut job = job(Rw::RandRw);
        (job.bs, job.iodepth) = (Bytes(4096).into(), 1);
        assert_eq!(ArenaPlan::of(&job).used_bytes(), Some(4096 + (2 << 20)));
    }
}
