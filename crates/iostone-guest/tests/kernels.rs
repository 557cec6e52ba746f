//! Real kernels: fetched from Debian where that can be reached, with modules for every stack, and booted.
//!
//! They are kept in the build's directory, or where `IOSTONE_CACHE` says, so that only the first run fetches them.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so by name")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iostone_guest::{
    Cache, Cargo, GuestError, Kernel, Listing, find_kernel, find_program, list_kernels, needs_of,
};
use iostone_model::experiment::{
    Array, Btrfs, Ext4, Filesystem, LoopVolume, LvmArray, MdArray, MdLevel, Stack, Volume, Xfs,
};
use iostone_model::units::Bytes;

/// A guest that says nothing for so long will say nothing more.
const PATIENCE: Duration = Duration::from_secs(600);

fn cache() -> Cache {
    let place = std::env::var_os("IOSTONE_CACHE").map(PathBuf::from);
    Cache::at(place.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("iostone-cache")))
}

/// A kernel of that series, or none where it cannot be had.
fn kernel(spec: &str) -> Option<Kernel> {
    match find_kernel(spec, None, &cache(), &mut |line| eprintln!("{line}"), &AtomicBool::new(false)) {
        Ok(kernel) => Some(kernel),
        Err(GuestError::Missing(reason)) => {
            eprintln!("skipped: needs a Debian archive ({reason})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn on_loop(array: Array, filesystem: Filesystem) -> Stack {
    Stack { array, filesystem, ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(1 << 20)))) }
}

fn md(level: MdLevel) -> Array {
    Array::Md(MdArray { level, chunk: None, metadata: None })
}

#[test]
fn several_series_can_be_had() {
    if kernel("debian:6.1").is_none() {
        return;
    }
    let listed = list_kernels(&cache(), Listing::Usual, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let of_series = |series: &str| listed.iter().filter(|kernel| kernel.series == series).count();
    assert!(of_series("6.1") >= 2, "{listed:?}");
    assert!(listed.iter().any(|kernel| kernel.series != "6.1"));
    assert!(listed.iter().any(|kernel| kernel.cached && kernel.series == "6.1"));
}

#[test]
fn a_cached_release_is_found_again_without_the_archive() {
    let Some(kernel) = kernel("debian:6.1") else { return };
    let mut heard = Vec::new();
    let spec = format!("debian:{}", kernel.release);
    let again =
        find_kernel(&spec, None, &cache(), &mut |line| heard.push(line.to_owned()), &AtomicBool::new(false));
    assert_eq!(again.unwrap(), kernel);
    assert_eq!(heard, [""; 0]);
    let by_path =
        find_kernel(kernel.image.to_str().unwrap(), None, &cache(), &mut |_| {}, &AtomicBool::new(false));
    let by_path = by_path.unwrap();
    assert_eq!((by_path.release, by_path.modules), (kernel.release, kernel.modules));
}

#[test]
fn the_modules_of_every_stack_are_there() {
    let Some(kernel) = kernel("debian:6.1") else { return };
    let lvm = Array::Lvm(LvmArray { stripes: None, stripe_size: None });
    let stacks = [
        on_loop(md(MdLevel::Raid0), Filesystem::Xfs(Xfs::default())),
        on_loop(md(MdLevel::Raid5), Filesystem::Ext4(Ext4::default())),
        on_loop(lvm, Filesystem::Btrfs(Btrfs::default())),
    ];
    for stack in stacks {
        let mut needs = needs_of(&stack, None);
        // Whether this host has the programs is not the question.
        needs.programs.clear();
        let mut cargo = Cargo::new();
        cargo.needs(&needs, &kernel).unwrap_or_else(|error| panic!("{stack:?}: {error}"));
        assert_eq!(cargo.notes(), [""; 0]);
    }
    let message = Cargo::new().modules(&kernel, &["no_such_module"]).unwrap_err().to_string();
    assert!(message.contains(&format!("is not among the modules of {}", kernel.release)), "{message}");
}

#[test]
fn a_program_of_this_host_runs_as_the_first_process_of_a_real_kernel() {
    let Ok(qemu) = find_program("qemu-system-x86_64") else {
        eprintln!("skipped: needs qemu-system-x86_64");
        return;
    };
    let Some(kernel) = kernel("debian:6.1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("initrd");
    let uname = find_program("uname").unwrap();
    let mut cargo = Cargo::new();
    cargo.program("uname").unwrap().modules(&kernel, &["virtio_blk", "raid0"]).unwrap();
    cargo.write(&archive).unwrap();
    // It ends, which the kernel takes for a panic, upon which QEMU ends too.
    let mut guest = Command::new(qemu)
        .args([
            "-M",
            "q35",
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-smp",
            "1",
            "-m",
            "256",
            "-nodefaults",
            "-no-user-config",
        ])
        .args(["-display", "none", "-no-reboot", "-serial", "stdio", "-kernel"])
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(&archive)
        .arg("-append")
        .arg(format!(
            "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check rdinit={} -- -r",
            uname.display()
        ))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(directory.path().join("console")).unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while guest.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            guest.kill().unwrap();
            guest.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let console =
        String::from_utf8_lossy(&std::fs::read(directory.path().join("console")).unwrap()).into_owned();
    assert!(console.lines().any(|line| line.trim() == kernel.release), "{console}");
}
