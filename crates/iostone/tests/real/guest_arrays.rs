//! Arrays and network block devices under kernels that have them, whatever this host's kernel has: the stack's own tests
//! run in a guest, an experiment builds its array in one, and the kernel's NBD client meets our server in one.
//!
//! They need root, QEMU and a kernel, and are skipped by name without.

/// Ends the test by name where a program is missing.
macro_rules! needs_tools {
    ($($tool:expr),+) => {
        for tool in [$($tool),+] {
            if iostone_guest::find_program(tool).is_err() {
                eprintln!("skipped: needs {tool}");
                return;
            }
        }
    };
}

mod network_block_device;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use crate::guests::{BootableKernel, Place, needs_kernel, words};
use serde_json::Value;

/// What the stack's tests call, beside mdadm.
const TOOLS: &[&str] = &["lvm", "dmsetup", "mkfs.ext4", "wipefs", "blkid", "mount", "umount", "sleep"];
/// What those call and what keeps them from asking for more.
const FILES: &[&str] = &["/etc/mke2fs.conf", "/etc/lvm/lvm.conf"];

/// A program of this host's in a guest, with drives, modules and what else it needs.
struct Inside<'a> {
    kernel: &'a BootableKernel,
    drives: &'a [&'a str],
    modules: &'a [&'a str],
    carried: Vec<String>,
    seconds: u32,
}

impl Inside<'_> {
    fn run(&self, place: &Place, program: &[&str]) -> Output {
        let (image, modules) = (self.kernel.image.display(), self.kernel.modules.display());
        let mut arguments: Vec<String> = ["guest", "run", "--memory", "768MiB"].map(str::to_owned).to_vec();
        arguments.push(format!("--kernel={image}"));
        arguments.push(format!("--modules={modules}"));
        arguments.push(format!("--timeout={}s", self.seconds));
        arguments.extend(self.drives.iter().map(|size| format!("--drive={size}")));
        arguments.extend(self.modules.iter().map(|name| format!("--module={name}")));
        arguments.extend(self.carried.iter().map(|path| format!("--carry={path}")));
        arguments.push("--".to_owned());
        arguments.extend(program.iter().map(|word| (*word).to_owned()));
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        place.iostone(&words).output().unwrap()
    }
}

/// Another package's test program: cargo builds those of a workspace into one directory before it runs the first. Where
/// only this one was asked for, cargo is told to build it.
fn test_program(name: &str) -> PathBuf {
    let newest = || {
        let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let is_it = |path: &Path| {
            let hash = path.file_name().and_then(|file| file.to_str()?.strip_prefix(name)?.strip_prefix('-'));
            hash.is_some_and(|hash| hash.len() == 16 && hash.chars().all(|digit| digit.is_ascii_hexdigit()))
        };
        let built =
            |path: &Path| path.metadata().and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let entries = std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| is_it(path)).max_by_key(|path| built(path))
    };
    newest()
        .or_else(|| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let arguments = ["test", "--quiet", "--locked", "--no-run", "--workspace", "--test", name];
            let built = Command::new(cargo).args(arguments).status().unwrap();
            assert!(built.success(), "cargo builds no test `{name}`");
            newest()
        })
        .unwrap()
}

#[test]
fn the_tests_of_arrays_pass_under_a_kernel_that_has_them() {
    let kernel = needs_kernel!();
    needs_tools!("mdadm", "lvm", "dmsetup", "mkfs.ext4", "wipefs", "mount", "umount");
    let tests = test_program("stacks").display().to_string();
    let place = Place::new();
    let carried = [&["mdadm"], TOOLS, FILES].concat().into_iter().map(str::to_owned);
    let inside = Inside {
        kernel,
        drives: &["48MiB"; 4],
        modules: &["md_mod", "raid0", "raid1", "raid10", "raid456", "dm_mod", "ext4"],
        carried: carried.collect(),
        seconds: 600,
    };
    let chosen = [
        "every_level_is_built_proven_and_undone_without_a_trace",
        "a_logical_volume_is_built_proven_and_undone_without_a_trace",
        "kill_at_any_moment_leaves_no_array_after_cleanup",
    ];
    let output =
        inside.run(&place, &[&[tests.as_str(), "--test-threads", "1", "--nocapture"], &chosen[..]].concat());
    let told = words(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("test result: ok. 3 passed") && !told.contains("skipped: "), "{told}");
    place.assert_nothing_left();
}

/// An array of one and of two emulated volumes in a guest, one trial each.
const STRIPED: &str = r#"
name = "striped"
question = "Does it reach the kernel?"

[stack]
volume = { kind = "emulated", size = "64MiB", throughput = "40MB/s", fill = false }
array = { kind = "md", level = "raid0", chunk = "256KiB" }
queue = { readahead = 65536 }
filesystem = { kind = "ext4" }

[[factor]]
name = "volumes"
levels = { one = { volume.count = 1 }, two = { volume.count = 2 } }

[workload]
kind = "io"
rw = "read"
bs = "1MiB"
size = "16MiB"
runtime = "1s"

[decide]
metric = "throughput"
baseline = "one"

[gates]
steal = "off"
idle = "off"
"#;

#[test]
fn the_geometry_of_an_array_reaches_the_kernel_and_is_read_back() {
    let kernel = needs_kernel!();
    needs_tools!("mdadm", "mkfs.ext4");
    let place = Place::new();
    let machine = format!(
        "[machine]\nkind = \"guest\"\nkernel = \"{}\"\nmodules = \"{}\"\nlink = \"62.5MB/s\"\n",
        kernel.image.display(),
        kernel.modules.display()
    );
    let file = place.write("striped.toml", &format!("{STRIPED}\n{machine}"));
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let trials = place.trials();
    assert_eq!(trials.len(), 2);
    for (_, trial) in &trials {
        let members: u64 = if trial["configuration"].to_string().contains("two") { 2 } else { 1 };
        assert_eq!(read_back(trial, "md/level"), "raid0");
        assert_eq!(read_back(trial, "md/raid_disks"), members.to_string());
        assert_eq!(read_back(trial, "md/chunk_size"), (256 << 10).to_string());
        assert_eq!(read_back(trial, "BLKRAGET of /dev/md127"), "readahead 65536 sectors");
        // 256 KiB are 64 blocks of 4 KiB; a stripe is a chunk on every member.
        let stride = format!("stride 64, stripe width {} blocks of 4096 bytes", 64 * members);
        assert!(all_read_back(trial).any(|text| text == stride), "{stride}: {trial:#}");
        let notes = trial["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        let assembly: Vec<&str> = notes.filter(|note| note.starts_with("assembly: ARRAY /dev/md")).collect();
        assert!(matches!(assembly[..], [line] if line.contains(" UUID=")), "{assembly:?}");
    }
    place.assert_nothing_left();
}

/// What the kernel or the filesystem itself said of each setting.
fn all_read_back(trial: &Value) -> impl Iterator<Item = &str> {
    trial["checks"].as_array().unwrap().iter().filter_map(|check| check["read_back"].as_str())
}

/// What one place said.
fn read_back<'a>(trial: &'a Value, from: &str) -> &'a str {
    let checks = trial["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["from"].as_str().unwrap().ends_with(from));
    let check = check.unwrap_or_else(|| panic!("no check from {from}: {checks:#?}"));
    check["read_back"].as_str().unwrap()
}
