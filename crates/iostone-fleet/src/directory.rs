//! The fleet directory: `fleet.json`, the experiment, and a run directory a host.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use iostone_model::fleet::{FLEET_SCHEMA, Fleet, HostState, is_host_name};
use iostone_stack::write_whole_file;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::error::FleetError;

/// A fleet directory that this process alone works on.
pub struct FleetDirectory {
    path: PathBuf,
    /// What is kept.
    pub fleet: Fleet,
    /// The lock; it goes with the process.
    _lock: File,
}

/// Whether a path is a fleet directory.
pub fn is_fleet(path: &Path) -> bool {
    path.join("fleet.json").is_file()
}

/// The seed of a host's run: the same for the same fleet and name, another for every other.
pub fn seed_of(seed: u64, host: &str) -> u64 {
    let mut digest = Sha256::new();
    digest.update(seed.to_le_bytes());
    digest.update(host.as_bytes());
    let bytes = digest.finalize();
    // TOML's integers are signed, and JSON's exact up to 2^53.
    bytes.iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl FleetDirectory {
    /// Makes a fleet directory below `parent`: `2026-11-21-name-fleet-id`.
    ///
    /// # Errors
    /// The file system's.
    pub fn create(parent: &Path, fleet: Fleet, experiment_text: &str) -> Result<Self, FleetError> {
        let date = fleet.created_at.get(..10).unwrap_or("undated");
        let path = parent.join(format!("{date}-{}-fleet-{}", fleet.experiment, fleet.fleet_id));
        let hosts = path.join("hosts");
        fs::create_dir_all(&hosts).map_err(|error| FleetError::file("making", &hosts, error))?;
        let path = fs::canonicalize(&path).map_err(|error| FleetError::file("making", &path, error))?;
        write(&path.join("experiment.toml"), experiment_text.as_bytes())?;
        let directory = Self { _lock: lock(&path)?, path, fleet };
        directory.save()?;
        Ok(directory)
    }

    /// Takes a fleet directory up again.
    ///
    /// # Errors
    /// Not a fleet directory, damaged, or in use.
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        let path = fs::canonicalize(path).map_err(|error| FleetError::file("opening", path, error))?;
        let fleet = Self::read(&path)?;
        Ok(Self { _lock: lock(&path)?, path, fleet })
    }

    /// Reads `fleet.json` alone.
    ///
    /// # Errors
    /// Not a fleet directory, or damaged.
    pub fn read(path: &Path) -> Result<Fleet, FleetError> {
        let file = path.join("fleet.json");
        let text = fs::read(&file).map_err(|error| FleetError::file("reading", &file, error))?;
        let fleet: Fleet =
            serde_json::from_slice(&text).map_err(|error| FleetError::damaged(&file, error))?;
        if fleet.schema != FLEET_SCHEMA {
            return Err(FleetError::damaged(
                &file,
                format!("its schema is `{}`, not {FLEET_SCHEMA}", fleet.schema),
            ));
        }
        let within = |run: &String| run.strip_prefix("hosts/").is_some_and(is_host_name);
        match fleet.hosts.iter().filter_map(|host| host.run.as_ref()).find(|run| !within(run)) {
            Some(outside) => Err(FleetError::damaged(&file, format!("`{outside}` is no run of a host"))),
            None => Ok(fleet),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment's file.
    pub fn experiment(&self) -> PathBuf {
        self.path.join("experiment.toml")
    }

    /// Where a host's run directory is, or will be.
    pub fn run_of(&self, host: &str) -> PathBuf {
        self.path.join("hosts").join(host)
    }

    /// Writes what is known, durably.
    ///
    /// # Errors
    /// The file system's.
    pub fn save(&self) -> Result<(), FleetError> {
        let path = self.path.join("fleet.json");
        let mut text =
            serde_json::to_vec_pretty(&self.fleet).map_err(|error| FleetError::damaged(&path, error))?;
        text.push(b'\n');
        write(&path, &text)
    }

    /// Writes a report beside the hosts.
    ///
    /// # Errors
    /// The file system's.
    pub fn write_report(&self, name: &str, text: &str) -> Result<PathBuf, FleetError> {
        let path = self.path.join(name);
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Names of the hosts that are in a state.
    pub fn in_state(&self, state: HostState) -> Vec<String> {
        self.fleet.hosts.iter().filter(|host| host.state == state).map(|host| host.name.clone()).collect()
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), FleetError> {
    write_whole_file(path, content, 0o666).map_err(|error| FleetError::file("writing", path, error))
}

fn lock(path: &Path) -> Result<File, FleetError> {
    let file = path.join(".lock");
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&file)
        .map_err(|error| FleetError::file("opening", &file, error))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(FleetError::Usage(format!("`{}` is in use by another process", path.display())))
        }
        Err(error) => Err(FleetError::file("locking", &file, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_seeds_of_their_own() {
        let seeds: Vec<u64> = ["db1", "db2"].iter().map(|host| seed_of(7, host)).collect();
        assert_eq!(seeds[0], seed_of(7, "db1"));
        assert!(seeds[0] != seeds[1] && seeds[0] != seed_of(8, "db1"));
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }

    #[test]
    fn runs_lie_below_the_fleet() {
        let place = tempfile::tempdir().unwrap();
        let read = |run: &str| {
            let host = serde_json::json!({ "name": "db1", "state": "done", "run": run });
            let fleet = serde_json::json!({
                "schema": FLEET_SCHEMA, "fleet_id": "a", "created_at": "", "iostone_version": "0.1.0", "experiment": "x",
                "seed": 1, "hosts": [host]
            });
            fs::write(place.path().join("fleet.json"), fleet.to_string()).unwrap();
            FleetDirectory::read(place.path())
        };
        assert!(read("hosts/db1").is_ok());
        for outside in ["hosts/../../etc", "/etc", "hosts/db1/..", "hosts/", "other/db1"] {
            assert!(read(outside).is_err(), "{outside}");
        }
    }
}
