//! The room that a container's image takes on the stack's volumes, and whether it fits there beside the workload's files.

use std::path::Path;
use std::sync::OnceLock;

use iostone_model::experiment::{Experiment, Stack};
use iostone_model::units::Bytes;

use crate::error::LabError;

/// The bytes of iostone's own program in the layers of a stack's container, at the least: the libraries and other programs of
/// the image are not counted. Nothing without an engine.
pub(crate) fn room_of_image(stack: &Stack) -> Bytes {
    Bytes(stack.container.copies_of_image().saturating_mul(own_size().0))
}

/// # Errors
/// Volumes that cannot hold image and files together, where the sizes of both are known.
pub(super) fn check_room(experiment: &Experiment) -> Result<(), LabError> {
    for configuration in &experiment.configurations {
        let stack = &configuration.stack;
        let (image, files) = (room_of_image(stack), configuration.workload.room().unwrap_or_default());
        let Some(capacity) = stack.capacity().filter(|_| image.0 > 0) else { continue };
        if image.0.saturating_add(files.0) > capacity.0 {
            return Err(LabError::Plan(format!(
                "`stack.volume.size`: the container's image takes at least {} in the layers of {}, the workload's files {files}, \
                 and the volumes hold {capacity}; make the volume larger, or the files smaller",
                image.approximate(),
                stack.container.kind(),
            )));
        }
    }
    Ok(())
}

/// iostone's own program, as it is carried into images; nothing where it cannot be looked at.
fn own_size() -> Bytes {
    static SIZE: OnceLock<u64> = OnceLock::new();
    let look = || Path::new("/proc/self/exe").metadata().map_or(0, |program| program.len());
    Bytes(*SIZE.get_or_init(look))
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Override, read};

    use super::*;

    fn experiment(settings: &[(&str, &str)]) -> Experiment {
        let over =
            |(path, value): &(&str, &str)| Override { path: (*path).to_owned(), value: (*value).to_owned() };
        let settings: Vec<Override> = settings.iter().map(over).collect();
        read(include_str!("../../../../experiments/storage-driver.toml"), &settings).unwrap()
    }

    #[test]
    fn every_driver_keeps_as_many_copies_as_it_has_layers() {
        let docker = experiment(&[]);
        let of = |experiment: &Experiment| -> Vec<u64> {
            experiment.configurations.iter().map(|c| c.stack.container.copies_of_image()).collect()
        };
        assert_eq!(of(&docker), [1, 1, 3]);
        assert_eq!(of(&experiment(&[("stack.container.kind", "podman")])), [1, 1, 2]);
        let stack = &docker.configurations[2].stack;
        assert_eq!(room_of_image(stack).0, 3 * std::env::current_exe().unwrap().metadata().unwrap().len());
    }

    #[test]
    fn a_volume_without_room_for_the_image_is_refused_before_anything_is_done() {
        check_room(&experiment(&[])).unwrap();
        let small = [("stack.volume.size", "16MiB"), ("workload.size", "64KiB"), ("workload.files", "1")];
        let error = check_room(&experiment(&small)).unwrap_err().to_string();
        assert!(error.contains("`stack.volume.size`") && error.contains("layers of docker"), "{error}");
    }
}
