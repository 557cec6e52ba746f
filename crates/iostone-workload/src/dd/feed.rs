//! Generated data on a program's standard input, through a pipe as large as the kernel grants.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

use iostone_engine::NoiseStream;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// What any process may ask for (`fs.pipe-max-size`, pipe(7)); more does not make it faster.
const PIPE_BYTES: usize = 1 << 20;

/// A thread that writes generated data into a pipe until nobody reads it any more.
pub(super) struct Feed {
    thread: JoinHandle<()>,
}

impl Feed {
    /// Starts writing; the other end goes to the program.
    pub(super) fn start(seed: u64) -> io::Result<(Self, OwnedFd)> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        // A smaller pipe only takes more turns.
        let _ = fcntl_setpipe_size(&writing, PIPE_BYTES);
        let thread = thread::Builder::new().name("feed".to_owned()).spawn(move || {
            let mut pipe = File::from(writing);
            let mut noise = NoiseStream::new(seed);
            // Broken when the program has read what it wants: Rust programs ignore SIGPIPE.
            while pipe.write_all(noise.next_chunk()).is_ok() {}
        })?;
        Ok((Self { thread }, reading))
    }

    /// Waits for the thread, which ends with the last reader.
    pub(super) fn end(self) {
        // A thread that panicked has written what it could; dd then says that its input ended.
        let _ = self.thread.join();
    }
}
