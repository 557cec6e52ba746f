//! CPU time used over the last so many seconds, as stretches of even use.

use std::collections::VecDeque;

/// Rates nearer than this, in processors, are the same.
const SAME: f64 = 1e-12;
/// So many stretches cost nothing to add up.
const FEW: usize = 64;

/// A stretch of time with its use, both in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    elapsed: f64,
    used: f64,
}

impl Stretch {
    fn rate(self) -> f64 {
        self.used / self.elapsed
    }
}

/// The use over the last so many seconds, oldest first; the stretches add up to the window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UseWindow {
    seconds: f64,
    stretches: VecDeque<Stretch>,
    used: f64,
}

impl UseWindow {
    /// A window in which so much was used already, evenly.
    pub(super) fn begin(seconds: f64, used: f64) -> Self {
        Self { seconds, stretches: VecDeque::from([Stretch { elapsed: seconds, used }]), used }
    }

    /// CPU seconds used within the window.
    pub(super) fn used(&self) -> f64 {
        self.used
    }

    /// Processors of the use that leaves the window now.
    pub(super) fn leaving(&self) -> f64 {
        self.stretches.front().map_or(0.0, |oldest| oldest.rate())
    }

    /// Lets time pass with so much use; gives the CPU seconds that left the window.
    pub(super) fn advance(&mut self, elapsed: f64, used: f64) -> f64 {
        if elapsed <= 0.0 {
            return 0.0;
        }
        let latest = Stretch { elapsed, used };
        match self.stretches.back_mut() {
            Some(last) if (last.rate() - latest.rate()).abs() <= SAME => {
                last.elapsed += elapsed;
                last.used += used;
            }
            _ => self.stretches.push_back(latest),
        }
        let mut excess = elapsed;
        let mut left = 0.0;
        while excess > 0.0 {
            let is_last = self.stretches.len() == 1;
            let Some(oldest) = self.stretches.front_mut() else { break };
            // What rounding leaves of a stretch is none.
            if oldest.elapsed <= excess + SAME * self.seconds && !is_last {
                let Some(gone) = self.stretches.pop_front() else { break };
                excess -= gone.elapsed;
                left += gone.used;
            } else {
                let used = oldest.rate() * excess;
                oldest.elapsed -= excess;
                oldest.used -= used;
                left += used;
                excess = 0.0;
            }
        }
        self.used += used - left;
        if self.stretches.len() <= FEW {
            // Summed anew, so that rounding does not gather over a long time.
            self.used = self.stretches.iter().map(|stretch| stretch.used).sum();
        }
        left
    }

    /// Seconds until the rate that leaves changes, or the use reaches `allowed` CPU seconds, while so many processors are
    /// used.
    pub(super) fn lasts(&self, processors: f64, allowed: f64, tolerance: f64) -> f64 {
        let net = processors - self.leaving();
        let change = self.stretches.front().map_or(f64::INFINITY, |oldest| oldest.elapsed);
        let distance = allowed - self.used;
        let reached =
            if distance.abs() > tolerance && distance * net > 0.0 { distance / net } else { f64::INFINITY };
        let alone = self.stretches.len() == 1 && net.abs() <= SAME;
        if alone { f64::INFINITY } else { change.min(reached) }
    }
}
