//! The tools: where they are, and how each is told to do a case.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cases::Case;
use crate::child::Child;
use crate::grounds::Grounds;

/// Our binary, built as users get it.
pub(crate) const IOSTONE: &str = env!("CARGO_BIN_EXE_iostone");
/// What fio is at its fastest with, latency percentiles kept.
const FIO_BEST: [&str; 8] = [
    "--registerfiles=1",
    "--fixedbufs=1",
    "--nonvectored=1",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=128",
    "--norandommap=1",
    "--random_generator=tausworthe",
];
/// Requests that `t/io_uring` hands over, and waits for, at once.
const T_BATCH: u32 = 32;

/// A tool in one of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Iostone,
    /// Ours, drawing blocks with repetition as fio's best options and `t/io_uring` do: some are in a nearer cache.
    IostoneAnywhere,
    FioDefault,
    FioBest,
    FioPsync,
    TIoUring,
}

/// What was found here.
#[derive(Debug)]
pub(crate) struct Found {
    fio: PathBuf,
    pub(crate) t_io_uring: Option<PathBuf>,
    /// Versions as the tools print them: name and version.
    pub(crate) versions: Vec<(&'static str, String)>,
    /// Processor time that fio takes for a single I/O: its start and end.
    pub(crate) fio_start_seconds: f64,
    /// What is compared with less because something is not there.
    pub(crate) left_out: Vec<String>,
}

/// Looks for the peers.
///
/// # Errors
/// Without fio; the text says how to get it.
pub(crate) fn find() -> std::result::Result<Found, String> {
    let fio =
        on_path("fio").ok_or("there is no `fio` on the `PATH` to compare with: `apt-get install fio`")?;
    let named = std::env::var_os("T_IO_URING").map(PathBuf::from);
    if let Some(path) = named.as_deref().filter(|path| !path.is_file()) {
        return Err(format!("`T_IO_URING` names `{}`, which is no file", path.display()));
    }
    let t_io_uring = named.or_else(|| on_path("io_uring"));
    let left_out = match &t_io_uring {
        Some(_) => Vec::new(),
        None => vec![
            "`t/io_uring` is left out: no `io_uring` on the `PATH`; build it from fio's sources \
             (`./configure && make t/io_uring`) and set `T_IO_URING`"
                .to_owned(),
        ],
    };
    let mut versions = vec![
        ("iostone", first_line(Path::new(IOSTONE), "--version").replacen("iostone ", "", 1)),
        ("fio", first_line(&fio, "--version")),
    ];
    if t_io_uring.is_some() {
        // It prints none of its own.
        let version = std::env::var("T_IO_URING_VERSION");
        versions.push(("t/io_uring", version.unwrap_or_else(|_| "prints no version".to_owned())));
    }
    let fio_start_seconds = time_fio_start(&fio).map_err(|error| format!("`fio` does not run: {error:#}"))?;
    Ok(Found { fio, t_io_uring, versions, fio_start_seconds, left_out })
}

/// The median of three runs of a single I/O.
fn time_fio_start(fio: &Path) -> Result<f64> {
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let mut command = Command::new(fio);
        command.args(["--name=start", "--filename=/dev/zero", "--size=4096", "--bs=4096", "--rw=read"]);
        command.args(["--ioengine=io_uring", "--thread", "--output-format=json"]);
        seconds.push(Child::run(&mut command)?.cpu_seconds);
    }
    seconds.sort_by(f64::total_cmp);
    seconds.get(1).copied().context("no runs")
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn first_line(program: &Path, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_else(|| "unknown".to_owned())
}

impl Tool {
    pub(crate) const ALL: [Self; 6] = [
        Self::Iostone,
        Self::IostoneAnywhere,
        Self::FioDefault,
        Self::FioPsync,
        Self::FioBest,
        Self::TIoUring,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Iostone => "iostone",
            Self::IostoneAnywhere => "iostone, no random map",
            Self::FioDefault => "fio, io_uring, defaults",
            Self::FioBest => "fio, io_uring, best options",
            Self::FioPsync => "fio, psync",
            Self::TIoUring => "t/io_uring -t",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Iostone | Self::IostoneAnywhere)
    }

    pub(crate) fn is_fio(self) -> bool {
        matches!(self, Self::FioDefault | Self::FioBest | Self::FioPsync)
    }

    pub(crate) fn is_t_io_uring(self) -> bool {
        matches!(self, Self::TIoUring)
    }

    /// The tool's command for a case.
    ///
    /// # Errors
    /// When it is asked of a tool that is not there.
    pub(crate) fn command(
        self,
        case: &Case,
        seconds: u64,
        found: &Found,
        grounds: &Grounds,
    ) -> Result<Command> {
        let path = grounds.path(case.ground);
        let bytes = grounds.bytes(case.ground);
        Ok(match self {
            Self::Iostone | Self::IostoneAnywhere => {
                let mut command = Command::new(IOSTONE);
                command.arg("io").args(shape(case, seconds, bytes));
                if self == Self::IostoneAnywhere {
                    command.arg("--norandommap");
                }
                command.arg(with_path("--filename=", path)).arg("--json");
                command
            }
            Self::FioDefault | Self::FioBest | Self::FioPsync => {
                let mut command = Command::new(&found.fio);
                command.args(self.fio_arguments(case, seconds, bytes));
                command.arg(with_path("--filename=", path));
                command
            }
            Self::TIoUring => {
                let program = found.t_io_uring.as_ref().context("`t/io_uring` is not here")?;
                let mut command = Command::new(program);
                command.args(Self::t_arguments(case, seconds)).arg(path);
                // It looks for a calibration file where it runs.
                command.current_dir("/");
                command
            }
        })
    }

    fn fio_arguments(self, case: &Case, seconds: u64, bytes: u64) -> Vec<String> {
        let mut arguments = shape(case, seconds, bytes);
        let engine = if self == Self::FioPsync { "psync" } else { "io_uring" };
        arguments.push(format!("--ioengine={engine}"));
        // A process of its own would leave the scheduler's group that everything here runs in.
        arguments.push("--thread".to_owned());
        arguments.push("--output-format=json".to_owned());
        if self == Self::FioBest {
            arguments.extend(FIO_BEST.map(str::to_owned));
        }
        arguments
    }

    fn t_arguments(case: &Case, seconds: u64) -> Vec<String> {
        let batch = case.iodepth.min(T_BATCH);
        vec![
            format!("-d{}", case.iodepth),
            format!("-s{batch}"),
            format!("-c{batch}"),
            format!("-b{}", case.block_bytes),
            "-p0".to_owned(),
            format!("-O{}", u8::from(case.direct)),
            format!("-R{}", u8::from(case.random)),
            "-t1".to_owned(),
            format!("-r{seconds}"),
        ]
    }

    /// The options as a reader would type them, the target and the figures that differ between cases left out.
    pub(crate) fn described(self) -> String {
        let mut text = String::new();
        let _ = match self {
            Self::Iostone => write!(
                text,
                "`iostone io --invalidate=0`, every block once per pass as with fio's random map"
            ),
            Self::IostoneAnywhere => write!(text, "the same with `--norandommap`"),
            Self::FioDefault => write!(text, "`fio --ioengine=io_uring --thread --invalidate=0`"),
            Self::FioBest => {
                write!(text, "`fio --ioengine=io_uring --thread --invalidate=0 {}`", FIO_BEST.join(" "))
            }
            Self::FioPsync => write!(text, "`fio --ioengine=psync --thread --invalidate=0`"),
            Self::TIoUring => {
                write!(text, "`t/io_uring -p0 -t1`, `-s` and `-c` of the depth, {T_BATCH} at most")
            }
        };
        text
    }
}

/// What fio and ours are told in the same words.
fn shape(case: &Case, seconds: u64, bytes: u64) -> Vec<String> {
    vec![
        "--name=peers".to_owned(),
        format!("--rw={}", if case.random { "randread" } else { "read" }),
        format!("--bs={}", case.block_bytes),
        format!("--iodepth={}", case.iodepth),
        format!("--size={bytes}"),
        format!("--direct={}", u8::from(case.direct)),
        "--time_based".to_owned(),
        format!("--runtime={seconds}"),
        "--invalidate=0".to_owned(),
    ]
}

fn with_path(option: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(option);
    argument.push(path);
    argument
}
