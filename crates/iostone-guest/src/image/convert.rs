//! One image made from another: checked before, compared after, given its name only when it is whole and durable.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_model::units::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::chain::Chain;
use super::place::{self, Workplace};
use super::tool::{self, Node, QemuImg};
use super::{
    Image, ImageError, ImageFormat, SECTOR, chain_of, check_tables, describe, exists, occupied, open,
    parent_of, tables_words, whole,
};

const MIB: u64 = 1 << 20;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The image.
    pub source: PathBuf,
    /// What is made of it.
    pub target: PathBuf,
    /// The source's format, where it is stated.
    pub from: Option<ImageFormat>,
    /// The target's format; as its name says where left out.
    pub to: Option<ImageFormat>,
    /// Of the target; its format's first where left out.
    pub subformat: Option<String>,
    /// Whether an existing target is replaced.
    pub replace: bool,
    /// Whether files that the source names are read as well.
    pub with_other_files: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conversion {
    /// The image as it was.
    pub source: Image,
    /// The image that was made.
    pub target: Image,
    /// SHA-256 of the target's file, in hexadecimal digits.
    pub sha256: String,
    /// What was checked and how it came out.
    pub checks: Vec<String>,
    /// What should be known beside.
    pub notes: Vec<String>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// What begins, in a word.
    Phase(&'static str),
    /// Percent of the conversion itself.
    Percent(f64),
}

/// What a conversion needs of the program that it is part of.
pub trait Host {
    /// Makes a directory within another that nobody else may enter, its name beginning with `.iostone-image-`. Whoever made
    /// it removes it, also after a kill.
    ///
    /// # Errors
    /// It cannot be made there, or cannot be written down.
    fn make_private_directory(&mut self, parent: &Path) -> Result<PathBuf, ImageError>;

    /// What lies on a disk by its beginning, in words; none where nothing is known of it.
    fn recognise(&self, head: &[u8]) -> Option<String>;

    /// Hears how far it is.
    fn progress(&mut self, progress: Progress);
}

/// Makes the target.
///
/// # Errors
/// Whatever keeps it from being made; then an existing target is as it was.
pub fn convert(request: &Request, stop: &AtomicBool, host: &mut dyn Host) -> Result<Conversion, ImageError> {
    let target = std::path::absolute(&request.target)
        .map_err(|error| ImageError::io("find", &request.target, error))?;
    let to = target_format(request, &target)?;
    let subformat = subformat(request, to)?;
    let opened = open(&request.source, request.from)?;
    whole(&opened)?;
    let mut checks = vec![format!("it is {}: {}", opened.format.name(), opened.certain_by)];
    let mut notes = opened.notes.clone();
    let (chain, names) = chain_of(opened, request.with_other_files)?;
    check_target(request, &target, &chain)?;
    let qemu = QemuImg::find(stop)?;
    checks.push(names);
    checks.push(chain.free()?);
    let parent = parent_of(&target);
    let private = Workplace::enter(host.make_private_directory(&parent)?)?;
    let source_node = Node::of_layers(chain.layers())?;
    // Its tables first: what is damaged is not looked into further.
    host.progress(Progress::Phase("checking"));
    checks.extend(check_tables(&qemu, &chain)?);
    let source = describe(&chain, &qemu, true)?;
    if request.from.is_none() && source.format == ImageFormat::Raw && host.recognise(&source.head).is_none() {
        notes.push(raw_by_name(&source.file)?);
    }
    let virtual_bytes = source.virtual_bytes.unwrap_or(0);
    check_size(&source, to, virtual_bytes)?;
    checks.push(check_room(&parent, qemu.measure(&source_node)?)?);

    // Under its later name, which VMware's format keeps within.
    let Some(name) = target.file_name() else {
        return Err(ImageError::Usage(format!("`{}` is not a file name", target.display())));
    };
    let made = private.file(name);
    host.progress(Progress::Phase("converting"));
    qemu.convert(&source_node, &made, to, &options(to, subformat), &mut |percent| {
        host.progress(Progress::Percent(percent));
    })?;
    host.progress(Progress::Phase("comparing"));
    let made_chain = Chain::alone(open(&made, Some(to))?);
    let checked = qemu.check(&Node::of(&made, to)?)?;
    checks.push(format!("of the new image: {}", tables_words(checked, to)));
    qemu.compare(&source_node, &Node::of(&made, to)?)?;
    let mut image = describe(&made_chain, &qemu, true)?;
    if image.virtual_bytes != source.virtual_bytes {
        return Err(ImageError::Failed(format!(
            "the disk in the new image would have {} bytes instead of {virtual_bytes}; the target was not created",
            image.virtual_bytes.unwrap_or(0)
        )));
    }
    chain.unchanged()?;
    checks.push(format!("compared after writing: {virtual_bytes} identical bytes"));
    host.progress(Progress::Phase("digesting"));
    let sha256 = finish(&made, &target, &chain, stop)?;
    // Once more: a conversion takes its time, and somebody may have begun to use the old one.
    check_target(request, &target, &chain)?;
    place::put(&made, &target, request.replace)?;
    image.file.clone_from(&target);
    notes.extend(self::notes(&image, virtual_bytes));
    Ok(Conversion { source, target: image, sha256, checks, notes })
}

/// Whether a file without any header and with nothing known on it is a raw disk: its name may say so, nothing else does.
/// What should be known of it then.
fn raw_by_name(source: &Path) -> Result<String, ImageError> {
    if ImageFormat::of_file_name(source).is_some() {
        return Ok("recognised as a raw disk by its name only: no partition table and no filesystem; use `--from` if it is not"
            .to_owned());
    }
    Err(ImageError::Usage(format!(
        "`{}` has no image header, partition table or filesystem, and its name does not say that it is a raw disk; next: \
         `--from raw` if it is",
        source.display()
    )))
}

/// Gives the new file its permissions, makes it durable, and reads it once more for its digest.
fn finish(made: &Path, target: &Path, chain: &Chain, stop: &AtomicBool) -> Result<String, ImageError> {
    let failed = |error| ImageError::io("make durable", made, error);
    let file = File::open(made).map_err(failed)?;
    // What qemu-img made follows the umask. A copy lets nobody read what the source kept from them, nor what the target
    // that it replaces did.
    let own = file.metadata().map_err(failed)?.mode();
    let replaced = fs::symlink_metadata(target).map_or(0o666, |old| old.mode());
    let permissions = own & replaced & chain.common_mode() & 0o666;
    file.set_permissions(fs::Permissions::from_mode(permissions)).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    sha256(file, made, stop)
}

fn target_format(request: &Request, target: &Path) -> Result<ImageFormat, ImageError> {
    let shown = target.display();
    tool::utf8(target)?;
    if target.to_string_lossy().chars().any(char::is_control) {
        return Err(ImageError::Usage(format!(
            "`{}`: a name with control characters would be written into the image; next: choose another",
            target.to_string_lossy().escape_debug()
        )));
    }
    let format = request.to.or_else(|| ImageFormat::of_file_name(target));
    format.ok_or_else(|| {
        let names = ImageFormat::ALL.map(ImageFormat::name).join(", ");
        ImageError::Usage(format!("the name `{shown}` implies no format; next: `--to` with one of {names}"))
    })
}

fn subformat(request: &Request, to: ImageFormat) -> Result<Option<&'static str>, ImageError> {
    let choices = to.subformats();
    let Some(asked) = &request.subformat else { return Ok(choices.first().copied()) };
    if let Some(known) = choices.iter().find(|choice| choice.eq_ignore_ascii_case(asked)) {
        return Ok(Some(known));
    }
    Err(ImageError::Usage(if choices.is_empty() {
        format!("{} has no subformats; next: leave `--subformat` out", to.name())
    } else {
        format!(
            "`{asked}` is not a single-file subformat of {}; next: one of {}",
            to.name(),
            choices.join(", ")
        )
    }))
}

/// The target is free, or a file that may be replaced; never one that is read, never anything that is in use.
fn check_target(request: &Request, target: &Path, chain: &Chain) -> Result<(), ImageError> {
    let shown = target.display();
    if let Ok(other) = fs::metadata(target)
        && let Some(member) = chain.member_that_is(&other)
    {
        let is_source = chain.layers().first().is_some_and(|(source, _)| source.path == member.path);
        let what = if is_source {
            "the source itself".to_owned()
        } else {
            format!("`{}`, which the source needs", member.path.display())
        };
        return Err(ImageError::Refused(format!(
            "`{shown}` is {what}; next: choose another name for the target"
        )));
    }
    match fs::symlink_metadata(target) {
        Err(_) => {}
        Ok(old) if !old.is_file() => {
            return Err(ImageError::Refused(format!(
                "`{shown}` exists and is not a regular file; next: choose another name"
            )));
        }
        Ok(_) if !request.replace => return Err(exists(target)),
        Ok(old) => check_replaced(target, &old)?,
    }
    let parent = parent_of(target);
    if !parent.is_dir() {
        return Err(ImageError::Usage(format!(
            "there is no directory `{}`; next: create it, or choose another target",
            parent.display()
        )));
    }
    Ok(())
}

/// What is replaced is in use by nobody.
fn check_replaced(target: &Path, old: &fs::Metadata) -> Result<(), ImageError> {
    let shown = target.display();
    let user = match occupied::used_by(old) {
        Some(user) => user,
        None => match occupied::is_open_in_qemu(target) {
            Ok(false) => return Ok(()),
            Ok(true) => "a virtual machine or another qemu-img".to_owned(),
            Err(error) => {
                return Err(ImageError::Refused(format!(
                    "cannot check whether a virtual machine uses `{shown}`: {error}; next: choose another name"
                )));
            }
        },
    };
    Err(ImageError::Refused(format!(
        "`{shown}` is in use by {user}; next: detach or stop that first, or choose another name"
    )))
}

fn check_size(source: &Image, to: ImageFormat, virtual_bytes: u64) -> Result<(), ImageError> {
    let shown = source.file.display();
    let size = if source.format == ImageFormat::Raw { source.file_bytes } else { virtual_bytes };
    if size == 0 || !size.is_multiple_of(SECTOR) {
        return Err(ImageError::Usage(format!(
            "`{shown}` is not a multiple of the sector size: {size} bytes, sectors of {SECTOR}; next: check whether it was \
             truncated"
        )));
    }
    match to.most_bytes() {
        Some(most) if size > most => Err(ImageError::Usage(format!(
            "a disk of {size} bytes does not fit in {}, whose maximum is {}; next: choose vhdx, vmdk or raw",
            to.name(),
            Bytes(most)
        ))),
        _ => Ok(()),
    }
}

/// Whether the filesystem of the target has room: what an ordinary user may take of it.
fn check_room(parent: &Path, needed: u64) -> Result<String, ImageError> {
    let room = rustix::fs::statvfs(parent).map_err(|error| ImageError::io("look at", parent, error))?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if free < needed {
        return Err(ImageError::Usage(format!(
            "the image needs about {} but `{}` has {} free; next: free space there, or choose another target",
            Bytes(needed).approximate(),
            parent.display(),
            Bytes(free).approximate()
        )));
    }
    Ok(format!("space: needs about {}, {} free", Bytes(needed).approximate(), Bytes(free).approximate()))
}

fn options(to: ImageFormat, subformat: Option<&str>) -> Vec<String> {
    let mut options: Vec<String> = subformat.map(|name| format!("subformat={name}")).into_iter().collect();
    // Otherwise the disk grows to the next size that cylinders, heads and sectors of old give (block/vpc.c).
    if to == ImageFormat::Vhd {
        options.push("force_size=on".to_owned());
    }
    options
}

fn notes(image: &Image, virtual_bytes: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if image.format == ImageFormat::Vhd {
        if !virtual_bytes.is_multiple_of(MIB) {
            notes.push(format!(
                "Azure accepts only whole MiB, and this disk has {virtual_bytes} bytes: enlarge the raw disk first, \
                 `truncate --size {}`",
                virtual_bytes.next_multiple_of(MIB)
            ));
        }
        if image.subformat.as_deref() == Some("dynamic") {
            notes.push("Azure accepts only fixed disks: `--subformat fixed`".to_owned());
        }
    }
    notes
}

fn sha256(mut file: File, path: &Path, stop: &AtomicBool) -> Result<String, ImageError> {
    let failed = |error| ImageError::io("read", path, error);
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(ImageError::Interrupted);
        }
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        digest.update(buffer.get(..count).unwrap_or_default());
    }
    Ok(digest.finalize().iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    }))
}
