//! The thread that empties volatile caches by and by, whether or not anybody asks anything of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::timer::Clock;
use crate::device::Device;

/// Caches say themselves when it is time; they are asked as often.
const ROUND: Duration = Duration::from_millis(25);

/// A thread over all caches of a server. Dropped, it has ended.
#[derive(Debug)]
pub(crate) struct Destager {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Destager {
    /// Starts it, if there is a cache at all.
    pub(crate) fn start(devices: impl Iterator<Item = Arc<Device>>, clock: Clock) -> std::io::Result<Self> {
        let cached: Vec<Arc<Device>> = devices.filter(|device| device.is_cached()).collect();
        let end = Arc::new(AtomicBool::new(false));
        if cached.is_empty() {
            return Ok(Self { end, thread: None });
        }
        let flag = Arc::clone(&end);
        let thread = std::thread::Builder::new().name("destager".to_owned()).spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                for device in &cached {
                    device.destage(clock.now_ns());
                }
                std::thread::park_timeout(ROUND);
            }
        })?;
        Ok(Self { end, thread: Some(thread) })
    }
}

impl Drop for Destager {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
