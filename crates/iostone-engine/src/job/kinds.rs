//! What a job chooses from beside the words of a load: advice to the kernel, the clock, preparation of files.

use serde::Serialize;

/// What the kernel is told about the order of the I/O, `posix_fadvise(2)`; fio's `fadvise_hint`. Without advice, the
/// kernel reads ahead of buffered reads that only look sequential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Random or sequential, as the job is.
    #[default]
    ByOrder,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    Noreuse,
    /// Nothing.
    None,
}

/// How often the clock is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// Once per batch of completions reaped together; writes are stamped again before they are submitted.
    /// A completion is late by at most the time it takes to reap its batch.
    #[default]
    PerBatch,
    /// Once per batch submitted and once per completion. Costs several per cent of the rate.
    PerIo,
    /// No latency is recorded at all; only to measure what recording costs.
    None,
}

/// How a regular file that is missing, short or sparse is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preparation {
    /// Its missing end and holes are filled with data and made durable, so that reads come from the device and
    /// writes meet allocated blocks. Data that is there is never overwritten by it.
    #[default]
    Fill,
    /// Its blocks are allocated and its length set, fallocate(2); where the filesystem cannot, as `Extend`.
    Allocate,
    /// Its blocks are allocated beyond its length (`FALLOC_FL_KEEP_SIZE`); writes extend it.
    Reserve,
    /// Its length is set, ftruncate(2): a sparse file.
    Extend,
    /// It is made if it is missing, and otherwise left as it is; writes extend it.
    Leave,
}
