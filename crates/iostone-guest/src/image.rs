//! Disk images turned from one format into another by qemu-img(1), with the checks that this takes.
//!
//! Nothing is believed of an image: its format is what its name and its bytes agree on, or what the user states; what
//! its header names outside its own file is not opened unless that is asked for.

mod chain;
mod convert;
mod format;
mod occupied;
mod place;
mod references;
mod tool;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::error::GuestError;
use crate::open::open_file;
use chain::Chain;
pub use convert::{Conversion, Host, Progress, Request, convert};
pub use format::ImageFormat;
use format::{Content, Header};
use tool::{Checked, Node, QemuImg};

/// Of the disk within an image, what is looked at for a partition table or a filesystem.
const HEAD_MIB: u64 = 5;
/// A sector in bytes: disks are whole numbers of them.
const SECTOR: u64 = 512;

/// Why an image was not read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The question does not go together, or lacks something.
    #[error("{0}")]
    Usage(String),
    /// Something would be harmed or let out.
    #[error("{0}")]
    Refused(String),
    /// A program is not installed; with the command that brings it.
    #[error("{0}")]
    Missing(String),
    /// The image is damaged, or qemu-img failed.
    #[error("{0}")]
    Failed(String),
    /// The user asked to stop; nothing of the new image is left.
    #[error("interrupted")]
    Interrupted,
}

impl ImageError {
    fn io(action: &str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Failed(format!("cannot {action} `{}`: {}", path.display(), error.into()))
    }

    /// Nothing can be made in a directory, and why.
    #[must_use]
    pub fn no_place(directory: &Path, error: &io::Error) -> Self {
        let reason = format!(
            "cannot write to `{}`: {error}; next: choose another target directory, or make this one writable with enough space",
            directory.display()
        );
        match error.kind() {
            // The target's place does not do; nothing failed yet.
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded => Self::Usage(reason),
            _ => Self::Failed(reason),
        }
    }

    /// A file that somebody named cannot be read.
    fn unreadable(path: &Path, error: &io::Error) -> Self {
        let next = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "check the path",
            io::ErrorKind::PermissionDenied => "run this as its owner or root",
            // Of `open_file`: it is no plain file.
            io::ErrorKind::InvalidInput => "name a regular file; copy a device with `dd`",
            _ => "check whether it can be copied",
        };
        Self::Usage(format!("cannot read `{}`: {error}; next: {next}", path.display()))
    }
}

impl From<GuestError> for ImageError {
    fn from(error: GuestError) -> Self {
        match error {
            GuestError::Interrupted => Self::Interrupted,
            GuestError::Missing(reason) => Self::Missing(reason),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// An image as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Image {
    /// Its absolute path.
    pub file: PathBuf,
    /// Its format.
    pub format: ImageFormat,
    /// `fixed`, `dynamic`, `streamOptimized`, ...; none where the format has no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subformat: Option<String>,
    /// Bytes of the disk within; none where other files were needed and not opened.
    pub virtual_bytes: Option<u64>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Bytes that the file takes up.
    pub allocated_bytes: u64,
    /// Files outside of it that its header names, in words.
    pub other_files: Vec<String>,
    /// The beginning of the disk within, 5 MiB at most; empty where it was not read.
    #[serde(skip)]
    pub head: Vec<u8>,
}

/// An image that was opened, with what was found out on the way.
struct Opened {
    path: PathBuf,
    metadata: fs::Metadata,
    header: Header,
    format: ImageFormat,
    /// By what its format is certain, in words.
    certain_by: &'static str,
    other_files: Vec<String>,
    /// What should be known of the format.
    notes: Vec<String>,
}

/// What an image is, without opening any other file.
///
/// # Errors
/// A file that cannot be read, a format that is not certain, qemu-img missing or failing.
pub fn inspect(
    path: &Path,
    from: Option<ImageFormat>,
    stop: &AtomicBool,
) -> Result<(Image, Vec<String>), ImageError> {
    let opened = open(path, from)?;
    let mut notes = opened.notes.clone();
    notes.extend(not_whole(&opened).map(|reason| format!("it is {reason}; check whether it was truncated")));
    let is_alone = opened.other_files.is_empty();
    let qemu = QemuImg::find(stop)?;
    let image = describe(&Chain::alone(opened), &qemu, is_alone)?;
    Ok((image, notes))
}

/// Checks an image: its header, what it names, whether it is in use, and qemu-img's own check of its tables. What was
/// checked and how it came out, one sentence each.
///
/// # Errors
/// Those of [`inspect`]; [`ImageError::Failed`] for a damaged image.
pub fn check(
    path: &Path,
    from: Option<ImageFormat>,
    with_other_files: bool,
    stop: &AtomicBool,
) -> Result<(Image, Vec<String>), ImageError> {
    let opened = open(path, from)?;
    whole(&opened)?;
    let mut told = opened.notes.clone();
    let (chain, names) = chain_of(opened, with_other_files)?;
    let qemu = QemuImg::find(stop)?;
    told.push(names);
    told.push(chain.free()?);
    let image = describe(&chain, &qemu, true)?;
    told.extend(check_tables(&qemu, &chain)?);
    Ok((image, told))
}

/// What conversions that were killed left beside a file: nobody is at work in these directories any more.
pub fn leftovers_beside(path: &Path) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    place::leftovers(&parent_of(&path))
}

fn open(path: &Path, from: Option<ImageFormat>) -> Result<Opened, ImageError> {
    let path = std::path::absolute(path).map_err(|error| ImageError::io("find", path, error))?;
    tool::utf8(&path)?;
    let unreadable = |error: io::Error| ImageError::unreadable(&path, &error);
    let file = open_file(&path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let header = Header::read(&file).map_err(unreadable)?;
    if header.size_bytes == 0 {
        return Err(ImageError::Usage(format!(
            "`{}` is empty; next: download or create it again",
            path.display()
        )));
    }
    let (format, mut notes) = settle_format(&path, &header.content(), from)?;
    let certain_by = match from {
        Some(_) => "as given by `--from`",
        None if ImageFormat::of_file_name(&path).is_some() => "name and content agree",
        None => "its content matches no other format, and its name names none",
    };
    if let Some(reason) = references::unreadable(format, &header) {
        return Err(ImageError::Usage(format!("`{}`: {reason}", path.display())));
    }
    if format == ImageFormat::Vhd {
        notes.extend(fixed_size(&path, &header)?);
    }
    if format == ImageFormat::Qcow2 {
        notes.extend(snapshots_words(header.qcow2_snapshots()));
    }
    let other_files = references::other_files(format, &header);
    Ok(Opened { path, metadata, header, format, certain_by, other_files, notes })
}

/// What becomes of an image's internal snapshots: qemu-img reads the disk as it is now.
fn snapshots_words(count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some("it has 1 snapshot, which is not converted".to_owned()),
        _ => Some(format!("it has {count} snapshots, which are not converted")),
    }
}

/// The footer of a fixed VHD says how long the disk before it is.
fn fixed_size(path: &Path, header: &Header) -> Result<Option<String>, ImageError> {
    let (Some(stated), Some(there)) = (header.vhd_current_bytes(), header.vhd_fixed_bytes()) else {
        return Ok(None);
    };
    if there < stated {
        return Err(ImageError::Usage(format!(
            "`{}` states a disk of {stated} bytes, but contains {there}; next: download it again",
            path.display()
        )));
    }
    let behind = || format!("{} bytes after the disk of {stated} bytes are not part of it", there - stated);
    Ok((there > stated).then(behind))
}

/// Why a raw disk is none, in words: sectors have 512 bytes, and a disk has only whole ones.
fn not_whole(opened: &Opened) -> Option<String> {
    let size = opened.header.size_bytes;
    (opened.format == ImageFormat::Raw && !size.is_multiple_of(SECTOR))
        .then(|| format!("not a multiple of the sector size: {size} bytes, sectors of {SECTOR}"))
}

fn whole(opened: &Opened) -> Result<(), ImageError> {
    not_whole(opened).map_or(Ok(()), |reason| {
        let shown = opened.path.display();
        Err(ImageError::Usage(format!("`{shown}` is {reason}; next: check whether it was truncated")))
    })
}

/// The format that is stated, or that name and bytes agree on. A raw disk may begin with any header, put there by
/// whoever wrote to the disk: bytes alone are not believed.
fn settle_format(
    path: &Path,
    content: &Content,
    from: Option<ImageFormat>,
) -> Result<(ImageFormat, Vec<String>), ImageError> {
    let shown = path.display();
    match (from, content) {
        (Some(ImageFormat::Raw), Content::Plain) => Ok((ImageFormat::Raw, Vec::new())),
        (Some(ImageFormat::Raw), other) => Ok((
            ImageFormat::Raw,
            vec![format!("it has {}, taken as content of the disk as stated", other.in_words())],
        )),
        (Some(stated), Content::Known(found)) if stated == *found => Ok((stated, Vec::new())),
        (Some(stated), other) => Err(ImageError::Usage(format!(
            "`{shown}` is not {}: it has {}; next: state its format with `--from`",
            stated.name(),
            other.in_words()
        ))),
        (None, Content::Foreign(other)) => Err(ImageError::Usage(format!(
            "`{shown}` has the header of {}, which cannot be converted here; next: {}, or `--from raw` if it is a raw disk",
            other.name, other.next
        ))),
        (None, content) => {
            let found = if let Content::Known(found) = content { *found } else { ImageFormat::Raw };
            match ImageFormat::of_file_name(path) {
                Some(named) if named == found => Ok((found, Vec::new())),
                Some(named) => Err(ImageError::Usage(format!(
                    "`{shown}` is named as {} but has {}; next: state its format, `--from {}` or `--from {}`",
                    named.name(),
                    content.in_words(),
                    named.name(),
                    found.name()
                ))),
                None if found == ImageFormat::Raw => Ok((found, Vec::new())),
                None => Err(ImageError::Usage(format!(
                    "`{shown}` has {}, but another name, and a raw disk may begin with the same bytes; next: state its \
                     format, `--from {}` or `--from raw`",
                    content.in_words(),
                    found.name()
                ))),
            }
        }
    }
}

/// The image with what it names, which is refused unasked. What was found, in a sentence.
fn chain_of(opened: Opened, with_other_files: bool) -> Result<(Chain, String), ImageError> {
    if opened.other_files.is_empty() {
        return Ok((Chain::alone(opened), "its header names no other file".to_owned()));
    }
    let shown = opened.path.display();
    let files = opened.other_files.join(", ");
    if !with_other_files {
        return Err(ImageError::Refused(format!(
            "`{shown}` names {files}, whose content would be read as part of it; next: `--with-backing` if you trust its source"
        )));
    }
    let chain = Chain::follow(opened)?;
    let all: Vec<String> =
        chain.members().skip(1).map(|member| format!("`{}`", member.path.display())).collect();
    let told = format!("its header names {files}; also read, as requested: {}", all.join(", "));
    Ok((chain, told))
}

/// qemu-img's own check of the tables of an image and of those below it, a sentence each.
fn check_tables(qemu: &QemuImg<'_>, chain: &Chain) -> Result<Vec<String>, ImageError> {
    let mut told = Vec::new();
    for (at, layer) in chain.layers().iter().enumerate() {
        let image = &layer.0;
        let node = Node::of_layers(std::slice::from_ref(layer))?;
        let words = tables_words(qemu.check(&node)?, image.format);
        told.push(if at == 0 { words } else { format!("of `{}`: {words}", image.path.display()) });
    }
    Ok(told)
}

fn tables_words(checked: Checked, format: ImageFormat) -> String {
    match checked {
        Checked::Sound => "qemu-img check found no error".to_owned(),
        Checked::Leaks => "qemu-img check found leaked clusters and no other error".to_owned(),
        Checked::Unsupported => format!("qemu-img has no check of {}", format.name()),
    }
}

/// What an image is, its beginning read if `is_readable` without a file that was not followed.
fn describe(chain: &Chain, qemu: &QemuImg<'_>, is_readable: bool) -> Result<Image, ImageError> {
    let Some((opened, _)) = chain.layers().first() else {
        return Err(ImageError::Usage("there is no image".to_owned()));
    };
    let mut image = Image {
        file: opened.path.clone(),
        format: opened.format,
        subformat: None,
        virtual_bytes: None,
        file_bytes: opened.header.size_bytes,
        // st_blocks counts 512 bytes, whatever the filesystem's blocks: inode(7).
        allocated_bytes: opened.metadata.blocks().saturating_mul(512),
        other_files: opened.other_files.clone(),
        head: Vec::new(),
    };
    if !is_readable {
        return Ok(image);
    }
    // `qemu-img info` and `check` open nothing below, and take no word of it either.
    let top = Node::of_layers(chain.layers().get(..1).unwrap_or_default())?;
    let info = qemu.info(&top)?;
    image.subformat = match opened.format {
        ImageFormat::Vmdk => info.create_type(),
        ImageFormat::Vhd if opened.header.vhd_fixed_bytes().is_none() => Some("dynamic".to_owned()),
        ImageFormat::Vhd => Some("fixed".to_owned()),
        _ => None,
    };
    let stated = opened.header.vhd_current_bytes().filter(|_| opened.format == ImageFormat::Vhd);
    if let Some(stated) = stated.filter(|stated| *stated != info.virtual_bytes) {
        return Err(ImageError::Failed(format!(
            "the footer of `{}` states a disk of {stated} bytes, but qemu-img reads {}; next: have it exported again where it \
             was created",
            opened.path.display(),
            info.virtual_bytes
        )));
    }
    image.virtual_bytes = Some(info.virtual_bytes);
    image.head = head(qemu, &Node::of_layers(chain.layers())?)?;
    Ok(image)
}

/// The beginning of the disk within, by way of memory: it takes no room, and nothing of it is left after a kill.
fn head(qemu: &QemuImg<'_>, node: &Node) -> Result<Vec<u8>, ImageError> {
    let name = Path::new("/proc/self/fd");
    let failed = |error: io::Error| ImageError::io("read the beginning of the disk through", name, error);
    let memory = rustix::fs::memfd_create("iostone-image-head", rustix::fs::MemfdFlags::CLOEXEC);
    let mut memory = File::from(memory.map_err(|error| failed(error.into()))?);
    // Of this process: qemu-img's own /proc/self is another.
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd()));
    qemu.copy_head(node, HEAD_MIB, &path)?;
    let mut head = Vec::new();
    memory.read_to_end(&mut head).map_err(failed)?;
    Ok(head)
}

fn exists(target: &Path) -> ImageError {
    ImageError::Refused(format!(
        "`{}` exists; next: `--force` to replace it, or another name",
        target.display()
    ))
}

/// The directory of an absolute path.
fn parent_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(name: &str, content: Content, from: Option<ImageFormat>) -> Result<ImageFormat, String> {
        settle_format(Path::new(name), &content, from).map(|(format, _)| format).map_err(|e| e.to_string())
    }

    #[test]
    fn a_format_is_what_name_and_bytes_agree_on() {
        use ImageFormat::{Qcow2, Raw, Vmdk};
        assert_eq!(settled("a.qcow2", Content::Known(Qcow2), None), Ok(Qcow2));
        assert_eq!(settled("a.img", Content::Plain, None), Ok(Raw));
        assert_eq!(settled("a", Content::Plain, None), Ok(Raw));
        let doubtful = settled("a.img", Content::Known(Qcow2), None).unwrap_err();
        assert!(doubtful.ends_with("`--from raw` or `--from qcow2`"), "{doubtful}");
        assert!(settled("a", Content::Known(Qcow2), None).unwrap_err().contains("--from raw"));
        assert!(settled("a.vmdk", Content::Plain, None).unwrap_err().contains("named as vmdk"));
        assert_eq!(settled("a.img", Content::Known(Qcow2), Some(Raw)), Ok(Raw));
        assert!(settled("a.img", Content::Plain, Some(Vmdk)).unwrap_err().contains("is not vmdk"));
        let mut vdi = vec![0; 0x44];
        vdi[0x40..].copy_from_slice(&[0x7f, 0x10, 0xda, 0xbe]);
        let vdi = Header { head: vdi, tail: Vec::new(), size_bytes: 1 << 20 }.content();
        assert!(settled("a.img", vdi, None).unwrap_err().contains("header of vdi"));
        assert_eq!(settled("a.img", vdi, Some(Raw)), Ok(Raw));
    }

    #[test]
    fn snapshots_are_counted() {
        assert_eq!(snapshots_words(0), None);
        assert!(snapshots_words(1).unwrap().contains("1 snapshot,"));
        assert!(snapshots_words(2).unwrap().contains("2 snapshots,"));
    }

    #[test]
    fn what_cannot_be_read_comes_with_what_to_do() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let gone = place.path().join("gone");
        for (path, next) in [
            (Path::new("/dev/null"), "a character device, not a file; next: name a regular file"),
            (place.path(), "a directory, not a file; next: name a regular file"),
            (&fifo, "a FIFO, not a file; next: name a regular file"),
            (&gone, "; next: check the path"),
        ] {
            let error = open(path, None).err().unwrap();
            assert!(matches!(&error, ImageError::Usage(reason) if reason.contains(next)), "{error}");
        }
    }
}
