//! A client of ours: requests one at a time, or many in flight.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::DiskError;
use crate::protocol::handshake::{option, reply};
use crate::protocol::{
    COMMAND_FUA, Command, HANDSHAKE_FLAGS, INIT_MAGIC, LARGEST_PAYLOAD_BYTES, OPTION_MAGIC,
    OPTION_REPLY_MAGIC, REPLY_BYTES, Request, parse_reply,
};

/// A connection to one volume.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    socket: PathBuf,
    size_bytes: u64,
    flags: u16,
    next_cookie: u64,
    /// Requests that were made and not sent.
    unsent: Vec<u8>,
    /// Answers that were read and not looked at: the bytes from `start` to `end`.
    answers: Vec<u8>,
    start: usize,
    end: usize,
    /// Requests without an answer, by cookie.
    waiting: HashMap<u64, Request>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub request: Request,
    /// The protocol's error number; 0 for none.
    pub error: u32,
}

/// Read at once.
const ANSWER_BUFFER_BYTES: usize = 1 << 20;

impl Client {
    /// Connects to the volume behind a socket.
    ///
    /// # Errors
    /// When nobody listens there, or whoever does speaks no fixed newstyle NBD or has no volume of that name.
    pub fn connect(socket: &Path, export: &str) -> Result<Self, DiskError> {
        let stream = UnixStream::connect(socket).map_err(DiskError::socket("connect to", socket))?;
        let mut client = Self {
            stream,
            socket: socket.to_owned(),
            size_bytes: 0,
            flags: 0,
            next_cookie: 0,
            unsent: Vec::new(),
            answers: vec![0; ANSWER_BUFFER_BYTES],
            start: 0,
            end: 0,
            waiting: HashMap::new(),
        };
        client.negotiate(export)?;
        Ok(client)
    }

    /// The size of the volume.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The volume's transmission flags.
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// Waits at most so long for each piece of an answer.
    ///
    /// # Errors
    /// Of setsockopt(2).
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), DiskError> {
        self.stream.set_read_timeout(timeout).map_err(DiskError::socket("set the timeout of", &self.socket))
    }

    fn negotiate(&mut self, export: &str) -> Result<(), DiskError> {
        let head: [u8; 18] = self.take()?;
        let mut greeting = INIT_MAGIC.to_be_bytes().to_vec();
        greeting.extend(OPTION_MAGIC.to_be_bytes());
        let newstyle = head.strip_prefix(greeting.as_slice()).and_then(<[u8]>::last);
        // The last byte holds both flags.
        if newstyle.is_none_or(|flags| flags & 1 == 0) {
            return Err(self.strange("does not speak fixed newstyle NBD"));
        }
        let name = export.as_bytes();
        let name_bytes = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let mut data = name_bytes.to_be_bytes().to_vec();
        data.extend(name);
        data.extend(0_u16.to_be_bytes());
        let mut words = u32::from(HANDSHAKE_FLAGS).to_be_bytes().to_vec();
        words.extend(OPTION_MAGIC.to_be_bytes());
        words.extend(option::GO.to_be_bytes());
        words.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        words.extend(data);
        self.put(&words)?;
        loop {
            let magic = u64::from_be_bytes(self.take()?);
            let [_, kind, length] = [
                u32::from_be_bytes(self.take()?),
                u32::from_be_bytes(self.take()?),
                u32::from_be_bytes(self.take()?),
            ];
            if magic != OPTION_REPLY_MAGIC || length > LARGEST_PAYLOAD_BYTES {
                return Err(self.strange("does not speak NBD"));
            }
            let mut data = vec![0; usize::try_from(length).unwrap_or_default()];
            self.stream.read_exact(&mut data).map_err(DiskError::socket("read from", &self.socket))?;
            match kind {
                reply::ACK => return Ok(()),
                reply::INFO => self.take_information(&data),
                reply::UNKNOWN_EXPORT => {
                    return Err(self.strange(&format!("has no volume `{export}`")));
                }
                _ => return Err(self.strange(&format!("refuses to serve (reply {kind:#x})"))),
            }
        }
    }

    fn take_information(&mut self, data: &[u8]) {
        let Some((kind, rest)) = data.split_first_chunk::<2>() else { return };
        if *kind != [0, 0] {
            return;
        }
        if let Some((size, rest)) = rest.split_first_chunk::<8>()
            && let Some(flags) = rest.first_chunk::<2>()
        {
            self.size_bytes = u64::from_be_bytes(*size);
            self.flags = u16::from_be_bytes(*flags);
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DiskError> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).map_err(DiskError::socket("read from", &self.socket))?;
        Ok(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.stream.write_all(bytes).map_err(DiskError::socket("write to", &self.socket))
    }

    fn strange(&self, what: &str) -> DiskError {
        DiskError::Protocol { socket: self.socket.clone(), what: what.to_owned() }
    }

    /// Reads the bytes from `offset` on.
    ///
    /// # Errors
    /// When the server refuses or is gone; no other request may be in flight.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), DiskError> {
        self.submit(Command::Read, 0, offset, length_of(bytes.len()), &[]);
        self.wait(bytes)
    }

    /// Writes bytes from `offset` on; with `durable`, they are durable when it returns.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&mut self, offset: u64, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        let flags = if durable { COMMAND_FUA } else { 0 };
        self.submit(Command::Write, flags, offset, length_of(bytes.len()), bytes);
        self.wait(&mut [])
    }

    /// Makes all writes durable that were answered.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.submit(Command::Flush, 0, 0, 0, &[]);
        self.wait(&mut [])
    }

    /// Says that a range is of no use any more.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn trim(&mut self, offset: u64, length: u32) -> Result<(), DiskError> {
        self.submit(Command::Trim, 0, offset, length, &[]);
        self.wait(&mut [])
    }

    /// Writes zeros.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write_zeroes(&mut self, offset: u64, length: u32) -> Result<(), DiskError> {
        self.submit(Command::WriteZeroes, 0, offset, length, &[]);
        self.wait(&mut [])
    }

    fn wait(&mut self, bytes: &mut [u8]) -> Result<(), DiskError> {
        self.send()?;
        let Answer { request, error } = self.receive(bytes)?;
        if error == 0 {
            return Ok(());
        }
        Err(DiskError::Request {
            command: name_of(request.command),
            offset: request.offset,
            length: request.length,
            error,
        })
    }

    /// Makes a request, which [`Self::send`] sends. A write's payload is as long as `length` says, or it is refused by whoever
    /// reads it.
    pub fn submit(&mut self, command: Command, flags: u16, offset: u64, length: u32, payload: &[u8]) {
        let request = Request { flags, command, cookie: self.next_cookie, offset, length };
        self.next_cookie += 1;
        self.unsent.extend(request.encode());
        self.unsent.extend(payload);
        self.waiting.insert(request.cookie, request);
    }

    /// Sends what was made. With much in flight the server may answer before it reads on: receive what is due first when
    /// payloads go both ways.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn send(&mut self) -> Result<(), DiskError> {
        let unsent = std::mem::take(&mut self.unsent);
        self.put(&unsent)?;
        self.unsent = unsent;
        self.unsent.clear();
        Ok(())
    }

    /// How many requests have no answer yet.
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// Whether an answer can be received without waiting.
    pub fn has_answer(&self) -> bool {
        let there = self.end - self.start;
        let head = self.answers.get(self.start..self.end).and_then(<[u8]>::first_chunk::<REPLY_BYTES>);
        let Some((error, cookie)) = head.and_then(parse_reply) else { return false };
        let data = match self.waiting.get(&cookie) {
            Some(request) if error == 0 && request.command == Command::Read => request.length,
            _ => 0,
        };
        there - REPLY_BYTES >= usize::try_from(data).unwrap_or(usize::MAX)
    }

    /// The next answer, in the order of the server. The data of a read go to the beginning of `bytes`.
    ///
    /// # Errors
    /// When the server is gone, answers an unknown request, or answers more than `bytes` holds.
    pub fn receive(&mut self, bytes: &mut [u8]) -> Result<Answer, DiskError> {
        let mut head = [0; REPLY_BYTES];
        self.take_answer(&mut head)?;
        let Some((error, cookie)) = parse_reply(&head) else {
            return Err(self.strange("does not speak NBD"));
        };
        let Some(request) = self.waiting.remove(&cookie) else {
            return Err(self.strange("answers an unknown request"));
        };
        if error == 0 && request.command == Command::Read {
            let length = usize::try_from(request.length).unwrap_or(usize::MAX);
            let Some(place) = bytes.get_mut(..length) else {
                return Err(self.strange("answers more than was requested"));
            };
            self.take_answer(place)?;
        }
        Ok(Answer { request, error })
    }

    /// Fills a place from what was read, and from the socket.
    fn take_answer(&mut self, mut place: &mut [u8]) -> Result<(), DiskError> {
        loop {
            let there = self.answers.get(self.start..self.end).unwrap_or_default();
            let (now, later) = place.split_at_mut(there.len().min(place.len()));
            now.copy_from_slice(there.get(..now.len()).unwrap_or_default());
            self.start += now.len();
            if later.is_empty() {
                return Ok(());
            }
            place = later;
            self.start = 0;
            self.end = 0;
            let failed = DiskError::socket("read from", &self.socket);
            if place.len() >= ANSWER_BUFFER_BYTES / 2 {
                return self.stream.read_exact(place).map_err(failed);
            }
            match self.stream.read(&mut self.answers) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.end = read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Says good-bye, as the protocol wants it.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn disconnect(mut self) -> Result<(), DiskError> {
        self.submit(Command::Disconnect, 0, 0, 0, &[]);
        self.send()
    }
}

fn length_of(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn name_of(command: Command) -> &'static str {
    match command {
        Command::Read => "a read",
        Command::Write => "a write",
        Command::Disconnect => "a disconnect",
        Command::Flush => "a flush",
        Command::Trim => "a discard",
        Command::WriteZeroes => "writing zeros",
        Command::Unknown(_) => "an unknown command",
    }
}
