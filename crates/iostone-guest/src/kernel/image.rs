//! What a kernel's image says of itself: the header of a bzImage.
//!
//! The offsets are those of the kernel's `Documentation/arch/x86/boot.rst`, "The Real-Mode Kernel Header".

use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::GuestError;
use crate::open::open_file;

/// `boot_flag`, two bytes, little-endian.
const BOOT_FLAG_AT: usize = 0x1fe;
const BOOT_FLAG: [u8; 2] = [0x55, 0xaa];
/// `header`, the magic number.
const MAGIC_AT: usize = 0x202;
const MAGIC: [u8; 4] = *b"HdrS";
/// `kernel_version`, two bytes: where the text of the version lies, less 0x200.
const VERSION_AT: usize = 0x20e;
const VERSION_BASE: usize = 0x200;
/// The text is in the real-mode code, which has 64 sectors at most beside its first.
const HEAD_BYTES: usize = 65 * 512;

/// The release in the header of a bzImage, as `uname -r` will say it.
///
/// # Errors
/// [`GuestError::Unsuitable`] when the file is no bzImage, [`GuestError::Io`] when it cannot be read.
pub(crate) fn release_of(image: &Path) -> Result<String, GuestError> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let file = open_file(image).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            GuestError::Missing(format!("there is no kernel `{}`: no such file", image.display()))
        }
        _ => GuestError::Unsuitable(format!("the kernel `{}` cannot be read: {error}", image.display())),
    })?;
    let read = file.take(HEAD_BYTES as u64).read_to_end(&mut head);
    read.map_err(|error| GuestError::io("read the kernel", image, error))?;
    release_in(&head).map_err(|reason| {
        GuestError::Unsuitable(format!("`{}` is not a Linux kernel ({reason})", image.display()))
    })
}

/// The release in the first bytes of an image, or why there is none.
pub(super) fn release_in(head: &[u8]) -> Result<String, String> {
    if head.starts_with(b"\x7fELF") {
        return Err(
            "it is an ELF file; guests boot a bzImage (`arch/x86/boot/bzImage` of a build)".to_owned()
        );
    }
    if head.get(BOOT_FLAG_AT..BOOT_FLAG_AT + 2) != Some(&BOOT_FLAG) {
        return Err("it has no boot sector: 0xAA55 is not at 0x1FE".to_owned());
    }
    if head.get(MAGIC_AT..MAGIC_AT + 4) != Some(&MAGIC) {
        return Err("`HdrS` is not at 0x202, as in a bzImage".to_owned());
    }
    let offset = match head.get(VERSION_AT..VERSION_AT + 2) {
        Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
        _ => 0,
    };
    if offset == 0 {
        return Err("its header names no version".to_owned());
    }
    let text = head.get(VERSION_BASE + offset..).unwrap_or_default();
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let release = text.split(|byte| *byte == b' ').next().unwrap_or_default();
    match std::str::from_utf8(release) {
        Ok(release) if !release.is_empty() && release.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(release.to_owned())
        }
        _ => Err("the version in its header is not text".to_owned()),
    }
}

/// SHA-256 of a file in hexadecimal digits.
///
/// # Errors
/// [`GuestError::Io`] when it cannot be read.
pub(crate) fn digest_of(path: &Path) -> Result<String, GuestError> {
    let failed = |error| GuestError::io("read", path, error);
    let mut file = open_file(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hasher.update(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let mut digits = String::with_capacity(64);
    for byte in hasher.finalize() {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}
