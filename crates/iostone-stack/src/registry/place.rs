//! The place of the undo registry: directories that nobody but this process's user can have written.

use std::fs::{self, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{STATE_DIRECTORY_VARIABLE, unusable};
use crate::error::{Refusal, RefusalReason, StackError};
use crate::journal::sync_directory;
use crate::tool::quote;
use crate::trust::{exposed, user_in_words};

/// Makes the directory of the journals where it is missing, and makes sure that both it and the state directory are this
/// user's. Nobody else can rename either from then on, so that their paths stay good.
///
/// # Errors
/// [`StackError::Refused`] where somebody else could write or rename them, [`StackError::Usage`] when they cannot be made.
pub(super) fn make(state_directory: &Path) -> Result<PathBuf, StackError> {
    let journals = journals_of(state_directory);
    check(state_directory)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&journals)
        .map_err(|source| unusable(&journals, &source.to_string()))?;
    // Once more: what was missing may have been made by another.
    check(state_directory)?;
    sync_directory(state_directory)?;
    Ok(journals)
}

/// Checks what is there of both directories, and of those on the way to them.
///
/// # Errors
/// [`StackError::Refused`] as [`make`].
pub(super) fn check(state_directory: &Path) -> Result<(), StackError> {
    // Without a slash at its end, behind which a symbolic link would be followed.
    let state: PathBuf = state_directory.components().collect();
    let journals = journals_of(&state);
    for directory in [&state, &journals] {
        match fs::symlink_metadata(directory) {
            Ok(metadata) => check_directory(directory, &metadata)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(unusable(directory, &source.to_string())),
        }
    }
    match exposed(&journals)? {
        None => Ok(()),
        Some(found) => {
            let because = format!(
                "{} can rename files in `{}`, and so replace the journals",
                found.by,
                found.directory.display()
            );
            Err(refused(&journals, because, None))
        }
    }
}

fn journals_of(state_directory: &Path) -> PathBuf {
    state_directory.join("journals")
}

fn check_directory(directory: &Path, metadata: &Metadata) -> Result<(), StackError> {
    let own = rustix::process::geteuid();
    if metadata.is_symlink() {
        let because = "it is a symbolic link; anyone who can change it can replace the journals";
        return Err(refused(directory, because.to_owned(), None));
    }
    if !metadata.is_dir() {
        return Err(unusable(directory, "it is not a directory"));
    }
    if metadata.uid() != own.as_raw() {
        let because = format!(
            "it belongs to {}, who may have written its journals; iostone would execute them as {}",
            user_in_words(metadata.uid()),
            user_in_words(own.as_raw())
        );
        let next = format!("`chown {} {}`", own.as_raw(), quote(directory.as_os_str()));
        return Err(refused(directory, because, Some(next)));
    }
    if metadata.mode() & 0o022 != 0 {
        let because = format!(
            "users other than {} can write it (mode {:04o}), and so its journals",
            user_in_words(own.as_raw()),
            metadata.mode() & 0o7777
        );
        let next = format!("`chmod go-w {}`", quote(directory.as_os_str()));
        return Err(refused(directory, because, Some(next)));
    }
    Ok(())
}

fn refused(directory: &Path, because: String, next: Option<String>) -> StackError {
    let elsewhere = format!("set `{STATE_DIRECTORY_VARIABLE}` to a directory that only you can write to");
    StackError::Refused(Box::new(Refusal {
        device: directory.to_owned(),
        identity: "undo registry".to_owned(),
        reason: RefusalReason::Exposed,
        because,
        loses: Vec::new(),
        next: next.into_iter().chain([elsewhere]).collect(),
        destroy: None,
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::Registry;

    fn refusal(state: &Path) -> Refusal {
        match Registry::at(state) {
            Err(StackError::Refused(refusal)) => *refusal,
            other => panic!("{other:?}"),
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn directories_that_others_can_write_are_refused_with_the_command_that_helps() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let journals = Registry::at(&state).unwrap().directory().to_owned();
        for directory in [&state, &journals] {
            for mode in [0o770, 0o702, 0o1777] {
                set_mode(directory, mode);
                let refusal = refusal(&state);
                assert_eq!((&refusal.device, refusal.reason), (directory, RefusalReason::Exposed));
                assert!(refusal.next[0].starts_with("`chmod go-w "), "{refusal}");
                assert!(refusal.next[1].contains(STATE_DIRECTORY_VARIABLE), "{refusal}");
            }
            set_mode(directory, 0o755);
            assert!(Registry::at(&state).is_ok());
        }
    }

    #[test]
    fn links_are_refused_at_either_place_with_a_slash_behind_them_too() {
        let place = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| place.path().join(name));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        assert!(refusal(&link).because.contains("symbolic link"));
        assert!(refusal(&link.join("")).because.contains("symbolic link"));
        assert_eq!(fs::read_dir(&real).unwrap().count(), 0, "something was made behind the link");
        fs::create_dir(place.path().join("elsewhere")).unwrap();
        symlink(place.path().join("elsewhere"), real.join("journals")).unwrap();
        assert_eq!(refusal(&real).device, real.join("journals"));
    }

    #[test]
    fn a_place_that_another_user_can_rename_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        set_mode(&open, 0o777);
        let refusal = refusal(&open.join("state"));
        assert!(refusal.because.contains("every user can rename"), "{refusal}");
        assert!(!open.join("state").exists());
    }

    #[test]
    fn directories_of_another_user_are_refused_with_the_name() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        let journals = Registry::at(&state).unwrap().directory().to_owned();
        for directory in [&state, &journals] {
            chown(directory, Some(65534), None).unwrap();
            let refusal = refusal(&state);
            assert_eq!(refusal.device, *directory);
            assert!(refusal.because.contains("user nobody"), "{refusal}");
            assert!(refusal.next[0].starts_with("`chown 0 "), "{refusal}");
            chown(directory, Some(0), None).unwrap();
        }
        assert!(Registry::at(&state).is_ok());
    }
}
