//! Who may be written to: own files, devices on which nothing is, and what the user named behind `--destroy`.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use iostone_engine::Pin;
use iostone_machine::Failure;
use iostone_model::experiment::quoted;
use iostone_model::orion::LunKind;
use iostone_orion::Lun;
use iostone_stack::{Refusal, RefusalReason, StackError, guard_file, is_device_named};

use super::{Touch, Use, is_ours};
use crate::commands::orion::arguments::typed_again;
use crate::commands::target::{Found, GuardedDevice, Held, inspect_device};

/// LUNs that the user has to name before they may be had. All of them are told at once: nobody wants to be told of ten
/// files in ten attempts.
#[derive(Debug, Default)]
pub(super) struct Refused {
    first: Option<Box<Refusal>>,
    /// What to type behind `--destroy` for each.
    words: Vec<String>,
}

impl Refused {
    fn add(&mut self, word: String, refusal: Box<Refusal>) {
        self.words.push(word);
        self.first.get_or_insert(refusal);
    }

    /// The first of them as an error, with the one command that lets all of them go.
    pub(super) fn into_result(self, to: &Use<'_>) -> Result<()> {
        let Some(mut refusal) = self.first else { return Ok(()) };
        let options: Vec<String> =
            self.words.iter().map(|word| format!("--destroy {}", quoted(word))).collect();
        let whose = if options.len() == 1 { "its content" } else { "the content of these LUNs" };
        let command = format!("`{} {}` if {whose} may go", typed_again(to.words), options.join(" "));
        if refusal.reason != RefusalReason::ForeignFile {
            refusal.next.insert(0, command);
        } else if to.before.is_some() {
            refusal.next = vec![command];
        } else {
            refusal.next = vec![
                command,
                "name files that do not exist yet in the `.lun` file, and make them with `--create SIZE`"
                    .to_owned(),
            ];
        }
        Err(Failure::from(StackError::Refused(refusal)).into())
    }
}

/// Asks the guard for a device that is going to be written to.
pub(super) fn ask_for_device(
    lun: &Lun,
    touch: Touch,
    to: &Use<'_>,
    refused: &mut Refused,
) -> Result<Option<GuardedDevice>> {
    if touch == Touch::Read {
        return Ok(None);
    }
    let pin = match &lun.pin {
        Some(pin) => pin.clone(),
        None => Pin::new(File::open(&lun.path).with_context(|| format!("cannot open `{}`", lun.name))?),
    };
    match inspect_device(&pin, &lun.path, to.destroy) {
        Ok(guarded) => Ok(Some(guarded)),
        Err(StackError::Refused(mut refusal)) => {
            let Some(word) = refusal.destroy.clone() else {
                return Err(Failure::from(StackError::Refused(refusal)).into());
            };
            if touch == Touch::FillZeros {
                refusal.because.push_str(", and `--prefill` would replace each MiB of zeros on it");
            }
            refused.add(word, refusal);
            Ok(None)
        }
        Err(error) => Err(Failure::from(error).into()),
    }
}

/// Asks for a file; gives whether it is iostone's, or of an earlier session of the test.
pub(super) fn ask_for_file(
    (lun, file): (&Lun, &File),
    named: bool,
    touch: Touch,
    to: &Use<'_>,
    refused: &mut Refused,
) -> Result<bool> {
    let left = match to.before {
        Some(before) if touch == Touch::Write => before.left(lun, file)?,
        _ => false,
    };
    let ours = left || is_ours(file, &lun.path)?;
    if touch == Touch::Read {
        return Ok(ours);
    }
    // Holes read as zeros, and in the image of a disk they are its data; a file of nothing but holes is empty.
    let let_go = left || named || (touch == Touch::FillHoles && is_one_hole(file));
    match guard_file(file, &lun.path, let_go.then_some(lun.path.as_path())) {
        Ok(()) => {}
        Err(StackError::Refused(mut refusal)) if refusal.reason == RefusalReason::ForeignFile => {
            if touch == Touch::FillZeros {
                "it was not made by iostone, or somebody wrote to it since, and `--prefill` would replace its zeros"
                    .clone_into(&mut refusal.because);
                refusal.loses = vec!["each MiB in it that holds nothing but zeros".to_owned()];
            }
            if touch == Touch::FillHoles {
                "it was not made by iostone, or somebody wrote to it since, and `--prefill` would fill its holes"
                    .clone_into(&mut refusal.because);
                refusal.loses = vec!["the zeros that its holes are read as".to_owned()];
            }
            if let Some(objection) = to.before.and_then(|before| before.objection(lun, file)) {
                refusal.because = objection;
            }
            refused.add(lun.name.clone(), refusal);
        }
        Err(error) => return Err(Failure::from(error).into()),
    }
    Ok(ours)
}

/// Whether nothing was ever written to a file (`SEEK_DATA`, lseek(2)).
fn is_one_hole(file: &File) -> bool {
    rustix::fs::seek(file, rustix::fs::SeekFrom::Data(0)) == Err(rustix::io::Errno::NXIO)
}

/// Which LUNs are named behind `--destroy`. A name there that is none of the LUNs was meant for one of them, and where
/// nothing is written it was not meant so.
pub(super) fn named(luns: &[Lun], to: &Use<'_>) -> Result<Vec<bool>> {
    if let Some(typed) = to.destroy.first().filter(|_| !to.writes) {
        bail!("`--destroy {typed}` is for `-write` and `--prefill`, and this test only reads; leave it out");
    }
    let mut named = vec![false; luns.len()];
    let mut unknown = None;
    for typed in to.destroy {
        let these = named_by(typed, luns);
        if !these.contains(&true) {
            unknown = unknown.or(Some(typed));
        }
        named.iter_mut().zip(these).for_each(|(named, this)| *named |= this);
    }
    let Some(unknown) = unknown else { return Ok(named) };
    let all: Vec<String> = luns.iter().map(|lun| format!("`{}`", lun.name)).collect();
    bail!("`--destroy {unknown}` is none of the LUNs, which are {}", all.join(", "))
}

/// Which LUNs were typed behind `--destroy`: one as the list has it, which is then no other; or by any of its names, or by
/// the identity of a device that a refusal prints. Whether that is enough for a device is the guard's to say.
fn named_by(typed: &str, luns: &[Lun]) -> Vec<bool> {
    let is_listed = |lun: &Lun| lun.path == Path::new(typed);
    if luns.iter().any(is_listed) {
        return luns.iter().map(is_listed).collect();
    }
    let typed_is = match Held::find(Path::new(typed)) {
        Ok(Found::Held(held)) => Some(held),
        _ => None,
    };
    let is_this = |lun: &Lun| {
        let way = lun.way();
        let Ok(lun_is) = std::fs::metadata(&way) else { return false };
        let typed_is = typed_is.as_ref().map(Held::metadata);
        match lun.kind {
            LunKind::File => typed_is.is_some_and(|it| (it.dev(), it.ino()) == (lun_is.dev(), lun_is.ino())),
            LunKind::Device => {
                typed_is.is_some_and(|it| it.file_type().is_block_device() && it.rdev() == lun_is.rdev())
                    || is_device_named(&way, typed).unwrap_or_default()
            }
        }
    };
    luns.iter().map(is_this).collect()
}
