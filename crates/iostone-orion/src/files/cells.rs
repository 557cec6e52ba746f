//! The cells of the matrix: what was measured at a point, or else what it was estimated to be.

use std::collections::HashMap;

use iostone_model::orion::{CellEstimate, LoadPoint, Matrix, OrionRecord, PointRecord};

/// What the tables show of a point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cell {
    /// Small I/Os a second.
    pub(super) iops: Option<f64>,
    /// Mean latency of small I/O, seconds.
    pub(super) latency: Option<f64>,
    /// Bytes a second of large I/O.
    pub(super) throughput: Option<f64>,
}

impl Cell {
    fn measured(record: &PointRecord) -> Self {
        Self { iops: record.iops(), latency: record.latency(), throughput: record.throughput() }
    }

    fn estimated(estimate: &CellEstimate) -> Self {
        Self { iops: estimate.iops, latency: estimate.latency, throughput: estimate.throughput }
    }
}

/// The matrix of a test.
pub(super) struct Cells {
    /// Small loads, ascending.
    pub(super) columns: Vec<u32>,
    /// Large loads, ascending.
    pub(super) rows: Vec<u32>,
    by_point: HashMap<LoadPoint, Cell>,
}

impl Cells {
    pub(super) fn of(record: &OrionRecord) -> Self {
        let header = &record.header;
        let mut cells = HashMap::new();
        for estimate in estimates(record) {
            let point = LoadPoint { small: estimate.small, large: estimate.large };
            cells.insert(point, Cell::estimated(estimate));
        }
        cells.extend(record.points.iter().map(|point| (point.point(), Cell::measured(point))));
        Self {
            columns: header.test.small_loads(header.num_disks),
            rows: header.test.large_loads(header.num_disks),
            by_point: cells,
        }
    }

    pub(super) fn at(&self, small: u32, large: u32) -> Cell {
        self.by_point.get(&LoadPoint { small, large }).copied().unwrap_or_default()
    }
}

/// Points that were estimated and not measured.
pub(super) fn estimates(record: &OrionRecord) -> impl Iterator<Item = &CellEstimate> {
    let estimates = record.end.iter().flat_map(|end| &end.estimates);
    estimates.filter(|cell| record.at(LoadPoint { small: cell.small, large: cell.large }).is_none())
}

/// The small loads as the summary lists them. A basic test lists 0 alone, although it measures others, too; a test of small
/// loads alone (`oltp`) leaves out the 0.
pub(super) fn listed_columns(record: &OrionRecord) -> Vec<u32> {
    let header = &record.header;
    let loads = header.test.small_loads(header.num_disks);
    match header.test.shape() {
        Matrix::Basic => vec![0],
        Matrix::Row if header.test.num_large.unwrap_or(0) == 0 => without_zero(loads),
        _ => loads,
    }
}

/// The large loads, likewise.
pub(super) fn listed_rows(record: &OrionRecord) -> Vec<u32> {
    let header = &record.header;
    let loads = header.test.large_loads(header.num_disks);
    match header.test.shape() {
        Matrix::Col if header.test.num_small.unwrap_or(0) == 0 => without_zero(loads),
        _ => loads,
    }
}

pub(super) fn without_zero(loads: Vec<u32>) -> Vec<u32> {
    loads.into_iter().filter(|load| *load > 0).collect()
}
