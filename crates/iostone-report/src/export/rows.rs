//! The rows of a Parquet file: one for each figure of each observation, with the same columns whatever the run.

use std::collections::BTreeMap;

use iostone_model::metric::Direction;

use super::Exported;
use super::parquet::{Column, Values, write as write_columns};

pub(super) fn write(run: &Exported<'_>, partitioned: bool) -> Vec<u8> {
    let dataset = run.dataset;
    let conditions: Vec<String> = dataset.observations.iter().map(|one| run.condition(one)).collect();
    let labels: Vec<String> = dataset
        .observations
        .iter()
        .map(|one| {
            let levels: BTreeMap<&String, &String> = one.labels.iter().collect();
            serde_json::to_string(&levels).unwrap_or_default()
        })
        .collect();
    let rows: Vec<_> = dataset
        .observations
        .iter()
        .zip(conditions.iter().zip(&labels))
        .flat_map(|(one, words)| {
            one.figures.iter().map(move |(metric, figure)| (one, words, metric, figure.value))
        })
        .collect();
    let same = |text| Values::Text(vec![Some(text); rows.len()]);
    let time = run.started_at.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond);
    let better = |metric: &String| {
        dataset.metrics.get(metric).and_then(|note| note.better).map(|better| match better {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        })
    };
    let of_folders =
        [("experiment", run.experiment), ("host", run.host)].into_iter().filter(|_| !partitioned);
    let mut columns: Vec<Column<'_>> =
        of_folders.map(|(name, text)| Column { name, values: same(text) }).collect();
    columns.extend([
        Column { name: "run", values: same(run.directory) },
        Column { name: "started_at", values: Values::Time(vec![time; rows.len()]) },
        Column {
            name: "table",
            values: Values::Text(rows.iter().map(|row| Some(row.0.table.as_str())).collect()),
        },
        Column { name: "trial", values: Values::Text(rows.iter().map(|row| row.0.run.as_deref()).collect()) },
        Column {
            name: "block",
            values: Values::Whole(
                rows.iter().map(|row| row.0.block.and_then(|block| i64::try_from(block).ok())).collect(),
            ),
        },
        Column { name: "position", values: Values::Number(rows.iter().map(|row| row.0.order).collect()) },
        Column {
            name: "configuration",
            values: Values::Text(rows.iter().map(|row| Some(row.1.0.as_str())).collect()),
        },
        Column {
            name: "labels",
            values: Values::Text(rows.iter().map(|row| Some(row.1.1.as_str())).collect()),
        },
        Column {
            name: "tool",
            values: Values::Text(rows.iter().map(|row| Some(row.0.tool.as_str())).collect()),
        },
        Column {
            name: "metric",
            values: Values::Text(rows.iter().map(|row| Some(row.2.as_str())).collect()),
        },
        Column {
            name: "unit",
            values: Values::Text(rows.iter().map(|row| Some(dataset.unit_of(row.2).symbol())).collect()),
        },
        Column { name: "better", values: Values::Text(rows.iter().map(|row| better(row.2)).collect()) },
        Column { name: "value", values: Values::Number(rows.iter().map(|row| Some(row.3)).collect()) },
    ]);
    write_columns(&columns)
}
