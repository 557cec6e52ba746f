//! The LUNs of a test: read, made where they are missing, let pass by the guard, filled where they were never written.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iostone_model::orion::{LunKind, OrionTest};
use iostone_model::units::Bytes;
use iostone_orion::lun::{Lun, check_sizes, missing_luns, read_lun_file};
use iostone_orion::written::{Prefill, examine, prefill};

use super::arguments::OrionOptions;
use super::creation::Creation;
use super::progress::Filling;
use super::taken::{Taken, Use};
use crate::printer::Printer;

/// What is to be done to the LUNs.
pub(super) struct Wanted<'a> {
    pub(super) test: &'a OrionTest,
    pub(super) options: &'a OrionOptions,
    /// The command line, to say the next one.
    pub(super) words: &'a [String],
    pub(super) seed: u64,
}

/// Reads the `.lun` file and takes what it names. Nothing is made or written before all of it is let pass.
pub(super) fn take(
    wanted: &Wanted<'_>,
    stop: &AtomicBool,
    printer: &mut Printer,
) -> Result<(Vec<Lun>, Taken)> {
    let options = wanted.options;
    let creation = match options.create {
        Some(size) => Some((Creation::begin(missing_luns(&wanted.test.test_name)?, size)?, size)),
        None => None,
    };
    let luns = read_lun_file(&wanted.test.test_name)?;
    check_sizes(&luns, wanted.test.size_small.max(wanted.test.size_large))?;
    let writes = wanted.test.writes() || options.prefill;
    let taken = Taken::take(&luns, &Use { writes, destroy: &options.destroy, words: wanted.words })?;
    if let Some((creation, size)) = creation {
        creation.fill(size, wanted.seed, stop, &mut Filling::new(printer))?;
    }
    for lun in &luns {
        if options.prefill {
            fill(lun, wanted.seed, stop, printer)?;
        }
        if !options.allow_unwritten {
            examine(lun, wanted.seed)?.verdict()?;
        }
    }
    Ok((luns, taken))
}

/// Fills what was never written; pieces of zeros only where they are many, for that takes reading all of it.
fn fill(lun: &Lun, seed: u64, stop: &AtomicBool, printer: &mut Printer) -> Result<()> {
    let mut filling = Filling::new(printer);
    for what in [Prefill::NeverWritten, Prefill::ZerosToo] {
        if examine(lun, seed)?.verdict().is_ok() {
            break;
        }
        if what == Prefill::NeverWritten && lun.kind == LunKind::Device {
            continue;
        }
        let mut tell = |done, of| filling.tell(&lun.name, Bytes(done), Bytes(of));
        let written = prefill(lun, what, seed, stop, &mut tell)?;
        if written > 0 {
            filling.made(&lun.name, Bytes(written));
        }
    }
    Ok(())
}
