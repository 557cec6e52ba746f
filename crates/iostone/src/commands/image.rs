//! `iostone image`: disk images turned from one format into another, checked before and after.

mod words;
mod workshop;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use iostone_guest::image::{self, ImageFormat, Request};
use iostone_machine::Failure;
use iostone_report::clean;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;
use workshop::Workshop;

/// Converts, checks and describes images.
#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
    /// Convert an image to another format and compare it with the source before giving it its name
    Convert(ConvertArguments),
    /// Check an image: other files it names, processes using it, its own tables
    Check(CheckArguments),
    /// Print an image's format, size, and the partitions and filesystems in it
    Info(InfoArguments),
}

#[derive(Debug, Args)]
struct ConvertArguments {
    /// The image
    source: PathBuf,
    /// The image to create
    target: PathBuf,
    /// The target's format; by default from its name
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<NamedFormat>,
    /// The source's format, if its name and content disagree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// Variant: vmdk `monolithicSparse` (default) or `streamOptimized`; vhd and vhdx `dynamic` (default) or `fixed`
    #[arg(long, value_name = "NAME")]
    subformat: Option<String>,
    /// Replace an existing target once the new image is complete
    #[arg(long)]
    force: bool,
    /// Also read the backing files and extents that the source names
    #[arg(long)]
    with_backing: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// The image
    file: PathBuf,
    /// Its format, if its name and content disagree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// Also read the backing files and extents that it names
    #[arg(long)]
    with_backing: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct InfoArguments {
    /// The image
    file: PathBuf,
    /// Its format, if its name and content disagree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A format of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NamedFormat {
    /// The bytes of the disk, without a header
    #[value(alias = "img")]
    Raw,
    /// QEMU's
    Qcow2,
    #[value(help = "VMware's")]
    Vmdk,
    /// Virtual PC's and Azure's; vpc in QEMU
    #[value(alias = "vpc")]
    Vhd,
    /// Hyper-V's
    Vhdx,
}

impl From<NamedFormat> for ImageFormat {
    fn from(format: NamedFormat) -> Self {
        match format {
            NamedFormat::Raw => Self::Raw,
            NamedFormat::Qcow2 => Self::Qcow2,
            NamedFormat::Vmdk => Self::Vmdk,
            NamedFormat::Vhd => Self::Vhd,
            NamedFormat::Vhdx => Self::Vhdx,
        }
    }
}

pub(crate) fn image(arguments: &ImageArguments, printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    match &arguments.command {
        ImageCommand::Convert(arguments) => convert(arguments, &stop, printer),
        ImageCommand::Check(arguments) => check(arguments, &stop, printer),
        ImageCommand::Info(arguments) => info(arguments, &stop, printer),
    }
}

fn convert(arguments: &ConvertArguments, stop: &AtomicBool, printer: &mut Printer) -> Result<ExitCode> {
    tell_leftovers(&arguments.target, printer);
    let request = Request {
        source: arguments.source.clone(),
        target: arguments.target.clone(),
        from: arguments.from.map(Into::into),
        to: arguments.to.map(Into::into),
        subformat: arguments.subformat.clone(),
        replace: arguments.force,
        with_other_files: arguments.with_backing,
    };
    let mut workshop = Workshop::new(printer);
    let converted = image::convert(&request, stop, &mut workshop);
    let closed = workshop.close();
    if let Ok(converted) = &converted {
        let text =
            if arguments.json { words::conversion_json(converted)? } else { words::conversion(converted) };
        printer.data(&text);
    }
    let code = if closed.is_ok() { ExitCode::Success } else { ExitCode::Failure };
    if let Err(left) = closed {
        printer.error(&Failure::from(left).into());
    }
    converted?;
    Ok(code)
}

fn check(arguments: &CheckArguments, stop: &AtomicBool, printer: &mut Printer) -> Result<ExitCode> {
    tell_leftovers(&arguments.file, printer);
    let from = arguments.from.map(Into::into);
    let (image, checks) = image::check(&arguments.file, from, arguments.with_backing, stop)?;
    let text = if arguments.json {
        words::image_json(&image, "checks", &checks)?
    } else {
        words::checked(&image, &checks)
    };
    printer.data(&text);
    Ok(ExitCode::Success)
}

fn info(arguments: &InfoArguments, stop: &AtomicBool, printer: &mut Printer) -> Result<ExitCode> {
    let (image, notes) = image::inspect(&arguments.file, arguments.from.map(Into::into), stop)?;
    let text = if arguments.json {
        words::image_json(&image, "notes", &notes)?
    } else {
        words::described(&image, &notes)
    };
    printer.data(&text);
    Ok(ExitCode::Success)
}

/// A killed conversion leaves only a directory with half an image: the next one reports it.
fn tell_leftovers(path: &Path, printer: &mut Printer) {
    for left in image::leftovers_beside(path) {
        printer.warning(format!(
            "a killed conversion left `{}`; remove it with `iostone cleanup`, or with `rm -r {}` if cleanup does not list it",
            clean(&left.display().to_string()),
            clean(&iostone_stack::quote(left.as_os_str()))
        ));
    }
}
