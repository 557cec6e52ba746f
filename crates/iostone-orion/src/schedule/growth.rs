//! Whether a rate still grows at the highest load that was measured.

/// More rate than this share is growth, less is none.
pub(crate) const GROWTH: f64 = 0.05;
/// A lower load is held against the highest where growth in proportion would bring so many times what counts as growth:
/// from 19 to 20 even a rate in proportion to the load hardly grows.
const ROOM: f64 = 2.0;

/// A load, and the rate that it brought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) load: u32,
    pub(crate) rate: f64,
    /// The half width of the 95 % interval of the rate as a share of it, where it is known.
    pub(crate) precision: Option<f64>,
}

/// What the highest load says of the loads beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It brought more than any load below.
    Continues,
    /// A lower load already came within 5 % of it.
    Stopped,
    /// It brought more, but by less than the points are known to.
    Unsure,
}

/// Compares the rate of the highest load with that of each load below; `steps` are by ascending load.
///
/// The rate continues to grow where the highest load brought over 5 % more than every lower load at which a rate in
/// proportion to the load would have shown 10 % less, and more than both points' precision (in quadrature) over those at
/// which it would have shown twice that precision.
pub(crate) fn growth_at_the_top(steps: &[Step]) -> Growth {
    let Some((top, below)) = steps.split_last() else { return Growth::Unsure };
    let mut growth = Growth::Continues;
    for lower in below.iter().filter(|lower| lower.load > 0 && lower.rate > 0.0) {
        let room = f64::from(top.load) / f64::from(lower.load) - 1.0;
        let gained = top.rate / lower.rate - 1.0;
        if room >= ROOM * GROWTH && gained <= GROWTH {
            return Growth::Stopped;
        }
        let known = [top, lower].map(|step| step.precision.filter(|share| share.is_finite()).unwrap_or(0.0));
        let known = known[0].hypot(known[1]);
        // A doubling is room enough, however little is known.
        if room >= (ROOM * known).min(1.0) && gained <= known {
            growth = Growth::Unsure;
        }
    }
    growth
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn growth(rates: impl IntoIterator<Item = (u32, f64)>, precision: Option<f64>) -> Growth {
        let steps: Vec<Step> = rates.into_iter().map(|(load, rate)| Step { load, rate, precision }).collect();
        growth_at_the_top(&steps)
    }

    #[test]
    fn a_rate_that_a_lower_load_reached_grows_no_more() {
        let rates = [(1, 11.1), (2, 17.5), (3, 25.1), (4, 22.2), (5, 25.1)];
        for precision in [None, Some(0.02), Some(0.4)] {
            assert_eq!(growth(rates, precision), Growth::Stopped, "half of the top brought less");
        }
        assert_eq!(growth([(1, 100.0), (2, 200.0), (4, 390.0), (8, 250.0)], None), Growth::Stopped);
    }

    #[test]
    fn more_than_a_lower_load_by_less_than_is_known_is_unsure() {
        let rates = [(1, 100.0), (2, 150.0), (3, 200.0), (4, 205.0), (5, 220.0)];
        assert_eq!(growth(rates, Some(0.02)), Growth::Continues);
        assert_eq!(growth(rates, Some(0.15)), Growth::Unsure);
    }

    #[test]
    fn one_load_or_none_has_nothing_to_grow_from() {
        assert_eq!(growth([(4, 10.0)], None), Growth::Continues);
        assert_eq!(growth([], None), Growth::Unsure);
        assert_eq!(growth([(1, 0.0), (2, 10.0)], None), Growth::Continues);
    }

    proptest! {
        #[test]
        fn a_rate_in_proportion_to_the_load_grows_however_near_the_loads_are(
            top in 2_u32..400, precision in prop::option::of(0.0..0.6_f64),
        ) {
            let rates = (1..=top).map(|load| (load, f64::from(load) * 100.0));
            prop_assert_eq!(growth(rates, precision), Growth::Continues);
        }

        #[test]
        fn a_rate_that_a_load_half_as_high_reached_never_grows(
            top in 2_u32..400, precision in prop::option::of(0.0..0.6_f64),
        ) {
            let rates = (1..=top).map(|load| (load, f64::from(load.min(top / 2)) * 100.0));
            prop_assert_eq!(growth(rates, precision), Growth::Stopped);
        }
    }
}
