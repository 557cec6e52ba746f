//! What a comparison measures: a load by its name, options of fio, a job file, or a command.

use std::path::Path;

use anyhow::{Context, Result, bail};
use iostone_model::diagnostic::nearest;
use iostone_probe::programs::find_program;

use super::varied::{as_toml, list};
use super::{Shell, argv_of, quoted};

/// `[workload]` of a comparison.
#[derive(Debug)]
pub(crate) struct Load {
    /// Its lines in a file.
    pub(super) lines: Vec<String>,
    /// What it is, for the question; none where the levels say it.
    pub(super) summary: Option<String>,
    /// What decides.
    pub(super) metric: &'static str,
    /// How certain verdicts are.
    pub(super) confidence: &'static str,
    /// After so many blocks the run ends.
    pub(super) most_blocks: u32,
    /// Whether it is a command of the user's.
    pub(super) is_command: bool,
}

/// A load that has a name.
#[derive(Debug)]
pub(crate) struct NamedLoad {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    metric: &'static str,
    /// The settings of the workload `io`, but for its size and its time.
    settings: &'static str,
}

/// Loads by their names. Those that read bypass the page cache, which would serve files of this size from memory.
pub(crate) const NAMED_LOADS: &[NamedLoad] = &[
    NamedLoad {
        name: "randread-4k",
        summary: "random reads of 4 KiB at queue depth 16",
        metric: "iops",
        settings: "rw=randread bs=4KiB iodepth=16 direct=true",
    },
    NamedLoad {
        name: "randwrite-4k",
        summary: "random writes of 4 KiB at queue depth 16",
        metric: "iops",
        settings: "rw=randwrite bs=4KiB iodepth=16 direct=true",
    },
    NamedLoad {
        name: "sync-4k",
        summary: "random writes of 4 KiB, each made durable by fdatasync",
        metric: "iops",
        settings: "rw=randwrite bs=4KiB fdatasync=1",
    },
    NamedLoad {
        name: "oltp-8k",
        summary: "a database with a cache of its own: blocks of 8 KiB, 70 % of them read, an fdatasync after every 8th write",
        metric: "iops",
        settings: "rw=randrw rwmixread=70 bs=8KiB iodepth=4 direct=true fdatasync=8",
    },
    NamedLoad {
        name: "wal-8k",
        summary: "a PostgreSQL-like log: blocks of 8 KiB in sequence, each made durable by fdatasync",
        metric: "iops",
        settings: "rw=write bs=8KiB fdatasync=1",
    },
    NamedLoad {
        name: "seq-1m",
        summary: "sequential reads of 1 MiB at queue depth 4",
        metric: "throughput",
        settings: "rw=read bs=1MiB iodepth=4 direct=true",
    },
    NamedLoad {
        name: "seqwrite-1m",
        summary: "sequential writes of 1 MiB at queue depth 4, an fsync after every 16",
        metric: "throughput",
        settings: "rw=write bs=1MiB iodepth=4 direct=true fsync=16",
    },
    NamedLoad {
        name: "buffered-read",
        summary: "buffered reads of 128 KiB, once through a file that is not cached",
        metric: "throughput",
        settings: "rw=read bs=128KiB io_size=128MiB",
    },
    NamedLoad {
        name: "mail",
        summary: "a mail server's deliveries: 4 threads that write 16 KiB, each with an fsync",
        metric: "iops",
        settings: "rw=randwrite bs=16KiB numjobs=4 fsync=1",
    },
];

/// The load where none is named: what filesystems and their options differ in most.
pub(crate) const DEFAULT_LOAD: &str = "oltp-8k";
/// A tree of small files, each read once. Access times are written when a file is read, which no load on one large file shows.
pub(crate) const SMALL_FILES: &str = "small-files";
/// Its preparation, untimed; then the files are written back and dropped from the page cache.
const MAKE_SMALL_FILES: &str = "mkdir d; i=0; while [ $i -lt 2000 ]; do echo $i > d/$i; i=$((i+1)); done";
const READ_SMALL_FILES: &str = "cat d/* > read && sync -f read";
/// A trial's file, and its time.
const DEFAULT_SIZE: &str = "128MiB";
const RAMP: &str = "1s";
const RUNTIME: &str = "4s";
const CONFIDENCE: &str = "95%";
/// Trials of commands are short, and who compares them often, in a pipeline say, is misled seldom: of 200 simulated pairs of
/// equal commands with a noise of 1 % none was called faster or slower, of noise of 3 % two; with 95 % one and six.
const CONFIDENCE_OF_COMMANDS: &str = "99%";
const MOST_BLOCKS: u32 = 20;
const MOST_BLOCKS_OF_COMMANDS: u32 = 40;

impl Load {
    /// A load by its name, a fio job file, or options of the workload `io`, which are fio's.
    pub(crate) fn named(text: &str) -> Result<Self> {
        if let Some(named) = NAMED_LOADS.iter().find(|named| named.name == text) {
            return Ok(Self::of_io(named.settings, Some(named.summary), named.metric));
        }
        if text == SMALL_FILES {
            return Ok(Self::of_small_files());
        }
        if text.contains('=') {
            return Ok(Self::of_io(text, None, "iops"));
        }
        if Path::new(text).is_file() {
            return Self::of_job_file(Path::new(text));
        }
        let names: Vec<&str> = NAMED_LOADS.iter().map(|named| named.name).chain([SMALL_FILES]).collect();
        let meant = match nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected {}", names.join(", ")),
        };
        bail!("`--load {text}` is no load, no job file, and no options such as `rw=randread bs=4k`; {meant}")
    }

    /// fio's options as words, with or without dashes.
    fn of_io(settings: &str, summary: Option<&str>, metric: &'static str) -> Self {
        let mut lines = vec!["kind = \"io\"".to_owned()];
        let mut given = Vec::new();
        for word in settings.split_whitespace() {
            let (option, value) = word.trim_start_matches('-').split_once('=').unwrap_or((word, "true"));
            given.push(option.to_owned());
            lines.push(format!("{option} = {}", of_fio(option, value)));
        }
        let is_given = |option: &str| given.iter().any(|one| one == option);
        let mut default = |option: &str, value: &str| {
            if !is_given(option) {
                lines.push(format!("{option} = {}", quoted(value)));
            }
        };
        default("size", DEFAULT_SIZE);
        if !is_given("io_size") {
            default("ramp_time", RAMP);
            default("runtime", RUNTIME);
        }
        Self {
            lines,
            summary: Some(summary.unwrap_or(settings).to_owned()),
            metric,
            confidence: CONFIDENCE,
            most_blocks: MOST_BLOCKS,
            is_command: false,
        }
    }

    fn of_small_files() -> Self {
        let shell = |script: &str| list(&["sh", "-c", script].map(str::to_owned));
        Self {
            lines: vec![
                "kind = \"command\"".to_owned(),
                format!("prepare = [{}]", shell(MAKE_SMALL_FILES)),
                format!("argv = {}", shell(READ_SMALL_FILES)),
            ],
            summary: Some("2 000 small files, each read once".to_owned()),
            metric: "wall_time",
            confidence: CONFIDENCE,
            most_blocks: MOST_BLOCKS_OF_COMMANDS,
            is_command: false,
        }
    }

    /// A job file, run by fio, or by iostone where fio is not installed.
    fn of_job_file(path: &Path) -> Result<Self> {
        let place = std::path::absolute(path).with_context(|| format!("finding `{}`", path.display()))?;
        let mut lines =
            vec!["kind = \"fio\"".to_owned(), format!("job_file = {}", quoted(&place.to_string_lossy()))];
        if find_program("fio").is_none() {
            lines.push("# fio is not installed here: iostone's own engine runs the job.".to_owned());
            lines.push("program = \"iostone\"".to_owned());
        }
        Ok(Self {
            lines,
            summary: Some(format!("the job file {}", path.display())),
            metric: "iops",
            confidence: CONFIDENCE,
            most_blocks: MOST_BLOCKS,
            is_command: false,
        })
    }

    /// Commands, or one command under settings that are varied: `line` where all levels run the same.
    pub(crate) fn of_command(
        line: Option<&str>,
        directory: Option<&Path>,
        prepare: Option<&str>,
        shell: &Shell,
    ) -> Result<Self> {
        let mut lines = vec!["kind = \"command\"".to_owned()];
        if let Some(line) = line {
            lines.push(format!("argv = {}", list(&argv_of(line, shell)?)));
        }
        if let Some(directory) = directory {
            lines.push("# Where the commands start.".to_owned());
            lines.push(format!("directory = {}", quoted(&directory.to_string_lossy())));
        }
        if let Some(prepare) = prepare {
            lines.push("# Before every trial, untimed.".to_owned());
            lines.push(format!("prepare = [{}]", list(&argv_of(prepare, shell)?)));
        }
        Ok(Self {
            lines,
            summary: line.map(|line| format!("`{line}`")),
            metric: "wall_time",
            confidence: CONFIDENCE_OF_COMMANDS,
            most_blocks: MOST_BLOCKS_OF_COMMANDS,
            is_command: true,
        })
    }
}

/// A value of fio's as the experiment file writes it: `4k` is text there, `1` is a switch for some.
fn of_fio(option: &str, value: &str) -> String {
    match (option, value) {
        ("direct" | "norandommap", "0" | "1") => (value == "1").to_string(),
        ("bs" | "size" | "io_size" | "offset" | "ramp_time" | "runtime", _) if is_bare_number(value) => {
            // A bare number is bytes, or seconds (fio(1), "Parameter types").
            let unit = if matches!(option, "ramp_time" | "runtime") { "s" } else { "B" };
            quoted(&format!("{value}{unit}"))
        }
        _ => as_toml(value),
    }
}

fn is_bare_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_fio_are_settings_of_the_workload() {
        let load = Load::named("--rw=randread bs=4k iodepth=8 --direct=1 runtime=10").unwrap();
        let expected = [
            "kind = \"io\"",
            "rw = \"randread\"",
            "bs = \"4k\"",
            "iodepth = 8",
            "direct = true",
            "runtime = \"10s\"",
            "size = \"128MiB\"",
            "ramp_time = \"1s\"",
        ];
        assert_eq!(load.lines, expected);
    }

    #[test]
    fn a_load_that_is_none_names_what_was_meant() {
        let error = Load::named("randred-4k").unwrap_err().to_string();
        assert!(error.contains("did you mean `randread-4k`?"), "{error}");
    }
}
