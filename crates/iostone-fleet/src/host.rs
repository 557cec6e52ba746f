//! A fleet's directory on a host: who works on it, until when, how far it is.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use iostone_model::fleet::{HostStatus, RunState, STATUS_SCHEMA};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::FleetError;

/// For so long a run may take to say its first word.
const STARTING: Duration = Duration::from_secs(60);
/// For so long a run may take to undo everything.
const UNDOING: Duration = Duration::from_secs(240);
const LONGEST_STATUS: u64 = 64 << 10;
/// A controller reads so much of a reason.
const LONGEST_REASON: usize = 500;

/// The directory of a fleet on a host.
pub struct HostDirectory {
    path: PathBuf,
}

impl HostDirectory {
    /// The directory at that path, which the role has made.
    ///
    /// # Errors
    /// It is not there.
    pub fn at(path: &Path) -> Result<Self, FleetError> {
        let path = fs::canonicalize(path).map_err(|error| FleetError::file("opening", path, error))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The status file.
    pub fn status_file(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// The packed result.
    pub fn archive(&self) -> PathBuf {
        self.path.join("result.tar")
    }

    /// Where its run is kept.
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// The run that is there already.
    pub fn run(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.runs()).ok()?.flatten().map(|entry| entry.path());
        runs.filter(|run| run.join("plan.json").is_file()).max()
    }

    /// Makes this process the one that works here.
    ///
    /// # Errors
    /// Another does.
    pub fn lock(&self) -> Result<File, FleetError> {
        let path = self.path.join("lock");
        let lock = open_lock(&path)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(lock),
            Err(_) => {
                Err(FleetError::Usage(format!("a run is at work in `{}` already", self.path.display())))
            }
        }
    }

    fn is_locked(&self) -> bool {
        let Ok(lock) = open_lock(&self.path.join("lock")) else { return false };
        flock(&lock, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }

    /// Renews the lease and says how far the run is.
    ///
    /// # Errors
    /// The file system's.
    pub fn poll(&self) -> Result<HostStatus, FleetError> {
        let lease = self.path.join("lease");
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lease)
            .and_then(|file| file.set_modified(SystemTime::now()))
            .map_err(|error| FleetError::file("renewing", &lease, error))?;
        // Before the status: one that ends in between has written it when the lock is looked at.
        let locked = self.is_locked();
        let mut status = read_status(&self.status_file()).unwrap_or_else(|| HostStatus {
            schema: STATUS_SCHEMA.to_owned(),
            iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..HostStatus::default()
        });
        if status.state == RunState::Running && !locked && !self.has_just_begun() {
            status.state = RunState::Dead;
            let last =
                self.last_words().map(|words| format!("; its last words: {words}")).unwrap_or_default();
            status.reason =
                Some(format!("its run ended without a word: killed, or the host was restarted{last}"));
        }
        Ok(status)
    }

    /// Whether the role has only just started a run here, which may not have its lock yet.
    fn has_just_begun(&self) -> bool {
        let begun = fs::metadata(self.path.join("experiment.toml")).and_then(|found| found.modified());
        !self.status_file().exists()
            && begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|age| age < STARTING))
    }

    /// The end of the log.
    fn last_words(&self) -> Option<String> {
        let mut log = File::open(self.path.join("log")).ok()?;
        let length = log.metadata().ok()?.len();
        log.seek(SeekFrom::Start(length.saturating_sub(2048))).ok()?;
        let mut bytes = Vec::new();
        log.take(2048).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines()
            .rfind(|line| !line.trim().is_empty())
            .map(|line| line.chars().take(LONGEST_REASON).collect())
    }

    /// Ends the run that is at work here, which undoes everything first, and waits for it.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&self) -> Result<(), FleetError> {
        let deadline = Instant::now() + UNDOING;
        while self.is_locked() {
            let pid = read_status(&self.status_file()).and_then(|status| i32::try_from(status.pid).ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
            }
            if Instant::now() > deadline {
                return Err(FleetError::Failed(format!("the run in `{}` does not end", self.path.display())));
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Watches the lease: where nobody renews it for that long, `stop` is raised. The flag given back says that this was so.
    pub fn watch_lease(&self, lease: Duration, stop: Arc<AtomicBool>) -> Arc<AtomicBool> {
        let expired = Arc::new(AtomicBool::new(false));
        let raised = Arc::clone(&expired);
        let path = self.path.join("lease");
        // Not by the clock of the wall, which may be set: only whether the time in the file has changed.
        let renewed_at = move || fs::metadata(&path).and_then(|found| found.modified()).ok();
        thread::spawn(move || {
            let (mut renewed, mut since) = (renewed_at(), Instant::now());
            loop {
                thread::sleep(Duration::from_secs(1));
                let now = renewed_at();
                if now != renewed {
                    (renewed, since) = (now, Instant::now());
                }
                if since.elapsed() > lease {
                    raised.store(true, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
        expired
    }
}

fn open_lock(path: &Path) -> Result<File, FleetError> {
    let opened = File::options().create(true).truncate(false).write(true).open(path);
    opened.map_err(|error| FleetError::file("opening", path, error))
}

fn read_status(path: &Path) -> Option<HostStatus> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST_STATUS).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Replaces a status file at once, without a flush: what it says can be had again from the records.
///
/// # Errors
/// The file system's.
pub fn write_status(path: &Path, status: &HostStatus) -> Result<(), FleetError> {
    let mut status = status.clone();
    status.reason = status.reason.map(|reason| reason.chars().take(LONGEST_REASON).collect());
    let text = serde_json::to_vec(&status).map_err(|error| FleetError::damaged(path, error))?;
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .map_err(|error| FleetError::file("writing", path, error))
}
