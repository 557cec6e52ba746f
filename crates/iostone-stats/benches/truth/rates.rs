//! Counts of what must be rare, with what they allow to be said of the chance (Clopper and Pearson 1934).

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) count: u32,
    pub(crate) of: u32,
}

impl Rate {
    pub(crate) fn add(&mut self, happened: bool) {
        self.count += u32::from(happened);
        self.of += 1;
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, of: self.of + other.of }
    }

    pub(crate) fn share(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }

    /// The smallest and the largest chance that the count does not contradict, each at 97.5 %.
    pub(crate) fn bounds(self) -> (f64, f64) {
        let bisect = |too_small: &dyn Fn(f64) -> bool| {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if too_small(middle) { low = middle } else { high = middle }
            }
            low
        };
        let upper = bisect(&|chance| binomial_cdf(self.count, self.of, chance) > 0.025);
        let lower = match self.count.checked_sub(1) {
            Some(fewer) => bisect(&|chance| 1.0 - binomial_cdf(fewer, self.of, chance) < 0.025),
            None => 0.0,
        };
        (lower, upper)
    }

    /// P(X >= count) if the chance is `chance`: how surprising so many are.
    pub(crate) fn upper_p(self, chance: f64) -> f64 {
        self.count.checked_sub(1).map_or(1.0, |fewer| 1.0 - binomial_cdf(fewer, self.of, chance))
    }
}

/// P(X <= count) for X binomial.
fn binomial_cdf(count: u32, of: u32, chance: f64) -> f64 {
    if chance <= 0.0 || count >= of {
        return 1.0;
    }
    let mut ln_term = f64::from(of) * (-chance).ln_1p();
    let mut sum = ln_term.exp();
    for i in 0..count {
        ln_term += (f64::from(of - i) / f64::from(i + 1)).ln() + (chance / (1.0 - chance)).ln();
        sum += ln_term.exp();
    }
    sum.min(1.0)
}
