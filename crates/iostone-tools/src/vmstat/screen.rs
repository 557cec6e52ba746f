//! Tells a header that vmstat repeats on every screen from that of a further run, whose first row is a mean since boot.

use crate::samples::Sample;

/// No terminal is so low that vmstat, which leaves three of its lines free, repeats its header after fewer rows.
const FEWEST_ROWS: u64 = 7;
/// Into a file vmstat repeats its header after that many rows: it takes a terminal of 24 lines for granted (`winhi` of
/// vmstat.c).
const ROWS_IN_FILES: u64 = 21;

/// Whose first row it is that follows a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// There is no header right above, or it is the first.
    No,
    /// Of a screen of the same run, as far as the number of rows tells.
    Same,
    /// The screen would be that of a low terminal.
    Unknown,
    /// Of another run.
    Run,
}

/// How the rows of one run stand under its headers: under each but the last the same number.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Rows below the header read last.
    rows: u64,
    /// Rows of the first screen that was full.
    full: Option<u64>,
    again: Option<Again>,
    /// Where the header read last stands.
    pub(super) header_line: u64,
    /// A header came again, and what it began could not be told.
    pub(super) doubtful: bool,
}

impl Screen {
    /// A header; `other` says that its columns are others than before.
    pub(super) fn header(&mut self, line: u64, other: bool) {
        self.header_line = line;
        if self.rows > 0 {
            let full = *self.full.get_or_insert(self.rows);
            self.again = Some(match self.rows {
                rows if other || rows < FEWEST_ROWS || rows != full => Again::Run,
                rows if rows < ROWS_IN_FILES => Again::Unknown,
                _ => Again::Same,
            });
        }
        self.rows = 0;
    }

    /// A row.
    pub(super) fn row(&mut self) -> Again {
        self.rows += 1;
        self.again.take().unwrap_or(Again::No)
    }
}

/// How alike a row is to the mean since boot, which hardly moves from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alike {
    Yes,
    /// As one that was printed some time later.
    Nearly,
    No,
}

impl Alike {
    pub(super) fn of(boot: &[Sample], row: &[Sample]) -> Self {
        // How many processes run is that of the moment also in the first row.
        let means = |samples: &[Sample]| -> Vec<(f64, f64)> {
            let means = samples.iter().filter(|sample| !matches!(sample.name, "running" | "blocked"));
            means.map(|sample| (sample.figure.value, sample.figure.step)).collect()
        };
        let pairs: Vec<_> = means(boot).into_iter().zip(means(row)).collect();
        let within = |share: f64, steps: f64| {
            pairs.iter().all(|((before, step), (now, _))| {
                (before - now).abs() <= (before.abs() * share).max(step * steps)
            })
        };
        if within(0.0, 0.5) {
            Self::Yes
        } else if within(0.1, 1.5) {
            Self::Nearly
        } else {
            Self::No
        }
    }
}
