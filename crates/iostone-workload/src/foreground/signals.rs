//! Signals while a program runs in the foreground: those sent to us go on to it, those of the terminal it has already.

#![expect(unsafe_code, reason = "installing signal handlers, and what they may do")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Those that would end us before the program has ended and everything is undone, or that a program may take as a request.
///
/// Left out are those that cannot be caught, that stop and continue (the terminal's stops reach both of us; see
/// [`stop_like`]), that tell of a fault in the process itself, of a child, and SIGPIPE, which the kernel sends to a writer
/// as if that had sent it.
const FORWARDED: [i32; 15] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGURG,
    libc::SIGWINCH,
];

/// All of them, with those for whatever programs agree on (signal(7), "Real-time signals").
fn forwarded() -> impl Iterator<Item = i32> {
    FORWARDED.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Those that a program may have been started to ignore, as nohup(1) and the background jobs of shells are.
const OFTEN_IGNORED: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// Descriptor of the pidfd that signals go on to; none is -1.
static CHILD: AtomicI32 = AtomicI32::new(-1);
/// A process has one set of handlers, so one program at a time is in the foreground.
static ONE: Mutex<()> = Mutex::new(());

/// Which signals this process was started to ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispositions {
    ignored: [bool; OFTEN_IGNORED.len()],
}

impl Dispositions {
    /// Those of now; ask before any handler is installed.
    pub fn now() -> Self {
        Self { ignored: OFTEN_IGNORED.map(is_ignored) }
    }

    /// Ignores again, in this process, what it was started to ignore. Async-signal-safe.
    pub fn restore(&self) {
        for (signal, _) in OFTEN_IGNORED.into_iter().zip(self.ignored).filter(|(_, ignored)| *ignored) {
            // SAFETY: signal(2) takes two integers here and is async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid, the pointer is to a live local, and a null action changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// While this lives, signals that a process sends to us go on to a child instead of ending us.
pub(super) struct Forwarding {
    /// What there was before, to be put back.
    before: Vec<(i32, libc::sigaction)>,
    _one: MutexGuard<'static, ()>,
}

impl Forwarding {
    /// To the process that a pidfd stands for, which must live longer than this.
    pub(super) fn to(child: &OwnedFd) -> io::Result<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        CHILD.store(child.as_raw_fd(), Ordering::Relaxed);
        let mut forwarding = Self { before: Vec::new(), _one: one };
        for signal in forwarded().filter(|signal| !is_ignored(*signal)) {
            // SAFETY: all-zero sigactions are valid, the handler only does what is async-signal-safe, and the pointers
            // are to live locals.
            let (result, before) = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = forward as *const () as libc::sighandler_t;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                (libc::sigaction(signal, &raw const action, &raw mut before), before)
            };
            if result == -1 {
                return Err(io::Error::last_os_error());
            }
            forwarding.before.push((signal, before));
        }
        Ok(forwarding)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: what is put back was in force before; the pointer is to a live value.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        CHILD.store(-1, Ordering::Relaxed);
    }
}

extern "C" fn forward(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // Only loads and system calls here: all that a signal handler may do.
    // SAFETY: with SA_SIGINFO the kernel hands a valid siginfo; the calls take integers and a null pointer, and errno is
    // put back as the interrupted code had it.
    unsafe {
        // A terminal's goes to everybody in the foreground; what is positive is the kernel's (sigaction(2)).
        if (*info).si_code > 0 {
            return;
        }
        let errno = *libc::__errno_location();
        let child = CHILD.load(Ordering::Relaxed);
        libc::syscall(libc::SYS_pidfd_send_signal, child, signal, std::ptr::null::<libc::siginfo_t>(), 0);
        *libc::__errno_location() = errno;
    }
}

/// Whether a stop by that signal is the terminal's doing: Ctrl-Z, or reading and writing in the background.
pub(super) fn is_of_terminal(signal: i32) -> bool {
    [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}

/// Stops this process as that signal does, until somebody continues it. The kernel ignores it where nobody would.
pub(super) fn stop_like(signal: i32) {
    // SAFETY: kill(2) takes two integers; the signal is one that stops.
    unsafe { libc::kill(libc::getpid(), signal) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn signals_that_are_sent_to_us_end_the_child_instead() {
        let all = [
            Signal::USR1,
            Signal::ALARM,
            Signal::VTALARM,
            Signal::PROF,
            Signal::IO,
            Signal::POWER,
            Signal::XCPU,
        ];
        for signal in all {
            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
            let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            let forwarding = Forwarding::to(&handle).unwrap();
            kill_process(rustix::process::getpid(), signal).unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
            drop(forwarding);
        }
    }

    #[test]
    fn real_time_signals_go_on_too() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let _forwarding = Forwarding::to(&handle).unwrap();
        let last = libc::SIGRTMAX();
        // SAFETY: kill(2) takes two integers.
        assert_eq!(unsafe { libc::kill(libc::getpid(), last) }, 0);
        assert_eq!(child.wait().unwrap().signal(), Some(last));
    }
}
