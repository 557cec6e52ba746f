//! Where a comparison works: a loop device unless the user names something else.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_model::units::Bytes;

use super::quoted;

/// Large enough for every filesystem that can be made (mkfs.xfs asks for 300 MiB) and filled in a second.
const DEFAULT_SIZE: &str = "384MiB";

/// Where the load works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VolumeChoice {
    /// A loop device of that size.
    Loop(String),
    /// A directory of a mounted filesystem; where the run's records are if it has no path.
    Directory(Option<PathBuf>),
    /// A block device, whose content is destroyed.
    Block(PathBuf),
    /// A volume type of a cloud.
    Emulated {
        /// As the catalogue calls it.
        kind: String,
        /// Its size.
        size: String,
    },
}

impl VolumeChoice {
    /// A size, a directory, a device, or a volume type with its size.
    pub(crate) fn named(text: &str) -> Result<Self> {
        let is_size = |text: &str| text.parse::<Bytes>().is_ok();
        let path = Path::new(text);
        if text.starts_with("/dev/") || text.starts_with("serial:") || text.starts_with("vol-") {
            return Ok(Self::Block(path.to_owned()));
        }
        if is_size(text) {
            return Ok(Self::Loop(text.to_owned()));
        }
        if path.is_dir() {
            let directory = std::path::absolute(path)?;
            return Ok(Self::Directory(Some(directory)));
        }
        match text.split_once(':') {
            Some(("loop", size)) if is_size(size) => Ok(Self::Loop(size.to_owned())),
            Some((kind, size)) if is_size(size) && !kind.is_empty() => {
                Ok(Self::Emulated { kind: kind.to_owned(), size: size.to_owned() })
            }
            _ => bail!(
                "`--volume {text}` is no volume: expected the size of a loop device (`1GiB`), a directory, a device \
                 (`/dev/disk/by-id/...`), or a volume type with its size (`gp3:8GiB`)"
            ),
        }
    }

    /// A loop device of the usual size.
    pub(crate) fn default_loop() -> Self {
        Self::Loop(DEFAULT_SIZE.to_owned())
    }

    /// Whether a filesystem is made on it.
    pub(crate) fn is_device(&self) -> bool {
        !matches!(self, Self::Directory(_))
    }

    /// `[stack]` as a file has it.
    pub(super) fn lines(&self, with_filesystem: bool) -> Vec<String> {
        let volume = match self {
            Self::Loop(size) => {
                format!("volume = {{ kind = \"loop\", size = {}, backing_io = \"direct\" }}", quoted(size))
            }
            Self::Directory(None) => "volume = { kind = \"directory\" }".to_owned(),
            Self::Directory(Some(path)) => {
                format!("volume = {{ kind = \"directory\", path = {} }}", quoted(&path.to_string_lossy()))
            }
            Self::Block(path) => {
                format!("volume = {{ kind = \"block\", devices = [{}] }}", quoted(&path.to_string_lossy()))
            }
            Self::Emulated { kind, size } => {
                format!(
                    "volume = {{ kind = \"emulated\", type = {}, size = {} }}",
                    quoted(kind),
                    quoted(size)
                )
            }
        };
        let mut lines = Vec::new();
        if matches!(self, Self::Loop(_)) {
            lines.push(
                "# A loop device over a file that is made and removed; it bypasses this host's page cache."
                    .to_owned(),
            );
        }
        lines.push(volume);
        if self.is_device() && with_filesystem {
            lines.push("filesystem = { kind = \"ext4\" }".to_owned());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_what_its_name_looks_like() {
        let named = |text: &str| VolumeChoice::named(text).unwrap();
        assert_eq!(named("2GiB"), VolumeChoice::Loop("2GiB".to_owned()));
        assert_eq!(named("loop:2G"), VolumeChoice::Loop("2G".to_owned()));
        assert_eq!(named("/tmp"), VolumeChoice::Directory(Some("/tmp".into())));
        assert_eq!(named("/dev/sdx"), VolumeChoice::Block("/dev/sdx".into()));
        assert!(matches!(named("gp3:8GiB"), VolumeChoice::Emulated { .. }));
        assert!(VolumeChoice::named("somewhere").unwrap_err().to_string().contains("expected the size"));
    }
}
