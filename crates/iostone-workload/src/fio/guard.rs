//! The guard of fio's jobs: nothing outside the trial's directory is touched, no program started, no device reset.
//!
//! A job is read by the rules of fio's own parser, with what it includes, and what was checked is what fio is handed.

use std::io;

use iostone_fio::{Files, OnDisk, RawLine, RawSection, bytes_of, read_sections};
use iostone_model::experiment::FioWorkload;
use iostone_model::units::Bytes;

use crate::WorkloadError;

/// What messages call a job that stands in the experiment file itself.
const INLINE: &str = "workload.job";

/// A job that may be run in a trial's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedJob {
    /// The job file with its included files in their places, without comments.
    pub(super) text: String,
    /// Whether the page cache is gone past by every job that runs, so that all bytes must reach the device.
    pub(super) is_direct: bool,
    /// Whether jobs wait for those before them (`stonewall`), so that their rates do not add up.
    pub(super) in_phases: bool,
    /// Whether its files can be laid out by a run of their own; a job that sets `create_only` itself would not stop
    /// there.
    pub(super) lays_out_first: bool,
    /// The largest size of a job that reads: that much must be there before it starts.
    pub(super) largest_read: Option<Bytes>,
}

/// Engines that do I/O on the files of a job. Others speak to a network, a device of their own or a plugin.
const ENGINES: &[&str] = &[
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "posixaio",
    "io_uring",
    "splice",
    "mmap",
    "falloc",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
    "libpmem",
    "dev-dax",
];
/// Of these, those that move every byte that they claim past the page cache when told `direct`.
const DIRECT_ENGINES: &[&str] =
    &["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring"];

/// Options whose value is a path, or a list of them with colons between, or the start of one.
const PATHS: &[&str] = &[
    "filename",
    "directory",
    "opendir",
    "filename_format",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "write_iolog",
];

/// Options that reach beyond the job's files, and why they are refused.
const FORBIDDEN: &[(&str, &str)] = &[
    ("exec_prerun", "it would run a shell's line"),
    ("exec_postrun", "it would run a shell's line"),
    ("ioscheduler", "it would change a device's queue and leave it so; set it in `stack.queue`"),
    ("cgroup", "it would make control groups, and leave them"),
    ("read_iolog", "a log names files and devices of its own"),
    ("replay_redirect", "it sends requests to another device"),
    ("merge_blktrace_file", "it writes a file of its own"),
    ("profile", "it replaces the job by one that cannot be looked into"),
    ("filetype", "only regular files are laid out in a trial's directory"),
];

/// A job given in the experiment file, beside the files of this machine that it may include.
struct Inline<'a>(&'a str);

impl Files for Inline<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path == INLINE { Ok(self.0.as_bytes().to_vec()) } else { on_disk(path) }
    }

    fn exists(&self, path: &str) -> bool {
        path == INLINE || OnDisk.exists(path)
    }
}

/// A regular file; `-` and pipes would be waited for.
fn on_disk(path: &str) -> io::Result<Vec<u8>> {
    if path != "-" && std::fs::metadata(path)?.is_file() {
        OnDisk.read(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads and checks a job.
///
/// # Errors
/// [`WorkloadError::Unsuitable`] where it is no job file, [`WorkloadError::Refused`] where it would leave the trial's
/// directory; with the line.
pub(super) fn check(spec: &FioWorkload) -> Result<CheckedJob, WorkloadError> {
    let (path, files) = match (&spec.job_file, &spec.job) {
        (Some(path), _) => (path.display().to_string(), Inline("")),
        (None, text) => (INLINE.to_owned(), Inline(text.as_deref().unwrap_or_default())),
    };
    let (sections, problems) = read_sections(&path, &files);
    if let Some(problem) = problems.first() {
        return Err(unfit(format!("the job cannot be read: {problem}")));
    }
    let runs = |section: &&RawSection| spec.sections.is_empty() || spec.sections.contains(&section.name);
    if let Some(unknown) =
        spec.sections.iter().find(|name| !sections.iter().any(|section| section.name == **name))
    {
        return Err(unfit(format!("`{path}` has no section `{unknown}`")));
    }
    let mut jobs = 0;
    let mut common = Settings::default();
    let mut checked = CheckedJob {
        text: String::new(),
        is_direct: true,
        in_phases: false,
        lays_out_first: true,
        largest_read: None,
    };
    for section in sections.iter().filter(|section| section.is_global() || runs(section)) {
        check_section(section)?;
        checked.text.push_str(&["[", &section.name, "]\n"].concat());
        let mut own = common.clone();
        for line in &section.lines {
            check_line(line)?;
            own.apply(line);
            checked.text.push_str(&line.text);
            checked.text.push('\n');
        }
        checked.lays_out_first &= !own.creates_only;
        if section.is_global() {
            common = own;
        } else {
            checked.in_phases |= own.waits && jobs > 0;
            checked.largest_read =
                checked.largest_read.max(own.size.filter(|_| !PURE_WRITES.contains(&own.rw.as_str())));
            checked.is_direct &= own.direct && DIRECT_ENGINES.contains(&own.engine.as_str());
            jobs += 1;
        }
    }
    if jobs == 0 {
        return Err(unfit(format!("`{path}` has no job: only `[global]` sections")));
    }
    Ok(checked)
}

/// Kinds of load that make their files as they go.
const PURE_WRITES: [&str; 5] = ["write", "randwrite", "trim", "randtrim", "trimwrite"];

/// What of a section's options matters here.
#[derive(Debug, Clone)]
struct Settings {
    direct: bool,
    engine: String,
    waits: bool,
    creates_only: bool,
    /// Its kind of load. One that reads needs all of its files before it starts.
    rw: String,
    /// The size of its files, where that is a number of bytes.
    size: Option<Bytes>,
}

impl Default for Settings {
    fn default() -> Self {
        // fio's own on Linux.
        Self {
            direct: false,
            engine: "psync".to_owned(),
            waits: false,
            creates_only: false,
            rw: "read".to_owned(),
            size: None,
        }
    }
}

impl Settings {
    fn apply(&mut self, line: &RawLine) {
        let (name, value) = line.option();
        // A value that is no number counts as set only where fio takes a bare name for 1.
        let is_on = || value.is_none_or(|value| value.parse::<u64>().is_ok_and(|number| number != 0));
        match name {
            "direct" => self.direct = is_on(),
            "buffered" => self.direct = !is_on(),
            "ioengine" => value.unwrap_or_default().clone_into(&mut self.engine),
            "stonewall" | "wait_for" => self.waits = is_on() || name == "wait_for",
            "create_only" => self.creates_only = true,
            "rw" | "readwrite" => value.unwrap_or_default().clone_into(&mut self.rw),
            "size" => self.size = value.and_then(bytes_of).map(Bytes),
            _ => {}
        }
    }
}

fn unfit(reason: String) -> WorkloadError {
    WorkloadError::Unsuitable { program: "fio", reason }
}

fn refuse(line: &impl std::fmt::Display, text: &str, why: &str) -> WorkloadError {
    WorkloadError::Refused(format!("fio's job is refused at {line}: `{text}`: {why}"))
}

/// fio takes a section named like a device for that device.
fn check_section(section: &RawSection) -> Result<(), WorkloadError> {
    if section.is_global() {
        return Ok(());
    }
    match leaves_directory(&section.name) {
        Some(why) => Err(refuse(&section.place, &format!("[{}]", section.name), why)),
        None if section.name.contains('/') => {
            Err(refuse(&section.place, &format!("[{}]", section.name), "a job's name names its files"))
        }
        None => Ok(()),
    }
}

fn check_line(line: &RawLine) -> Result<(), WorkloadError> {
    let (name, value) = line.option();
    let value = value.unwrap_or_default();
    let refuse = |why: &str| Err(refuse(&line.place, &line.text, why));
    if name.contains('$') {
        return refuse("a variable as an option's name could be any option");
    }
    // fio tells cases apart today; what would run a program is refused in any.
    if let Some((_, why)) = FORBIDDEN.iter().find(|(forbidden, _)| forbidden.eq_ignore_ascii_case(name)) {
        return refuse(why);
    }
    match name {
        "ioengine" if !ENGINES.contains(&value) => {
            refuse("only engines that work on the files of the trial's directory can be used")
        }
        "name" if value.contains('/') => refuse("a job's name names its files"),
        // `mmap:/path` and `mmaphuge:/path` map a file of that path.
        "mem" | "iomem" => {
            value.split_once(':').and_then(|(_, path)| leaves_directory(path)).map_or(Ok(()), refuse)
        }
        _ if PATHS.contains(&name) => {
            // `\:` is a colon within a path, which changes nothing about where the path leads.
            value.split(':').find_map(leaves_directory).map_or(Ok(()), refuse)
        }
        _ => Ok(()),
    }
}

/// Why a path does not stay below the trial's directory.
fn leaves_directory(path: &str) -> Option<&'static str> {
    let path = path.trim();
    if path.starts_with('/') {
        Some("an absolute path; a job's files must lie in the trial's directory, so name them relative to it")
    } else if path.split('/').any(|part| part == "..") {
        Some("`..` climbs out of the trial's directory")
    } else if path == "-" {
        Some("`-` is no file")
    } else if path.contains("${") {
        Some("a variable could lead anywhere; write the path out")
    } else {
        None
    }
}
