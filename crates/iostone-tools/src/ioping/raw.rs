//! ioping's raw statistics: one line of bare numbers for each period.

use super::Run;
use crate::units::figure;

/// `3 1227801 2443 10008136 358484 409267 478224 50545 4 150574310`.
///
/// ioping(1): requests, time in them, requests a second, bytes a second, minimum, average, maximum and mean deviation;
/// since 1.0 also all requests and the whole time. Times are in microseconds before 1.0, in nanoseconds since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Period {
    /// Requests that count.
    requests: f64,
    /// Seconds spent in them.
    busy: f64,
    iops: f64,
    rate: f64,
    min: f64,
    mean: f64,
    max: f64,
    mdev: f64,
    /// Seconds from the first to the last, where told.
    whole: Option<f64>,
    /// The step of its times, in seconds.
    step: f64,
}

impl Period {
    /// Of a line, if its numbers fit each other as they do there.
    pub(super) fn find(line: &str) -> Option<Self> {
        let fields: Option<Vec<f64>> =
            line.split_whitespace().map(|text| figure(text, 1.0).map(|figure| figure.value)).collect();
        let fields = fields?;
        let (unit, whole) = match fields.as_slice() {
            [_, _, _, _, _, _, _, _] => (1e-6, None),
            [_, _, _, _, _, _, _, _, _, whole] => (1e-9, Some(*whole)),
            _ => return None,
        };
        let [requests, busy, iops, rate, min, mean, max, mdev] = fields.first_chunk::<8>().copied()?;
        let fits = requests >= 1.0
            && busy > 0.0
            && (iops - requests / (busy * unit)).abs() <= 1.0 + iops * 0.01
            && min <= mean
            && mean <= max
            && (mean - busy / requests).abs() <= 1.0 + mean * 0.01;
        fits.then_some(Self {
            requests,
            busy: busy * unit,
            iops,
            rate,
            min: min * unit,
            mean: mean * unit,
            max: max * unit,
            mdev: mdev * unit,
            whole: whole.map(|whole| whole * unit),
            step: unit,
        })
    }
}

/// Periods added up.
#[derive(Debug, Default)]
pub(super) struct Total {
    first: Option<Period>,
    periods: u64,
    requests: f64,
    busy: f64,
    bytes: f64,
    whole: f64,
    min: f64,
    max: f64,
}

impl Total {
    pub(super) fn add(&mut self, period: Period, run: &mut Run) {
        self.min = if self.first.is_some() { self.min.min(period.min) } else { period.min };
        self.max = self.max.max(period.max);
        self.first.get_or_insert(period);
        self.periods += 1;
        self.requests += period.requests;
        self.busy += period.busy;
        self.bytes += period.rate * period.busy;
        self.whole += period.whole.unwrap_or(period.busy);
        run.latencies.push(self.whole, period.mean, super::LONGEST_COURSE);
    }

    /// Writes its figures down; of a single period they are as printed.
    pub(super) fn finish(&self, run: &mut Run) {
        let Some(first) = self.first else { return };
        let time = |value| iostone_model::dataset::Figure { value, step: first.step };
        let count = |value| iostone_model::dataset::Figure { value, step: 1.0 };
        if self.periods == 1 {
            run.set("iops", count(first.iops));
            run.set("throughput", count(first.rate));
            run.set("latency_mean", time(first.mean));
            run.set("latency_mdev", time(first.mdev));
        } else {
            run.set("iops", count(self.requests / self.busy));
            run.set("throughput", count(self.bytes / self.busy));
            run.set("latency_mean", time(self.busy / self.requests));
        }
        run.set("latency_min", time(self.min));
        run.set("latency_max", time(self.max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_the_number_of_fields() {
        let old = Period::find("4 862 4640 19006961 187 216 247 23").unwrap();
        assert!((old.mean - 216e-6).abs() < 1e-12);
        let new = Period::find("3 1227801 2443 10008136 358484 409267 478224 50545 4 150574310").unwrap();
        assert!((new.mean - 409_267e-9).abs() < 1e-15);
    }

    #[test]
    fn numbers_that_do_not_fit_each_other_are_none() {
        assert_eq!(Period::find("1 2 3 4 5 6 7 8"), None);
        assert_eq!(Period::find("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(Period::find("0 0 0 0 0 0 0 0"), None);
    }
}
