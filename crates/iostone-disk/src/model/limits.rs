//! The limits of one volume: I/Os and bytes, each a pace and, where the volume bursts, a bucket of credits behind it.

use iostone_model::experiment::EmulatedVolume;

use crate::accounting::Charge;
use crate::bucket::{Bucket, share_of};

/// The limits of one volume.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) ios: Limit,
    pub(super) bytes: Limit,
}

/// The limit of one quantity.
#[derive(Debug, Clone, Default)]
pub(super) struct Limit {
    /// Units a second while credits last.
    burst: Option<u64>,
    /// The pace: the burst's, or the long run's without one.
    pace: Option<Bucket>,
    /// What may be spent faster than the long run's rate, at which it fills.
    credits: Option<Bucket>,
    /// Units in it when a workload begins.
    start: u64,
}

impl Limits {
    pub(super) fn new(volume: &EmulatedVolume) -> Self {
        let burst = volume.burst.as_ref();
        let share = burst.and_then(|burst| burst.start).map_or(1.0, |share| share.0);
        let ios = burst.and_then(|burst| burst.iops.map(u64::from).zip(burst.credits));
        let bytes = burst.and_then(|burst| {
            burst.throughput.map(|rate| rate.0).zip(burst.credit_bytes.map(|bytes| bytes.0))
        });
        Self {
            ios: Limit::new(volume.iops.map(u64::from), ios, share),
            bytes: Limit::new(volume.throughput.map(|rate| rate.0), bytes, share),
        }
    }

    /// When a request, whose turn comes at `turn_ns`, can be paid for.
    pub(super) fn ready_ns(&mut self, charge: Charge, turn_ns: u64) -> u64 {
        self.ios.ready_ns(charge.ios, turn_ns).max(self.bytes.ready_ns(charge.bytes, turn_ns))
    }

    /// Pays for a request that begins at `start_ns`.
    pub(super) fn pay(&mut self, charge: Charge, start_ns: u64) {
        self.ios.pay(charge.ios, start_ns);
        self.bytes.pay(charge.bytes, start_ns);
    }

    /// Forgets what was paid for requests that were to begin after `now_ns` and never will.
    pub(super) fn abandon(&mut self, now_ns: u64) {
        self.ios.buckets().chain(self.bytes.buckets()).for_each(|bucket| bucket.abandon(now_ns));
    }

    /// Fills the burst buckets to what they hold when a workload begins.
    pub(super) fn refill(&mut self, now_ns: u64) {
        for limit in [&mut self.ios, &mut self.bytes] {
            limit.set_balance(limit.start, now_ns);
        }
    }

    /// What is in the burst buckets: I/Os and bytes.
    pub(super) fn balances(&self, now_ns: u64) -> (Option<f64>, Option<f64>) {
        (self.ios.balance(now_ns), self.bytes.balance(now_ns))
    }
}

impl Limit {
    /// `burst` is units a second, and credits.
    fn new(base: Option<u64>, burst: Option<(u64, u64)>, share: f64) -> Self {
        let Some(base) = base else { return Self::default() };
        let (rate, credits) = burst.unzip();
        let start = credits.map_or(0, |credits| share_of(credits, share));
        Self {
            burst: rate,
            pace: Some(Bucket::pacing(rate.map_or(base, |rate| rate.max(base)))),
            credits: credits.map(|credits| Bucket::credits(base, credits, start)),
            start,
        }
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Bucket> {
        self.pace.iter_mut().chain(&mut self.credits)
    }

    fn ready_ns(&mut self, units: u64, turn_ns: u64) -> u64 {
        self.buckets().fold(turn_ns, |ready_ns, bucket| ready_ns.max(bucket.ready_ns(units, turn_ns)))
    }

    fn pay(&mut self, units: u64, start_ns: u64) {
        self.buckets().for_each(|bucket| bucket.pay(units, start_ns));
    }

    fn balance(&self, now_ns: u64) -> Option<f64> {
        self.credits.as_ref().map(|credits| credits.balance(now_ns))
    }

    pub(super) fn set_balance(&mut self, units: u64, now_ns: u64) -> bool {
        match &mut self.credits {
            Some(credits) => {
                credits.set_balance(units, now_ns);
                true
            }
            None => false,
        }
    }

    pub(super) fn set_base(&mut self, base: Option<u64>, now_ns: u64) {
        let Some(base) = base else {
            *self = Self::default();
            return;
        };
        let rate = self.burst.map_or(base, |burst| burst.max(base));
        match &mut self.pace {
            Some(pace) => pace.set_pace(rate, now_ns),
            None => self.pace = Some(Bucket::pacing(rate)),
        }
        if let Some(credits) = &mut self.credits {
            credits.set_rate(base, now_ns);
        }
    }
}
