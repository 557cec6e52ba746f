//! A law at work: what it holds, what it gives now, and how both change with time and use.

#[cfg(test)]
mod tests;
mod window;

use iostone_model::experiment::{Allowance, AllowanceStart, Governor, Law};

use window::UseWindow;

/// Seconds of one processor in a CPU credit (EC2 User Guide: one processor at full speed for a minute).
pub const CREDIT_SECONDS: f64 = 60.0;
const HOUR_SECONDS: f64 = 3600.0;
/// Of what an allowance can hold: less than this from empty is empty, so that rounding cannot flip a law to and fro.
const NOTHING: f64 = 1e-9;

/// An allowance over time. Times are those of the emulation: at speed 20 a window of 100 s passes in 5 s.
#[derive(Debug, Clone, PartialEq)]
pub struct LawState {
    allowance: Allowance,
    speed: f64,
    /// CPU seconds at hand: what a bucket holds, or credits that were earned.
    balance: f64,
    /// CPU seconds of launch credits, which are spent first and never earned again.
    launch: f64,
    /// CPU seconds spent beyond what there was, with an unlimited allowance, and not earned back yet.
    surplus: f64,
    /// CPU seconds earned so far, those lost at the cap included.
    earned: f64,
    /// CPU seconds earned that a full allowance had no room for.
    lost: f64,
    slow: bool,
    /// What was used of late, where the law goes by that.
    window: Option<UseWindow>,
}

impl LawState {
    /// The allowance as the governor begins it.
    pub fn begin(governor: &Governor) -> Self {
        let Governor { allowance, speed, start } = governor;
        let most = most_seconds(&allowance.law) / speed;
        let (balance, launch) = match (&allowance.law, start) {
            (_, AllowanceStart::Empty) => (0.0, 0.0),
            (Law::Credits { launch, .. }, start) => {
                let full = *start == AllowanceStart::Full;
                (if full { most } else { 0.0 }, launch * CREDIT_SECONDS / speed)
            }
            _ => (most, 0.0),
        };
        Self::holding(governor, balance, launch)
    }

    /// The allowance with so much in it, whatever its governor says of the start: CPU seconds of the emulation, earned and of
    /// launch credits. No more is kept than the law allows.
    pub fn holding(governor: &Governor, balance_seconds: f64, launch_seconds: f64) -> Self {
        let Governor { allowance, speed, .. } = governor;
        let most = most_seconds(&allowance.law) / speed;
        let balance = balance_seconds.clamp(0.0, most);
        let window = match allowance.law {
            Law::Window { window_seconds, threshold, .. } => {
                let allowed = threshold.0 * f64::from(allowance.vcpus) * window_seconds / speed;
                Some(UseWindow::begin(
                    window_seconds / speed,
                    (allowed - balance_seconds).clamp(0.0, allowed),
                ))
            }
            _ => None,
        };
        let mut state = Self {
            allowance: allowance.clone(),
            speed: *speed,
            balance,
            launch: launch_seconds.max(0.0),
            surplus: 0.0,
            earned: 0.0,
            lost: 0.0,
            slow: false,
            window,
        };
        state.slow = state.is_exhausted();
        state
    }

    /// Lets time pass, in which so much CPU time was used at an even rate, both in seconds. Exact as long as the law stays slow, or not,
    /// all the while; what was used beyond that, because nothing can be taken away in hindsight, stays a debt.
    pub fn advance(&mut self, elapsed: f64, used: f64) {
        let most = self.most_seconds();
        match self.allowance.law {
            Law::Share { .. } => {}
            Law::Window { .. } => {
                if let Some(window) = &mut self.window {
                    self.earned += window.advance(elapsed, used);
                    self.slow = window.used() > most * (1.0 + NOTHING);
                }
            }
            Law::Bucket { resume, .. } => {
                self.earn(elapsed, used);
                if self.balance <= NOTHING * most {
                    self.slow = true;
                } else if self.slow && self.balance >= (resume.0 - NOTHING) * most {
                    self.slow = false;
                }
            }
            Law::Credits { unlimited, .. } => {
                let of_launch = used.min(self.launch);
                self.launch -= of_launch;
                if self.launch <= NOTHING * NOTHING * most {
                    self.launch = 0.0;
                }
                self.earn(elapsed, used - of_launch);
                if unlimited && self.balance < 0.0 {
                    self.surplus -= self.balance;
                    self.balance = 0.0;
                }
                self.slow = self.is_exhausted();
            }
        }
    }

    /// Books what was earned and used; surplus is paid back first, and what a full allowance has no room for is lost.
    fn earn(&mut self, elapsed: f64, used: f64) {
        let earned = self.earned_a_second() * elapsed;
        self.earned += earned;
        let gain = earned - used;
        let paid_back = gain.clamp(0.0, self.surplus);
        self.surplus -= paid_back;
        let sum = self.balance + gain - paid_back;
        let most = self.most_seconds();
        self.lost += (sum - most).max(0.0);
        self.balance = sum.min(most);
    }

    fn is_exhausted(&self) -> bool {
        let least = NOTHING * self.most_seconds();
        match self.allowance.law {
            Law::Share { .. } => false,
            Law::Window { .. } => {
                self.window.as_ref().is_some_and(|window| window.used() > self.most_seconds() + least)
            }
            Law::Bucket { .. } => self.balance <= least,
            Law::Credits { unlimited, .. } => !unlimited && self.balance + self.launch <= least,
        }
    }

    /// What may be used now, in processors.
    pub fn processors(&self) -> f64 {
        let all = f64::from(self.allowance.vcpus);
        match self.allowance.law {
            Law::Share { share } => all * share.0,
            _ if !self.slow => all,
            Law::Bucket { slow, .. } | Law::Window { slow, .. } => all * slow.0,
            Law::Credits { baseline, .. } => all * baseline.0,
        }
    }

    /// What work that could use so many processors gets now, in processors.
    ///
    /// Of a slower processor it gets less than its share allows where it waits in between: what it computes takes longer, what it
    /// waits for does not.
    ///
    /// It differs from [`Self::processors`] where a window is used up to its threshold: then only so much may be used as leaves
    /// it, and a law that looks often enough gives that much on average by going slow and fast in turns.
    pub fn rate(&self, wanted: f64) -> f64 {
        if let Law::Share { share } = self.allowance.law {
            return stretched(wanted, share.0).min(self.processors());
        }
        let given = wanted.min(self.processors());
        let (Some(window), Law::Window { slow, .. }) = (&self.window, &self.allowance.law) else {
            return given;
        };
        let most = self.most_seconds();
        if (window.used() - most).abs() > 2.0 * NOTHING * most {
            return given;
        }
        let (fast, slow) =
            (wanted.min(f64::from(self.allowance.vcpus)), slow.0 * f64::from(self.allowance.vcpus));
        fast.min(window.leaving().max(slow))
    }

    /// Seconds for which the law goes on as now while so many processors are used: until it becomes slow, or fast again, is
    /// full, has spent its launch credits, or gives another [`Self::rate`]. Infinite if it never changes.
    pub fn lasts(&self, processors: f64) -> f64 {
        let most = self.most_seconds();
        let least = NOTHING * most;
        let net = self.earned_a_second() - processors;
        let until = |level: f64| {
            let distance = level - self.balance;
            let never = distance * net <= 0.0 || distance.abs() <= least / 2.0;
            if never { f64::INFINITY } else { distance / net }
        };
        match self.allowance.law {
            Law::Share { .. } => f64::INFINITY,
            Law::Window { .. } => {
                self.window.as_ref().map_or(f64::INFINITY, |window| window.lasts(processors, most, least))
            }
            Law::Bucket { resume, .. } if self.slow => until(resume.0 * most),
            Law::Credits { .. } if self.launch > 0.0 => {
                let launch = if processors > 0.0 { self.launch / processors } else { f64::INFINITY };
                let room = most - self.balance;
                let full = if room > least { room / self.earned_a_second() } else { f64::INFINITY };
                launch.min(full)
            }
            Law::Credits { .. } if self.surplus > 0.0 && net > 0.0 => self.surplus / net,
            // Spent as it is earned: rounding is no change.
            Law::Bucket { .. } | Law::Credits { .. } if net.abs() * HOUR_SECONDS <= least => f64::INFINITY,
            Law::Bucket { .. } | Law::Credits { .. } if net > 0.0 => until(most),
            Law::Bucket { .. } | Law::Credits { .. } => until(0.0),
        }
    }

    /// CPU seconds earned in a second now.
    fn earned_a_second(&self) -> f64 {
        match self.allowance.law {
            Law::Share { .. } | Law::Window { .. } => 0.0,
            Law::Bucket { refill, throttled_refill, .. } => {
                if self.slow {
                    throttled_refill.0
                } else {
                    refill.0
                }
            }
            Law::Credits { earned_per_hour, .. } => earned_per_hour * CREDIT_SECONDS / HOUR_SECONDS,
        }
    }

    /// The most that is kept of what was earned, CPU seconds of the emulation; of a window, what may be used in it.
    pub fn most_seconds(&self) -> f64 {
        let all = if matches!(self.allowance.law, Law::Window { .. }) {
            f64::from(self.allowance.vcpus)
        } else {
            1.0
        };
        all * most_seconds(&self.allowance.law) / self.speed
    }

    /// CPU seconds at hand, launch credits included; below zero for a debt. Of a window, what may still be used in it.
    pub fn balance_seconds(&self) -> f64 {
        match &self.window {
            Some(window) => self.most_seconds() - window.used(),
            None => self.balance + self.launch,
        }
    }

    /// CPU seconds of launch credits at hand.
    pub fn launch_seconds(&self) -> f64 {
        self.launch
    }

    /// CPU seconds spent beyond what there was, with an unlimited allowance, and not earned back yet.
    pub fn surplus_seconds(&self) -> f64 {
        self.surplus
    }

    /// CPU seconds earned so far, those lost at the cap included; of a window, what left it.
    pub fn earned_seconds(&self) -> f64 {
        self.earned
    }

    /// CPU seconds earned that a full allowance had no room for.
    pub fn lost_seconds(&self) -> f64 {
        self.lost
    }

    /// Whether a rate, in processors, is less than what work that could use so many gets of this law while it is not slow.
    pub fn withholds(&self, rate: f64, wanted: f64) -> bool {
        let fast = wanted.min(f64::from(self.allowance.vcpus));
        !self.is_constant() && rate < fast * (1.0 - NOTHING)
    }

    /// Whether it gives the same at all times.
    pub fn is_constant(&self) -> bool {
        matches!(self.allowance.law, Law::Share { .. })
    }

    /// Whether it gives less than everything because it is used up.
    pub fn is_slow(&self) -> bool {
        self.slow
    }
}

/// The most that a law keeps, CPU seconds of real time; of a window, what each processor may use in it.
fn most_seconds(law: &Law) -> f64 {
    match law {
        Law::Share { .. } => 0.0,
        Law::Bucket { capacity_seconds, .. } => *capacity_seconds,
        Law::Window { window_seconds, threshold, .. } => window_seconds * threshold.0,
        Law::Credits { maximum, .. } => maximum * CREDIT_SECONDS,
    }
}

/// What work that uses so many processors gets of processors of that share: of each thread, the computing takes longer and the
/// waiting stays.
fn stretched(wanted: f64, share: f64) -> f64 {
    let threads = wanted.ceil();
    if wanted <= 0.0 || share <= 0.0 {
        return 0.0;
    }
    threads / (1.0 / share + threads / wanted - 1.0)
}
