//! The median, as every part of iostone takes it.

use std::borrow::Borrow;

/// The median; of an even number of values the mean of the two in the middle. None of no values.
pub fn median(values: impl IntoIterator<Item = impl Borrow<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().map(|value| *value.borrow()).collect();
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&values)
}

/// The median of values already in ascending order.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_number_of_values_has_its_median_between_two() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median(Vec::<f64>::new()), None);
        assert_eq!(median([1.0, f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }
}
