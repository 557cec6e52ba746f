//! A refusal of the guard inside, in the names of this host: nobody can do anything about a guest's `/dev/vda`.

use std::path::Path;

use iostone_stack::{Drive, DriveSource};

use crate::failure::{Failure, FailureKind};

/// What stands before the commands that would help on the machine that refused.
const NEXT: &str = "; next: ";

/// The refusal with the host's name of the device, and without commands for the guest; other failures as they are.
pub(super) fn seen_from_host(failure: Failure, drives: &[Drive]) -> Failure {
    if failure.kind != FailureKind::Refused {
        return failure;
    }
    let said = failure.message.split(NEXT).next().unwrap_or_default();
    let drive = drives.iter().find(|drive| said.contains(&format!("serial {},", drive.serial)));
    let (Some(drive), Some(inside)) = (drive, said.split('`').nth(1)) else {
        return Failure::new(failure.kind, format!("inside the guest {said}"));
    };
    let because = said.split_once(" is refused: ").map_or(said, |(_, because)| because);
    let message = match &drive.source {
        DriveSource::File { path, .. } if path.starts_with("/dev") => {
            let because = because.replace(inside, &path.display().to_string());
            format!(
                "`{0}` is refused inside the guest: {because}; next: see what is on it with `wipefs {0}`, or name \
                 another device",
                path.display()
            )
        }
        source => format!(
            "the drive {} made of {} is refused inside the guest: {}",
            drive.serial,
            origin(source),
            because.replace(inside, &drive.serial)
        ),
    };
    Failure::new(failure.kind, message)
}

fn origin(source: &DriveSource) -> String {
    let path: &Path = match source {
        DriveSource::File { path, .. } => path,
        DriveSource::Nbd { socket } => socket,
    };
    format!("`{}`", path.display())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn drives() -> Vec<Drive> {
        let drive = |number: u32, path: &str| Drive {
            serial: format!("iostone-v{number}"),
            source: DriveSource::File { path: PathBuf::from(path), direct: true },
            size_bytes: 64 << 20,
        };
        vec![drive(0, "/dev/loop7"), drive(1, "/dev/loop8")]
    }

    #[test]
    fn a_refusal_names_the_hosts_device_and_no_command_for_the_guest() {
        let message = "`/dev/vdb` (serial iostone-v1, 64 MiB) is refused: there is an ext4 filesystem on `/dev/vdb`; would be lost: an ext4 filesystem; next: `wipefs --all /dev/vdb`, or name another device, or, if none of it is needed, allow it with `--destroy 'serial iostone-v1, 64 MiB'`";
        let seen = seen_from_host(Failure::new(FailureKind::Refused, message), &drives());
        assert!(seen.message.starts_with("`/dev/loop8` is refused inside the guest: there is"), "{seen}");
        assert!(!seen.message.contains("/dev/vd") && !seen.message.contains("iostone-v1"), "{seen}");
    }

    #[test]
    fn another_failure_stays_as_it_is() {
        let failure = Failure::new(FailureKind::Failed, "mkfs: `/dev/vda`; next: x");
        assert_eq!(seen_from_host(failure.clone(), &drives()), failure);
    }
}
