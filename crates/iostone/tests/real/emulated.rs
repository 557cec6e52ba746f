//! Volumes emulated by iostone's own disk server: caps and latency through a block device, and nothing left, also after
//! a kill at any moment.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_model::experiment::{EmulatedBy, EmulatedVolume, Ext4, Filesystem, Link, Stack, Volume};
use iostone_model::units::{Bytes, Span};
use iostone_stack::{DriveSource, Registry, Session, SessionOptions};

use crate::attempts::reaches;
use crate::lab::{Lab, needs_root, needs_tool, words};

/// Two levels of a served volume, each trial as short as can be.
const EXPERIMENT: &str = r#"
name = "small-served"

[stack]
volume = { kind = "emulated", size = "32MiB", by = "server", latency = "1ms" }
filesystem = { kind = "ext4" }

[[factor]]
name = "volume"
levels = { slow = { volume.iops = 200 }, fast = { volume.iops = 400 } }

[workload]
kind = "io"
rw = "randread"
bs = "4KiB"
size = "4MiB"
iodepth = 4
direct = true
ramp_time = "100ms"
runtime = "300ms"

[decide]
metric = "iops"
baseline = "slow"
blocks = { min = 6, max = 6 }

[trials]
settle = "20ms"
warmups = 0

[gates]
steal = "off"
idle = "off"
throttling = "off"
"#;

fn session(lab: &Lab) -> Session {
    let registry = Registry::at(&lab.path().join("state")).unwrap();
    let options = SessionOptions {
        run_token: "served".to_owned(),
        run_directory: lab.path().join("run"),
        work_directory: lab.path().join("run/work"),
        server_program: Some(env!("CARGO_BIN_EXE_iostone").into()),
        ..SessionOptions::default()
    };
    Session::begin(&registry, options).unwrap()
}

/// Reads 4 KiB at a time past the page cache from so many threads; gives the reads a second, and the fastest one.
fn read_for(device: &Path, threads: u64, lasting: Duration) -> (f64, Duration) {
    let (count, fastest_ns) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (count, fastest_ns) = (&count, &fastest_ns);
            scope.spawn(move || {
                let file = OpenOptions::new().read(true).custom_flags(direct).open(device).unwrap();
                let mut storage = vec![0_u8; 8192];
                let skip = storage.as_ptr().align_offset(4096);
                let buffer = &mut storage[skip..skip + 4096];
                let mut block = thread;
                while start.elapsed() < lasting {
                    let sent = Instant::now();
                    file.read_exact_at(buffer, block * 7919 % 4096 * 4096).unwrap();
                    let took = u64::try_from(sent.elapsed().as_nanos()).unwrap();
                    fastest_ns.fetch_min(took, Ordering::Relaxed);
                    count.fetch_add(1, Ordering::Relaxed);
                    block += threads;
                }
            });
        }
    });
    let reads = count.into_inner() as f64 / start.elapsed().as_secs_f64();
    (reads, Duration::from_nanos(fastest_ns.into_inner()))
}

/// Servers and what stands on them, started by this lab's commands, that still run.
fn servers_of(lab: &Lab) -> Vec<String> {
    let lab = format!("IOSTONE_STATE_DIR={}", lab.path().join("state").display());
    let is_server = |text: &[u8]| {
        let mut words = text.split(|&byte| byte == 0);
        words.clone().any(|word| word == lab.as_bytes())
            && words.any(|word| word.starts_with(b"IOSTONE_SERVER="))
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read(entry.path().join("environ")).is_ok_and(|text| is_server(&text)))
        .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

#[test]
fn a_served_volume_is_held_to_its_iops_and_never_faster_than_its_latency() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let mut session = session(&lab);
    let volume = EmulatedVolume {
        iops: Some(300),
        latency: Some(Span(Duration::from_millis(2))),
        ..EmulatedVolume::new(Bytes(32 << 20))
    };
    let applied = session.apply(&Stack::of(Volume::Emulated(volume)), 1, 7).unwrap();
    let device = applied.target.device.clone().unwrap();
    assert!(session.disk_control().unwrap().exists());
    assert!(session.confine().unwrap().is_none(), "the server has the limits itself");
    // In 1.5 s no more than 450 and the 10 ms that a pacer grants at once.
    reaches("300 reads a second", 300.0 * 0.97, 300.0 * 1.01, || {
        let (reads, fastest) = read_for(&device, 4, Duration::from_millis(1500));
        assert!(fastest >= Duration::from_millis(2), "{fastest:?}");
        reads
    });
    assert_eq!(session.verify().unwrap(), applied.checks);
    session.finish().unwrap();
    lab.assert_nothing_left();
}

#[test]
fn served_volumes_carry_filesystems_one_trial_after_the_other() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let mut session = session(&lab);
    let volume = EmulatedVolume { by: Some(EmulatedBy::Server), ..EmulatedVolume::new(Bytes(32 << 20)) };
    let stack =
        Stack { filesystem: Filesystem::Ext4(Ext4::default()), ..Stack::of(Volume::Emulated(volume)) };
    for trial in 1..3 {
        let mount = session.apply(&stack, trial, 7).unwrap().target.mount.unwrap();
        let path = mount.join("file");
        assert!(!path.exists(), "a trial sees nothing of the one before");
        std::fs::write(&path, vec![0x5a; 1 << 20]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        session.undo().unwrap();
    }
    session.finish().unwrap();
    lab.assert_nothing_left();
}

#[test]
fn a_guest_gets_the_sockets_of_linked_volumes() {
    let lab = Lab::new();
    let mut session = session(&lab);
    let volume = EmulatedVolume { count: 2, iops: Some(100), ..EmulatedVolume::new(Bytes(16 << 20)) };
    let link = Some(iostone_model::units::ByteRate(62_500_000));
    let stack = Stack { link: link.map(Link::of), ..Stack::of(Volume::Emulated(volume)) };
    let provided = session.provide(&stack, 1, 7).unwrap();
    assert_eq!(provided.drives.len(), 2);
    assert_eq!(provided.stack.link, None, "the server has it");
    for drive in &provided.drives {
        let DriveSource::Nbd { socket } = &drive.source else { panic!("{drive:?}") };
        let client = iostone_disk::Client::connect(socket, "").unwrap();
        assert_eq!(client.size_bytes(), drive.size_bytes);
    }
    session.finish().unwrap();
    lab.assert_nothing_left();
}

#[test]
fn a_kill_at_any_moment_leaves_no_server_mount_or_device() {
    needs_root!();
    needs_tool!("nbdfuse");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", EXPERIMENT);
    for moment_ms in [250, 450, 700, 1000, 1400, 1900] {
        let mut child =
            lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(moment_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let output = lab.iostone(&["cleanup"]).output().unwrap();
        assert!(output.status.success(), "after {moment_ms} ms: {}", words(&output));
        lab.assert_nothing_left();
        assert_eq!(servers_of(&lab), Vec::<String>::new(), "after {moment_ms} ms");
    }
}
