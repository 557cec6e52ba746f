//! The fast path of reaping: completions that arrived together are counted together.
//!
//! With a stamp per batch, requests that were submitted together and are reaped together have the same latency, so a
//! batch is a few runs of equal latencies, and the histogram is touched once for each.

use iostone_model::load::Direction;

use super::Driver;
use super::tally::Run;
use crate::engine::{Completion, Engine};
use crate::job::Stamp;
use crate::source::Source;

impl<S: Source> Driver<'_, S> {
    /// Whether nothing needs to be asked about each of `arrived` completions: the window is open for all of them, and
    /// no option looks at single ones.
    #[inline]
    pub(super) fn is_uniform(&self, arrived: usize, now: u64) -> bool {
        self.open
            && !self.closing
            && now <= self.config.closes_ns
            && self.config.stamp != Stamp::PerIo
            && self.config.max_latency_ns == u64::MAX
            && self.pacer.is_none()
            && self.verifier.is_none()
            && self.barrier.is_clear()
            && self.config.limit_ios - self.counted >= arrived as u64
    }

    /// Takes a batch of completions run by run; see [`is_uniform`](Self::is_uniform).
    #[inline]
    pub(super) fn reap_runs<E: Engine>(&mut self, engine: &mut E, now: u64) {
        let record = self.config.stamp != Stamp::None;
        let (mut ios, mut bytes) = (0, 0);
        let mut run = Run { direction: Direction::Read, ns: 0, ios: 0, bytes: 0 };
        let Self { slots, odd, tally, .. } = self;
        engine.reap(|Completion { tag, result }| {
            let length = result.cast_unsigned();
            let Some((direction, submitted_ns)) = slots.finish_whole(tag, length) else {
                odd.push((tag, result));
                return;
            };
            let ns = now.saturating_sub(submitted_ns);
            if ns != run.ns || direction != run.direction {
                tally.count_run(&run, record);
                run = Run { direction, ns, ios: 0, bytes: 0 };
            }
            run.ios += 1;
            run.bytes += u64::from(length);
            ios += 1;
            bytes += u64::from(length);
        });
        tally.count_run(&run, record);
        self.counted += ios;
        self.counted_bytes += bytes;
        self.in_flight_bytes -= bytes;
    }
}
