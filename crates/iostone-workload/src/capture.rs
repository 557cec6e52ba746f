//! Keeps what a program prints, up to a bound, without ever making the program wait for a slow reader.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Enough for any log that a person reads; what comes after is counted and dropped.
const KEPT_BYTES: usize = 16 << 20;

/// The end of text that was not kept to its end.
const NOT_KEPT: &str = "more bytes were not kept]";

/// Whether text of a [`Capture`] lacks its end.
pub(crate) fn is_cut(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|text| text.ends_with(NOT_KEPT))
}

/// How long the end of a stream is waited for once its program has ended. What it wrote last is in the pipe by then and
/// only has to be fetched; a process that left the program's session may hold the pipe open for ever.
const PATIENCE: Duration = Duration::from_millis(500);

/// The output of one stream, growing while a thread drains the pipe.
#[derive(Clone)]
pub(crate) struct Capture {
    state: Arc<(Mutex<Drained>, Condvar)>,
}

#[derive(Default)]
struct Drained {
    kept: Vec<u8>,
    dropped_bytes: u64,
    ended: bool,
}

impl Capture {
    /// Starts draining a pipe. The thread ends when the last writer closes it.
    pub(crate) fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let state = Arc::new((Mutex::new(Drained::default()), Condvar::new()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let mut buffer = [0u8; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut drained = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT_BYTES.saturating_sub(drained.kept.len()).min(count);
                drained.kept.extend_from_slice(buffer.get(..room).unwrap_or_default());
                drained.dropped_bytes += (count - room) as u64;
            }
            shared.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
            shared.1.notify_all();
        });
        Self { state }
    }

    /// Everything that was printed, to be asked for after the program's end. A grandchild that still holds the pipe
    /// does not hold this up for long.
    pub(crate) fn text(&self) -> String {
        self.text_within(PATIENCE)
    }

    fn text_within(&self, patience: Duration) -> String {
        let (lock, ended) = &*self.state;
        let drained = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let (drained, _) = ended
            .wait_timeout_while(drained, patience, |drained| !drained.ended)
            .unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&drained.kept).into_owned();
        if drained.dropped_bytes > 0 {
            use std::fmt::Write;
            let _ = writeln!(text, "\n[{} {NOT_KEPT}", drained.dropped_bytes);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy machine takes long to run the reading thread.
    const PATIENT: Duration = Duration::from_secs(30);

    /// A pipe whose last words come late, as they do when the reading thread is not scheduled at once.
    struct Late(bool);

    impl Read for Late {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Ok(0);
            }
            thread::sleep(Duration::from_millis(50));
            buffer[..4].copy_from_slice(b"last");
            Ok(4)
        }
    }

    #[test]
    fn text_that_lacks_its_end_can_be_told() {
        let long = Capture::start(std::io::repeat(b'x').take(KEPT_BYTES as u64 + 5)).text_within(PATIENT);
        assert!(is_cut(&long) && long.ends_with("[5 more bytes were not kept]\n"));
        assert!(!is_cut("5 more bytes\n"));
    }

    #[test]
    fn what_was_written_last_is_waited_for() {
        assert_eq!(Capture::start(Late(false)).text_within(PATIENT), "last");
    }
}
