//! The handshake: what a client says before its first request, and what it is told.

use super::{
    CLIENT_NO_ZEROES, HANDSHAKE_FLAGS, INIT_MAGIC, LARGEST_PAYLOAD_BYTES, OPTION_MAGIC, OPTION_REPLY_MAGIC,
    TRANSMISSION_FLAGS,
};

/// Options that a client may send.
pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
}

/// Replies to options.
pub(crate) mod reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    const ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = ERROR | 1;
    pub(crate) const INVALID: u32 = ERROR | 3;
    pub(crate) const UNKNOWN_EXPORT: u32 = ERROR | 6;
    pub(crate) const TOO_BIG: u32 = ERROR | 9;
}

/// `NBD_INFO_EXPORT`: size and flags.
const INFO_EXPORT: u16 = 0;
/// `NBD_INFO_BLOCK_SIZE`: least, preferred and largest length of a request.
const INFO_BLOCK_SIZE: u16 = 3;
/// What is preferred: the page of the machine, and the block of every filesystem here.
const PREFERRED_BYTES: u32 = 4096;
/// The document's longest name is 4096 bytes; nothing that is honoured needs much more.
const LARGEST_OPTION_BYTES: u32 = 8192;
/// The flags of the client, or the head of an option.
const FLAGS_BYTES: usize = 4;
const OPTION_HEAD_BYTES: usize = 16;

/// The volume that stands behind a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Export {
    /// Its name; the empty name means it too, as it is the only one.
    pub(crate) name: String,
    /// Its size.
    pub(crate) size_bytes: u64,
}

/// Where a handshake stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More is to come.
    Negotiating,
    /// Requests follow.
    Transmission,
    /// The client went, or said what nobody can follow; the connection ends once everything is sent.
    Over,
}

/// One handshake of one client.
#[derive(Debug, Default)]
pub(crate) struct Negotiation {
    flags: Option<u32>,
}

impl Negotiation {
    /// What the server says first.
    pub(crate) fn greeting() -> Vec<u8> {
        let mut greeting = INIT_MAGIC.to_be_bytes().to_vec();
        greeting.extend(OPTION_MAGIC.to_be_bytes());
        greeting.extend(HANDSHAKE_FLAGS.to_be_bytes());
        greeting
    }

    /// Takes what a client sent. Answers go to `out`; the first number is how many bytes were taken, the rest is to be
    /// given again with what follows.
    pub(crate) fn advance(&mut self, input: &[u8], export: &Export, out: &mut Vec<u8>) -> (usize, Progress) {
        let mut taken = 0;
        loop {
            let rest = input.get(taken..).unwrap_or_default();
            let (step, progress) = self.step(rest, export, out);
            taken += step;
            if step == 0 || progress != Progress::Negotiating {
                return (taken, progress);
            }
        }
    }

    fn step(&mut self, input: &[u8], export: &Export, out: &mut Vec<u8>) -> (usize, Progress) {
        let Some(flags) = self.flags else {
            let Some(bytes) = input.first_chunk::<FLAGS_BYTES>() else { return (0, Progress::Negotiating) };
            let flags = u32::from_be_bytes(*bytes);
            // The document: a flag that the server does not know ends the connection.
            if flags & !u32::from(HANDSHAKE_FLAGS) != 0 {
                return (FLAGS_BYTES, Progress::Over);
            }
            self.flags = Some(flags);
            return (FLAGS_BYTES, Progress::Negotiating);
        };
        let Some(head) = input.first_chunk::<OPTION_HEAD_BYTES>() else { return (0, Progress::Negotiating) };
        let Some((number, length)) = parse_option_head(head) else { return (input.len(), Progress::Over) };
        if length > LARGEST_OPTION_BYTES {
            answer(out, number, reply::TOO_BIG, &[]);
            return (input.len(), Progress::Over);
        }
        let Ok(length) = usize::try_from(length) else { return (input.len(), Progress::Over) };
        let end = OPTION_HEAD_BYTES + length;
        let Some(data) = input.get(OPTION_HEAD_BYTES..end) else { return (0, Progress::Negotiating) };
        (end, carry_out(number, data, flags, export, out))
    }
}

fn parse_option_head(head: &[u8; OPTION_HEAD_BYTES]) -> Option<(u32, u32)> {
    let (magic, rest) = head.split_first_chunk::<8>()?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    let length = rest.first_chunk::<4>()?;
    (u64::from_be_bytes(*magic) == OPTION_MAGIC)
        .then(|| (u32::from_be_bytes(*number), u32::from_be_bytes(*length)))
}

fn carry_out(number: u32, data: &[u8], flags: u32, export: &Export, out: &mut Vec<u8>) -> Progress {
    let is_ours = |name: &[u8]| name.is_empty() || name == export.name.as_bytes();
    match number {
        option::EXPORT_NAME => {
            // This option has no way to say no but to hang up.
            if !is_ours(data) {
                return Progress::Over;
            }
            out.extend(export.size_bytes.to_be_bytes());
            out.extend(TRANSMISSION_FLAGS.to_be_bytes());
            if flags & CLIENT_NO_ZEROES == 0 {
                out.extend([0; 124]);
            }
            return Progress::Transmission;
        }
        option::ABORT => {
            answer(out, number, reply::ACK, &[]);
            return Progress::Over;
        }
        option::LIST if data.is_empty() => {
            let name = export.name.as_bytes();
            let length = u32::try_from(name.len()).unwrap_or_default();
            answer(out, number, reply::SERVER, &[&length.to_be_bytes(), name].concat());
            answer(out, number, reply::ACK, &[]);
        }
        option::LIST => answer(out, number, reply::INVALID, &[]),
        option::INFO | option::GO => match parse_info(data) {
            None => answer(out, number, reply::INVALID, &[]),
            Some(name) if !is_ours(name) => answer(out, number, reply::UNKNOWN_EXPORT, &[]),
            Some(_) => {
                answer_info(out, number, export);
                if number == option::GO {
                    return Progress::Transmission;
                }
            }
        },
        // Structured replies among them: only simple ones are spoken, so no hole can be told from data.
        _ => answer(out, number, reply::UNSUPPORTED, &[]),
    }
    Progress::Negotiating
}

/// The name that `INFO` and `GO` ask for. Which further information is requested does not matter: all there is is sent.
fn parse_info(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let name = rest.get(..length)?;
    let (count, requests) = rest.get(length..)?.split_first_chunk::<2>()?;
    (requests.len() == usize::from(u16::from_be_bytes(*count)) * 2).then_some(name)
}

fn answer_info(out: &mut Vec<u8>, number: u32, export: &Export) {
    let mut information = INFO_EXPORT.to_be_bytes().to_vec();
    information.extend(export.size_bytes.to_be_bytes());
    information.extend(TRANSMISSION_FLAGS.to_be_bytes());
    answer(out, number, reply::INFO, &information);
    let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
    for size in [1, PREFERRED_BYTES, LARGEST_PAYLOAD_BYTES] {
        sizes.extend(size.to_be_bytes());
    }
    answer(out, number, reply::INFO, &sizes);
    answer(out, number, reply::ACK, &[]);
}

fn answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(u32::try_from(data.len()).unwrap_or_default().to_be_bytes());
    out.extend(data);
}
