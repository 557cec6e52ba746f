//! A row of bars as high as figures are large: trials in run order at a glance.

const BARS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// Draws figures in order in at most `columns` characters; neighbours share a bar, as their mean, where there are more.
///
/// The scale goes from the smallest to the largest of `within`, so that several rows can share one.
pub(super) fn draw(values: &[f64], within: (f64, f64), columns: usize) -> String {
    let (low, high) = within;
    let span = high - low;
    let bars = values.len().min(columns);
    (0..bars)
        .filter_map(|bar| {
            let group = values.get(bar * values.len() / bars..(bar + 1) * values.len() / bars)?;
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            // Equal figures lie in the middle: neither low nor high.
            let place = if span > 0.0 { (mean - low) / span } else { 0.5 };
            let thresholds = (1..BARS.len()).filter(|step| place * BARS.len() as f64 >= *step as f64);
            BARS.get(thresholds.count()).copied()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_lowest_and_the_largest_highest() {
        assert_eq!(draw(&[1.0, 4.0, 7.0], (1.0, 7.0), 10), "▁▄▇");
        assert_eq!(draw(&[5.0, 5.0], (5.0, 5.0), 10), "▄▄");
        assert_eq!(draw(&[], (0.0, 0.0), 10), "");
    }

    #[test]
    fn many_figures_share_the_columns() {
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(draw(&values, (0.0, 39.0), 7), "▁▂▃▄▅▆▇");
    }
}
