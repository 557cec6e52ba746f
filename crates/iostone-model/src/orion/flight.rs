//! What a test asks of a machine at its heaviest: I/Os in flight, streams, bytes of buffers, and how many points it has.

use super::{LargeIo, LoadPoint, Matrix, OrionArgumentError, OrionTest, RunLevel};
use crate::units::Bytes;

/// The most I/Os that one load can have in flight: the most entries that the kernel gives a ring (`IORING_MAX_ENTRIES` of
/// io_uring).
pub const MOST_IN_FLIGHT: u64 = 32_768;
/// The most streams: each is a thread, and the engine runs no more.
pub const MOST_STREAMS: u64 = 4_096;
/// The most load points of a test: at the shortest duration they take more than a day.
pub const MOST_LOAD_POINTS: u64 = 100_000;

impl OrionTest {
    /// The I/Os that a large load keeps in flight for each of its units: one, or those of a stream.
    fn per_large(&self) -> u64 {
        match self.large_io {
            LargeIo::Rand => 1,
            LargeIo::Seq => u64::from(self.num_stream_io),
        }
    }

    /// The highest loads of both axes; where the matrix is basic, no point has them together.
    fn highest(&self, num_disks: u32) -> LoadPoint {
        let highest = |loads: Vec<u32>| loads.last().copied().unwrap_or(0);
        LoadPoint { small: highest(self.small_loads(num_disks)), large: highest(self.large_loads(num_disks)) }
    }

    /// The points of which one is the heaviest in every respect: the highest loads together, or each alone where a plan has
    /// them only alone. Points without load are left out.
    pub fn extremes(&self, num_disks: u32) -> Vec<LoadPoint> {
        let highest = self.highest(num_disks);
        let extremes = if self.shape() == Matrix::Basic {
            vec![LoadPoint { large: 0, ..highest }, LoadPoint { small: 0, ..highest }]
        } else {
            vec![highest]
        };
        extremes.into_iter().filter(|point| point.small > 0 || point.large > 0).collect()
    }

    /// The bytes that the I/Os of a point in flight take.
    pub fn bytes_in_flight(&self, point: LoadPoint) -> Bytes {
        let small = u64::from(point.small).saturating_mul(self.size_small.0);
        let large = u64::from(point.large).saturating_mul(self.per_large()).saturating_mul(self.size_large.0);
        Bytes(small.saturating_add(large))
    }

    /// The sizes of the I/Os that its points do, each with the option that sets it: a load that is always 0 has none.
    pub fn sizes_used(&self, num_disks: u32) -> Vec<(&'static str, Bytes)> {
        let highest = self.highest(num_disks);
        [("-size_small", self.size_small, highest.small), ("-size_large", self.size_large, highest.large)]
            .into_iter()
            .filter(|(.., load)| *load > 0)
            .map(|(option, size, _)| (option, size))
            .collect()
    }

    /// Whether so much can be in flight at once.
    ///
    /// # Errors
    /// [`OrionArgumentError::TooHeavy`], with the option that asks for it.
    pub fn check_loads(&self, num_disks: u32) -> Result<(), OrionArgumentError> {
        let highest = self.highest(num_disks);
        let (small, large) = (u64::from(highest.small), u64::from(highest.large));
        let streams = self.large_io == LargeIo::Seq;
        let refuse = |(option, value): (&'static str, u32), needed, what, most| {
            Err(OrionArgumentError::TooHeavy { option, value, needed, what, most })
        };
        if small > MOST_IN_FLIGHT {
            return refuse(self.small_option(num_disks), small, "small I/Os in flight", MOST_IN_FLIGHT);
        }
        if !streams && large > MOST_IN_FLIGHT {
            return refuse(self.large_option(num_disks), large, "large I/Os in flight", MOST_IN_FLIGHT);
        }
        if streams && large > MOST_STREAMS {
            return refuse(self.large_option(num_disks), large, "streams", MOST_STREAMS);
        }
        let in_streams = large.saturating_mul(self.per_large());
        if streams && in_streams > MOST_IN_FLIGHT {
            let option = ("-num_streamIO", self.num_stream_io);
            return refuse(option, in_streams, "large I/Os in flight in all streams", MOST_IN_FLIGHT);
        }
        Ok(())
    }

    /// Whether its points are few enough to be listed.
    ///
    /// # Errors
    /// [`OrionArgumentError::TooManyPoints`], with their number.
    pub fn check_point_count(&self, num_disks: u32) -> Result<(), OrionArgumentError> {
        let points = self.point_count(num_disks);
        if points <= MOST_LOAD_POINTS {
            return Ok(());
        }
        let (option, value) = self.small_option(num_disks);
        Err(OrionArgumentError::TooManyPoints { option, value, points, most: MOST_LOAD_POINTS })
    }

    /// The option that its highest small load comes from.
    fn small_option(&self, num_disks: u32) -> (&'static str, u32) {
        let from_disks = self.run != RunLevel::Advanced
            || matches!(self.matrix, Matrix::Basic | Matrix::Detailed | Matrix::Row);
        if from_disks { ("-num_disks", num_disks) } else { ("-num_small", self.num_small.unwrap_or(0)) }
    }

    /// Likewise of the large one.
    fn large_option(&self, num_disks: u32) -> (&'static str, u32) {
        let from_disks = self.run != RunLevel::Advanced
            || matches!(self.matrix, Matrix::Basic | Matrix::Detailed | Matrix::Col);
        if from_disks { ("-num_disks", num_disks) } else { ("-num_large", self.num_large.unwrap_or(0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<OrionTest, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        OrionTest::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn what_no_queue_holds_is_refused_in_the_words_of_orion() {
        for (line, complaint) in [
            (
                "-run normal -num_disks 65536",
                "`-num_disks 65536` needs 327680 small I/Os in flight; the maximum is 32768",
            ),
            (
                "-run dss -num_disks 3000",
                "`-num_disks 3000` needs 45000 large I/Os in flight; the maximum is 32768",
            ),
            (
                "-run advanced -matrix point -num_small 1 -num_large 5000 -type seq",
                "`-num_large 5000` needs 5000 streams; the maximum is 4096",
            ),
            (
                "-run advanced -type seq -num_streamIO 9000 -num_disks 2",
                "`-num_streamIO 9000` needs 36000 large I/Os in flight in all streams; the maximum is 32768",
            ),
        ] {
            assert_eq!(parsed(line).unwrap_err(), complaint, "{line}");
        }
        for line in [
            "-run simple -num_disks 6553",
            "-run advanced -matrix point -num_small 32768 -num_large 0 -num_disks 60000",
            "-run advanced -matrix point -num_small 0 -num_large 4096 -type seq",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn points_are_counted_before_they_are_listed() {
        let normal = OrionTest::new(RunLevel::Normal);
        assert_eq!(normal.point_count(65_536), 16_404 * 6_573);
        assert_eq!(
            normal.check_point_count(2_000).unwrap_err().to_string(),
            "`-num_disks 2000` gives 114400 load points; the maximum is 100000"
        );
        assert!(OrionTest::new(RunLevel::Simple).check_point_count(6_553).is_ok());
    }

    #[test]
    fn sizes_that_no_point_uses_are_not_used() {
        let used = |line: &str| parsed(line).unwrap().sizes_used(1);
        assert_eq!(used("-run oltp"), [("-size_small", Bytes(8 << 10))]);
        assert_eq!(used("-run dss"), [("-size_large", Bytes(1 << 20))]);
        assert_eq!(used("-run simple").len(), 2);
        assert_eq!(used("-run advanced -matrix point -num_small 0 -num_large 0"), []);
    }

    #[test]
    fn a_basic_plan_has_its_heaviest_loads_alone() {
        let points = |run| OrionTest::new(run).extremes(1);
        let (small, large) = (LoadPoint { small: 5, large: 0 }, LoadPoint { small: 0, large: 2 });
        assert_eq!(points(RunLevel::Simple), [small, large]);
        assert_eq!(points(RunLevel::Normal), [LoadPoint { small: 5, large: 2 }]);
        let normal = OrionTest::new(RunLevel::Normal);
        assert_eq!(normal.bytes_in_flight(LoadPoint { small: 5, large: 2 }), Bytes((40 << 10) + (2 << 20)));
    }
}
