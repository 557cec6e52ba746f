//! Who may be written to: own files, devices on which nothing is, and what the user named behind `--destroy`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Result, bail};
use iostone_machine::Failure;
use iostone_model::orion::LunKind;
use iostone_orion::Lun;
use iostone_stack::{Refusal, RefusalReason, StackError, guard_file, is_device_named};

use super::{Touch, Use, is_ours};
use crate::commands::dry_run::quoted;
use crate::commands::orion::arguments::typed_again;
use crate::commands::target::inspect_device;

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

/// Asks the guard for a device.
pub(super) fn ask_for_device(lun: &Lun, touch: Touch, to: &Use<'_>, refused: &mut Refused) -> Result<()> {
    if touch == Touch::Read {
        return Ok(());
    }
    match inspect_device(&lun.path, to.destroy) {
        Ok(()) => Ok(()),
        Err(StackError::Refused(mut refusal)) => {
            let Some(word) = refusal.destroy.clone() else {
                return Err(Failure::from(StackError::Refused(refusal)).into());
            };
            if touch == Touch::FillZeros {
                refusal.because.push_str(", and `--prefill` would replace each MiB of zeros on it");
            }
            refused.add(word, refusal);
            Ok(())
        }
        Err(error) => Err(Failure::from(error).into()),
    }
}

/// Asks for a file; gives whether it is iostone's, or of an earlier session of the test.
pub(super) fn ask_for_file(lun: &Lun, touch: Touch, to: &Use<'_>, refused: &mut Refused) -> Result<bool> {
    let left = match to.before {
        Some(before) if touch == Touch::Write => before.left(lun)?,
        _ => false,
    };
    let ours = left || is_ours(&lun.path)?;
    if touch == Touch::Read {
        return Ok(ours);
    }
    // Filling what was never written loses nothing. What stands on the file is in the way of that too.
    let let_go = left || touch == Touch::FillHoles || to.destroy.iter().any(|typed| is_named_by(typed, lun));
    match guard_file(&lun.path, let_go.then_some(lun.path.as_path())) {
        Ok(()) => {}
        Err(StackError::Refused(mut refusal)) if refusal.reason == RefusalReason::ForeignFile => {
            if touch == Touch::FillZeros {
                "it was not made by iostone, or somebody wrote to it since, and `--prefill` would replace its zeros"
                    .clone_into(&mut refusal.because);
                refusal.loses = vec!["each MiB in it that holds nothing but zeros".to_owned()];
            }
            if let Some(objection) = to.before.and_then(|before| before.objection(lun)) {
                refusal.because = objection;
            }
            refused.add(lun.name.clone(), refusal);
        }
        Err(error) => return Err(Failure::from(error).into()),
    }
    Ok(ours)
}

/// A name behind `--destroy` that is none of the LUNs was meant for one of them, and where nothing is written it was not
/// meant so.
pub(super) fn refuse_names(luns: &[Lun], to: &Use<'_>) -> Result<()> {
    if let Some(typed) = to.destroy.first().filter(|_| !to.writes) {
        bail!("`--destroy {typed}` is for `-write` and `--prefill`, and this test only reads; leave it out");
    }
    let Some(unknown) = to.destroy.iter().find(|typed| !luns.iter().any(|lun| is_named_by(typed, lun)))
    else {
        return Ok(());
    };
    let all: Vec<String> = luns.iter().map(|lun| format!("`{}`", lun.name)).collect();
    bail!("`--destroy {unknown}` is none of the LUNs, which are {}", all.join(", "))
}

/// Whether what was typed behind `--destroy` is this LUN: by any of its names, or by the identity of a device that a
/// refusal prints. Whether that is enough for a device is the guard's to say.
pub(super) fn is_named_by(typed: &str, lun: &Lun) -> bool {
    let [typed_is, lun_is] = [Path::new(typed), &lun.path].map(|path| std::fs::metadata(path).ok());
    let (Some(lun_is), typed_is) = (lun_is, typed_is) else { return false };
    match lun.kind {
        LunKind::File => typed_is.is_some_and(|it| (it.dev(), it.ino()) == (lun_is.dev(), lun_is.ino())),
        LunKind::Device => {
            typed_is.is_some_and(|it| it.rdev() == lun_is.rdev())
                || is_device_named(&lun.path, typed).unwrap_or_default()
        }
    }
}
