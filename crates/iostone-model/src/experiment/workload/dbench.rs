//! What dbench is asked to do.

mod check;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkloadKind};
use super::{Ends, counted, one, parts};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::omitted::is_default;
use crate::units::{ByteRate, Bytes, Span};

/// dbench 4 or 5: clients that replay a file of recorded operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the tool")]
pub struct DbenchWorkload {
    /// Clients at once.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub clients: u32,
    /// Its time limit, `-t`, in seconds; at least 10, because its figure is taken once a second.
    #[serde(default = "sixty")]
    #[schemars(range(min = 10))]
    pub seconds: u32,
    /// Seconds of load before figures are taken, `--warmup`; only dbench 5 lets it be chosen, dbench 4 takes a fifth of
    /// `seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u32>,
    /// The operations to replay; dbench's own `client.txt` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loadfile: Option<PathBuf>,
    /// Opens with `O_SYNC`, `-s`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: bool,
    /// Syncs the directory after unlink, rmdir and rename, `-S`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync_directories: bool,
    /// fsync(2) after every write, `-F`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fsync: bool,
    /// Sets extended attributes as Samba would, `-x`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub xattr: bool,
    /// Looks names up as they are, without searching the directory for another spelling, `--no-resolve`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_resolve: bool,
    /// Holds each client to this rate, `-R`; whole MB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_rate: Option<ByteRate>,
    /// Clients for each process, `--clients-per-process`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub clients_per_process: Option<u32>,
}

fn sixty() -> u32 {
    60
}

/// The files of one client of dbench's own loadfile: 22 MB were in use at a time, what is being deleted comes on top.
const FILES_OF_A_CLIENT_BYTES: u64 = 25 << 20;

impl DbenchWorkload {
    /// Seconds of load before figures are taken: a fifth of the time limit where nothing else is asked for
    /// (`options.warmup = options.timelimit / 5` in dbench's source).
    pub fn warm_up_seconds(&self) -> u32 {
        self.warm_up.unwrap_or(self.seconds / 5)
    }

    fn summary(&self) -> Vec<String> {
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        parts([
            Some("dbench".to_owned()),
            Some(counted(self.clients, "client")),
            Some(format!("{} s", self.seconds)),
            self.loadfile.as_ref().map(|path| format!("loadfile {}", path.display())),
            set(self.sync, "O_SYNC"),
            set(self.sync_directories, "directories synced"),
            set(self.fsync, "fsync after every write"),
            set(self.xattr, "extended attributes"),
            set(self.no_resolve, "names not resolved"),
            self.target_rate.map(|rate| format!("at most {rate} a client")),
            self.clients_per_process.map(|clients| format!("{clients} clients a process")),
        ])
    }
}

/// Where installations keep the operations that dbench replays.
const LOADFILES: &[&str] = &[
    "/usr/share/dbench/client.txt",
    "/usr/local/share/dbench/client.txt",
    "/usr/share/doc/dbench/loadfiles/client.txt",
    "/usr/local/share/doc/dbench/loadfiles/client.txt",
];

pub(super) const KIND: WorkloadKind =
    WorkloadKind { program: Some("dbench"), ..WorkloadKind::new("dbench", DBENCH_METRICS) };

impl Profiled for DbenchWorkload {
    fn profile(&self) -> Profile {
        let ramp = Duration::from_secs(u64::from(self.warm_up_seconds()));
        let time = ramp + Duration::from_secs(u64::from(self.seconds));
        let is_own = self.loadfile.is_none();
        Profile {
            direct: Some(false),
            // Its loadfile calls fsync(2), `Flush` in its own words, thousands of times a pass, but not for every write.
            syncs: Some(true),
            // Its clients write zeros, calloc(3), into some 25 MB each; how much of it a run touches nothing tells.
            data: Some(DataKind::Zeros),
            demand: Err("its operations go to the page cache, and flushes take what they take"),
            ends: Ends::ByTime,
            takes: Some([time; 2]),
            ramp: Some(Timing::Fixed(Span(ramp))),
            room: is_own.then(|| Bytes(u64::from(self.clients).saturating_mul(FILES_OF_A_CLIENT_BYTES))),
            files: self.loadfile.iter().cloned().collect(),
            first_of: if is_own { LOADFILES } else { &[] },
            ..Profile::of_program(self.summary(), KIND.program)
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    /// Never for less than ten seconds: its figure is that of the last whole second.
    fn rehearse(&mut self, _: Rehearsal) {
        self.seconds = self.seconds.min(10);
        if self.warm_up.is_some() {
            // What dbench 4, which cannot be told, does by itself.
            self.warm_up = Some(self.warm_up_seconds().min(self.seconds / 5));
        }
    }
}

/// What dbench yields, over all and of each operation; and these operations.
macro_rules! operations {
    ($($name:literal)+) => {
        /// The operations of a dbench table, as dbench spells them.
        pub const DBENCH_OPERATIONS: &[&str] = &[$($name),+];

        /// What dbench yields.
        pub const DBENCH_METRICS: &[Metric] = &[
            metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
            metric("pass_time", Unit::Seconds, Direction::Lower, "time for one pass of the loadfile"),
            metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
            $(
                metric(
                    concat!($name, ".latency_mean"),
                    Unit::Seconds,
                    Direction::Lower,
                    concat!("mean latency of ", $name),
                ),
                metric(
                    concat!($name, ".latency_max"),
                    Unit::Seconds,
                    Direction::Lower,
                    concat!("maximum latency of ", $name),
                ),
            )+
        ];
    };
}

operations! {
    "NTCreateX" "Close" "Rename" "Unlink" "Deltree" "Rmdir" "Mkdir" "Qpathinfo" "Qfileinfo" "Qfsinfo" "Sfileinfo"
    "Find" "WriteX" "ReadX" "LockX" "UnlockX" "Flush"
}
