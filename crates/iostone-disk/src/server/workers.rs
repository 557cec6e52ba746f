//! Threads for whatever waits: syncs, reads that are not in memory, and all I/O past the page cache.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use super::task::Task;
use crate::device::Device;

/// A pool of threads. Dropped, it finishes what it was given.
#[derive(Debug)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    given: Condvar,
    done: Mutex<Vec<Task>>,
    bell: OwnedFd,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: VecDeque<(Arc<Device>, Task)>,
    is_closed: bool,
}

impl Workers {
    /// Starts so many threads.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared =
            Arc::new(Shared { queue: Mutex::default(), given: Condvar::new(), done: Mutex::default(), bell });
        let mut workers = Self { shared, threads: Vec::new() };
        for number in 0..count {
            let shared = Arc::clone(&workers.shared);
            let thread =
                std::thread::Builder::new().name(format!("disk-{number}")).spawn(move || work(&shared))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Readable whenever tasks are done.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Hands a task over.
    pub(crate) fn give(&self, device: &Arc<Device>, task: Task) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.tasks.push_back((Arc::clone(device), task));
        drop(queue);
        self.shared.given.notify_one();
    }

    /// The tasks that were carried out since the last time.
    pub(crate) fn collect(&self) -> Vec<Task> {
        // Emptied before the list is looked at: what is done in between rings again.
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.shared.bell, &mut count);
        std::mem::take(&mut *self.shared.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.shared.given.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared) {
    loop {
        let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (device, mut task) = loop {
            if let Some(next) = queue.tasks.pop_front() {
                break next;
            }
            if queue.is_closed {
                return;
            }
            queue = shared.given.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        drop(queue);
        device.carry_out(&mut task);
        shared.done.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        // A counter that is full rings already.
        let _ = rustix::io::write(&shared.bell, &1_u64.to_ne_bytes());
    }
}
