//! The LUNs of a test: read, made where they are missing, let pass by the guard, filled where they were never written.

use std::io;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iostone_machine::Failure;
use iostone_model::orion::{LunKind, OrionRecord, OrionTest};
use iostone_model::units::Bytes;
use iostone_orion::lun::{Lun, check_sizes, missing_luns, open_luns};
use iostone_orion::record::check_same;
use iostone_orion::written::{Prefill, Written, examine, prefill};
use iostone_stack::StackError;

use super::arguments::OrionOptions;
use super::creation::{Creation, clear_half_made};
use super::progress::Filling;
use super::taken::{Before, Taken, Touch, Use};
use crate::commands::target::{Found, Held};
use crate::printer::Printer;

/// More than so much of zeros is too much even where a sample found less.
const ZEROS_MOST: f64 = 0.45;

/// What is to be done to the LUNs.
pub(super) struct Wanted<'a> {
    pub(super) test: &'a OrionTest,
    pub(super) options: &'a OrionOptions,
    /// The command line, to say the next one.
    pub(super) words: &'a [String],
    pub(super) seed: u64,
    /// The test so far, when it is gone on with.
    pub(super) so_far: Option<&'a OrionRecord>,
}

/// Reads the `.lun` file and takes what it names. Nothing is made or written before all of it is let pass.
pub(super) fn take(
    wanted: &Wanted<'_>,
    stop: &AtomicBool,
    printer: &mut Printer,
) -> Result<(Vec<Lun>, Taken)> {
    let options = wanted.options;
    let creation = match options.create {
        Some(size) => {
            for half_made in clear_half_made(&wanted.test.test_name)? {
                printer.note(format!(
                    "`{}` was left half made by a `--create` that was killed, and is removed",
                    half_made.display()
                ));
            }
            Some((Creation::begin(missing_luns(&wanted.test.test_name)?, size)?, size))
        }
        None => None,
    };
    let luns = open(&wanted.test.test_name, creation.as_ref().map(|(creation, _)| creation))?;
    if let Some(record) = wanted.so_far {
        check_same(&record.header, &luns)?;
    }
    check_sizes(&luns, wanted.test)?;
    let touches = luns.iter().map(|lun| touch(lun, wanted)).collect::<Result<Vec<Touch>>>()?;
    let before = wanted.so_far.map(Before::of);
    let mut taken = Taken::take(
        &luns,
        &Use {
            touches: &touches,
            writes: wanted.test.writes() || options.prefill,
            makes: creation.as_ref().is_some_and(|(creation, _)| !creation.is_empty()),
            destroy: &options.destroy,
            words: wanted.words,
            before: before.as_ref(),
        },
    )?;
    if let Some((creation, size)) = creation {
        creation.fill(size, wanted.seed, stop, &mut Filling::new(printer))?;
    }
    for (lun, touch) in luns.iter().zip(&touches) {
        if options.prefill && *touch != Touch::Read {
            let filled = fill(lun, *touch, wanted.seed, stop, printer);
            taken.filled(lun)?;
            filled?;
        }
        if !options.allow_unwritten {
            examine(lun, wanted.seed)?.verdict()?;
        }
    }
    if !wanted.test.writes() {
        taken.begin_reading();
    }
    Ok((luns, taken))
}

/// Opens the LUNs, each once: what is looked at from here on is what the test is on. One that was just made is that very
/// file.
fn open(test_name: &str, creation: Option<&Creation>) -> Result<Vec<Lun>> {
    let mut refused = None;
    let luns = open_luns(test_name, &mut |path| {
        if let Some(made) = creation.and_then(|creation| creation.made(path)) {
            return Ok(made.clone());
        }
        match Held::find(path) {
            Ok(Found::Held(held)) => Ok(held.pin().clone()),
            Ok(Found::Nothing(_)) => Err(io::ErrorKind::NotFound.into()),
            Err(StackError::Io { source, .. }) => Err(source),
            Err(refusal) => Err(io::Error::other(refused.insert(refusal).to_string())),
        }
    });
    match refused {
        Some(refusal) => Err(Failure::from(refusal).into()),
        None => Ok(luns?),
    }
}

/// What is going to be done to a LUN: to one that lacks nothing, `--prefill` does nothing.
fn touch(lun: &Lun, wanted: &Wanted<'_>) -> Result<Touch> {
    if wanted.test.writes() {
        return Ok(Touch::Write);
    }
    if !wanted.options.prefill {
        return Ok(Touch::Read);
    }
    let written = examine(lun, wanted.seed)?;
    Ok(if written.verdict().is_ok() {
        Touch::Read
    } else if lun.kind == LunKind::File && !zeros_remain(&written) {
        Touch::FillHoles
    } else {
        Touch::FillZeros
    })
}

/// Whether a file would still hold too many zeros once its holes were filled.
fn zeros_remain(written: &Written) -> bool {
    let zeros = f64::from(written.zeros) / f64::from(written.sampled.max(1));
    let holding = written.bytes.saturating_sub(written.unwritten_bytes) as f64;
    zeros * holding > ZEROS_MOST * written.bytes as f64
}

/// Fills what was never written; pieces of zeros only where they are many, for that takes reading all of it.
fn fill(lun: &Lun, touch: Touch, seed: u64, stop: &AtomicBool, printer: &mut Printer) -> Result<()> {
    let mut filling = Filling::new(printer);
    for what in [Prefill::NeverWritten, Prefill::ZerosToo] {
        if examine(lun, seed)?.verdict().is_ok() {
            break;
        }
        let pointless = what == Prefill::NeverWritten && lun.kind == LunKind::Device;
        if pointless || (what == Prefill::ZerosToo && touch == Touch::FillHoles) {
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

#[cfg(test)]
mod tests {
    use iostone_orion::written::Method;

    use super::*;

    #[test]
    fn filling_holes_is_enough_unless_the_rest_is_mostly_zeros() {
        let remain = |unwritten_bytes, zeros| {
            zeros_remain(&Written {
                name: "a".to_owned(),
                bytes: 100,
                unwritten_bytes,
                method: Method::Fiemap,
                sampled: 10,
                zeros,
            })
        };
        assert!(!remain(100, 0));
        assert!(!remain(90, 10));
        assert!(!remain(0, 4));
        assert!(remain(0, 6));
        assert!(remain(30, 8));
    }
}
