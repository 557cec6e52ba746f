//! As much of HTTP/1.1 as a metadata service needs, and no more (RFC 9112): one request a connection, no proxy, no
//! redirect, nothing longer than 64 KiB, and an end to all of it after a second.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Of everything that is asked, together.
pub const MOST_SECONDS: u64 = 1;
/// How long a service is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Of a connection, and of each wait for bytes.
    pub(super) each: Duration,
    /// Of all questions together.
    pub(super) all: Duration,
}

impl Patience {
    pub(super) const USUAL: Self =
        Self { each: Duration::from_millis(300), all: Duration::from_secs(MOST_SECONDS) };
}

const LARGEST_ANSWER_BYTES: usize = 64 << 10;
/// A token is some sixty letters.
const LONGEST_HEADER_VALUE: usize = 1024;

/// Whether a value of a variable switches something on, as the command line reads them: all but nothing, `0`, `false`,
/// `no`, `off`, `n` and `f`.
pub fn is_forbidden_by(value: &str) -> bool {
    !["", "0", "false", "no", "off", "n", "f"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("nobody answers at {address}: {source}")]
    Unreachable { address: SocketAddr, source: std::io::Error },
    #[error("it did not answer in time")]
    Late,
    #[error("the connection broke: {0}")]
    Broken(std::io::Error),
    #[error("what it answered is not HTTP")]
    NotHttp,
    #[error("its answer is longer than 64 KiB")]
    TooLong,
    #[error("its answer ended too early")]
    CutShort,
    #[error("it answered `{asked}` with status {status}")]
    Status { asked: &'static str, status: u16 },
    #[error("`{0}` was answered by something that is not this provider's service")]
    Impostor(&'static str),
    #[error("the answer to `{0}` is not in plain letters")]
    Strange(&'static str),
}

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The first header of that name, in whatever case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Redirects are not followed: they are a status like any other.
    pub(super) fn is_success(&self) -> bool {
        self.status == 200
    }
}

/// Asks one service, at the first of its addresses that lets itself be connected to.
pub(super) struct Client {
    addresses: Vec<SocketAddr>,
    each: Duration,
    until: Instant,
}

impl Client {
    /// The time of all questions begins now.
    pub(super) fn new(addresses: Vec<SocketAddr>, patience: Patience) -> Self {
        Self { addresses, each: patience.each, until: Instant::now() + patience.all }
    }

    /// Sends a request; whatever status comes back is an answer.
    pub(super) fn ask(
        &mut self,
        method: &str,
        path: &'static str,
        headers: &[(&str, &str)],
    ) -> Result<Answer, AskError> {
        let mut stream = self.connect()?;
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host());
        for (name, value) in headers {
            // Values come from the service itself: none of them may end its line.
            if value.len() > LONGEST_HEADER_VALUE
                || !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
            {
                return Err(AskError::Strange(path));
            }
            for part in [name, ": ", value, "\r\n"] {
                request.push_str(part);
            }
        }
        request.push_str("Connection: close\r\n");
        if method == "PUT" {
            request.push_str("Content-Length: 0\r\n");
        }
        request.push_str("\r\n");
        stream.set_write_timeout(Some(self.patience()?)).map_err(AskError::Broken)?;
        stream.write_all(request.as_bytes()).map_err(broken)?;
        self.read(&mut stream)
    }

    fn host(&self) -> String {
        self.addresses.first().map(|address| address.ip().to_string()).unwrap_or_default()
    }

    /// The next wait's length; none of it is left after the time of all questions.
    fn patience(&self) -> Result<Duration, AskError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(AskError::Late) } else { Ok(left.min(self.each)) }
    }

    fn connect(&mut self) -> Result<TcpStream, AskError> {
        let mut failure = AskError::Late;
        for (place, address) in self.addresses.clone().into_iter().enumerate() {
            match TcpStream::connect_timeout(&address, self.patience()?) {
                Ok(stream) => {
                    // The ones before were silent, and will be.
                    self.addresses.drain(..place);
                    return Ok(stream);
                }
                Err(source) => failure = AskError::Unreachable { address, source },
            }
        }
        Err(failure)
    }

    fn read(&self, stream: &mut TcpStream) -> Result<Answer, AskError> {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            stream.set_read_timeout(Some(self.patience()?)).map_err(AskError::Broken)?;
            let length = match stream.read(&mut piece) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(error)),
            };
            bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
            if bytes.len() > LARGEST_ANSWER_BYTES {
                return Err(AskError::TooLong);
            }
            if let Some(answer) = parse_answer(&bytes, length == 0)? {
                return Ok(answer);
            }
        }
    }
}

fn broken(error: std::io::Error) -> AskError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => AskError::Late,
        _ => AskError::Broken(error),
    }
}

/// Reads what has come so far: none while more must come.
pub(super) fn parse_answer(bytes: &[u8], ended: bool) -> Result<Option<Answer>, AskError> {
    let unfinished = || if ended { Err(AskError::CutShort) } else { Ok(None) };
    if !b"HTTP/1.".starts_with(bytes.get(..7).unwrap_or(bytes)) {
        return Err(AskError::NotHttp);
    }
    let Some(head_bytes) = find(bytes, b"\r\n\r\n") else { return unfinished() };
    let head =
        bytes.get(..head_bytes).and_then(|head| std::str::from_utf8(head).ok()).ok_or(AskError::NotHttp)?;
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or(AskError::NotHttp)?;
    let headers: Vec<(String, String)> = lines
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        })
        .collect::<Option<_>>()
        .ok_or(AskError::NotHttp)?;
    let mut answer = Answer { status, headers, body: Vec::new() };
    let body = bytes.get(head_bytes + 4..).unwrap_or_default();
    if answer.header("Transfer-Encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        let Some(whole) = join_chunks(body)? else { return unfinished() };
        answer.body = whole;
    } else if let Some(length) = answer.header("Content-Length") {
        let length: usize = length.parse().map_err(|_| AskError::NotHttp)?;
        if length > LARGEST_ANSWER_BYTES {
            return Err(AskError::TooLong);
        }
        let Some(whole) = body.get(..length) else { return unfinished() };
        whole.clone_into(&mut answer.body);
    } else if ended {
        body.clone_into(&mut answer.body);
    } else {
        return Ok(None);
    }
    Ok(Some(answer))
}

/// Decodes a chunked body (RFC 9112, 7.1), without trailers; none while it is incomplete.
fn join_chunks(mut body: &[u8]) -> Result<Option<Vec<u8>>, AskError> {
    let mut whole = Vec::new();
    loop {
        let Some(line_bytes) = find(body, b"\r\n") else { return Ok(None) };
        let line = body.get(..line_bytes).unwrap_or_default();
        let digits =
            std::str::from_utf8(line).ok().and_then(|line| line.split(';').next()).unwrap_or_default();
        let length = usize::from_str_radix(digits.trim(), 16).map_err(|_| AskError::NotHttp)?;
        if length == 0 {
            return Ok(Some(whole));
        }
        if length > LARGEST_ANSWER_BYTES {
            return Err(AskError::TooLong);
        }
        let start = line_bytes + 2;
        let Some(piece) = body.get(start..start + length) else { return Ok(None) };
        whole.extend_from_slice(piece);
        let Some(rest) = body.get(start + length + 2..) else { return Ok(None) };
        body = rest;
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> Result<Option<Answer>, AskError> {
        parse_answer(text.as_bytes(), true)
    }

    #[test]
    fn a_body_ends_where_its_length_says_or_with_the_connection() {
        let answer = whole("HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\n\r\nabcdef").unwrap().unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "abc"));
        assert_eq!(whole("HTTP/1.0 404 x\r\n\r\nno").unwrap().unwrap().text(), "no");
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(whole(chunks).unwrap().unwrap().text(), "abcde");
    }

    #[test]
    fn what_is_not_all_there_is_waited_for_and_never_taken_for_the_whole() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        for length in 0..text.len() {
            assert!(matches!(parse_answer(&text.as_bytes()[..length], false), Ok(None)), "{length}");
        }
        assert!(matches!(whole("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"), Err(AskError::CutShort)));
    }

    #[test]
    fn garbage_and_giants_are_refused_at_once() {
        for text in ["SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"] {
            assert!(matches!(whole(text), Err(AskError::NotHttp)), "{text}");
        }
        let giant = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
        assert!(matches!(parse_answer(giant.as_bytes(), false), Err(AskError::TooLong)));
        let giant = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        assert!(matches!(parse_answer(giant.as_bytes(), false), Err(AskError::TooLong)));
    }

    #[test]
    fn a_variable_forbids_unless_it_says_no() {
        for value in ["1", "true", "yes", "anything"] {
            assert!(is_forbidden_by(value), "{value}");
        }
        for value in ["", "0", "false", "No", "off"] {
            assert!(!is_forbidden_by(value), "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), ended: bool) {
            let _ = parse_answer(&bytes, ended);
            let _ = parse_answer(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat(), ended);
        }
    }
}
