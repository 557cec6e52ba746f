//! A bus error that is none of ours, in a process of its own.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::*;

/// In the environment of the child: which end it is to meet.
const ENDING: &str = "IOSTONE_TEST_BUS_ERROR";

/// Runs the test that dies, and says how it did.
fn run_child(ending: &str) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "engine::mmap::fault::tests::a_child_that_meets_its_end"])
        .env(ENDING, ending)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap()
}

extern "C" fn exit_42(_: libc::c_int) {
    // SAFETY: `_exit` may be called in a handler.
    unsafe { libc::_exit(42) }
}

extern "C" fn exit_43(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: as above; the kernel passes a valid `siginfo_t`.
    unsafe { libc::_exit(if (*info).si_code == BUS_ADRERR { 43 } else { 1 }) }
}

fn handle_with(handler: usize, flags: i32) {
    // SAFETY: a zeroed `sigaction` with a handler of the signature that its flags say.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()), 0);
    }
}

#[test]
#[ignore = "ends the process: it is run as a child by the other tests"]
fn a_child_that_meets_its_end() {
    let Ok(ending) = std::env::var(ENDING) else { return };
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    match ending.as_str() {
        "plain handler" => handle_with(exit_42 as *const () as usize, 0),
        "handler with information" => handle_with(exit_43 as *const () as usize, libc::SA_SIGINFO),
        "ignored" | "ignored but sent" => handle_with(libc::SIG_IGN, 0),
        "default" | "sent" => handle_with(libc::SIG_DFL, 0),
        // The handler that Rust's own runtime installs.
        _ => {}
    }
    install().unwrap();
    if ending.contains("sent") {
        // SAFETY: raises a signal in this process.
        unsafe { libc::raise(libc::SIGBUS) };
        return;
    }
    let empty = tempfile::tempfile().unwrap();
    // SAFETY: a fresh mapping beyond the end of a file, which nothing guards.
    let byte = unsafe {
        rustix::mm::mmap(ptr::null_mut(), 4096, ProtFlags::READ, MapFlags::SHARED, &empty, 0)
            .unwrap()
            .cast::<u8>()
            .read_volatile()
    };
    panic!("read {byte}");
}

#[test]
fn a_bus_error_elsewhere_ends_the_process_as_it_would_have() {
    for ending in ["default", "sent", "ignored", "runtime"] {
        assert_eq!(run_child(ending).signal(), Some(libc::SIGBUS), "{ending}");
    }
    assert!(run_child("ignored but sent").success());
}

#[test]
fn a_bus_error_elsewhere_goes_to_the_handler_before() {
    assert_eq!(run_child("plain handler").code(), Some(42));
    assert_eq!(run_child("handler with information").code(), Some(43));
}
