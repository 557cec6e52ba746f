//! The other side of steering: whoever asks a running server for something.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_model::units::{Fraction, Span};

use super::{ControlReply, ControlRequest, CutReport, ServerReport, Setting};

/// The longest reply that is read: histograms of the most volumes there can be stay far below it.
const LONGEST_REPLY_BYTES: usize = 64 << 20;

/// Why a server could not be steered.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Nobody listens there.
    #[error("no server listens at `{path}`: {source}")]
    Connect {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The connection broke, or took too long.
    #[error("the server at `{path}` did not answer: {source}")]
    Connection {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The reply is none.
    #[error("the server at `{path}` is not an emulated disk: {reason}")]
    Reply {
        /// The socket.
        path: PathBuf,
        /// What is wrong with its reply.
        reason: String,
    },
    /// The server did not do it.
    #[error("the server refused: {0}")]
    Refused(String),
}

/// A connection to the control socket of a server.
#[derive(Debug)]
pub struct Control {
    stream: UnixStream,
    path: PathBuf,
    timeout: Duration,
    /// What came after the last reply's newline: nothing, if the other side keeps to the protocol.
    received: Vec<u8>,
}

impl Control {
    /// Connects to the control socket of a server; each request may take as long as `timeout`.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Self, ControlError> {
        let stream = UnixStream::connect(path)
            .map_err(|source| ControlError::Connect { path: path.to_owned(), source })?;
        Ok(Self { stream, path: path.to_owned(), timeout, received: Vec::new() })
    }

    /// Sends one request and waits for its reply; a refusal is an error.
    pub fn request(&mut self, request: &ControlRequest) -> Result<ControlReply, ControlError> {
        let line = self.exchange(request)?;
        match serde_json::from_slice(&line) {
            Ok(ControlReply::Refused(reason)) => Err(ControlError::Refused(reason)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.bad_reply(error.to_string())),
        }
    }

    /// The counters of all volumes.
    pub fn counters(&mut self) -> Result<ServerReport, ControlError> {
        match self.request(&ControlRequest::Counters { volume: None })? {
            ControlReply::Counters(report) => Ok(report),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Begins to count anew.
    pub fn reset_counters(&mut self) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::ResetCounters { volume: None })
    }

    /// Changes properties of one volume, or of all.
    pub fn set(&mut self, volume: Option<&str>, settings: &[Setting]) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::Set {
            volume: volume.map(str::to_owned),
            settings: settings.to_vec(),
        })
    }

    /// Cuts the power of one volume, or of all; that share of what was not flushed still reaches the medium.
    pub fn cut(&mut self, volume: Option<&str>, keep: Fraction) -> Result<Vec<CutReport>, ControlError> {
        match self.request(&ControlRequest::Cut { volume: volume.map(str::to_owned), keep })? {
            ControlReply::Cut(reports) => Ok(reports),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Switches the power of one volume, or of all, on again.
    pub fn restore(&mut self, volume: Option<&str>) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::Restore { volume: volume.map(str::to_owned) })
    }

    /// Stalls one volume, or all, from now on.
    pub fn stall(&mut self, volume: Option<&str>, lasts: Span) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::Stall { volume: volume.map(str::to_owned), lasts })
    }

    /// Says that a workload begins: every burst bucket holds what it is to hold then.
    pub fn begin(&mut self) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::Begin)
    }

    /// Ends the server.
    pub fn end(&mut self) -> Result<(), ControlError> {
        self.expect_done(&ControlRequest::End)
    }

    fn expect_done(&mut self, request: &ControlRequest) -> Result<(), ControlError> {
        match self.request(request)? {
            ControlReply::Done => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    fn exchange(&mut self, request: &ControlRequest) -> Result<Vec<u8>, ControlError> {
        let mut line = serde_json::to_vec(request).map_err(|error| self.bad_reply(error.to_string()))?;
        line.push(b'\n');
        let deadline = Instant::now() + self.timeout;
        self.send(&line, deadline)
            .and_then(|()| self.receive_line(deadline))
            .map_err(|source| ControlError::Connection { path: self.path.clone(), source })
    }

    fn send(&mut self, line: &[u8], deadline: Instant) -> io::Result<()> {
        self.stream.set_write_timeout(Some(time_left(deadline)?))?;
        self.stream.write_all(line).map_err(plain_timeout)
    }

    fn receive_line(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            let unsearched = self.received.get(searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let rest = self.received.split_off(searched + at + 1);
                return Ok(std::mem::replace(&mut self.received, rest));
            }
            searched = self.received.len();
            if searched > LONGEST_REPLY_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "its reply does not end"));
            }
            self.stream.set_read_timeout(Some(time_left(deadline)?))?;
            let mut buffer = [0; 16 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
                }
                Ok(count) => self.received.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(plain_timeout(error)),
            }
        }
    }

    fn unexpected(&self, reply: &ControlReply) -> ControlError {
        self.bad_reply(format!("unexpected reply `{reply:?}`"))
    }

    fn bad_reply(&self, reason: String) -> ControlError {
        ControlError::Reply { path: self.path.clone(), reason }
    }
}

fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(timed_out()) } else { Ok(left) }
}

/// The kernel says "Resource temporarily unavailable" for a timeout of a socket, which tells nobody anything.
fn plain_timeout(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { timed_out() } else { error }
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it took too long")
}
