//! Work: how much is read and written, in what pieces, how many at once, and what stands between it and the volume.

use iostone_model::units::{ByteRate, Bytes, Fraction, Span};

/// What a workload does to its volumes.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// How much of it there is.
    pub amount: Amount,
    /// The bytes of each I/O; the page cache makes them as large as the kernel lets it where left out.
    pub io_size: Option<Bytes>,
    /// Bytes of a request to the device on average, where it counted what the kernel made of each I/O.
    pub request: Option<Bytes>,
    /// Where one I/O lies to the next.
    pub pattern: Pattern,
    /// I/Os under way at once; without end where left out.
    pub depth: Option<u32>,
    /// What the data comes from, or goes to, at most.
    pub source: Option<ByteRate>,
    /// Whether memory stands between.
    pub cache: CacheUse,
    /// Bytes that the filesystem moves beside the data, as a share of it.
    pub overhead: Option<Fraction>,
    /// CPU time for each byte, in seconds of one processor.
    pub cpu_seconds_per_byte: Option<f64>,
    /// Processors that it can use at once: 1 for one thread; all there are where left out.
    pub processors: Option<f64>,
    /// How reads and writes go together, where there are both.
    pub order: Order,
}

/// How reads and writes go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Mixed evenly from start to end.
    #[default]
    Together,
    /// All is read, then all is written.
    ReadFirst,
    /// All is written, then all is read.
    WriteFirst,
}

/// How much work there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes {
        /// Read.
        read: Bytes,
        /// Written.
        write: Bytes,
    },
    /// As many as a time allows.
    Time {
        /// The time.
        span: Span,
        /// The share of writes in thousandths of the bytes.
        written_per_mille: u32,
    },
}

/// Where one I/O lies to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Behind it.
    Sequential,
    /// Anywhere.
    Random,
}

/// Whether memory stands between the workload and its volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CacheUse {
    /// Every byte passes the device before the work ends: direct I/O, or fsync at the end.
    None,
    /// Writes may stay in memory up to the kernel's dirty limit when the work ends, as `dd` without `conv=fsync` has it.
    Buffered {
        /// `vm.dirty_ratio`: the share of available memory that may be dirty; 20 % is the kernel's default.
        dirty_ratio: Fraction,
    },
}

impl Work {
    /// Sequential I/O that all reaches the device.
    pub fn sequential(read: Bytes, write: Bytes) -> Self {
        Self {
            amount: Amount::Bytes { read, write },
            io_size: None,
            request: None,
            pattern: Pattern::Sequential,
            depth: None,
            source: None,
            cache: CacheUse::None,
            overhead: None,
            cpu_seconds_per_byte: None,
            processors: None,
            order: Order::Together,
        }
    }

    /// For so long, of which that share of the bytes is written.
    pub fn timed(span: Span, written: Fraction) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a thousand")]
        let written_per_mille = (written.0.clamp(0.0, 1.0) * 1000.0).round() as u32;
        Self { amount: Amount::Time { span, written_per_mille }, ..Self::sequential(Bytes(0), Bytes(0)) }
    }

    /// The same, in I/Os of that size anywhere, so many under way at once.
    #[must_use]
    pub fn at_random(self, io_size: Bytes, depth: Option<u32>) -> Self {
        Self { io_size: Some(io_size), pattern: Pattern::Random, depth, ..self }
    }

    /// "write 220GiB one after the other, 1MiB each, 4 at once".
    pub fn in_words(&self) -> String {
        let then = match self.order {
            Order::Together => None,
            Order::ReadFirst => Some(true),
            Order::WriteFirst => Some(false),
        };
        let what = match self.amount {
            Amount::Bytes { read: Bytes(0), write } => format!("write {write}"),
            Amount::Bytes { read, write: Bytes(0) } => format!("read {read}"),
            Amount::Bytes { read, write } => match then {
                None => format!("read {read} and write {write}"),
                Some(true) => format!("read {read}, then write {write}"),
                Some(false) => format!("write {write}, then read {read}"),
            },
            Amount::Time { span, written_per_mille: 0 } => format!("read for {span}"),
            Amount::Time { span, written_per_mille: 1000 } => format!("write for {span}"),
            Amount::Time { span, written_per_mille } => {
                let written = Fraction(f64::from(written_per_mille) / 1000.0);
                format!("read and write for {span}, {written} of it written")
            }
        };
        let how = match self.pattern {
            Pattern::Sequential => "one after the other",
            Pattern::Random => "anywhere",
        };
        let size = self.io_size.map(|size| format!(", {size} each")).unwrap_or_default();
        let depth = self.depth.map(|depth| format!(", {depth} at once")).unwrap_or_default();
        format!("{what} {how}{size}{depth}")
    }
}
