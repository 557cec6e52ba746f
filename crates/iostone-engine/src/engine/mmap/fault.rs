//! Makes a copy from or to a mapping fail with a mark where the kernel would end the process with SIGBUS.
//!
//! The kernel raises SIGBUS in the thread that touches a page it cannot give: the file was truncated under the
//! mapping, the medium failed, a hole could not be filled because the filesystem is full, the device is gone (mmap(2),
//! "SIGBUS"). [`guard`] says which pages the calling thread is about to touch. The handler, which runs on that very
//! thread while the touching instruction is held up, puts anonymous memory in their place and leaves a mark; the
//! instruction then runs again and finds memory. What it copies is of no worth, and the mark says so.
//!
//! Why this is safe:
//! * Only pages that [`guard`] was told of are ever replaced, only on the thread that told it, and only during its
//!   copy. They belong to a mapping that nobody else holds (see `mapping`), and no reference to them exists.
//! * Any other SIGBUS, in another place, of another cause, or sent by kill(2), goes to whoever handled it before.
//! * The handler does what signal-safety(7) allows and mmap(2), which is one system call: it allocates nothing, takes
//!   no lock, and touches a thread-local that needs neither construction nor destruction. errno is of no concern: the
//!   thread is in the middle of a copy, which looks at none.
//! * A thread in which SIGBUS is blocked would be ended by the kernel all the same; engines' threads block nothing.
#![expect(unsafe_code, reason = "a signal handler is installed, and replaces pages of a mapping")]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// `si_code` of a page that cannot be had; sigaction(2). Failing memory (`BUS_MCEERR_AR`) is another matter.
const BUS_ADRERR: i32 = 2;

/// What a thread is copying. Only ever accessed by its thread and by the handler on top of it; the atomics keep the
/// compiler from assuming that nothing changes meanwhile.
struct Watched {
    /// First address; 0 when nothing is being copied.
    start: AtomicUsize,
    end: AtomicUsize,
    page_bytes: AtomicUsize,
    /// Whether a page had to be replaced.
    struck: AtomicBool,
}

thread_local! {
    static WATCHED: Watched = const {
        Watched {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page_bytes: AtomicUsize::new(0),
            struck: AtomicBool::new(false),
        }
    };
}

/// Who handled SIGBUS before.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per process; it stays.
///
/// # Errors
/// What sigaction(2) said.
pub(super) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    INSTALLED
        .get_or_init(|| replace_handler().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)))
        .map_err(io::Error::from_raw_os_error)
}

fn replace_handler() -> io::Result<()> {
    // The one before must be known before the first signal can arrive, so it is asked for first.
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `previous` is valid for writing one `sigaction`; a null action only asks.
    let asked = unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), previous.as_mut_ptr()) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and filled it in.
    PREVIOUS.get_or_init(|| unsafe { previous.assume_init() });
    // SAFETY: all-zero bytes are a valid `sigaction`: the default action, no flags, an empty mask.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = handle as *const () as usize;
    // On the alternate stack, as the one before may be there to report that the ordinary one has overflown.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: `action` is valid, and `handle` has the signature that SA_SIGINFO asks for and is safe at any time.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs `copy`, and says whether it touched a page among `pages` that the kernel could not give. Then all pages from
/// that one on are anonymous memory, which the caller must replace.
///
/// # Safety
/// `pages` must be whole pages of `page_bytes`, within one mapping that the caller owns, to which no reference
/// exists. The handler must be [installed](install).
#[inline]
pub(super) unsafe fn guard(pages: Range<usize>, page_bytes: usize, copy: impl FnOnce()) -> bool {
    WATCHED.with(|watched| {
        watched.page_bytes.store(page_bytes, Ordering::Relaxed);
        watched.end.store(pages.end, Ordering::Relaxed);
        watched.start.store(pages.start, Ordering::Relaxed);
        // The handler runs on this thread, so it is enough that the compiler moves no copying across.
        compiler_fence(Ordering::SeqCst);
        copy();
        compiler_fence(Ordering::SeqCst);
        watched.start.store(0, Ordering::Relaxed);
        watched.end.store(0, Ordering::Relaxed);
        watched.struck.load(Ordering::Relaxed) && watched.struck.swap(false, Ordering::Relaxed)
    })
}

impl Watched {
    /// Replaces the page at `address`, and those after it, if they are being copied. Says whether that was done.
    fn replace(&self, address: *mut c_void) -> bool {
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        let page_bytes = self.page_bytes.load(Ordering::Relaxed);
        let page = address.map_addr(|address| address & !page_bytes.wrapping_sub(1));
        if start == 0 || !(start..end).contains(&page.addr()) {
            return false;
        }
        // SAFETY: the pages are the caller's of `guard`, who promised that they are whole pages of a mapping of its
        // own without references. NORESERVE: they are thrown away in a moment.
        let replaced = unsafe {
            mmap_anonymous(
                page,
                end - page.addr(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE,
            )
        };
        self.struck.store(true, Ordering::Relaxed);
        replaced.is_ok()
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid `siginfo_t`; `si_addr` is an address for any SIGBUS that the
    // kernel raised, and read as one from a valid union otherwise.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    let replaced =
        code == BUS_ADRERR && WATCHED.try_with(|watched| watched.replace(address)).unwrap_or(false);
    if !replaced {
        pass_on(signal, code, info, context);
    }
}

/// Does what would have been done without this handler.
fn pass_on(signal: libc::c_int, code: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // Kernel-made signals have positive codes; SI_USER is 0 and its kin are negative (sigaction(2)).
    let sent = code <= 0;
    let (handler, flags) = PREVIOUS.get().map_or((libc::SIG_DFL, 0), |it| (it.sa_sigaction, it.sa_flags));
    match handler {
        libc::SIG_IGN if sent => {}
        // The kernel does not let a fault be ignored either.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: both calls may be made in a handler (signal-safety(7)). A fault comes again on return, at
            // the instruction that is to blame; a signal that was sent must be sent again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if sent {
                    libc::raise(signal);
                }
            }
        }
        handler if flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: with SA_SIGINFO the kernel's record holds a function of this signature.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without SA_SIGINFO it holds a function of this signature.
            let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests;
