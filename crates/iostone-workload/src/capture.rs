//! Keeps what a program prints, up to a bound, without ever making the program wait for a slow reader.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Enough for any log that a person reads; what comes after is counted and dropped.
const KEPT_BYTES: usize = 16 << 20;

/// The output of one stream, growing while a thread drains the pipe.
#[derive(Clone)]
pub(crate) struct Capture {
    state: Arc<Mutex<Drained>>,
}

#[derive(Default)]
struct Drained {
    kept: Vec<u8>,
    dropped_bytes: u64,
}

impl Capture {
    /// Starts draining a pipe. The thread ends when the last writer closes it.
    pub(crate) fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(Drained::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let mut buffer = [0u8; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut drained = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT_BYTES.saturating_sub(drained.kept.len()).min(count);
                drained.kept.extend_from_slice(buffer.get(..room).unwrap_or_default());
                drained.dropped_bytes += (count - room) as u64;
            }
        });
        Self { state }
    }

    /// What has been printed so far. A grandchild that still holds the pipe does not hold this up.
    pub(crate) fn text(&self) -> String {
        let drained = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&drained.kept).into_owned();
        if drained.dropped_bytes > 0 {
            use std::fmt::Write;
            let _ = writeln!(text, "\n[{} more bytes were not kept]", drained.dropped_bytes);
        }
        text
    }
}
