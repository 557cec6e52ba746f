//! NBD on the wire: the numbers of the protocol, requests and their answers.
//!
//! Everything here follows the protocol document of the NBD project (`doc/proto.md` of `NetworkBlockDevice/nbd`). Numbers are
//! big-endian. Served is the fixed newstyle handshake and the transmission phase with simple replies.

pub(crate) mod handshake;

#[cfg(test)]
mod tests;

/// The first eight bytes of a server (`NBDMAGIC`).
pub(crate) const INIT_MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// The next eight, and the first of each option (`IHAVEOPT`).
pub(crate) const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// Begins each reply to an option.
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Begins each request.
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Begins each simple reply.
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;

/// The bytes of a request without its payload.
pub(crate) const REQUEST_BYTES: usize = 28;
/// The bytes of a simple reply without its payload.
pub(crate) const REPLY_BYTES: usize = 16;
/// The largest payload of a read or a write: 32 MiB, which is what the document advises and clients assume.
pub const LARGEST_PAYLOAD_BYTES: u32 = 32 << 20;

/// `NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES`, as said by the server and, in its 32 bits, by the client.
pub(crate) const HANDSHAKE_FLAGS: u16 = 1 | 2;
/// `NBD_FLAG_C_NO_ZEROES`.
pub(crate) const CLIENT_NO_ZEROES: u32 = 2;

/// What a volume of this server can do: `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES`,
/// `CAN_MULTI_CONN`. No flag tells of holes: a hole is read like data.
pub(crate) const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

/// `NBD_CMD_FLAG_FUA`: done when it is durable.
pub(crate) const COMMAND_FUA: u16 = 1;
/// `NBD_CMD_FLAG_NO_HOLE`: zeros are to be written, which they always are here.
pub(crate) const COMMAND_NO_HOLE: u16 = 1 << 1;

/// `NBD_EIO`.
pub(crate) const EIO: u32 = 5;
/// `NBD_ENOMEM`.
pub(crate) const ENOMEM: u32 = 12;
/// `NBD_EINVAL`.
pub(crate) const EINVAL: u32 = 22;
/// `NBD_ENOSPC`.
pub(crate) const ENOSPC: u32 = 28;
/// `NBD_EOVERFLOW`.
pub(crate) const EOVERFLOW: u32 = 75;
/// `NBD_ENOTSUP`.
pub(crate) const ENOTSUP: u32 = 95;
/// `NBD_ESHUTDOWN`.
pub(crate) const ESHUTDOWN: u32 = 108;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `NBD_CMD_READ`.
    Read,
    /// `NBD_CMD_WRITE`; its payload follows the request.
    Write,
    /// `NBD_CMD_DISC`: the client goes away and expects no answer.
    Disconnect,
    /// `NBD_CMD_FLUSH`.
    Flush,
    /// `NBD_CMD_TRIM`.
    Trim,
    /// `NBD_CMD_WRITE_ZEROES`.
    WriteZeroes,
    /// Any other; the document has it answered with `EINVAL`.
    Unknown(u16),
}

impl Command {
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Disconnect => 2,
            Self::Flush => 3,
            Self::Trim => 4,
            Self::WriteZeroes => 6,
            Self::Unknown(number) => number,
        }
    }

    fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::Write,
            2 => Self::Disconnect,
            3 => Self::Flush,
            4 => Self::Trim,
            6 => Self::WriteZeroes,
            other => Self::Unknown(other),
        }
    }
}

/// A request, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The command's flags as they came.
    pub flags: u16,
    /// What is asked for.
    pub command: Command,
    /// The client's name for it, which its answer repeats.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// So many bytes.
    pub length: u32,
}

/// Why a request is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is answered with this number, and the client goes on.
    Answer(u32),
    /// What follows on the connection cannot be told any more; the connection ends.
    Disconnect,
}

impl Request {
    /// Reads a request; nothing if the bytes do not begin with one, after which the connection is lost.
    pub(crate) fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (flags, rest) = rest.split_first_chunk::<2>()?;
        let (command, rest) = rest.split_first_chunk::<2>()?;
        let (cookie, rest) = rest.split_first_chunk::<8>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let length = rest.first_chunk::<4>()?;
        (u32::from_be_bytes(*magic) == REQUEST_MAGIC).then(|| Self {
            flags: u16::from_be_bytes(*flags),
            command: Command::from_number(u16::from_be_bytes(*command)),
            cookie: u64::from_be_bytes(*cookie),
            offset: u64::from_be_bytes(*offset),
            length: u32::from_be_bytes(*length),
        })
    }

    /// The request as it goes over the wire.
    pub(crate) fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        let fields: [&[u8]; 6] = [
            &REQUEST_MAGIC.to_be_bytes(),
            &self.flags.to_be_bytes(),
            &self.command.number().to_be_bytes(),
            &self.cookie.to_be_bytes(),
            &self.offset.to_be_bytes(),
            &self.length.to_be_bytes(),
        ];
        let mut rest = bytes.as_mut_slice();
        for field in fields {
            let (place, behind) = rest.split_at_mut(field.len());
            place.copy_from_slice(field);
            rest = behind;
        }
        bytes
    }

    /// The bytes that follow the request.
    pub(crate) fn payload_bytes(&self) -> u32 {
        if self.command == Command::Write { self.length } else { 0 }
    }

    /// Whether it is done only when it is durable.
    pub(crate) fn is_durable(&self) -> bool {
        self.flags & COMMAND_FUA != 0
    }

    /// Looks whether a volume of that size can carry the request out.
    ///
    /// # Errors
    /// `EINVAL` for flags that were not offered, for no bytes, for too many and for reading or discarding past the end; `ENOSPC` for writing
    /// past the end, as the document has it; the end of the connection for a payload that is larger than 32 MiB.
    pub(crate) fn check(&self, size_bytes: u64) -> Result<(), Refusal> {
        let (allowed, past_the_end) = match self.command {
            // The document has FUA ignored where it means nothing.
            Command::Read | Command::Trim => (COMMAND_FUA, EINVAL),
            Command::Write => (COMMAND_FUA, ENOSPC),
            Command::WriteZeroes => (COMMAND_FUA | COMMAND_NO_HOLE, ENOSPC),
            Command::Flush | Command::Disconnect => return Ok(()),
            Command::Unknown(_) => return Err(Refusal::Answer(EINVAL)),
        };
        if self.payload_bytes() > LARGEST_PAYLOAD_BYTES {
            return Err(Refusal::Disconnect);
        }
        let too_large = self.command == Command::Read && self.length > LARGEST_PAYLOAD_BYTES;
        if self.flags & !allowed != 0 || self.length == 0 || too_large {
            return Err(Refusal::Answer(EINVAL));
        }
        match self.offset.checked_add(u64::from(self.length)) {
            Some(end) if end <= size_bytes => Ok(()),
            _ => Err(Refusal::Answer(past_the_end)),
        }
    }
}

/// The head of a simple reply; after a read without an error the data follow.
pub(crate) fn encode_reply(error: u32, cookie: u64) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    let (magic, rest) = bytes.split_at_mut(4);
    let (number, name) = rest.split_at_mut(4);
    magic.copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    number.copy_from_slice(&error.to_be_bytes());
    name.copy_from_slice(&cookie.to_be_bytes());
    bytes
}

/// The error and the cookie of a simple reply; nothing if it is none.
pub(crate) fn parse_reply(bytes: &[u8; REPLY_BYTES]) -> Option<(u32, u64)> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (error, rest) = rest.split_first_chunk::<4>()?;
    let cookie = rest.first_chunk::<8>()?;
    (u32::from_be_bytes(*magic) == SIMPLE_REPLY_MAGIC)
        .then(|| (u32::from_be_bytes(*error), u64::from_be_bytes(*cookie)))
}

/// The protocol's number for an error of the system; what it has no number for is `EIO`.
pub(crate) fn error_number(errno: i32) -> u32 {
    match errno {
        libc::EPERM | libc::EROFS => 1,
        libc::ENOMEM => ENOMEM,
        libc::EINVAL => EINVAL,
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => ENOSPC,
        libc::EOVERFLOW => EOVERFLOW,
        libc::EOPNOTSUPP => ENOTSUP,
        libc::ESHUTDOWN => ESHUTDOWN,
        _ => EIO,
    }
}
