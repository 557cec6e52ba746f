//! The samples of a probe in two flat vectors with room made in advance.

use iostone_model::sample::{DiskCounters, Sample};

use crate::signal::Reading;

/// At ten a second, ten minutes before the vectors have to grow.
const ROOM: usize = 6_000;
/// At ten a second, some 109 minutes before every other sample goes.
const LIMIT: usize = 65_536;

#[derive(Debug)]
pub(super) struct Series {
    devices: usize,
    readings: Vec<Reading>,
    /// `devices` entries a reading.
    counters: Vec<DiskCounters>,
    limit: usize,
}

impl Series {
    pub(super) fn with_room(devices: usize) -> Self {
        Self {
            devices,
            readings: Vec::with_capacity(ROOM),
            counters: Vec::with_capacity(ROOM * devices),
            limit: LIMIT,
        }
    }

    /// Appends a sample; tells whether the series was full and every other sample went.
    pub(super) fn push(&mut self, reading: Reading, counters: &[DiskCounters]) -> bool {
        self.readings.push(reading);
        self.counters.extend_from_slice(counters);
        if self.readings.len() < self.limit {
            return false;
        }
        keep_every_other(&mut self.readings, 1);
        keep_every_other(&mut self.counters, self.devices);
        true
    }

    /// The samples as they are recorded.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let mut counters = self.counters.chunks(self.devices.max(1));
        self.readings
            .iter()
            .map(|reading| build_sample(reading, counters.next().unwrap_or_default()))
            .collect()
    }
}

pub(super) fn build_sample(reading: &Reading, counters: &[DiskCounters]) -> Sample {
    Sample {
        at_ns: reading.at_ns,
        cpu: reading.cpu,
        disks: counters.to_vec(),
        dirty_bytes: reading.memory.dirty_bytes,
        writeback_bytes: reading.memory.writeback_bytes,
        pressure: reading.pressure,
        throttling: reading.throttling,
        governed: reading.governed,
        group_cpu_ns: reading.group.map(|group| group.cpu_ns),
    }
}

/// Keeps the groups of `width` elements with even places.
fn keep_every_other<T>(elements: &mut Vec<T>, width: usize) {
    let mut place = 0;
    elements.retain(|_| {
        let kept = (place / width).is_multiple_of(2);
        place += 1;
        kept
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(devices: usize, limit: usize, samples: u64) -> (Series, u32) {
        let mut series = Series { limit, ..Series::with_room(devices) };
        let mut thinned = 0;
        for at_ns in 0..samples {
            let counters: Vec<DiskCounters> = (0..devices as u64)
                .map(|device| DiskCounters { reads: at_ns * 10 + device, ..DiskCounters::default() })
                .collect();
            thinned += u32::from(series.push(Reading { at_ns, ..Reading::default() }, &counters));
        }
        (series, thinned)
    }

    #[test]
    fn a_full_series_keeps_every_other_sample_with_its_counters() {
        let (series, thinned) = fill(3, 8, 8);
        assert_eq!(thinned, 1);
        let samples = series.samples();
        assert_eq!(samples.iter().map(|one| one.at_ns).collect::<Vec<_>>(), [0, 2, 4, 6]);
        for sample in &samples {
            let expected = [0, 1, 2].map(|device| sample.at_ns * 10 + device);
            assert_eq!(sample.disks.iter().map(|one| one.reads).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_length_stays_bounded_without_devices_too() {
        let (series, thinned) = fill(0, 8, 1000);
        assert!(series.readings.len() < 8 && thinned > 100);
        assert!(series.samples().iter().all(|one| one.disks.is_empty()));
    }
}
