//! Axes: from values to pixels, with ticks at round values.

/// An axis from a domain of values to a range of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    domain: (f64, f64),
    range: (f64, f64),
    logarithmic: bool,
}

/// Where the axis of a plot of figures begins, for the sentence below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Zero,
    NotZero,
    Logarithmic,
}

impl Start {
    /// What the reader must know of it.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Zero => "The axis starts at zero.",
            Self::NotZero => "The axis does not start at zero.",
            Self::Logarithmic => "The axis is logarithmic.",
        }
    }
}

/// Largest ratio of figures that a linear axis can show.
const LINEAR_RATIO: f64 = 40.0;

impl Scale {
    /// A linear axis. An empty domain is widened, so that one value alone stands in the middle.
    pub(crate) fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let (low, high) = domain;
        let domain = if high > low {
            domain
        } else {
            let half = if low == 0.0 { 1.0 } else { low.abs() * 0.05 };
            (low - half, low + half)
        };
        Self { domain, range, logarithmic: false }
    }

    /// A logarithmic axis; the domain must be positive.
    pub(crate) fn logarithmic(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = domain.0.max(f64::MIN_POSITIVE);
        let high = domain.1.max(low);
        let domain = if high / low < 1.0001 { (low / 1.1, high * 1.1) } else { (low, high) };
        Self { domain, range, logarithmic: true }
    }

    /// The axis that suits figures: from zero where they fill it well, logarithmic where they span orders of magnitude.
    pub(crate) fn of_figures(values: impl Iterator<Item = f64>, range: (f64, f64)) -> (Self, Start) {
        let (low, high) = extent(values).unwrap_or((0.0, 1.0));
        if low > 0.0 && high / low > LINEAR_RATIO {
            return (Self::logarithmic((low / 1.3, high * 1.3), range), Start::Logarithmic);
        }
        if low >= 0.0 && low < 0.45 * high {
            return (Self::linear((0.0, high * 1.04), range), Start::Zero);
        }
        let air = if high > low { (high - low) * 0.08 } else { 0.0 };
        (Self::linear((low - air, high + air), range), Start::NotZero)
    }

    /// The values at its ends.
    pub(crate) fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The pixels at its ends.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// The pixel of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let share = if self.logarithmic {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// The pixel of a value, at the axis' end for values beyond it.
    pub(crate) fn at_most(&self, value: f64) -> f64 {
        self.at(value.clamp(self.domain.0, self.domain.1))
    }

    /// Values at which to write numbers, about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: u32) -> Vec<f64> {
        let (low, high) = self.domain;
        if self.logarithmic { logarithmic_ticks(low, high, wanted) } else { linear_ticks(low, high, wanted) }
    }
}

/// The smallest and largest of the finite values.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, wanted: u32) -> Vec<f64> {
    let raw = (high - low) / f64::from(wanted.max(1));
    let power = 10_f64.powf(raw.log10().floor());
    if !power.is_finite() || power <= 0.0 {
        return Vec::new();
    }
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let first = (low / step - 1e-9).ceil();
    // Counting avoids the drift of repeated addition, and the bound keeps a degenerate axis from looping.
    (0..=4 * wanted.max(1))
        .map(|index| (first + f64::from(index)) * step)
        .take_while(|value| *value <= high + step * 1e-9)
        .map(|value| if value.abs() < step * 1e-9 { 0.0 } else { value })
        .collect()
}

/// 1, 2 and 5 times powers of ten where there is room, else powers of ten only, some left out if need be.
fn logarithmic_ticks(low: f64, high: f64, wanted: u32) -> Vec<f64> {
    let decades = (high / low).log10();
    let first = low.log10().floor();
    let wanted = f64::from(wanted.max(1));
    let every = (decades / wanted).ceil().max(1.0);
    let factors: &[f64] = if decades * 3.0 <= wanted * 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    let mut exponent = first;
    while exponent <= high.log10() && ticks.len() < 64 {
        let power = 10_f64.powf(exponent);
        ticks.extend(factors.iter().map(|factor| factor * power).filter(|tick| (low..=high).contains(tick)));
        exponent += every;
    }
    // Within less than a decade even 1, 2, 5 may leave too few to read by.
    if ticks.len() < 3 && decades < 1.0 { linear_ticks(low, high, 4) } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(Scale::linear((0.0, 63.0), (0.0, 1.0)).ticks(6), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(Scale::logarithmic((0.9, 1200.0), (0.0, 1.0)).ticks(4), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::logarithmic((0.9, 12.0), (0.0, 1.0)).ticks(6), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn the_axis_suits_the_figures() {
        let start = |values: &[f64]| Scale::of_figures(values.iter().copied(), (0.0, 1.0)).1;
        assert_eq!(start(&[10.0, 60.0]), Start::Zero);
        assert_eq!(start(&[98.0, 102.0]), Start::NotZero);
        assert_eq!(start(&[1e-9, 1e12]), Start::Logarithmic);
        assert_eq!(start(&[f64::NAN]), Start::Zero);
    }

    #[test]
    fn degenerate_axes_still_map() {
        for domain in [(0.0, 0.0), (5.0, 5.0), (-3.0, -3.0), (1e-300, 1e300)] {
            let scale = Scale::linear(domain, (0.0, 100.0));
            assert!(scale.at(domain.0).is_finite());
            assert!(scale.ticks(5).len() < 30);
        }
        assert!(Scale::logarithmic((0.0, 0.0), (0.0, 1.0)).at(1.0).is_finite());
    }
}
