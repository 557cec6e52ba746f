//! The link that all volumes of a server share: bytes and I/Os, each with a pace and, where the link bursts, a bucket of
//! credits behind it.
//!
//! The volumes' own limits decide when a request is ready for the link, so requests do not come to it in the order
//! of time: one that waits for a slow volume must not keep the link from another. The link therefore gives each the
//! earliest time that is still free, in order of arrival, and never moves a promise.
//!
//! Bytes are those of reads and writes, as they are sent. I/Os are counted as the request's own volume counts them: "The maximum
//! amount of data that EBS counts as a single I/O is 256 KiB for SSD volumes and 1,024 KiB for HDD volumes" (EBS user
//! guide, "I/O characteristics and monitoring"). That EC2 states the IOPS of an instance "at 16 KiB" tells with which requests they
//! were measured, and not that a larger request counts as several ("EBS-optimized instance types": "Maximum IOPS (16 KiB I/O)").
//!
//! How the bucket of an instance that bursts fills is not published. Here it fills at the rate of the long run, as those of gp2
//! volumes do.

use iostone_model::experiment::{Burst, Link};
use iostone_model::units::ByteRate;
use serde::{Deserialize, Serialize};

use super::timetable::{Claim, Timetable};
use crate::bucket::{PACE_NS, share_of};

/// The shared buckets of one server: the bytes and I/Os of all volumes, reads and writes.
#[derive(Debug, Clone, Default)]
pub struct LinkState {
    link: Option<Link>,
    bytes: SharedLimit,
    ios: SharedLimit,
    carried_bytes: u64,
    carried_ios: u64,
}

/// What went over the link, and what is left in its buckets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Bytes let through, or promised, since the start or the last reset.
    pub bytes: u64,
    /// I/Os let through, or promised, as their volumes count them.
    pub ios: u64,
    /// Bytes left in the burst bucket; none without such a bucket.
    pub credit_bytes: Option<f64>,
    /// I/Os left in the burst bucket; none without such a bucket.
    pub credits: Option<f64>,
}

impl LinkState {
    /// A link with that rate, those I/Os and that burst; no limit without one.
    pub fn new(link: Option<Link>) -> Self {
        let mut state = Self { link, ..Self::default() };
        let Some(link) = link else { return state };
        state.bytes = SharedLimit::new(Some(link.throughput.0), byte_burst(link.burst), start_of(link.burst));
        state.ios = SharedLimit::new(link.iops.map(u64::from), io_burst(link.burst), start_of(link.burst));
        state
    }

    /// What it grants now, if it grants less than everything.
    pub fn link(&self) -> Option<Link> {
        self.link
    }

    /// What went over it, and what is in its buckets at `now_ns`.
    pub fn counters_at(&self, now_ns: u64) -> LinkCounters {
        LinkCounters {
            bytes: self.carried_bytes,
            ios: self.carried_ios,
            credit_bytes: self.bytes.balance(now_ns),
            credits: self.ios.balance(now_ns),
        }
    }

    pub(crate) fn reset_counters(&mut self) {
        (self.carried_bytes, self.carried_ios) = (0, 0);
    }

    /// From `now_ns` on so many bytes a second hold in the long run; none lifts the link as a whole, I/Os and bursts too. What
    /// was promised stays promised, and what is not yet paid for is paid at the new rate.
    pub(crate) fn set_rate(&mut self, rate: Option<ByteRate>, now_ns: u64) {
        let Some(rate) = rate else {
            let (carried_bytes, carried_ios) = (self.carried_bytes, self.carried_ios);
            *self = Self { carried_bytes, carried_ios, ..Self::default() };
            return;
        };
        let link = Link { throughput: rate, ..self.link.unwrap_or(Link::of(rate)) };
        self.bytes.set_base(Some(rate.0), byte_burst(link.burst), start_of(link.burst), now_ns);
        self.link = Some(link);
    }

    /// From `now_ns` on so many I/Os a second hold in the long run; none lifts that limit and its burst. False without a link.
    pub(crate) fn set_iops(&mut self, iops: Option<u32>, now_ns: u64) -> bool {
        let Some(link) = &mut self.link else { return false };
        link.iops = iops;
        self.ios.set_base(iops.map(u64::from), io_burst(link.burst), start_of(link.burst), now_ns);
        true
    }

    /// Fills the bucket of bytes to so many, at most its capacity. False if there is none.
    pub(crate) fn set_credit_bytes(&mut self, bytes: u64, now_ns: u64) -> bool {
        self.bytes.set_balance(bytes, now_ns)
    }

    /// Fills the bucket of I/Os to so many, at most its capacity. False if there is none.
    pub(crate) fn set_credits(&mut self, ios: u64, now_ns: u64) -> bool {
        self.ios.set_balance(ios, now_ns)
    }

    /// Fills the buckets to what they are to hold when a workload begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        let burst = self.link.and_then(|link| link.burst);
        let start = start_of(burst);
        for (limit, burst) in [(&mut self.bytes, byte_burst(burst)), (&mut self.ios, io_burst(burst))] {
            if let Some((_, capacity)) = burst {
                limit.set_balance(share_of(capacity, start), now_ns);
            }
        }
    }

    /// When a request that counts as `ios` I/Os and is ready at `ready_ns` has sent its `bytes`.
    pub(crate) fn take(&mut self, bytes: u64, ios: u64, ready_ns: u64, now_ns: u64) -> u64 {
        self.carried_bytes = self.carried_bytes.saturating_add(bytes);
        self.carried_ios = self.carried_ios.saturating_add(ios);
        let mut claims = [None, None, None, None];
        let buckets = self.bytes.buckets().zip([bytes; 2]).chain(self.ios.buckets().zip([ios; 2]));
        for (place, (bucket, units)) in claims.iter_mut().zip(buckets.filter(|(_, units)| *units > 0)) {
            bucket.note_time(now_ns);
            *place = Some(bucket.claim(units, ready_ns));
        }
        let mut start_ns = ready_ns;
        loop {
            start_ns = claims.iter().flatten().map(Claim::ready_ns).fold(start_ns, u64::max);
            // Each is asked, not only the first that says so.
            let waits =
                claims.iter_mut().flatten().filter_map(|claim| claim.wait_until(start_ns).then_some(()));
            if waits.count() == 0 {
                break;
            }
        }
        claims.into_iter().flatten().for_each(Claim::pay);
        start_ns
    }
}

/// The limit of one quantity.
#[derive(Debug, Clone, Default)]
struct SharedLimit {
    /// The pace: the burst's, or the long run's without one.
    pace: Option<Timetable>,
    /// What may be spent faster than the long run's rate, at which it fills.
    credits: Option<Timetable>,
}

impl SharedLimit {
    /// `burst` is units a second, and credits; `start` the share of these that is there at first.
    fn new(base: Option<u64>, burst: Option<(u64, u64)>, start: f64) -> Self {
        let Some(base) = base else { return Self::default() };
        let highest = burst.map_or(base, |(rate, _)| rate.max(base));
        let credits =
            burst.map(|(_, capacity)| Timetable::credits(base, capacity, share_of(capacity, start)));
        Self { pace: Some(Timetable::pacing(highest, PACE_NS)), credits }
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Timetable> {
        self.pace.iter_mut().chain(&mut self.credits)
    }

    fn balance(&self, now_ns: u64) -> Option<f64> {
        self.credits.as_ref().map(|credits| credits.balance(now_ns))
    }

    fn set_balance(&mut self, units: u64, now_ns: u64) -> bool {
        let Some(credits) = &mut self.credits else { return false };
        credits.set_balance(units, now_ns);
        true
    }

    fn set_base(&mut self, base: Option<u64>, burst: Option<(u64, u64)>, start: f64, now_ns: u64) {
        let before = std::mem::replace(self, Self::new(base, burst, start));
        let carry = |before: Option<Timetable>, after: Option<Timetable>| match (before, after) {
            (Some(before), Some(after)) => Some(before.changed_to(after, now_ns)),
            (_, after) => after,
        };
        self.pace = carry(before.pace, self.pace.take());
        self.credits = carry(before.credits, self.credits.take());
    }
}

fn byte_burst(burst: Option<Burst>) -> Option<(u64, u64)> {
    burst.and_then(|burst| burst.throughput.map(|rate| rate.0).zip(burst.credit_bytes.map(|bytes| bytes.0)))
}

fn io_burst(burst: Option<Burst>) -> Option<(u64, u64)> {
    burst.and_then(|burst| burst.iops.map(u64::from).zip(burst.credits))
}

/// How full buckets are when a workload begins, 0 to 1.
fn start_of(burst: Option<Burst>) -> f64 {
    burst.and_then(|burst| burst.start).map_or(1.0, |share| share.0)
}

#[cfg(test)]
mod tests;
