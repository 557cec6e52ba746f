//! The kernel that runs on this host, and where modules lie.

use std::path::{Path, PathBuf};

use super::{Kernel, at_path};
use crate::error::GuestError;

/// The kernel that runs here, found by its release.
///
/// # Errors
/// [`GuestError::Missing`] with the places where its image was looked for.
pub(super) fn running() -> Result<Kernel, GuestError> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let candidates = candidates(&release);
    let found = candidates.iter().find(|path| path.is_file());
    let path = found.ok_or_else(|| GuestError::Missing(not_found(&release, &candidates)))?;
    let kernel = at_path(path)?;
    if kernel.release != release {
        return Err(GuestError::Unsuitable(format!(
            "this host runs {release}, and `{}` is {}; next: boot it, or name a kernel by its path",
            path.display(),
            kernel.release
        )));
    }
    Ok(kernel)
}

/// Where distributions keep the image of a release.
fn candidates(release: &str) -> Vec<PathBuf> {
    vec![
        PathBuf::from(format!("/boot/vmlinuz-{release}")),
        PathBuf::from(format!("/usr/lib/modules/{release}/vmlinuz")),
        PathBuf::from(format!("/lib/modules/{release}/vmlinuz")),
        PathBuf::from("/vmlinuz"),
    ]
}

fn not_found(release: &str, candidates: &[PathBuf]) -> String {
    let places: Vec<String> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
    format!(
        "the image of this host's kernel {release} was not found at {}; next: name a kernel by its path, or a Debian kernel \
         (`iostone guest kernels`)",
        places.join(", ")
    )
}

/// The modules of a release, where packages put them in relation to the image: in the same directory (`vmlinuz` of an
/// unpacked Debian 7.x kernel lies with its modules), in the tree that `boot` is part of, and on this host.
pub(super) fn modules_beside(image: &Path, release: &str) -> Option<PathBuf> {
    let directory = image.parent()?;
    let mut candidates = vec![directory.join("modules"), directory.to_owned()];
    if let Some(root) = directory.parent() {
        candidates.push(root.join("lib/modules").join(release));
        candidates.push(root.join("usr/lib/modules").join(release));
    }
    candidates.push(PathBuf::from("/lib/modules").join(release));
    candidates.push(PathBuf::from("/usr/lib/modules").join(release));
    candidates.into_iter().find(|candidate| candidate.join("kernel").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_image_was_looked_for_is_said() {
        let text = not_found("6.1.0", &candidates("6.1.0"));
        for place in ["`/boot/vmlinuz-6.1.0`", "`/usr/lib/modules/6.1.0/vmlinuz`", "`/vmlinuz`"] {
            assert!(text.contains(place), "{text}");
        }
    }

    #[test]
    fn modules_are_found_beside_an_unpacked_kernel() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("lib/modules/9.9.9-none");
        std::fs::create_dir_all(modules.join("kernel")).unwrap();
        let image = root.path().join("boot/vmlinuz-9.9.9-none");
        assert_eq!(modules_beside(&image, "9.9.9-none"), Some(modules));
        assert_eq!(modules_beside(&image, "9.9.8-none"), None);
    }
}
