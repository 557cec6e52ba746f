//! A law at work: what it holds, what it gives now, and how both change with time and use.

use iostone_model::experiment::{Allowance, AllowanceStart, Governor, Law};

/// Seconds of one processor in a CPU credit.
const CREDIT_SECONDS: f64 = 60.0;
const HOUR_SECONDS: f64 = 3600.0;

/// An allowance over time. Times are those of the emulation: at speed 20 a window of 100 s passes in 5 s.
#[derive(Debug, Clone, PartialEq)]
pub struct LawState {
    allowance: Allowance,
    speed: f64,
    /// CPU seconds at hand: what a bucket holds, or credits that were earned.
    balance: f64,
    /// CPU seconds of launch credits, which are spent first and never earned again.
    launch: f64,
    /// CPU seconds spent beyond what there was, with an unlimited allowance.
    surplus: f64,
    slow: bool,
}

impl LawState {
    /// The allowance as the governor begins it.
    pub fn begin(governor: &Governor) -> Self {
        let Governor { allowance, speed, start } = governor;
        let (mut balance, mut launch) = (0.0, 0.0);
        match &allowance.law {
            Law::Share { .. } => {}
            Law::Bucket { capacity_seconds, .. } => balance = capacity_seconds / speed,
            Law::Credits { maximum, launch: given, .. } => {
                let full = maximum * CREDIT_SECONDS / speed;
                balance = if *start == AllowanceStart::Full { full } else { 0.0 };
                launch = given * CREDIT_SECONDS / speed;
            }
        }
        let empty = *start == AllowanceStart::Empty;
        if empty {
            (balance, launch) = (0.0, 0.0);
        }
        let mut state =
            Self { allowance: allowance.clone(), speed: *speed, balance, launch, surplus: 0.0, slow: false };
        state.slow = state.is_exhausted();
        state
    }

    /// Lets time pass, in which so much CPU time was used, both in seconds.
    pub fn advance(&mut self, elapsed: f64, used: f64) {
        match self.allowance.law {
            Law::Share { .. } => {}
            Law::Bucket { capacity_seconds, refill, throttled_refill, resume, .. } => {
                let capacity = capacity_seconds / self.speed;
                let rate = if self.slow { throttled_refill.0 } else { refill.0 };
                self.balance = (self.balance + rate * elapsed).min(capacity) - used;
                // What was used beyond the bucket, because nothing can be taken away within a period, stays a debt.
                if self.balance <= 0.0 {
                    self.slow = true;
                } else if self.slow && self.balance >= resume.0 * capacity {
                    self.slow = false;
                }
            }
            Law::Credits { earned_per_hour, maximum, unlimited, .. } => {
                let most = maximum * CREDIT_SECONDS / self.speed;
                let earned = earned_per_hour * CREDIT_SECONDS / HOUR_SECONDS * elapsed;
                let of_launch = used.min(self.launch);
                self.launch -= of_launch;
                self.balance = (self.balance + earned).min(most) - (used - of_launch);
                if unlimited && self.balance < 0.0 {
                    self.surplus -= self.balance;
                    self.balance = 0.0;
                }
                self.slow = self.is_exhausted();
            }
        }
    }

    fn is_exhausted(&self) -> bool {
        match self.allowance.law {
            Law::Share { .. } => false,
            Law::Bucket { .. } => self.balance <= 0.0,
            Law::Credits { unlimited, .. } => !unlimited && self.balance + self.launch <= 0.0,
        }
    }

    /// What may be used now, in processors.
    pub fn processors(&self) -> f64 {
        let all = f64::from(self.allowance.vcpus);
        match self.allowance.law {
            Law::Share { share } => all * share.0,
            Law::Bucket { slow, .. } => all * if self.slow { slow.0 } else { 1.0 },
            Law::Credits { baseline, .. } => all * if self.slow { baseline.0 } else { 1.0 },
        }
    }

    /// CPU seconds at hand, launch credits included; below zero for a debt.
    pub fn balance_seconds(&self) -> f64 {
        self.balance + self.launch
    }

    /// CPU seconds spent beyond what there was, with an unlimited allowance.
    pub fn surplus_seconds(&self) -> f64 {
        self.surplus
    }

    /// Whether it gives less than everything because it is used up.
    pub fn is_slow(&self) -> bool {
        self.slow
    }
}
