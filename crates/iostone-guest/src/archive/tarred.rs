//! The same members as a tar archive, which engines of containers import as the root directory of an image.
//!
//! The format is that of tar(5), with GNU's entries for long names. Device nodes are left out: engines make those of a
//! container themselves.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::{Archive, Counted, HostContent, Member};
use crate::error::GuestError;

impl Archive {
    /// Writes the archive as tar to a new file; returns its length in bytes.
    pub(crate) fn write_tar_file(&self, path: &Path) -> Result<u64, GuestError> {
        let file = File::create(path).map_err(|error| GuestError::io("create", path, error))?;
        let mut counted = Counted { inner: BufWriter::with_capacity(1 << 18, file), written_bytes: 0 };
        self.write_tar(&mut counted)?;
        counted.inner.flush().map_err(|error| GuestError::io("write", path, error))?;
        Ok(counted.written_bytes)
    }

    /// Writes the archive as tar.
    pub(crate) fn write_tar(&self, out: &mut impl Write) -> Result<(), GuestError> {
        let mut builder = Builder::new(out);
        for (path, member) in &self.members {
            append(&mut builder, path, member)?;
        }
        builder.finish().map_err(|error| GuestError::io("end the archive after", Path::new("/"), error))
    }
}

fn append(builder: &mut Builder<impl Write>, path: &str, member: &Member) -> Result<(), GuestError> {
    let named = |error: io::Error| GuestError::io("write into the archive", Path::new(path), error);
    match member {
        Member::Directory => {
            // A name that ends in a slash is what tar(5) calls a directory, beside the type.
            let mut header = header_of(EntryType::Directory, 0o755, 0);
            builder.append_data(&mut header, format!("{path}/"), io::empty()).map_err(named)
        }
        Member::Symlink(target) => {
            let mut header = header_of(EntryType::Symlink, 0o777, 0);
            builder.append_link(&mut header, path, target).map_err(named)
        }
        Member::CharacterDevice { .. } => Ok(()),
        Member::Bytes { mode, content } => {
            append_file(builder, path, *mode, content.len() as u64, content.as_slice()).map_err(named)
        }
        Member::HostFile { mode, path: host, part } => {
            let content = HostContent::open(host, *part)?;
            append_file(builder, path, *mode, content.bytes, content).map_err(named)
        }
    }
}

fn append_file(
    builder: &mut Builder<impl Write>,
    path: &str,
    mode: u32,
    bytes: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = header_of(EntryType::Regular, mode & 0o7777, bytes);
    builder.append_data(&mut header, path, content)
}

/// Without a time and of root's, so that equal members make equal bytes.
fn header_of(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn members_come_out_of_a_tar_as_they_went_in_but_for_devices() {
        let directory = tempfile::tempdir().unwrap();
        let host = directory.path().join("host");
        std::fs::write(&host, "of the host").unwrap();
        let long = format!("deep/{}/file", "x".repeat(150));
        let mut archive = Archive::default();
        archive.add("bin/tool", Member::HostFile { mode: 0o755, path: host, part: Part::All });
        archive.add("lib", Member::Symlink("usr/lib".to_owned()));
        archive.add("dev/console", Member::CharacterDevice { major: 5, minor: 1 });
        archive.add(&long, Member::Bytes { mode: 0o644, content: b"bytes".to_vec() });
        let (mut one, mut two) = (Vec::new(), Vec::new());
        archive.write_tar(&mut one).unwrap();
        archive.write_tar(&mut two).unwrap();
        assert_eq!(one, two, "equal members make equal bytes");

        let mut found = BTreeMap::new();
        let mut read = tar::Archive::new(one.as_slice());
        for entry in read.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let link = entry.link_name().unwrap().map(|link| link.display().to_string());
            let path = entry.path().unwrap().display().to_string();
            let (kind, mode) = (entry.header().entry_type(), entry.header().mode().unwrap());
            found.insert(path, (kind, mode, link.unwrap_or(content)));
        }
        assert_eq!(found["bin/tool"], (EntryType::Regular, 0o755, "of the host".to_owned()));
        assert_eq!(found["lib"], (EntryType::Symlink, 0o777, "usr/lib".to_owned()));
        assert_eq!(found[&long], (EntryType::Regular, 0o644, "bytes".to_owned()));
        assert_eq!(found["dev/"].0, EntryType::Directory);
        assert!(!found.contains_key("dev/console"), "{found:?}");
    }
}
