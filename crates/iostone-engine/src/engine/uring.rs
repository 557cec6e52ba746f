//! The `io_uring` engine: one ring per thread, with everything registered that the kernel lets it register.
#![expect(
    unsafe_code,
    reason = "requests carry addresses that the kernel reads and writes behind the compiler's back"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, Probe, SubmissionQueue, Submitter, opcode, squeue};
use iostone_model::load::Direction;

use super::trim::discard;
use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer, write_rest};
use crate::arena::Arena;

/// Requests handed over per system call at most. More gains nothing, and keeps completions waiting.
pub(crate) const BATCH: u32 = 32;
/// A single registered buffer cannot be larger (`io_sqe_buffer_register`).
const LARGEST_REGISTERED_BYTES: usize = 1 << 30;

/// Setup flags from the best to none; each step leaves out what an older kernel does not know.
///
/// `NO_SQARRAY` came with 6.6, `DEFER_TASKRUN` with 6.1, `SINGLE_ISSUER` with 6.0, `COOP_TASKRUN` with 5.19; what
/// counts is what this kernel accepts, not its version.
const LADDER: [&[&str]; 5] = [
    &["SINGLE_ISSUER", "DEFER_TASKRUN", "COOP_TASKRUN", "NO_SQARRAY"],
    &["SINGLE_ISSUER", "DEFER_TASKRUN", "COOP_TASKRUN"],
    &["SINGLE_ISSUER", "COOP_TASKRUN"],
    &["COOP_TASKRUN"],
    &[],
];

/// Says whether this process may use `io_uring` with what the engine needs, and if not why.
///
/// # Errors
/// The reason, as a clause for people.
pub(crate) fn probe() -> Result<(), String> {
    let ring = IoUring::new(2).map_err(|error| explain_refusal(&error))?;
    let mut supported = Probe::new();
    ring.submitter()
        .register_probe(&mut supported)
        .map_err(|error| format!("the kernel cannot say which requests it supports ({error})"))?;
    let needed = [
        ("IORING_OP_READ", opcode::Read::CODE),
        ("IORING_OP_WRITE", opcode::Write::CODE),
        ("IORING_OP_FSYNC", opcode::Fsync::CODE),
    ];
    match needed.into_iter().find(|(_, code)| !supported.is_supported(*code)) {
        Some((name, _)) => Err(format!("the kernel does not support {name}")),
        None => Ok(()),
    }
}

/// Names the setting behind a refused `io_uring_setup(2)`.
fn explain_refusal(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel, or a filter on system calls, has no `io_uring_setup`".into(),
        Some(libc::EPERM) => {
            let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
            match disabled.trim() {
                "" | "0" => {
                    "`io_uring_setup` is forbidden here, as a container's seccomp profile does".into()
                }
                level => {
                    format!("`kernel.io_uring_disabled` is {level}: `sysctl kernel.io_uring_disabled=0`")
                }
            }
        }
        Some(libc::ENOMEM) => "the limit on locked memory is too low for a ring: `ulimit -l`".into(),
        _ => format!("`io_uring_setup` failed ({error})"),
    }
}

/// What requests address: registered things where the kernel took them.
#[derive(Debug, Clone, Copy)]
struct Registered {
    files: bool,
    buffers: bool,
}

/// What a job wants of its ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingPlan {
    /// Requests in flight.
    pub(crate) depth: u32,
    /// Requests handed over at once, at most.
    pub(crate) batch: u32,
    /// `RWF_*` flags of each request, `preadv2(2)`; `RWF_HIPRI` makes a ring that polls.
    pub(crate) request_flags: i32,
    /// Requests do nothing at all.
    pub(crate) nop: bool,
}

/// A ring and what is registered with it. Made and used on one thread.
pub(crate) struct Ring {
    uring: IoUring,
    registered: Registered,
    plan: RingPlan,
    /// What the kernel granted.
    pub(crate) features: Vec<String>,
    /// What it refused, with the reason.
    pub(crate) declined: Vec<String>,
}

impl Ring {
    /// Makes a ring, and registers `files` and the memory of `arena` with it.
    ///
    /// # Errors
    /// Why no ring can be made, as a clause. A registration that is refused is no error: it is in `declined`.
    pub(crate) fn open(plan: RingPlan, files: &[File], arena: &Arena) -> Result<Self, String> {
        let (ring, flags) = set_up(plan)?;
        let mut features: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let left_out = LADDER[0].iter().filter(|flag| !flags.contains(flag));
        let mut declined: Vec<String> =
            left_out.map(|flag| format!("{flag}: refused by this kernel")).collect();
        let mut note = |name: &str, result: io::Result<()>| match result {
            Ok(()) => {
                features.push(name.to_owned());
                true
            }
            Err(error) => {
                declined.push(format!("{name}: {}", explain_registration(&error)));
                false
            }
        };
        let extents = arena.extents();
        let descriptors: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let files_taken = note("registered-file", ring.submitter().register_files(&descriptors));
        let buffers = if extents.iter().all(|(_, length)| *length <= LARGEST_REGISTERED_BYTES) {
            let vector = |(address, length): &(*mut u8, usize)| libc::iovec {
                iov_base: address.cast(),
                iov_len: *length,
            };
            let vectors: Vec<libc::iovec> = extents.iter().map(vector).collect();
            // SAFETY: the memory belongs to `arena`, which the engine borrows for as long as requests can be in
            // flight (see `UringEngine`'s drop), and which outlives this ring in `worker`.
            unsafe { ring.submitter().register_buffers(&vectors) }
        } else {
            Err(io::Error::from_raw_os_error(libc::EFBIG))
        };
        let buffers_taken = note("registered-buffers", buffers);
        if plan.request_flags & libc::RWF_HIPRI != 0 {
            note("IOPOLL", Ok(()));
        }
        Ok(Self {
            uring: ring,
            registered: Registered { files: files_taken, buffers: buffers_taken },
            plan,
            features,
            declined,
        })
    }

    /// The engine on this ring.
    pub(crate) fn engine<'a>(&'a mut self, files: &'a [File], arena: &'a mut Arena) -> UringEngine<'a> {
        let Self { uring, registered, plan, features, declined } = self;
        let (mut submitter, submission, completion) = uring.split();
        match submitter.register_ring_fd() {
            Ok(()) => features.push("registered-ring".to_owned()),
            Err(error) => declined.push(format!("registered-ring: {error}")),
        }
        let nop_results = if plan.nop { vec![0; plan.depth as usize] } else { Vec::new() };
        UringEngine {
            submitter,
            submission,
            completion,
            files,
            arena,
            registered: *registered,
            // The ring polls as a whole, and refuses the flag on a request.
            request_flags: plan.request_flags & !libc::RWF_HIPRI,
            nop_results: nop_results.into_boxed_slice(),
            to_workers: !plan.nop && !files.is_empty() && files.iter().all(crate::target::lacks_nowait),
            outstanding: 0,
            instant: Vec::new(),
        }
    }
}

/// Makes the ring with the most flags that the kernel takes.
fn set_up(plan: RingPlan) -> Result<(IoUring, &'static [&'static str]), String> {
    // A short submission queue stays in the cache; the completion queue holds everything in flight and syncs.
    let entries = plan.depth.min(plan.batch).next_power_of_two();
    let completions = (plan.depth + 1).next_power_of_two().max(2 * entries);
    let mut refusal = String::new();
    for flags in LADDER {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_clamp().setup_cqsize(completions);
        if plan.request_flags & libc::RWF_HIPRI != 0 {
            builder.setup_iopoll();
        }
        for flag in flags {
            match *flag {
                "SINGLE_ISSUER" => builder.setup_single_issuer(),
                "DEFER_TASKRUN" => builder.setup_defer_taskrun(),
                "COOP_TASKRUN" => builder.setup_coop_taskrun(),
                _ => builder.setup_no_sqarray(),
            };
        }
        match builder.build(entries) {
            Ok(ring) => return Ok((ring, flags)),
            Err(error) => refusal = explain_refusal(&error),
        }
    }
    Err(refusal)
}

fn explain_registration(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => "the limit on locked memory is too low: `ulimit -l`".into(),
        Some(libc::EFBIG) => "more than 1 GiB of buffers cannot be registered as one".into(),
        _ => error.to_string(),
    }
}

/// Requests through a ring.
pub(crate) struct UringEngine<'a> {
    submitter: Submitter<'a>,
    submission: SubmissionQueue<'a>,
    completion: CompletionQueue<'a>,
    files: &'a [File],
    arena: &'a mut Arena,
    registered: Registered,
    request_flags: i32,
    /// With requests that do nothing: the length that each slot's request would have had. Empty otherwise.
    nop_results: Box<[i32]>,
    /// The kernel hands every request to its worker threads anyway: told so, it does without trying first, and lets
    /// several work at once.
    to_workers: bool,
    /// Queued and not reaped.
    outstanding: usize,
    /// Completed without the ring: discards.
    instant: Vec<Completion>,
}

impl UringEngine<'_> {
    #[inline]
    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: an entry's memory is a block of the arena, which this engine borrows until its drop has waited
        // for every request, and nobody touches a block in flight. Its file is registered or borrowed likewise.
        let pushed = unsafe { self.submission.push(entry) };
        // `room` was asked first, so there is always space.
        self.outstanding += usize::from(pushed.is_ok());
    }

    /// Builds a request that addresses the file in whichever way the kernel took it.
    #[inline]
    fn build_block(&self, transfer: Transfer) -> squeue::Entry {
        let address = self.arena.address(transfer.place);
        let (length, offset, flags) =
            (transfer.request.length_bytes, transfer.request.offset_bytes, self.request_flags);
        let (target, writes) = (transfer.request.target, transfer.request.direction == Direction::Write);
        let buffer = self.arena.extent_of(transfer.request.direction);
        // Written out, since a registered and a plain file are different types to the crate and the compiler
        // hoists nothing out of a request.
        macro_rules! build {
            ($with_buffer:ident, $without:ident) => {
                match (self.registered.buffers, self.registered.files) {
                    (true, true) => opcode::$with_buffer::new(Fixed(target), address, length, buffer)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (true, false) => opcode::$with_buffer::new(self.fd(target), address, length, buffer)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (false, true) => opcode::$without::new(Fixed(target), address, length)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (false, false) => opcode::$without::new(self.fd(target), address, length)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                }
            };
        }
        let entry = if writes { build!(WriteFixed, Write) } else { build!(ReadFixed, Read) };
        let how = if self.to_workers { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
        entry.flags(how).user_data(u64::from(transfer.slot))
    }

    fn fd(&self, target: u32) -> Fd {
        Fd(self.files.get(target as usize).map_or(-1, AsRawFd::as_raw_fd))
    }

    /// Everything but a plain read or write.
    #[cold]
    fn queue_rarity(&mut self, transfer: Transfer) {
        let Transfer { slot, request, .. } = transfer;
        if request.direction == Direction::Trim {
            // As in fio: there is no request for it that every kernel knows.
            let result =
                self.files.get(request.target as usize).map_or(-libc::EBADF, |file| discard(file, &request));
            self.instant.push(Completion { tag: slot, result });
        }
    }
}

impl Engine for UringEngine<'_> {
    #[inline]
    fn room(&mut self) -> usize {
        self.submission.sync();
        self.submission.capacity() - self.submission.len()
    }

    #[inline]
    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        if transfer.request.direction == Direction::Trim {
            return self.queue_rarity(transfer);
        }
        if let Some(result) = self.nop_results.get_mut(transfer.slot as usize) {
            *result = transfer.request.length_bytes.cast_signed();
            let entry = opcode::Nop::new().build().user_data(u64::from(transfer.slot));
            return self.push(&entry);
        }
        let entry = self.build_block(transfer);
        self.push(&entry);
    }

    fn queue_sync(&mut self, target: u32, kind: SyncKind) {
        let flags = if kind == SyncKind::Data { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let entry = match (kind, self.registered.files) {
            (SyncKind::Range { flags, offset_bytes, length_bytes }, true) => {
                opcode::SyncFileRange::new(Fixed(target), length_bytes)
                    .offset(offset_bytes)
                    .flags(flags)
                    .build()
            }
            (SyncKind::Range { flags, offset_bytes, length_bytes }, false) => {
                opcode::SyncFileRange::new(self.fd(target), length_bytes)
                    .offset(offset_bytes)
                    .flags(flags)
                    .build()
            }
            (_, true) => opcode::Fsync::new(Fixed(target)).flags(flags).build(),
            (_, false) => opcode::Fsync::new(self.fd(target)).flags(flags).build(),
        };
        self.push(&entry.user_data(u64::from(SYNC_TAG)));
    }

    #[inline]
    fn enter(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        self.submission.sync();
        let want = want.saturating_sub(self.instant.len()).min(self.outstanding);
        let result = match at_most {
            None => self.submitter.submit_and_wait(want),
            Some(duration) if self.outstanding == 0 => {
                sleep(duration);
                return Ok(());
            }
            Some(duration) => {
                let time = Timespec::from(duration);
                self.submitter.submit_with_args(want.max(1), &SubmitArgs::new().timespec(&time))
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // A signal arrived, and what is queued stays queued; or the time is up.
                Some(libc::EINTR | libc::ETIME) => Ok(()),
                // The kernel is short of memory, or of room for completions; reaping some makes room.
                Some(libc::EAGAIN | libc::EBUSY) if self.outstanding > self.submission.len() => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
        write_rest(self.files, self.arena, transfer, done_bytes)
    }

    #[inline]
    fn arrived(&mut self) -> usize {
        self.completion.sync();
        self.completion.len() + self.instant.len()
    }

    #[inline]
    fn reap(&mut self, mut each: impl FnMut(Completion)) {
        for entry in &mut self.completion {
            self.outstanding -= 1;
            #[expect(clippy::cast_possible_truncation, reason = "the tag was put there as a u32")]
            let tag = entry.user_data() as u32;
            let result = self.nop_results.get(tag as usize).copied().unwrap_or_else(|| entry.result());
            each(Completion { tag, result });
        }
        if !self.instant.is_empty() {
            self.instant.drain(..).for_each(each);
        }
    }
}

impl Drop for UringEngine<'_> {
    /// Waits for every request in flight: until then the kernel may write into the arena.
    fn drop(&mut self) {
        while self.outstanding > 0 {
            if self.enter(1, None).is_err() {
                // Neither finished nor given up: the memory must never be reused.
                self.arena.leak();
                return;
            }
            self.arrived();
            self.reap(|_| ());
        }
        // A ring is taken down behind the scenes after its last reference is gone, and what it has registered
        // with it: until then the target would count as open and its filesystem could not be unmounted. There is
        // nobody to tell if this fails, and the end of the thread catches up on it.
        let _ = self.submitter.unregister_files();
        let _ = self.submitter.unregister_buffers();
        let _ = self.submitter.unregister_ring_fd();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_ring_is_explained() {
        let explain = |errno| explain_refusal(&io::Error::from_raw_os_error(errno));
        assert!(explain(libc::ENOSYS).contains("no `io_uring_setup`"));
        assert!(explain(libc::ENOMEM).contains("ulimit -l"));
        assert!(explain(libc::EPERM).contains("io_uring"));
        assert!(explain(libc::EINVAL).contains("failed"));
    }
}
