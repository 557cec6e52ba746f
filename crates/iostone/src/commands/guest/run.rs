//! `iostone guest run`: one program in a guest with a kernel of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use iostone_guest::find_program;
use iostone_machine::{Execute, Executed, TryOut, try_out};
use iostone_model::experiment::{Accelerator, Guest};
use iostone_model::units::{Bytes, Span};
use iostone_report::clean_lines;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

/// Boots a guest, runs a program of the host in it, and removes the guest.
///
/// The program is carried in with the libraries that it loads. What it prints is printed; the status is 0 if it ended
/// with 0 and 1 otherwise.
#[derive(Debug, Args)]
pub(crate) struct RunInGuestArguments {
    /// The kernel: a file, `host`, or a Debian package (`debian:6.1`); see `iostone guest kernels`
    #[arg(long)]
    kernel: String,
    /// The directory with the kernel's modules, if it is not beside the kernel
    #[arg(long, value_name = "DIRECTORY")]
    modules: Option<PathBuf>,
    /// A parameter for the kernel's command line; repeatable
    #[arg(long, value_name = "WORD")]
    kernel_argument: Vec<String>,
    /// Processors
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=255))]
    cpus: u32,
    /// Memory
    #[arg(long, default_value = "512MiB")]
    memory: Bytes,
    /// Add an empty virtio drive of this size: `/dev/vda` and so on, serial numbers `iostone-v0` and so on; repeatable
    #[arg(long, value_name = "SIZE")]
    drive: Vec<Bytes>,
    /// Add an empty NVMe drive of this size: `/dev/nvme0n1` and so on, serial numbers `iostone-n0` and so on; repeatable
    #[arg(long, value_name = "SIZE")]
    nvme_drive: Vec<Bytes>,
    /// Copy this program, file or directory into the guest as well; repeatable
    #[arg(long, value_name = "PATH")]
    carry: Vec<PathBuf>,
    /// Load this kernel module and its dependencies; repeatable
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Run in this root filesystem, a directory or an image; the program is then looked up in it
    #[arg(long, value_name = "PATH")]
    rootfs: Option<PathBuf>,
    /// How to execute instructions; by default KVM if it is available
    #[arg(long, value_enum)]
    accelerator: Option<Executing>,
    /// Time limit of the program, once the guest has booted
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Span,
    /// Print the guest's console on standard error as well
    #[arg(long)]
    console: bool,
    /// The program, as a path or a name in PATH, and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Executing {
    Kvm,
    Tcg,
}

pub(crate) fn run(arguments: &RunInGuestArguments, printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let wanted = wish(arguments)?;
    let tried = try_out(&wanted, &mut |step| printer.note(step), &stop)?;
    if arguments.console {
        printer.note(clean_lines(&tried.console));
    }
    if let Some(guest) = &tried.guest {
        let seconds = guest.boot_seconds;
        printer.note(format_args!("{} ({}), up in {seconds:.1} s", guest.uname, guest.accelerator));
    }
    let executed = tried.executed?;
    printer.data(&executed.stdout);
    if !executed.stderr.is_empty() {
        printer.note(executed.stderr.trim_end());
    }
    Ok(ending(&executed, &wanted.program, printer))
}

fn ending(executed: &Executed, program: &Execute, printer: &mut Printer) -> ExitCode {
    let how = match (executed.code, executed.signal) {
        (Some(0), _) => return ExitCode::Success,
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    };
    let name = program.argv.first().map_or("the program", String::as_str);
    printer.warning(format_args!("`{name}` ended with {how} in the guest"));
    ExitCode::Failure
}

fn wish(arguments: &RunInGuestArguments) -> Result<TryOut> {
    let mut argv = arguments.program.clone();
    let mut carry = arguments.carry.clone();
    if arguments.rootfs.is_none() {
        let first = argv.first_mut().ok_or_else(|| anyhow!("name a program"))?;
        let path = find_program(first)?;
        let path = std::path::absolute(&path).with_context(|| format!("finding `{first}`"))?;
        *first = path
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| anyhow!("the path `{}` is not UTF-8", path.display()))?;
        carry.push(path);
    }
    let mut guest = Guest::new(&arguments.kernel);
    guest.modules.clone_from(&arguments.modules);
    guest.kernel_arguments.clone_from(&arguments.kernel_argument);
    guest.cpus = arguments.cpus;
    guest.memory = arguments.memory;
    guest.rootfs.clone_from(&arguments.rootfs);
    guest.carry = carry;
    guest.accelerator = arguments.accelerator.map(|executing| match executing {
        Executing::Kvm => Accelerator::Kvm,
        Executing::Tcg => Accelerator::Tcg,
    });
    Ok(TryOut {
        guest,
        drives: arguments.drive.clone(),
        nvme_drives: arguments.nvme_drive.clone(),
        modules: arguments.module.clone(),
        program: Execute { argv, environment: std::collections::BTreeMap::new() },
        limit: Some(arguments.timeout.0),
        work_directory: work_directory()?,
    })
}

/// Where the drives are created: the directory for temporary files.
fn work_directory() -> Result<PathBuf> {
    let directory = std::env::temp_dir();
    std::path::absolute(Path::new(&directory)).context("finding the directory for temporary files")
}
