//! Admin commands of NVMe through the kernel's ioctl: the one place that speaks to a controller by hand, and it only reads.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `NVME_IOCTL_ADMIN_CMD`, `_IOWR('N', 0x41, struct nvme_admin_cmd)` (`linux/nvme_ioctl.h`).
const ADMIN_COMMAND: u64 = 0xC048_4E41;
/// Opcode of Get Log Page (NVM Express Base Specification).
const GET_LOG_PAGE: u8 = 0x02;
/// Opcode of Identify.
const IDENTIFY: u8 = 0x06;
/// The value of CNS that means the controller's own data.
const CONTROLLER: u32 = 1;
/// What Identify answers has this length, always.
const IDENTIFY_BYTES: usize = 4096;
/// The namespace that Amazon's page is asked of.
const NAMESPACE: u32 = 1;

/// `struct nvme_passthru_cmd`; a timeout of 0 is the kernel's own, and a shorter one would have the kernel reset the
/// controller of a volume that is merely busy.
#[repr(C)]
#[derive(Debug, Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

// The ioctl's number carries this size: 0x48 bytes.
const _: () = assert!(size_of::<Command>() == 0x48);

/// What the controller made of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It filled the buffer.
    Done,
    /// It refused.
    Refused {
        /// The status field without its phase: code in bits 0 to 7, its type in bits 8 to 10.
        status: u16,
    },
}

/// Asks a controller what it is; the answer fills 4096 bytes.
///
/// # Errors
/// The kernel's: `ENOTTY` and others where the file is no NVMe device, `EACCES` without `CAP_SYS_ADMIN`; `EINVAL` for a
/// buffer of another length.
pub fn identify_controller(device: &File, buffer: &mut [u8]) -> io::Result<Answer> {
    if buffer.len() != IDENTIFY_BYTES {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut command = Command { opcode: IDENTIFY, ..Command::default() };
    command.words_10_15[0] = CONTROLLER;
    submit(device, command, buffer)
}

/// Reads a piece of a log page, from `offset_bytes` on, as long as the buffer: whole words of four bytes, 16 KiB at most.
///
/// # Errors
/// As [`identify_controller`].
pub fn log_page(device: &File, page: u8, offset_bytes: u32, buffer: &mut [u8]) -> io::Result<Answer> {
    let words = u32::try_from(buffer.len() / 4).map_err(|_| io::ErrorKind::InvalidInput)?;
    if !(1..=4096).contains(&words) || !buffer.len().is_multiple_of(4) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let command = Command { opcode: GET_LOG_PAGE, namespace: NAMESPACE, ..Command::default() };
    submit(device, at_page(command, page, offset_bytes, words), buffer)
}

/// Word 10 has the page's number and, from bit 16, how many words but one; word 12 the lower half of the offset.
fn at_page(mut command: Command, page: u8, offset_bytes: u32, words: u32) -> Command {
    command.words_10_15[0] = u32::from(page) | ((words - 1) << 16);
    command.words_10_15[2] = offset_bytes;
    command
}

#[expect(unsafe_code, reason = "the standard library and rustix have no ioctl for commands of NVMe")]
fn submit(device: &File, mut command: Command, buffer: &mut [u8]) -> io::Result<Answer> {
    command.address = buffer.as_mut_ptr() as u64;
    command.data_bytes = u32::try_from(buffer.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the request reads and writes one `Command`, whose layout is that of linux/nvme_ioctl.h. Both opcodes that get
    // here only move data to the host: at most `data_bytes` to `address`, which is `buffer`, borrowed mutably until the
    // call is over; the call is synchronous. Files that are no NVMe devices refuse the request without looking at it.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND as _, &raw mut command) };
    match answer {
        0 => Ok(Answer::Done),
        ..0 => Err(io::Error::last_os_error()),
        // Above zero it is the controller's status (drivers/nvme/host/ioctl.c).
        status => Ok(Answer::Refused { status: u16::try_from(status).unwrap_or(u16::MAX) }),
    }
}

/// What a status means, for those that a question may meet (NVM Express Base Specification, status codes).
pub fn status_in_words(status: u16) -> &'static str {
    match status & 0x7FF {
        0x001 => "which means: it does not know the command",
        0x002 => "which means: a field of the command is invalid",
        0x006 => "which means: an internal error",
        0x00B => "which means: no such namespace, or one in another format",
        0x109 => "which means: there is no such log page",
        _ => "which the NVM Express Base Specification explains",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_command_are_the_published_ones() {
        let word = |offset, words| at_page(Command::default(), 0xD0, offset, words).words_10_15;
        assert_eq!(word(0, 1024), [0x03FF_00D0, 0, 0, 0, 0, 0]);
        assert_eq!(word(4096, 1024), [0x03FF_00D0, 0, 4096, 0, 0, 0]);
    }

    #[test]
    fn buffers_of_other_lengths_are_refused_before_anything_is_asked() {
        let file = File::open("/dev/null").unwrap();
        for length in [0, 3, 6, 16_388] {
            let mut buffer = vec![0; length];
            assert_eq!(
                log_page(&file, 0xD0, 0, &mut buffer).unwrap_err().kind(),
                io::ErrorKind::InvalidInput
            );
        }
        let short = identify_controller(&file, &mut [0; 512]);
        assert_eq!(short.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_file_that_is_no_nvme_device_refuses_the_request() {
        let file = File::open("/dev/null").unwrap();
        let error = identify_controller(&file, &mut [0; IDENTIFY_BYTES]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_status_is_explained_without_its_further_bits() {
        // Bit 14 says that asking again is of no use.
        assert_eq!(status_in_words(0x4109), status_in_words(0x0109));
        assert!(status_in_words(0x7FF).contains("Specification"));
    }
}
