//! What a job file may ask of the machine it is read on: other files, environment variables, three figures.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;

/// No job file is larger than this.
pub(crate) const LARGEST_FILE_BYTES: u64 = 16 << 20;

/// Where job files and what they include are read from.
pub trait Files {
    /// The bytes of a file; `-` is standard input.
    ///
    /// # Errors
    /// What the system says.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Whether there is such a file.
    fn exists(&self, path: &str) -> bool;
}

/// The files of this machine, and its standard input.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnDisk;

impl Files for OnDisk {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more than is taken, so that what is too large is seen to be.
        let most = LARGEST_FILE_BYTES + 1;
        if path == "-" {
            io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        } else {
            refuse_fifo(Path::new(path))?;
            std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }
}

/// One that nobody writes to would be waited for. What the process was handed, as `/dev/stdin` is, may be a pipe.
fn refuse_fifo(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let handed_over = path.starts_with("/dev") || path.starts_with("/proc");
    if !handed_over && path.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a FIFO, not a file"));
    }
    Ok(())
}

/// What `$pagesize`, `$mb_memory` and `$ncpus` stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineFacts {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Memory in MiB, rounded down.
    pub memory_mib: u64,
    /// Processors that are configured, online or not.
    pub cpus: u64,
}

impl MachineFacts {
    /// Those of this machine: `/proc/self/auxv`, sysinfo(2), `/sys/devices/system/cpu`.
    ///
    /// # Errors
    /// What the system says where one of them cannot be read.
    pub fn read() -> io::Result<Self> {
        let system = rustix::system::sysinfo();
        let memory_bytes = u128::from(system.totalram) * u128::from(system.mem_unit.max(1));
        Ok(Self {
            page_bytes: read_page_size()?,
            memory_mib: u64::try_from(memory_bytes >> 20).unwrap_or(u64::MAX),
            cpus: count_cpus()?,
        })
    }
}

/// The auxiliary vector holds the size of a page under `AT_PAGESZ`; see getauxval(3).
fn read_page_size() -> io::Result<u64> {
    const AT_PAGESZ: usize = 6;
    const WORD: usize = size_of::<usize>();
    const PLACE: &str = "/proc/self/auxv";
    let vector = std::fs::read(PLACE).map_err(|error| unread(PLACE, &error))?;
    let words: Vec<usize> =
        vector.chunks_exact(WORD).filter_map(|word| word.try_into().ok().map(usize::from_ne_bytes)).collect();
    words
        .chunks_exact(2)
        .find(|pair| pair[0] == AT_PAGESZ)
        .and_then(|pair| u64::try_from(pair[1]).ok())
        .ok_or_else(|| io::Error::other("the auxiliary vector names no size of a page"))
}

fn count_cpus() -> io::Result<u64> {
    const PLACE: &str = "/sys/devices/system/cpu";
    let mut cpus = 0;
    for entry in std::fs::read_dir(PLACE).map_err(|error| unread(PLACE, &error))? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        if number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        {
            cpus += 1;
        }
    }
    Ok(cpus.max(1))
}

/// In a root without `/proc` or `/sys` the error alone would not say what is missing.
fn unread(place: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read `{place}`: {error}"))
}

/// Everything around a job file.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Where files are read from.
    pub files: &'a dyn Files,
    /// The environment, for `${NAME}`.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// What keywords stand for.
    pub machine: MachineFacts,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("machine", &self.machine).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_pages_memory_and_processors() {
        let facts = MachineFacts::read().unwrap();
        assert!(facts.page_bytes.is_power_of_two() && facts.page_bytes >= 4096, "{facts:?}");
        assert!(facts.memory_mib > 0 && facts.cpus > 0, "{facts:?}");
    }
}
