//! The kernel's NBD client at our server's sockets: this very program runs in a guest, whose kernel has such devices.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_model::experiment::{EmulatedVolume, Ext4, Filesystem, Stack, Volume};
use iostone_model::units::{Bytes, Span};
use iostone_stack::{Registry, Session, SessionOptions};

use super::Inside;
use crate::guests::{PROGRAM, Place, needs_kernel, words};

/// Where the tests inside work.
const PLACE: &str = "/var/tmp/served";

/// An endless run on a served volume, for its kill.
const EXPERIMENT: &str = r#"
name = "served"
question = "Is anything left?"

[stack]
volume = { kind = "emulated", size = "16MiB", latency = "1ms" }
filesystem = { kind = "ext4" }

[[factor]]
name = "volume"
levels = { slow = { volume.iops = 200 }, fast = { volume.iops = 400 } }

[workload]
kind = "command"
argv = ["/bin/sleep", "600"]

[decide]
metric = "wall_time"
baseline = "slow"
"#;

#[test]
fn the_kernels_nbd_client_meets_our_server() {
    let kernel = needs_kernel!();
    needs_tools!("mkfs.ext4");
    let place = Place::new();
    let program = std::env::current_exe().unwrap().display().to_string();
    let carried = [PROGRAM, "mkfs.ext4", "/etc/mke2fs.conf", "blkid", "wipefs", "/bin/sleep"];
    let carried = carried.map(str::to_owned).to_vec();
    let inside = Inside { kernel, drives: &[], modules: &["nbd", "ext4"], carried, seconds: 600 };
    let tests = ["--ignored", "--nocapture", "--test-threads", "1", "network_block_device::inside"];
    let output = inside.run(&place, &[&[program.as_str()], &tests[..]].concat());
    let told = words(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("test result: ok. 2 passed"), "{told}");
    place.assert_nothing_left();
}

#[test]
#[ignore = "run in a guest, by the test above"]
fn inside_caps_and_latency_hold_and_a_filesystem_is_carried() {
    let registry = Registry::at(&Path::new(PLACE).join("state")).unwrap();
    let options = SessionOptions {
        run_token: "served".to_owned(),
        run_directory: Path::new(PLACE).join("run"),
        work_directory: Path::new(PLACE).join("run/work"),
        server_program: Some(PROGRAM.into()),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    let volume = EmulatedVolume {
        iops: Some(200),
        latency: Some(Span(Duration::from_millis(2))),
        ..EmulatedVolume::new(Bytes(32 << 20))
    };
    let stack = Stack::of(Volume::Emulated(EmulatedVolume { count: 2, ..volume.clone() }));
    session.apply(&stack, 1, 7).unwrap();
    assert_eq!(connected(), ["nbd0", "nbd1"]);
    let stack = Stack::of(Volume::Emulated(volume));
    let applied = session.apply(&stack, 2, 7).unwrap();
    let device = applied.target.device.clone().unwrap();
    assert!(device.ends_with("nbd0"), "{}", device.display());
    assert_eq!(connected(), ["nbd0"]);
    assert_eq!(fs::read_to_string("/sys/block/nbd0/queue/write_cache").unwrap(), "write back\n");
    assert!(applied.notes.iter().any(|note| note.contains("the kernel's NBD client")), "{:?}", applied.notes);
    let (reads, fastest) = read_for(&device, 4, Duration::from_secs(4));
    println!("{reads:.1} reads a second, the fastest took {fastest:?}");
    // An emulated processor may be too slow to reach the cap; past it nobody gets.
    assert!(reads < 200.0 * 1.03 && reads > 200.0 * 0.5, "{reads} reads a second");
    assert!(fastest >= Duration::from_millis(2), "{fastest:?}");
    assert_eq!(session.verify().unwrap(), applied.checks);
    // The next trial finds the device free, and a filesystem keeps what it is given.
    let stack = Stack { filesystem: Filesystem::Ext4(Ext4::default()), ..stack };
    let file = session.apply(&stack, 3, 7).unwrap().target.mount.unwrap().join("file");
    fs::write(&file, vec![0x5a; 1 << 20]).unwrap();
    File::open(&file).unwrap().sync_all().unwrap();
    session.verify().unwrap();
    session.finish().unwrap();
    assert_nothing_left();
}

#[test]
#[ignore = "run in a guest, by the test above"]
fn inside_a_kill_leaves_no_device_or_server() {
    let place = Path::new(PLACE);
    fs::create_dir_all(place).unwrap();
    fs::write(place.join("served.toml"), EXPERIMENT).unwrap();
    let iostone = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(place).env("IOSTONE_STATE_DIR", place.join("state"));
        command
    };
    let is_mounted = || fs::read_to_string("/proc/mounts").unwrap().contains("/dev/nbd0 ");
    // While the device is being connected, and while a filesystem on it is used.
    for mounted in [false, true] {
        let mut child =
            iostone(&["run", "served.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !(is_mounted() || !mounted && !connected().is_empty()) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let output = iostone(&["cleanup"]).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        println!("{}", words(&output));
        assert_nothing_left();
    }
}

/// Network block devices that somebody carries.
fn connected() -> Vec<String> {
    let entries = fs::read_dir("/sys/block").unwrap().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("pid").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Servers of volumes that run.
fn servers() -> usize {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines.flatten().filter(|line| line.ends_with(b"\0disk\0plan\0")).count()
}

fn assert_nothing_left() {
    assert_eq!(connected(), Vec::<String>::new());
    assert_eq!(servers(), 0);
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains("/dev/nbd"));
    let journals = Path::new(PLACE).join("state/journals");
    assert_eq!(fs::read_dir(journals).map_or(0, Iterator::count), 0);
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
