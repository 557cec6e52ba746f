//! The figures of each workload, one table a workload. A name means the same figure wherever it stands.

use super::{Direction, Metric, Unit};

const fn metric(name: &'static str, unit: Unit, direction: Direction, title: &'static str) -> Metric {
    Metric { name, unit, direction, title }
}

/// Every table.
pub const TABLES: &[&[Metric]] = &[
    IO_METRICS,
    COMMAND_METRICS,
    DBENCH_METRICS,
    BONNIE_METRICS,
    FIO_METRICS,
    DD_METRICS,
    SYSBENCH_METRICS,
    IOPING_METRICS,
    ORION_METRICS,
    COPY_UP_METRICS,
    COMMON_METRICS,
    BONNIE_DIRECT_METRICS,
];

/// What the `io` workload yields.
pub const IO_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_p50", Unit::Seconds, Direction::Lower, "median latency"),
    metric("latency_p90", Unit::Seconds, Direction::Lower, "p90 latency"),
    metric("latency_p99", Unit::Seconds, Direction::Lower, "p99 latency"),
    metric("latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency"),
    metric("latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("service_mean", Unit::Seconds, Direction::Lower, "mean service time"),
    metric("service_p50", Unit::Seconds, Direction::Lower, "median service time"),
    metric("service_p99", Unit::Seconds, Direction::Lower, "p99 service time"),
    metric("service_p99_9", Unit::Seconds, Direction::Lower, "p99.9 service time"),
];

/// What the `command` workload yields, from wait4(2) and getrusage(2), beside what is picked from its output.
pub const COMMAND_METRICS: &[Metric] = &[
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
    metric("user_time", Unit::Seconds, Direction::Lower, "user CPU time"),
    metric("system_time", Unit::Seconds, Direction::Lower, "system CPU time"),
];

/// The operations of a dbench table, as dbench spells them.
pub const DBENCH_OPERATIONS: &[&str] = &[
    "NTCreateX",
    "Close",
    "Rename",
    "Unlink",
    "Deltree",
    "Rmdir",
    "Mkdir",
    "Qpathinfo",
    "Qfileinfo",
    "Qfsinfo",
    "Sfileinfo",
    "Find",
    "WriteX",
    "ReadX",
    "LockX",
    "UnlockX",
    "Flush",
];

/// What dbench yields.
pub const DBENCH_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("pass_time", Unit::Seconds, Direction::Lower, "time for one pass of the loadfile"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("NTCreateX.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of NTCreateX"),
    metric("NTCreateX.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of NTCreateX"),
    metric("Close.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Close"),
    metric("Close.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Close"),
    metric("Rename.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Rename"),
    metric("Rename.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Rename"),
    metric("Unlink.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Unlink"),
    metric("Unlink.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Unlink"),
    metric("Deltree.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Deltree"),
    metric("Deltree.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Deltree"),
    metric("Rmdir.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Rmdir"),
    metric("Rmdir.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Rmdir"),
    metric("Mkdir.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Mkdir"),
    metric("Mkdir.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Mkdir"),
    metric("Qpathinfo.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Qpathinfo"),
    metric("Qpathinfo.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Qpathinfo"),
    metric("Qfileinfo.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Qfileinfo"),
    metric("Qfileinfo.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Qfileinfo"),
    metric("Qfsinfo.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Qfsinfo"),
    metric("Qfsinfo.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Qfsinfo"),
    metric("Sfileinfo.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Sfileinfo"),
    metric("Sfileinfo.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Sfileinfo"),
    metric("Find.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Find"),
    metric("Find.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Find"),
    metric("WriteX.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of WriteX"),
    metric("WriteX.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of WriteX"),
    metric("ReadX.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of ReadX"),
    metric("ReadX.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of ReadX"),
    metric("LockX.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of LockX"),
    metric("LockX.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of LockX"),
    metric("UnlockX.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of UnlockX"),
    metric("UnlockX.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of UnlockX"),
    metric("Flush.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of Flush"),
    metric("Flush.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of Flush"),
];

/// What bonnie++ yields: a rate, a share of one CPU and the longest single operation of each phase.
pub const BONNIE_METRICS: &[Metric] = &[
    metric("char_write", Unit::BytesPerSecond, Direction::Higher, "writing by the byte"),
    metric("block_write", Unit::BytesPerSecond, Direction::Higher, "block writes"),
    metric("rewrite", Unit::BytesPerSecond, Direction::Higher, "rewriting"),
    metric("char_read", Unit::BytesPerSecond, Direction::Higher, "reading by the byte"),
    metric("block_read", Unit::BytesPerSecond, Direction::Higher, "block reads"),
    metric("random_seeks", Unit::PerSecond, Direction::Higher, "random seeks"),
    metric("sequential_create", Unit::PerSecond, Direction::Higher, "files created in order"),
    metric("sequential_stat", Unit::PerSecond, Direction::Higher, "files looked up in order"),
    metric("sequential_delete", Unit::PerSecond, Direction::Higher, "files deleted in order"),
    metric("random_create", Unit::PerSecond, Direction::Higher, "files created at random"),
    metric("random_stat", Unit::PerSecond, Direction::Higher, "files looked up at random"),
    metric("random_delete", Unit::PerSecond, Direction::Higher, "files deleted at random"),
    metric("char_write.cpu", Unit::Share, Direction::Lower, "CPU share of writing by the byte"),
    metric("block_write.cpu", Unit::Share, Direction::Lower, "CPU share of block writes"),
    metric("rewrite.cpu", Unit::Share, Direction::Lower, "CPU share of rewriting"),
    metric("char_read.cpu", Unit::Share, Direction::Lower, "CPU share of reading by the byte"),
    metric("block_read.cpu", Unit::Share, Direction::Lower, "CPU share of block reads"),
    metric("random_seeks.cpu", Unit::Share, Direction::Lower, "CPU share of random seeks"),
    metric("sequential_create.cpu", Unit::Share, Direction::Lower, "CPU share of files created in order"),
    metric("sequential_stat.cpu", Unit::Share, Direction::Lower, "CPU share of files looked up in order"),
    metric("sequential_delete.cpu", Unit::Share, Direction::Lower, "CPU share of files deleted in order"),
    metric("random_create.cpu", Unit::Share, Direction::Lower, "CPU share of files created at random"),
    metric("random_stat.cpu", Unit::Share, Direction::Lower, "CPU share of files looked up at random"),
    metric("random_delete.cpu", Unit::Share, Direction::Lower, "CPU share of files deleted at random"),
    metric(
        "char_write.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of writing by the byte",
    ),
    metric("block_write.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of block writes"),
    metric("rewrite.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of rewriting"),
    metric(
        "char_read.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of reading by the byte",
    ),
    metric("block_read.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of block reads"),
    metric("random_seeks.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of random seeks"),
    metric(
        "sequential_create.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files created in order",
    ),
    metric(
        "sequential_stat.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files looked up in order",
    ),
    metric(
        "sequential_delete.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files deleted in order",
    ),
    metric(
        "random_create.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files created at random",
    ),
    metric(
        "random_stat.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files looked up at random",
    ),
    metric(
        "random_delete.latency_max",
        Unit::Seconds,
        Direction::Lower,
        "maximum latency of files deleted at random",
    ),
];

/// What follows bonnie++ where `direct_read` is asked for.
pub const BONNIE_DIRECT_METRICS: &[Metric] =
    &[metric("direct_read_throughput", Unit::BytesPerSecond, Direction::Higher, "reads past the page cache")];

/// What fio yields: over all directions where only one does I/O or their sum makes sense, and by direction.
pub const FIO_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_p50", Unit::Seconds, Direction::Lower, "median latency"),
    metric("latency_p90", Unit::Seconds, Direction::Lower, "p90 latency"),
    metric("latency_p99", Unit::Seconds, Direction::Lower, "p99 latency"),
    metric("latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency"),
    metric("latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("read.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of reads"),
    metric("read.iops", Unit::PerSecond, Direction::Higher, "reads per second"),
    metric("read.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of reads"),
    metric("read.latency_p50", Unit::Seconds, Direction::Lower, "median latency of reads"),
    metric("read.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of reads"),
    metric("read.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of reads"),
    metric("read.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of reads"),
    metric("read.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of reads"),
    metric("read.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of reads"),
    metric("write.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of writes"),
    metric("write.iops", Unit::PerSecond, Direction::Higher, "writes per second"),
    metric("write.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of writes"),
    metric("write.latency_p50", Unit::Seconds, Direction::Lower, "median latency of writes"),
    metric("write.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of writes"),
    metric("write.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of writes"),
    metric("write.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of writes"),
    metric("write.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of writes"),
    metric("write.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of writes"),
    metric("trim.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of trims"),
    metric("trim.iops", Unit::PerSecond, Direction::Higher, "trims per second"),
    metric("trim.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of trims"),
    metric("trim.latency_p50", Unit::Seconds, Direction::Lower, "median latency of trims"),
    metric("trim.latency_p90", Unit::Seconds, Direction::Lower, "p90 latency of trims"),
    metric("trim.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of trims"),
    metric("trim.latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency of trims"),
    metric("trim.latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency of trims"),
    metric("trim.latency_max", Unit::Seconds, Direction::Lower, "maximum latency of trims"),
    metric("sync.latency_mean", Unit::Seconds, Direction::Lower, "mean latency of syncs"),
    metric("sync.latency_p99", Unit::Seconds, Direction::Lower, "p99 latency of syncs"),
];

/// What dd yields: bytes and seconds as it printed them, divided here.
pub const DD_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
];

/// What sysbench yields: its fileio and cpu tests.
pub const SYSBENCH_METRICS: &[Metric] = &[
    metric("events", Unit::PerSecond, Direction::Higher, "events per second"),
    metric("reads", Unit::PerSecond, Direction::Higher, "reads per second"),
    metric("writes", Unit::PerSecond, Direction::Higher, "writes per second"),
    metric("fsyncs", Unit::PerSecond, Direction::Higher, "fsyncs per second"),
    metric("read.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of reads"),
    metric("write.throughput", Unit::BytesPerSecond, Direction::Higher, "throughput of writes"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_min", Unit::Seconds, Direction::Lower, "minimum latency"),
    metric("latency_p95", Unit::Seconds, Direction::Lower, "p95 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("wall_time", Unit::Seconds, Direction::Lower, "elapsed time"),
];

/// What ioping yields.
pub const IOPING_METRICS: &[Metric] = &[
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_min", Unit::Seconds, Direction::Lower, "minimum latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("latency_mdev", Unit::Seconds, Direction::Lower, "mean deviation of latency"),
];

/// What the `orion` workload yields beside the figures of each point, `iops@4,0` and its like. A curve is all of its points,
/// compared one by one.
pub const ORION_METRICS: &[Metric] = &[
    metric("max_throughput", Unit::BytesPerSecond, Direction::Higher, "highest throughput of any point"),
    metric("max_iops", Unit::PerSecond, Direction::Higher, "most small I/Os per second of any point"),
    metric("min_latency", Unit::Seconds, Direction::Lower, "lowest mean latency of any point"),
    metric("curve", Unit::Plain, Direction::Higher, "IOPS and throughput at every load"),
    metric("iops_curve", Unit::PerSecond, Direction::Higher, "small I/Os per second at every load"),
    metric("throughput_curve", Unit::BytesPerSecond, Direction::Higher, "throughput at every load"),
    metric("latency_curve", Unit::Seconds, Direction::Lower, "mean latency of small I/O at every load"),
];

/// What the `copy-up` workload yields.
pub const COPY_UP_METRICS: &[Metric] = &[
    metric("copy_up_time", Unit::Seconds, Direction::Lower, "first write into the large file"),
    metric("rewrite_time", Unit::Seconds, Direction::Lower, "second write into the large file"),
    metric("create_time", Unit::Seconds, Direction::Lower, "first write of a new file"),
    metric("open_time", Unit::Seconds, Direction::Lower, "mean time to open a small file"),
    metric("stat_time", Unit::Seconds, Direction::Lower, "mean time to look up a small file"),
];

/// What every workload yields beside its own figures, where the machine told what they are reckoned from.
pub const COMMON_METRICS: &[Metric] = &[
    metric("cores_used", Unit::Plain, Direction::Lower, "CPU seconds of the workload a second"),
    metric("cpu_per_io", Unit::Seconds, Direction::Lower, "CPU time of the workload for an I/O"),
    metric(
        "written_per_claimed_byte",
        Unit::Plain,
        Direction::Lower,
        "bytes the device wrote for each claimed",
    ),
    metric("read_per_claimed_byte", Unit::Plain, Direction::Lower, "bytes the device read for each claimed"),
    metric("space_per_file_byte", Unit::Plain, Direction::Lower, "bytes taken up for each of the files"),
    metric("extents_per_gib", Unit::Plain, Direction::Lower, "extents of the files for each GiB"),
];
