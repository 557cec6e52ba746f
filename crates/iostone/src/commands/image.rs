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

/// Turns images, checks them, says what they are.
#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
    /// Make an image in another format, compare it with the source, and only then give it its name
    Convert(ConvertArguments),
    /// Check an image: what its header names, who uses it, its own tables
    Check(CheckArguments),
    /// Say what an image is, and what lies on the disk within
    Info(InfoArguments),
}

#[derive(Debug, Args)]
struct ConvertArguments {
    /// The image
    source: PathBuf,
    /// What is made of it
    target: PathBuf,
    /// The target's format; as its name says when left out
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<NamedFormat>,
    /// The source's format, where its name and its bytes do not agree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// vmdk: `monolithicSparse` or `streamOptimized`; vhd and vhdx: `dynamic` or `fixed`. The first when left out
    #[arg(long, value_name = "NAME")]
    subformat: Option<String>,
    /// Replace a target that exists, once the new one is whole
    #[arg(long)]
    force: bool,
    /// Read other files that the source names as well: backing files, extents
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
    /// Its format, where its name and its bytes do not agree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// Read other files that it names as well: backing files, extents
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
    /// Its format, where its name and its bytes do not agree
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<NamedFormat>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A format of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NamedFormat {
    /// The disk's bytes and nothing else
    #[value(alias = "img")]
    Raw,
    /// That of QEMU
    Qcow2,
    #[value(help = "That of VMware")]
    Vmdk,
    /// That of Virtual PC and Azure; QEMU calls it vpc
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

/// Of a conversion that was killed, only a directory with half an image is left: whoever comes next is told.
fn tell_leftovers(path: &Path, printer: &mut Printer) {
    for left in image::leftovers_beside(path) {
        printer.warning(format!(
            "a conversion that was killed left `{}`; next: `iostone cleanup`, or `rm -r {}` if that does not know it",
            clean(&left.display().to_string()),
            clean(&iostone_stack::quote(left.as_os_str()))
        ));
    }
}
