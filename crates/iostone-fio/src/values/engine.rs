//! fio's engines: those whose work iostone does, and those it does not do, with the reason.

/// An engine of fio whose work iostone does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// `lseek(2)`, `read(2)`, `write(2)`.
    Sync,
    /// `pread(2)`, `pwrite(2)`; fio's default.
    Psync,
    /// `readv(2)`, `writev(2)`; fio joins neighbouring I/Os into one call.
    Vsync,
    /// `preadv(2)`, `pwritev(2)`.
    Pvsync,
    /// `preadv2(2)`, `pwritev2(2)`, with flags.
    Pvsync2,
    /// The kernel's older asynchronous interface.
    Libaio,
    /// `aio_read(3)`, `aio_write(3)`: threads of the C library.
    Posixaio,
    /// The ring.
    IoUring,
    /// `memcpy(3)` to and from mapped files.
    Mmap,
    /// None: requests complete where they are made.
    Null,
}

/// What fio uses on Linux where no `ioengine` is given.
pub const DEFAULT_ENGINE: Engine = Engine::Psync;

const ENGINES: &[(&str, Engine)] = &[
    ("sync", Engine::Sync),
    ("psync", Engine::Psync),
    ("vsync", Engine::Vsync),
    ("pvsync", Engine::Pvsync),
    ("pvsync2", Engine::Pvsync2),
    ("libaio", Engine::Libaio),
    ("posixaio", Engine::Posixaio),
    ("io_uring", Engine::IoUring),
    ("mmap", Engine::Mmap),
    ("null", Engine::Null),
];

impl Engine {
    /// fio's name of it.
    pub fn name(self) -> &'static str {
        ENGINES.iter().find(|(_, engine)| *engine == self).map_or("", |(name, _)| name)
    }

    /// Whether it keeps one I/O in flight whatever `iodepth` says.
    pub fn is_synchronous(self) -> bool {
        matches!(self, Self::Sync | Self::Psync | Self::Vsync | Self::Pvsync | Self::Pvsync2 | Self::Mmap)
    }
}

/// An engine of fio whose work iostone does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignEngine {
    /// fio's name of it.
    pub name: &'static str,
    /// What is in the way.
    pub why: &'static str,
}

const NETWORK: &str = "it loads a network, not a file or block device";
const OPERATIONS: &str = "it measures operations on files, not I/O to them";
const OTHER_SYSTEM: &str = "it is not of Linux";
const ZONED: &str = "it drives zoned or raw devices by commands of their own";
const LIBRARY: &str = "it drives its target through a library of its own";
const NO_IO: &str = "it moves no data to or from a file or block device";

const FOREIGN: &[ForeignEngine] = &[
    ForeignEngine { name: "cpp_null", why: NO_IO },
    ForeignEngine { name: "cpuio", why: "it burns processor time and does no I/O" },
    ForeignEngine { name: "dev-dax", why: LIBRARY },
    ForeignEngine { name: "dfs", why: LIBRARY },
    ForeignEngine { name: "dircreate", why: OPERATIONS },
    ForeignEngine { name: "dirdelete", why: OPERATIONS },
    ForeignEngine { name: "dirstat", why: OPERATIONS },
    ForeignEngine { name: "e4defrag", why: "it defragments ext4 files" },
    ForeignEngine { name: "exec", why: "it runs a program of the job file's choice" },
    ForeignEngine { name: "external", why: "it loads a library of the job file's choice" },
    ForeignEngine { name: "falloc", why: OPERATIONS },
    ForeignEngine { name: "filecreate", why: OPERATIONS },
    ForeignEngine { name: "filedelete", why: OPERATIONS },
    ForeignEngine { name: "filestat", why: OPERATIONS },
    ForeignEngine { name: "ftruncate", why: OPERATIONS },
    ForeignEngine { name: "gfapi", why: LIBRARY },
    ForeignEngine { name: "gfapi_async", why: LIBRARY },
    ForeignEngine { name: "guasi", why: LIBRARY },
    ForeignEngine { name: "http", why: NETWORK },
    ForeignEngine { name: "ime_aio", why: LIBRARY },
    ForeignEngine { name: "ime_psync", why: LIBRARY },
    ForeignEngine { name: "ime_psyncv", why: LIBRARY },
    ForeignEngine { name: "io_uring_cmd", why: ZONED },
    ForeignEngine { name: "libblkio", why: LIBRARY },
    ForeignEngine { name: "libcufile", why: LIBRARY },
    ForeignEngine { name: "libhdfs", why: LIBRARY },
    ForeignEngine { name: "libhipfile", why: LIBRARY },
    ForeignEngine { name: "libiscsi", why: LIBRARY },
    ForeignEngine { name: "libpmem", why: LIBRARY },
    ForeignEngine { name: "libzbc", why: ZONED },
    ForeignEngine { name: "mtd", why: "it erases and writes flash without a block layer" },
    ForeignEngine { name: "nbd", why: NETWORK },
    ForeignEngine { name: "net", why: NETWORK },
    ForeignEngine { name: "netsplice", why: NETWORK },
    ForeignEngine { name: "nfs", why: LIBRARY },
    ForeignEngine { name: "page_fault", why: "it measures page faults of memory, not I/O" },
    ForeignEngine { name: "pmemblk", why: LIBRARY },
    ForeignEngine { name: "rados", why: LIBRARY },
    ForeignEngine { name: "rbd", why: LIBRARY },
    ForeignEngine { name: "rdma", why: NETWORK },
    ForeignEngine { name: "sg", why: "it sends SCSI commands past the block layer" },
    ForeignEngine { name: "solarisaio", why: OTHER_SYSTEM },
    ForeignEngine { name: "splice", why: "it moves data through pipes; use `ioengine=psync`" },
    ForeignEngine { name: "syslet-rw", why: "no kernel has it any more" },
    ForeignEngine { name: "windowsaio", why: OTHER_SYSTEM },
    ForeignEngine { name: "xnvme", why: LIBRARY },
];

/// Every engine that is refused.
pub fn foreign_engines() -> &'static [ForeignEngine] {
    FOREIGN
}

/// Whether fio has an engine of this name.
#[cfg(test)]
pub(crate) fn is_engine(name: &str) -> bool {
    ENGINES.iter().any(|(known, _)| *known == name) || FOREIGN.iter().any(|engine| engine.name == name)
}

/// The engine of a name.
pub(crate) fn find_engine(name: &str) -> Result<Engine, String> {
    if let Some((_, engine)) = ENGINES.iter().find(|(known, _)| *known == name) {
        return Ok(*engine);
    }
    let head = name.split(':').next().unwrap_or(name);
    if let Some(foreign) = FOREIGN.iter().find(|engine| engine.name == head) {
        return Err(foreign.why.into());
    }
    let names = ENGINES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Err(format!("fio has no such engine; iostone does the work of {names}"))
}
