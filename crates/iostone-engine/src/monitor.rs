//! Watches the rate of a running job from outside, and ends it when it is steady or falls short.

use std::time::Duration;

use iostone_model::load::Direction;
use iostone_model::units::Span;

use crate::job::{Job, LeastRate, Rate, SteadyLimit, SteadyOf, SteadyRule};
use crate::outcome::Steadiness;

/// What was counted by a moment of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) elapsed: Duration,
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
}

/// What the monitor wants done with the job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ruling {
    /// Nothing.
    GoOn,
    /// It is steady: end it.
    Steady,
    /// It fell short: end it as failed, with this sentence.
    FellShort(String),
}

/// Watches one job.
#[derive(Debug)]
pub(crate) struct Monitor {
    steady: Option<SteadyWatch>,
    least: Option<LeastWatch>,
}

impl Monitor {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            steady: job.steady.map(|rule| SteadyWatch { rule, rates: Vec::new(), last: None, found: None }),
            least: job.least_rate.as_ref().map(|least| LeastWatch::new(job, least)),
        }
    }

    /// Looks at the job; called about ten times a second while its window is open.
    pub(crate) fn look(&mut self, reading: Reading) -> Ruling {
        if let Some(steady) = &mut self.steady
            && steady.look(reading)
        {
            return Ruling::Steady;
        }
        self.least.as_mut().and_then(|least| least.look(reading)).map_or(Ruling::GoOn, Ruling::FellShort)
    }

    /// What became of the steady rule.
    pub(crate) fn steadiness(&self) -> Option<Steadiness> {
        self.steady.as_ref().map(|steady| {
            steady.found.unwrap_or(Steadiness {
                attained: false,
                criterion: f64::NAN,
                after: Span::default(),
            })
        })
    }
}

#[derive(Debug)]
struct SteadyWatch {
    rule: SteadyRule,
    /// Rates of the latest intervals, as many as the rule looks over.
    rates: Vec<f64>,
    last: Option<Reading>,
    found: Option<Steadiness>,
}

impl SteadyWatch {
    fn look(&mut self, reading: Reading) -> bool {
        if reading.elapsed < self.rule.ramp.0 {
            return false;
        }
        let Some(last) = self.last else {
            self.last = Some(reading);
            return false;
        };
        let passed = reading.elapsed.saturating_sub(last.elapsed);
        if passed < self.rule.interval.0 {
            return false;
        }
        self.last = Some(reading);
        let done = match self.rule.of {
            SteadyOf::Iops | SteadyOf::IopsSlope => reading.ios - last.ios,
            SteadyOf::Bandwidth | SteadyOf::BandwidthSlope => reading.bytes - last.bytes,
        };
        self.rates.push(done as f64 / passed.as_secs_f64());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of intervals")]
        let wanted = (self.rule.over.0.as_secs_f64() / self.rule.interval.0.as_secs_f64()).round() as usize;
        if self.rates.len() > wanted {
            self.rates.remove(0);
        }
        if self.rates.len() < wanted {
            return false;
        }
        let (criterion, limit) = self.judge();
        let attained = criterion <= limit;
        self.found = Some(Steadiness { attained, criterion, after: Span(reading.elapsed) });
        attained
    }

    /// The criterion and its limit, both in percent of the mean or both absolute.
    fn judge(&self) -> (f64, f64) {
        let mean = self.rates.iter().sum::<f64>() / self.rates.len() as f64;
        let absolute = match self.rule.of {
            SteadyOf::Iops | SteadyOf::Bandwidth => {
                self.rates.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max)
            }
            SteadyOf::IopsSlope | SteadyOf::BandwidthSlope => {
                slope(&self.rates).abs() / self.rule.interval.0.as_secs_f64()
            }
        };
        match self.rule.limit {
            SteadyLimit::Percent(limit) => (100.0 * absolute / mean.max(f64::MIN_POSITIVE), limit),
            SteadyLimit::Absolute(limit) => (absolute, limit),
        }
    }
}

/// The slope of the least-squares line through equally spaced values, per step.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (mean_x, mean_y) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let points = values.iter().enumerate().map(|(x, y)| (x as f64 - mean_x, y - mean_y));
    let (covariance, variance) = points.fold((0.0, 0.0), |(c, v), (x, y)| (c + x * y, v + x * x));
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

#[derive(Debug)]
struct LeastWatch {
    /// Of all directions and threads together; reads and writes are not told apart from outside.
    ios_per_second: f64,
    bytes_per_second: f64,
    cycle: Duration,
    last: Option<Reading>,
}

impl LeastWatch {
    fn new(job: &Job, least: &LeastRate) -> Self {
        let (mut ios, mut bytes) = (0.0, 0.0);
        for direction in Direction::ALL {
            match least.rate.of(direction) {
                Some(Rate::Iops(rate)) => ios += rate,
                Some(Rate::Bytes(rate)) => bytes += rate.0,
                None => {}
            }
        }
        let threads = f64::from(job.numjobs);
        Self {
            ios_per_second: ios * threads,
            bytes_per_second: bytes * threads,
            cycle: least.cycle.0,
            last: None,
        }
    }

    fn look(&mut self, reading: Reading) -> Option<String> {
        let last = *self.last.get_or_insert(Reading { elapsed: Duration::ZERO, ios: 0, bytes: 0 });
        let passed = reading.elapsed.saturating_sub(last.elapsed);
        if passed < self.cycle {
            return None;
        }
        self.last = Some(reading);
        let per_second = |done: u64| done as f64 / passed.as_secs_f64();
        let (ios, bytes) = (per_second(reading.ios - last.ios), per_second(reading.bytes - last.bytes));
        if ios < self.ios_per_second {
            return Some(format!(
                "{ios:.0} I/Os a second where at least {:.0} were wanted",
                self.ios_per_second
            ));
        }
        (bytes < self.bytes_per_second).then(|| {
            format!("{bytes:.0} bytes a second where at least {:.0} were wanted", self.bytes_per_second)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::{PerDirection, Rw};

    fn job(change: impl FnOnce(&mut Job)) -> Job {
        let mut job = Job::new("/dev/zero", Rw::Read);
        change(&mut job);
        job
    }

    fn rule(of: SteadyOf, limit: SteadyLimit) -> SteadyRule {
        let seconds = |seconds| Span(Duration::from_secs(seconds));
        SteadyRule { of, limit, over: seconds(4), ramp: seconds(2), interval: seconds(1) }
    }

    /// The second in which a job with these I/Os per second is ended.
    fn ended(job: &Job, rates: &[u64]) -> Option<(usize, Ruling)> {
        let mut monitor = Monitor::new(job);
        let mut ios = 0;
        rates.iter().enumerate().find_map(|(second, rate)| {
            let reading = Reading { elapsed: Duration::from_secs(second as u64), ios, bytes: ios * 512 };
            ios += rate;
            Some(monitor.look(reading))
                .filter(|ruling| *ruling != Ruling::GoOn)
                .map(|ruling| (second, ruling))
        })
    }

    #[test]
    fn a_job_ends_once_its_rate_is_steady() {
        let rates = [10, 500, 100, 300, 200, 200, 201, 199, 200, 200, 200, 200];
        let deviation = job(|job| job.steady = Some(rule(SteadyOf::Iops, SteadyLimit::Percent(2.0))));
        assert_eq!(ended(&deviation, &rates), Some((8, Ruling::Steady)));
        let absolute = job(|job| job.steady = Some(rule(SteadyOf::Iops, SteadyLimit::Absolute(0.5))));
        assert_eq!(ended(&absolute, &rates), None);
    }

    #[test]
    fn a_slope_is_seen_where_the_deviation_is_small() {
        let rising = [100, 101, 102, 103, 104, 105, 106, 107, 108];
        let slope = |limit| job(move |job| job.steady = Some(rule(SteadyOf::IopsSlope, limit)));
        assert_eq!(ended(&slope(SteadyLimit::Percent(0.5)), &rising), None);
        assert_eq!(ended(&slope(SteadyLimit::Absolute(1.01)), &rising), Some((6, Ruling::Steady)));
    }

    #[test]
    fn a_rate_below_the_least_ends_the_job_with_both_figures() {
        let least = LeastRate {
            rate: PerDirection { read: Some(Rate::Iops(150.0)), write: None, trim: None },
            cycle: Span(Duration::from_secs(2)),
        };
        let job = job(|job| job.least_rate = Some(least));
        let Some((4, Ruling::FellShort(text))) = ended(&job, &[200, 200, 100, 100, 100]) else {
            panic!("it must end in second 4");
        };
        assert_eq!(text, "100 I/Os a second where at least 150 were wanted");
    }
}
