//! What a volume's requests are carried out on: its store, and the write cache before it where there is one.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use iostone_engine::Pins;

use crate::cache::{Medium, PowerSwitch, VolatileCache};
use crate::counters::StoreFailures;
use crate::error::DiskError;
use crate::plan::VolumePlan;
use crate::protocol::{Command, EIO, REPLY_BYTES, error_number};
use crate::server::task::Task;
use crate::store::{Attempt, OpenStore};

/// Zeros are written in pieces of it; more than one piece is for somebody who may wait.
const ZEROS_BYTES: usize = 256 << 10;
static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];

/// The cache of a volume. It is locked for each request, as a real one has one controller.
type Cache = VolatileCache<SharedStore>;

/// A volume's store and cache, for several threads at once.
#[derive(Debug)]
pub(crate) struct Device {
    store: Arc<OpenStore>,
    cache: Option<Mutex<Cache>>,
}

/// A store below a cache. Its flush is not the cache's business: it may take long, and the cache need not be locked for it.
#[derive(Debug)]
pub(crate) struct SharedStore(Arc<OpenStore>);

impl Medium for SharedStore {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read(offset, buffer)
    }

    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Device {
    /// Opens the store of a volume, by its pin where it has one. The seed is that of its cache.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn open(volume: &VolumePlan, pins: &Pins, seed: u64) -> Result<Self, DiskError> {
        let store = Arc::new(OpenStore::open(volume, pins)?);
        let cache = volume.model.cache.as_ref().map(|cache| {
            let below = SharedStore(Arc::clone(&store));
            Mutex::new(VolatileCache::new(below, store.size_bytes(), cache.size, seed))
        });
        Ok(Self { store, cache })
    }

    /// What its store could not do.
    pub(crate) fn failures(&self) -> StoreFailures {
        self.store.failures()
    }

    /// Whether it has a volatile cache.
    pub(crate) fn is_cached(&self) -> bool {
        self.cache.is_some()
    }

    /// Carries a task out if that needs no wait; otherwise it is untouched, and a worker's.
    pub(crate) fn try_carry_out(&self, task: &mut Task) -> bool {
        if !self.is_at_once(task) {
            return false;
        }
        let Some(cache) = &self.cache else {
            if task.request.command == Command::Read {
                let place = task.bytes.get_mut(REPLY_BYTES..).unwrap_or_default();
                let attempt = self.store.try_read(task.request.offset, place);
                task.error = number_of(attempt.as_ref().err());
                return !matches!(attempt, Ok(Attempt::WouldWait));
            }
            self.conclude(task, None);
            return true;
        };
        let cache = match cache.try_lock() {
            Ok(cache) => cache,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        self.conclude(task, Some(cache));
        true
    }

    /// Carries a task out, however long it takes.
    pub(crate) fn carry_out(&self, task: &mut Task) {
        self.conclude(task, self.lock());
    }

    /// Sends blocks to the medium that have been in the cache for long enough. What fails stays in the cache.
    pub(crate) fn destage(&self, now_ns: u64) {
        if let Some(mut cache) = self.lock() {
            let _ = cache.destage_due(now_ns);
        }
    }

    /// Lends the switch of the power to whoever steers.
    pub(crate) fn lock_power(&self) -> Option<impl std::ops::DerefMut<Target: PowerSwitch + Sized> + '_> {
        self.lock()
    }

    /// The end of service: what is in the cache goes to the medium, unless the power is off, and the medium is synced.
    pub(crate) fn close(&self, is_powered: bool) -> io::Result<()> {
        if is_powered && let Some(mut cache) = self.lock() {
            cache.destage_all()?;
        }
        self.store.flush()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Cache>> {
        self.cache.as_ref().map(|cache| cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether whoever must not wait may carry it out.
    fn is_at_once(&self, task: &Task) -> bool {
        let is_memory = self.store.is_memory();
        let request = &task.request;
        match request.command {
            Command::Flush => !self.store.hands_flushes_on(),
            Command::Trim => is_memory,
            Command::Write | Command::WriteZeroes
                if request.is_durable() && self.store.hands_flushes_on() =>
            {
                false
            }
            Command::WriteZeroes => self.store.is_quick() && request.length as usize <= ZEROS_BYTES,
            _ => self.store.is_quick(),
        }
    }

    fn conclude(&self, task: &mut Task, cache: Option<MutexGuard<'_, Cache>>) {
        let done = self.perform(task, cache);
        task.error = number_of(done.as_ref().err());
    }

    fn perform(&self, task: &mut Task, mut cache: Option<MutexGuard<'_, Cache>>) -> io::Result<()> {
        let request = task.request;
        let mut write = |bytes: &[u8], offset: u64| match cache.as_mut() {
            Some(cache) => cache.write_at(bytes, offset, request.is_durable()),
            None => self.store.write(offset, bytes),
        };
        match request.command {
            Command::Read => {
                let place = task.bytes.get_mut(REPLY_BYTES..).unwrap_or_default();
                return match cache {
                    Some(mut cache) => cache.read_at(place, request.offset),
                    None => self.store.read(request.offset, place),
                };
            }
            Command::Write => write(&task.bytes, request.offset)?,
            Command::WriteZeroes => {
                let mut rest = request.length as usize;
                let mut offset = request.offset;
                while rest > 0 {
                    let zeros = ZEROS.get(..rest.min(ZEROS_BYTES)).unwrap_or(&ZEROS);
                    write(zeros, offset)?;
                    offset += zeros.len() as u64;
                    rest -= zeros.len();
                }
            }
            Command::Flush => {
                if let Some(cache) = cache.as_mut() {
                    cache.destage_all()?;
                }
            }
            // A cache keeps what it holds: a discard is a hint, and one that reached the medium past the cache would be
            // durable before what was written earlier.
            Command::Trim if cache.is_some() => return Ok(()),
            Command::Trim => return self.store.discard(request.offset, u64::from(request.length)),
            Command::Disconnect | Command::Unknown(_) => return Ok(()),
        }
        // A sync may take long; others may use the cache meanwhile.
        drop(cache);
        if request.is_durable() || request.command == Command::Flush {
            self.store.flush()?;
        }
        Ok(())
    }
}

fn number_of(error: Option<&io::Error>) -> Option<u32> {
    error.map(|error| match error.raw_os_error().unwrap_or(libc::EIO) {
        // A volume has all its bytes: that there is no room for them on this machine is no answer of a disk's, and a filesystem
        // would take it for its own being full.
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => EIO,
        errno => error_number(errno),
    })
}
