//! What an experiment measures: the kinds of workload, each in its own file.

mod bonnie;
mod command;
mod copy_up;
mod dbench;
mod dd;
mod fio;
mod io;
mod ioping;
mod orion;
mod pace;
mod profile;
mod sysbench;
mod verification;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::Configuration;
use super::check::Findings;
use super::combine::Places;
use super::decode::decode;
use crate::diagnostic::Diagnostic;
use crate::metric::{COMMON_METRICS, Direction, Metric, Unit};
use crate::orion::LoadPoint;
use crate::units::Bytes;
use profile::Profiled;

pub use crate::load::{
    BlockRange, BlockSizes, BlockSplit, IoEngine, RandomDistribution, RateProcess, RequestFlag, Rw,
    SyncFileRange, SyncMode,
};
pub use bonnie::{BONNIE_METRICS, BonnieWorkload};
pub use command::{COMMAND_METRICS, CommandWorkload, OutputStream, PickedMetric, quoted};
pub use copy_up::{CopyUpWorkload, LARGE_FILE, LowerFiles, small_file};
pub use dbench::{DBENCH_METRICS, DBENCH_OPERATIONS, DbenchWorkload};
pub use dd::{DdDirection, DdWorkload};
pub use fio::{FIO_METRICS, FioProgram, FioWorkload};
pub use io::{FIRST_PILOT, IO_METRICS, IoWorkload, SHORTEST_FOUND};
pub use ioping::IopingWorkload;
pub use orion::{MOST_POINTS, OrionWorkload, Precision, point_metric};
pub(super) use orion::{check_metric, unmeasured_point};
pub use pace::Rates;
pub use profile::{Demand, Ends, Preparation, Profile, Rehearsal, WorkingSet, WorkloadKind};
pub use sysbench::{SysbenchTest, SysbenchWorkload};
pub use verification::Verification;

/// Makes the enum of all workloads, and what needs one arm for each of them.
macro_rules! workloads {
    ($($(#[$attribute:meta])* $file:ident: $Variant:ident($Type:ty),)+) => {
        /// What is measured.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        pub enum Workload {
            $($(#[$attribute])* $Variant($Type),)+
        }

        /// Every kind.
        pub const WORKLOAD_KINDS: &[WorkloadKind] = &[$($file::KIND),+];

        impl Workload {
            /// Which kind it is.
            pub fn of_kind(&self) -> &'static WorkloadKind {
                match self {
                    $(Self::$Variant(_) => const { &$file::KIND },)+
                }
            }

            fn profiled(&self) -> &dyn Profiled {
                match self {
                    $(Self::$Variant(workload) => workload.as_profiled(),)+
                }
            }

            /// Makes it small for a rehearsal.
            pub fn rehearse(&mut self, rehearsal: Rehearsal) {
                match self {
                    $(Self::$Variant(workload) => workload.rehearse(rehearsal),)+
                }
            }

            /// Reads the rest of a table of that kind.
            pub(super) fn read(
                kind: &str,
                rest: Value,
                path: &str,
                places: &Places<'_>,
            ) -> Result<Self, Diagnostic> {
                $(if kind == $file::KIND.word {
                    return decode(rest, path, places).map(Self::$Variant);
                })+
                Err(Diagnostic::new("io0005", format!("`{kind}` is not a kind of workload")))
            }
        }
    };
}

workloads! {
    /// iostone's own load engine.
    io: Io(Box<IoWorkload>),
    /// Any program, run without a shell.
    command: Command(CommandWorkload),
    /// dbench: the file operations of an office server, replayed.
    dbench: Dbench(DbenchWorkload),
    /// bonnie++: sequential access, seeks, and many small files.
    bonnie: Bonnie(BonnieWorkload),
    /// The installed fio, with a job file of its own.
    fio: Fio(FioWorkload),
    /// dd: one stream of blocks.
    dd: Dd(DdWorkload),
    /// sysbench: its fileio and cpu tests.
    sysbench: Sysbench(SysbenchWorkload),
    /// ioping: the latency of single requests.
    ioping: Ioping(IopingWorkload),
    /// Oracle ORION's test on iostone's own engine: a matrix of loads.
    orion: Orion(Box<OrionWorkload>),
    /// What touching files for the first time costs that a container's image brings: opening, creating, copying up.
    #[serde(rename = "copy-up")]
    copy_up: CopyUp(CopyUpWorkload),
}

/// A figure that a workload yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredMetric<'a> {
    /// The name used in `decide.metric` and as key of a trial's metrics.
    pub name: Cow<'a, str>,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
}

impl DeclaredMetric<'_> {
    /// A figure as its table defines it.
    pub(crate) fn of(metric: &'static Metric) -> Self {
        Self { name: Cow::Borrowed(metric.name), unit: metric.unit, direction: metric.direction }
    }
}

/// A figure of a curve: one load point's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurvePoint {
    /// The key of a trial's metrics: `iops@4,0`.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Where in the matrix it lies.
    pub point: LoadPoint,
}

impl Workload {
    /// What it is, in answers to the same questions for every kind.
    pub fn profile(&self) -> Profile {
        self.profiled().profile()
    }

    /// Refuses settings that do not fit each other or the stack.
    pub(super) fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>) {
        self.profiled().check(configuration, findings);
    }

    /// The word used in the experiment file.
    pub fn kind(&self) -> &'static str {
        self.of_kind().word
    }

    /// The points that a metric is made of, where it is a whole curve; they are compared one by one.
    pub fn curve(&self, metric: &str) -> Option<Vec<CurvePoint>> {
        match self {
            Self::Orion(orion) => orion.curve(metric),
            _ => None,
        }
    }

    /// The figures it yields, and those that every workload has beside its own.
    pub fn metrics(&self) -> Vec<DeclaredMetric<'_>> {
        let mut metrics = self.own_metrics();
        // One that is wrong itself has no figures, of whatever kind.
        if !metrics.is_empty() {
            metrics.extend(COMMON_METRICS.iter().map(DeclaredMetric::of));
        }
        metrics
    }

    /// The figures that are its own.
    pub fn own_metrics(&self) -> Vec<DeclaredMetric<'_>> {
        let mut metrics = self.of_kind().metrics.iter().map(DeclaredMetric::of).collect();
        self.profiled().settle_metrics(&mut metrics);
        metrics
    }

    /// The figure of that name, if it yields one.
    pub fn metric(&self, name: &str) -> Option<DeclaredMetric<'_>> {
        if let Self::Orion(orion) = self
            && !COMMON_METRICS.iter().any(|common| common.name == name)
        {
            return orion.metric(name);
        }
        self.metrics().into_iter().find(|metric| metric.name == name)
    }

    /// Whether it asks for durability itself, so that flushes are part of what is measured.
    pub fn syncs(&self) -> bool {
        self.profile().syncs == Some(true)
    }

    /// Files that must lie in the lowest layer of a container before it begins.
    pub fn lower_files(&self) -> Option<LowerFiles> {
        self.profile().lower_files
    }

    /// The room that its files take, where that is known beforehand.
    pub fn room(&self) -> Option<Bytes> {
        self.profile().room
    }
}

fn one() -> u32 {
    1
}

/// The parts of a summary, those that there are.
fn parts(parts: impl IntoIterator<Item = Option<String>>) -> Vec<String> {
    parts.into_iter().flatten().collect()
}

/// "1 client", "5 clients".
fn counted(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
