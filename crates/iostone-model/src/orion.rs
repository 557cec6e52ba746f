//! Oracle ORION's test in types: its options, its load points, and the record of what was measured at each of them.
//!
//! ORION (Oracle I/O Numbers) loads storage with a number of outstanding small I/Os and a number of outstanding large I/Os
//! or sequential streams at once. A pair of the two is a *load point*; all pairs are the *matrix*, whose columns are small
//! loads and whose rows are large ones.

mod arguments;
mod findings;
mod flight;
mod naming;
mod options;
mod points;
mod record;

pub use arguments::OrionArgumentError;
pub use findings::{
    BoundBy, Ceiling, CellEstimate, Knee, KnownLimit, LimitKind, Maxima, MaximumAt, OrionFindings, Plateau,
};
pub use flight::{MOST_IN_FLIGHT, MOST_LOAD_POINTS, MOST_STREAMS};
pub use naming::shortened;
pub use options::{FileData, LargeIo, Matrix, OrionTest, RunLevel, SimulatedArray};
pub use points::{LoadPoint, levels};
pub use record::{
    LatencyFigures, LoadFigures, LunKind, LunRecord, ORION_SCHEMA, OrionEnd, OrionHeader, OrionRecord,
    PointRecord, RecordLine, ServedAtPoint, TransferFigures,
};
