//! A run's figures for other programs: tables, Parquet, and the formats of tools that watch figures over time.
//!
//! Every figure is written in its base unit with the digits that bring the same number back.

mod bencher;
mod csv_tables;
mod go_benchmark;
mod open_metrics;
mod otava;
mod parquet;
mod rows;

use iostone_model::dataset::{Dataset, Observation};

/// A run or an import, as its figures are exported.
#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    /// The name of its directory.
    pub directory: &'a str,
    /// The experiment's name.
    pub experiment: &'a str,
    /// The host's name; empty where it is not known.
    pub host: &'a str,
    /// When it was planned or imported, RFC 3339.
    pub started_at: &'a str,
    /// Its figures.
    pub dataset: &'a Dataset,
}

impl Exported<'_> {
    /// The levels of an observation, as `barrier=on`; `all` where nothing was varied.
    fn condition(&self, observation: &Observation) -> String {
        let condition = observation.condition(&self.dataset.factors);
        if condition.is_empty() { "all".to_owned() } else { condition }
    }
}

/// CSV with a row for each figure.
pub fn csv_long(run: &Exported<'_>) -> String {
    csv_tables::long(run.dataset)
}

/// CSV with a row for each observation and a column for each metric.
pub fn csv_wide(run: &Exported<'_>) -> String {
    csv_tables::wide(run.dataset)
}

/// Parquet with a row for each figure; without the columns of a partition where the file's folders say them.
pub fn parquet_rows(run: &Exported<'_>, partitioned: bool) -> Vec<u8> {
    rows::write(run, partitioned)
}

/// The text format of `OpenMetrics` 1.0, a sample for each figure.
pub fn open_metrics(run: &Exported<'_>) -> String {
    open_metrics::write(run)
}

/// Bencher Metric Format: the median of each figure with its range.
///
/// # Errors
/// That of the serialiser.
pub fn bencher(run: &Exported<'_>) -> serde_json::Result<String> {
    bencher::write(run)
}

/// The Go benchmark format, a line for each observation.
pub fn go_benchmark(run: &Exported<'_>) -> String {
    go_benchmark::write(run)
}

/// A table for Apache Otava: of one run a row for each block, of several, oldest first, a row for each with its medians.
pub fn otava(runs: &[Exported<'_>]) -> String {
    otava::table(runs)
}

#[cfg(test)]
mod tests;
