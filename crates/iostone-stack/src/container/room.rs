//! Room for what an engine's image is made of: on the stack's filesystem, and wherever the engine keeps it on the way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Container, LowerFiles, Stack, Volume};

use super::Provision;
use crate::error::StackError;
use crate::fill;

/// tar(5): a header for each file, and content up to the next multiple.
const TAR_BLOCK_BYTES: u64 = 512;
/// What every engine says where there is no room (ENOSPC).
const NO_ROOM: &str = "no space left";
/// What helps where the stream finds none.
const INSTEAD_OF_STREAM: &str = "Podman writes the image's stream there: make the workload's files smaller, or keep runs \
                                 elsewhere with `--runs`";

/// Makes sure that the stream of an image finds room where its engine keeps it first, beside a volume in the same place:
/// Podman's, in the run's own directory. `archive_bytes` are those of the programs in it.
///
/// # Errors
/// [`StackError::NoSpace`] with what is missing, [`StackError::Io`] when the filesystem does not tell.
pub fn check_room_for_stream(
    stack: &Stack,
    archive_bytes: u64,
    lower: Option<LowerFiles>,
    work_directory: &Path,
) -> Result<(), StackError> {
    if !matches!(stack.container, Container::Podman(_)) {
        return Ok(());
    }
    let (volume_bytes, directory) = match &stack.volume {
        Volume::Loop(volume) => (volume.size.0, volume.directory.as_deref()),
        Volume::Emulated(volume) => (volume.total_size().0, volume.directory.as_deref()),
        Volume::Block(_) | Volume::Directory(_) => (0, None),
    };
    let is_beside = directory.is_none_or(|directory| device_of(directory) == device_of(work_directory));
    let beside_bytes = if is_beside { volume_bytes } else { 0 };
    let stream_bytes = archive_bytes.saturating_add(lower.map_or(0, bytes_of_lower));
    fill::room_for(work_directory, stream_bytes.saturating_add(beside_bytes), INSTEAD_OF_STREAM)
}

/// As [`check_room_for_stream`], once everything else is there.
///
/// # Errors
/// As there.
pub(super) fn check_stream(provision: &Provision, spool: &Path) -> Result<(), StackError> {
    fill::room_for(spool, bytes_of(provision), INSTEAD_OF_STREAM)
}

/// What to do where an engine found no room, to follow its words; nothing for other words. Its places that do not lie on the
/// stack's filesystem are those within the run and those of the machine. The words tell, and not the room that is left:
/// engines tidy up before they answer.
pub(super) fn hint(words: &str, of_run: &[PathBuf], of_machine: &[PathBuf]) -> String {
    if !words.contains(NO_ROOM) {
        return String::new();
    }
    let full = full_ones(words);
    let is_full = |place: &&PathBuf| full.iter().any(|clause| clause.contains(&place.display().to_string()));
    let make_room = |place: &Path| {
        format!("; that is not the volume: make room in the filesystem of `{}`", place.display())
    };
    if let Some(place) = of_run.iter().find(is_full) {
        return format!("{}, or keep runs elsewhere with `--runs`", make_room(place));
    }
    let of_machine = of_machine.iter().find(is_full);
    of_machine.map_or_else(|| "; make `stack.volume.size` larger".to_owned(), |place| make_room(place))
}

/// What was being done where there was no room: the clauses right before those words. Others may name places that only had to
/// do with it, such as where something was copied from.
fn full_ones(words: &str) -> Vec<&str> {
    let ends = words.match_indices(NO_ROOM).filter_map(|(end, _)| words.get(..end)?.strip_suffix(": "));
    ends.filter_map(|before| before.rsplit(": ").next()).collect()
}

fn bytes_of(provision: &Provision) -> u64 {
    let archive = provision.archive.as_deref().and_then(|archive| fs::metadata(archive).ok());
    let archive_bytes = archive.map_or(0, |archive| archive.len());
    archive_bytes.saturating_add(provision.lower.map_or(0, bytes_of_lower))
}

fn bytes_of_lower(lower: LowerFiles) -> u64 {
    let in_tar = |bytes: u64| bytes.next_multiple_of(TAR_BLOCK_BYTES).saturating_add(TAR_BLOCK_BYTES);
    in_tar(lower.large.0).saturating_add(in_tar(lower.small.0).saturating_mul(u64::from(lower.small_count)))
}

/// The filesystem of a path, or of what there is above it.
fn device_of(path: &Path) -> Option<u64> {
    path.ancestors().find_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.dev())
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Contained, LoopVolume};
    use iostone_model::units::Bytes;

    use super::*;

    const HUGE: u64 = 1 << 60;

    fn lower(large: u64) -> LowerFiles {
        LowerFiles { large: Bytes(large), small_count: 2, small: Bytes(1) }
    }

    #[test]
    fn only_podman_keeps_the_stream_and_only_a_volume_in_the_same_place_counts_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let stack =
            |container, size| Stack { container, ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(size)))) };
        let podman = |size| stack(Container::Podman(Contained::default()), size);
        let check =
            |stack: &Stack, large| check_room_for_stream(stack, 1, Some(lower(large)), directory.path());
        check(&podman(1), 1).unwrap();
        assert!(check(&stack(Container::Docker(Contained::default()), 1), HUGE).is_ok());
        let error = check(&podman(1), HUGE).unwrap_err();
        assert!(
            matches!(error, StackError::NoSpace { .. }) && error.to_string().contains("`--runs`"),
            "{error}"
        );
        assert!(check(&podman(HUGE), 1).is_err());
        let mut elsewhere = podman(HUGE);
        if let Volume::Loop(volume) = &mut elsewhere.volume {
            volume.directory = Some(PathBuf::from("/proc"));
        }
        check(&elsewhere, 1).unwrap();
    }

    #[test]
    fn the_place_that_is_full_is_the_one_that_is_named() {
        let of_run = [PathBuf::from("/runs/engine/tmp"), PathBuf::from("/runs/engine")];
        let hint = |words: &str| hint(words, &of_run, &[PathBuf::from("/run/docker")]);
        let volume = "; make `stack.volume.size` larger";
        assert_eq!(hint("no such driver"), "");
        assert_eq!(hint("write /iostone/work/large: no space left on device"), volume);
        assert_eq!(
            hint("write /runs/engine/tmp/podman1: no space left on device"),
            "; that is not the volume: make room in the filesystem of `/runs/engine/tmp`, or keep runs elsewhere with `--runs`"
        );
        assert_eq!(
            hint("mkdir /run/docker/containerd: no space left on device"),
            "; that is not the volume: make room in the filesystem of `/run/docker`",
            "the run would not change that"
        );
        let copied =
            "copying /runs/engine/tmp/a: write /iostone/work/a: no space left on device: see /run/docker/log";
        assert_eq!(hint(copied), volume);
    }

    #[test]
    fn files_are_counted_as_they_lie_in_an_archive() {
        let files = LowerFiles { large: Bytes(1025), small_count: 3, small: Bytes(512) };
        assert_eq!(bytes_of_lower(files), (1536 + 512) + 3 * (512 + 512));
    }
}
