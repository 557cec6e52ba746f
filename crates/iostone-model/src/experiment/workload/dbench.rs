//! What dbench is asked to do.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one, sentence};
use crate::omitted::is_default;
use crate::units::{ByteRate, Bytes};

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

    /// The room that the files of its own loadfile take; another one's is not known.
    pub fn room(&self) -> Option<Bytes> {
        let own = self.loadfile.is_none();
        own.then(|| Bytes(u64::from(self.clients).saturating_mul(FILES_OF_A_CLIENT_BYTES)))
    }

    /// In a line for people.
    pub fn summary(&self) -> String {
        let plural = if self.clients == 1 { "" } else { "s" };
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        sentence([
            Some(format!("dbench, {} client{plural}, {} s", self.clients, self.seconds)),
            self.warm_up.map(|seconds| format!("{seconds} s of warm-up")),
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
