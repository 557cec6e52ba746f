//! A device in somebody's hands is refused, by whatever way they have it: threads, mappings, sockets, overlays, files.
#![allow(
    unsafe_code,
    reason = "a process has to be made that std does not make: one whose first thread has ended"
)]
#![expect(clippy::unwrap_used, reason = "this is test code")]

use crate::common::machine;
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::machine::{MIB, Machine, TestLoop, TestMount, ext4_on, needs_root, run};
use iostone_model::experiment::{BlockVolume, Stack, Volume};
use iostone_stack::{Refusal, RefusalReason, Session, StackError};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

fn on(device: &Path) -> Stack {
    ext4_on(Volume::Block(BlockVolume { devices: vec![device.to_owned()] }), &[])
}

fn refused(machine: &Machine, what: &str, device: &Path) -> Refusal {
    match Session::preflight(&on(device), true, &machine.work()) {
        Err(StackError::Refused(refusal)) => {
            assert_eq!(refusal.destroy, None, "{what}: what is alive is never given up: {refusal}");
            *refusal
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what}: it passed"),
    }
}

/// A process that has the device in some way, until it is dropped.
struct Holder(Child);

impl Holder {
    fn start(how: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "users::holder", "--nocapture", "--test-threads=1"])
            .env("HOLD_HOW", how)
            .env("HOLD_PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It says so once it has it.
        let mut said = String::new();
        let output = child.stdout.as_mut().unwrap();
        let mut byte = [0];
        while !said.contains("held\n") {
            assert_eq!(output.read(&mut byte).unwrap(), 1, "{how}: it ended: {said}");
            said.push(char::from(byte[0]));
        }
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for_the_end() -> ! {
    // Standard input is closed with the test, should that be killed.
    let _ = std::io::stdin().read(&mut [0]);
    std::process::abort()
}

/// Sends a descriptor, which nobody receives.
fn send(through: &std::os::unix::net::UnixStream, what: impl AsFd) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [what.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    sendmsg(through, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
}

fn say_held() {
    let mut output = std::io::stdout();
    output.write_all(b"\nheld\n").unwrap();
    output.flush().unwrap();
}

#[test]
#[ignore = "run by the other tests"]
fn holder() {
    let (Ok(how), Some(path)) = (std::env::var("HOLD_HOW"), std::env::var_os("HOLD_PATH")) else { return };
    let path = PathBuf::from(path);
    let open = || File::options().read(true).write(true).open(&path).unwrap();
    match how.as_str() {
        "descriptor" => {
            let _file = open();
            say_held();
            wait_for_the_end()
        }
        "reader" => {
            let _file = File::open(&path).unwrap();
            say_held();
            wait_for_the_end()
        }
        "mapping" => {
            let file = open();
            let flags = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
            // SAFETY: a new mapping at an address that the kernel chooses; nobody uses it.
            let address = unsafe { libc::mmap(std::ptr::null_mut(), 4096, flags.0, flags.1, descriptor, 0) };
            assert_ne!(address, libc::MAP_FAILED);
            drop(file);
            say_held();
            wait_for_the_end()
        }
        "socket" => {
            let (sender, _receiver) = std::os::unix::net::UnixStream::pair().unwrap();
            send(&sender, open());
            say_held();
            wait_for_the_end()
        }
        "socket in a socket" => {
            let (sender, receiver) = std::os::unix::net::UnixStream::pair().unwrap();
            let (outer, _kept) = std::os::unix::net::UnixStream::pair().unwrap();
            send(&sender, open());
            send(&outer, &receiver);
            drop((sender, receiver));
            say_held();
            wait_for_the_end()
        }
        "thread" => {
            // SAFETY: the child is one thread, which makes another one and ends; neither takes a lock of its parent's.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let file = open();
                std::thread::spawn(move || {
                    let _file = file;
                    std::thread::sleep(Duration::from_millis(50));
                    say_held();
                    wait_for_the_end()
                });
                // SAFETY: it ends this thread alone, as exit(2) without the C library's wrapper does.
                unsafe { libc::syscall(libc::SYS_exit, 0) };
            }
            // The parent is the one that is killed: its child goes by the end of its input.
            let _ = std::io::stdin();
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        "own-table" => {
            std::thread::spawn(move || {
                // SAFETY: it gives this thread a table of descriptors of its own (unshare(2)).
                assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
                let _file = File::options().write(true).open(&path).unwrap();
                say_held();
                wait_for_the_end()
            });
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
        other => panic!("{other}"),
    }
}

#[test]
fn whoever_may_write_to_a_device_by_whatever_way_is_named() {
    if needs_root("whoever_may_write_to_a_device_by_whatever_way_is_named") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 32 * MIB);
    for (how, words) in [
        ("descriptor", "open for writing"),
        ("mapping", "mapping"),
        ("socket", "in transit on a socket"),
        ("socket in a socket", "in transit on a socket"),
        ("thread", "open for writing"),
        ("own-table", "open for writing"),
    ] {
        let holder = Holder::start(how, &disk.path);
        let refusal = refused(&machine, how, &disk.path);
        drop(holder);
        assert_eq!(refusal.reason, RefusalReason::Open, "{how}: {refusal}");
        assert!(refusal.because.contains(words), "{how}: {refusal}");
        // Nothing is left of it, and the device is free.
        let is_free = || Session::preflight(&on(&disk.path), true, &machine.work()).is_ok();
        machine::wait_for(how, None, is_free);
    }
    let reader = Holder::start("reader", &disk.path);
    Session::preflight(&on(&disk.path), true, &machine.work()).unwrap();
    drop((reader, disk));
    machine.assert_clean();
}

#[test]
fn a_file_that_is_open_elsewhere_keeps_its_loop_device_from_use() {
    if needs_root("a_file_that_is_open_elsewhere_keeps_its_loop_device_from_use") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("machine.img"), 32 * MIB);
    let link = machine.path().join("link");
    std::fs::hard_link(&disk.image, &link).unwrap();
    for (how, path) in [("descriptor", &disk.image), ("mapping", &disk.image), ("descriptor", &link)] {
        let holder = Holder::start(how, path);
        let refusal = refused(&machine, how, &disk.path);
        drop(holder);
        assert!(refusal.because.contains("the file under it"), "{how}: {refusal}");
    }
    drop(disk);
    machine.assert_clean();
}

#[test]
fn a_second_loop_device_over_a_hard_link_or_another_part_counts_as_the_same() {
    if needs_root("a_second_loop_device_over_a_hard_link_or_another_part_counts_as_the_same") {
        return;
    }
    let machine = Machine::new();
    let disk = TestLoop::new(&machine.path().join("disk.img"), 64 * MIB);
    let link = machine.path().join("link.img");
    std::fs::hard_link(&disk.image, &link).unwrap();
    let linked = TestLoop::over(&link);
    let shifted = TestLoop::over_part(&disk.image, MIB, 32 * MIB);
    let target = machine.path().join("mount");
    std::fs::create_dir(&target).unwrap();
    run("mkfs.ext4", &["-F", "-q", disk.path.to_str().unwrap()]);
    run("mount", &[disk.path.to_str().unwrap(), target.to_str().unwrap()]);
    let mount = TestMount { target, device: None };
    for device in [&linked, &shifted] {
        let refusal = refused(&machine, "beside a mount", &device.path);
        assert_eq!(refusal.reason, RefusalReason::Mounted, "{refusal}");
    }
    drop((mount, linked, shifted, disk));
    machine.assert_clean();
}

#[test]
fn both_sides_of_an_overlay_are_the_same_bytes() {
    if needs_root("both_sides_of_an_overlay_are_the_same_bytes") {
        return;
    }
    let machine = Machine::new();
    let at = |name: &str| machine.path().join(name);
    for name in ["lower", "upper", "work", "merged", "mount"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    for place in ["upper", "lower"] {
        let image = at(place).join(format!("{place}.img"));
        File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    }
    let layers = ["lower", "upper", "work"].map(|name| format!("{name}dir={}", at(name).display())).join(",");
    let merged = at("merged");
    run("mount", &["-t", "overlay", "overlay", "-o", &layers, merged.to_str().unwrap()]);
    let overlay = TestMount { target: merged.clone(), device: None };
    // A file of the lower layer is that very file only while it is read.
    let merged_loop = TestLoop::over(&merged.join("upper.img"));
    let upper_loop = TestLoop::over(&at("upper").join("upper.img"));
    let lower_loop = TestLoop::over(&at("lower").join("lower.img"));
    Session::preflight(&on(&lower_loop.path), true, &machine.work()).unwrap();
    let target = at("mount");
    // The merged file is open, and its other side is asked for.
    let alone = at("upper").join("alone.img");
    File::create(&alone).unwrap().set_len(32 * MIB).unwrap();
    let alone_loop = TestLoop::over(&alone);
    let holder = Holder::start("descriptor", &merged.join("alone.img"));
    let refusal = refused(&machine, "the merged file is open", &alone_loop.path);
    assert_eq!(refusal.reason, RefusalReason::Open, "{refusal}");
    drop((holder, alone_loop));
    for (mounted, asked) in [(&merged_loop, &upper_loop), (&upper_loop, &merged_loop)] {
        run("mkfs.ext4", &["-F", "-q", mounted.path.to_str().unwrap()]);
        run("mount", &[mounted.path.to_str().unwrap(), target.to_str().unwrap()]);
        let mount = TestMount { target: target.clone(), device: None };
        let refusal = refused(&machine, "the other side is mounted", &asked.path);
        assert_eq!(refusal.reason, RefusalReason::Mounted, "{refusal}");
        drop(mount);
    }
    drop((merged_loop, upper_loop, lower_loop, overlay));
    machine.assert_clean();
}
