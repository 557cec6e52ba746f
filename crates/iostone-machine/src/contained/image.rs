//! What an image is made of: iostone with its libraries, and the programs of the workload, packed once a session.

use std::collections::BTreeMap;
use std::path::Path;

use iostone_guest::{Cargo, IOSTONE_PROGRAM, needs_of_container};
use iostone_model::experiment::{Stack, Workload};
use iostone_stack::{Provision, StackError, check_room_for_stream};

use crate::failure::{Failure, FailureKind};
use crate::packed::Packed;

/// The archives of a session's containers.
#[derive(Debug, Default)]
pub(crate) struct Images {
    packed: BTreeMap<String, Packed>,
}

impl Images {
    /// What the container of a trial is made of: files of the workload for every kind, an archive where an engine runs it.
    ///
    /// # Errors
    /// A program of the workload that is not on this host or cannot be carried, with who needs it.
    pub(crate) fn provision(
        &mut self,
        stack: &Stack,
        workload: Option<&Workload>,
    ) -> Result<Provision, Failure> {
        let lower = workload.and_then(Workload::lower_files);
        if !stack.container.has_engine() {
            return Ok(Provision { lower, ..Provision::default() });
        }
        // What an image holds follows from these, however trials differ otherwise.
        let key = format!("{:?}", workload.map(needs_of_container));
        if !self.packed.contains_key(&key) {
            let packed = Packed::for_engine(&cargo_for(workload)?)?;
            self.packed.insert(key.clone(), packed);
        }
        let archive = self.packed.get(&key).map(Packed::path);
        Ok(Provision { archive, program: vec![IOSTONE_PROGRAM.to_owned()], lower })
    }

    /// Gives back the memory.
    pub(crate) fn forget(&mut self) {
        self.packed.clear();
    }
}

/// Finds out, writing nothing, whether the image of a stack's container can be made.
///
/// # Errors
/// As [`Images::provision`].
pub(crate) fn check_carriage(stack: &Stack, workload: Option<&Workload>) -> Result<(), Failure> {
    if stack.container.has_engine() {
        cargo_for(workload)?;
    }
    Ok(())
}

/// Makes sure that there is room beside the stack's volume for what an engine keeps of an image on the way. What the workload
/// carries beside its files is not counted.
///
/// # Errors
/// [`StackError::NoSpace`] with what is missing.
pub(crate) fn check_room_for_image(
    stack: &Stack,
    workload: Option<&Workload>,
    work_directory: &Path,
) -> Result<(), StackError> {
    let program_bytes = Path::new("/proc/self/exe").metadata().map_or(0, |program| program.len());
    check_room_for_stream(stack, program_bytes, workload.and_then(Workload::lower_files), work_directory)
}

fn cargo_for(workload: Option<&Workload>) -> Result<Cargo, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(FailureKind::Failed, format!("the path of the iostone binary: {error}"))
    })?;
    let mut cargo = Cargo::new();
    cargo.iostone(&program)?;
    if let Some(workload) = workload {
        cargo.supplies(&needs_of_container(workload)).map_err(|error| {
            let failure = Failure::from(error);
            let message =
                format!("the container's image, which contains only what iostone copies into it: {failure}");
            Failure::new(failure.kind, message)
        })?;
    }
    Ok(cargo)
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Contained, Container, LoopVolume, Volume};
    use iostone_model::units::Bytes;

    use super::*;

    fn stack(container: Container) -> Stack {
        Stack { container, ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(1 << 20)))) }
    }

    fn command(argv: &str) -> Workload {
        serde_json::from_str(&format!(r#"{{"kind":"command","argv":{argv}}}"#)).unwrap()
    }

    #[test]
    fn an_image_is_packed_once_for_the_same_programs_and_only_for_an_engine() {
        let mut images = Images::default();
        let plain = stack(Container::Overlay(Contained::default()));
        assert_eq!(images.provision(&plain, Some(&command(r#"["true"]"#))).unwrap(), Provision::default());
        let engine = stack(Container::Docker(Contained::default()));
        let one = images.provision(&engine, Some(&command(r#"["true"]"#))).unwrap();
        let again = images.provision(&engine, Some(&command(r#"["true", "-n"]"#))).unwrap();
        assert_eq!(one, again);
        assert_eq!(one.program, [IOSTONE_PROGRAM]);
        let bytes = std::fs::metadata(one.archive.unwrap()).unwrap().len();
        assert!(bytes > 1 << 16, "{bytes}");
        let other = images.provision(&engine, Some(&command(r#"["ls"]"#))).unwrap();
        assert_ne!(other.archive, again.archive);
    }

    #[test]
    fn a_stream_that_finds_no_room_beside_the_volume_is_refused_for_podman_alone() {
        let mut podman = stack(Container::Podman(Contained::default()));
        check_room_for_image(&podman, None, Path::new("/var/tmp")).unwrap();
        let huge = Stack::of(Volume::Loop(LoopVolume::new(Bytes(1 << 60))));
        podman.volume = huge.volume;
        let error = check_room_for_image(&podman, None, Path::new("/var/tmp")).unwrap_err();
        assert!(matches!(error, StackError::NoSpace { .. }), "{error}");
        podman.container = Container::Docker(Contained::default());
        check_room_for_image(&podman, None, Path::new("/var/tmp")).unwrap();
    }

    #[test]
    fn a_program_that_cannot_be_carried_is_named_before_anything_is_built() {
        let engine = stack(Container::Podman(Contained::default()));
        let failure = check_carriage(&engine, Some(&command(r#"["no-such-program-here"]"#))).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.message.contains("no-such-program-here"), "{failure}");
        assert!(failure.message.contains("the `command` workload"), "{failure}");
        let plain = stack(Container::None);
        check_carriage(&plain, Some(&command(r#"["no-such-program-here"]"#))).unwrap();
    }
}
