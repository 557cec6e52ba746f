//! A second user who owns the directory swaps a target's name while iostone runs as root: nothing of root's may change.
//!
//! The user is a process of `nobody` in a directory of its own. It cannot write to root's files and devices, but it can put
//! a symbolic link to one where iostone looks for its target, at any moment between two looks.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lab::{Disk, Lab, needs_root, needs_tool, words};

/// Runs of iostone in each race.
const ROUNDS: usize = 200;
/// The swaps that there are at least for each of them.
const SWAPS: u64 = 10;
/// `nobody` and `nogroup` of Debian.
const NOBODY: u32 = 65534;

/// Swaps the name `F` in the current directory: nothing, a link to the first argument, and what iostone made there.
const SWAP_NAME: &str = r#"
my ($target) = @ARGV; my $swaps = 0; $SIG{TERM} = sub { print "$swaps\n"; exit 0 };
while (1) {
    my $what = int(rand(5));
    if ($what == 0) { unlink "F" }
    elsif ($what == 1) { symlink($target, "link"); rename("link", "F") }
    elsif ($what == 2) { rename("F", "own") unless -l "F" }
    else { rename("own", "F") }
    $swaps++;
    select(undef, undef, undef, rand(0.002)) if rand() < 0.3;
}
"#;

/// Swaps the directory `d` for a link to the first argument, and puts it back.
const SWAP_DIRECTORY: &str = r#"
my ($target) = @ARGV; my $swaps = 0; $SIG{TERM} = sub { print "$swaps\n"; exit 0 };
mkdir "d";
while (1) {
    rename("d", "e"); symlink($target, "d");
    select(undef, undef, undef, rand(0.001)) if rand() < 0.3;
    unlink "d"; rename("e", "d");
    unlink "d/F" if rand() < 0.3;
    $swaps += 2;
    select(undef, undef, undef, rand(0.002)) if rand() < 0.3;
}
"#;

/// The second user at work in the directory `mine`, until it is dropped.
struct Swapper(Child);

impl Swapper {
    fn begin(lab: &Lab, script: &str, target: &Path) -> Self {
        let mine = lab.path().join("mine");
        fs::create_dir(&mine).unwrap();
        chown(&mine, Some(NOBODY), Some(NOBODY)).unwrap();
        // The directory is the current one before the user changes, who may not come to it by its path.
        let child = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-e", script])
            .arg(target)
            .current_dir(&mine)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Ends it; how often it swapped.
    fn end(mut self) -> u64 {
        let process = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.0.wait().unwrap();
        said.trim().parse().unwrap_or_else(|_| panic!("the swapper failed: {said:?}"))
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What iostone does in a round to the name that is swapped.
#[derive(Debug, Clone, Copy)]
enum Load {
    /// A load of `io`; every second one with the user's word that the content of that name may go.
    Io,
    /// `orion --create`, which ends behind it because of a second LUN that was never written.
    Create,
    /// A whole test of ORION's that writes.
    Orion,
}

/// Runs iostone so often on a name while it is swapped.
#[expect(clippy::print_stderr, reason = "how hard a race was is worth a line")]
fn race(lab: &Lab, script: &str, target: &Path, name: &str, load: Load, rounds: usize) {
    File::create(lab.path().join("holes")).unwrap().set_len(64 << 10).unwrap();
    let second = if matches!(load, Load::Create) { "holes\n" } else { "" };
    lab.write("orion.lun", &format!("{name}\n{second}"));
    let swapper = Swapper::begin(lab, script, target);
    let filename = format!("--filename={name}");
    let mut ended = std::collections::BTreeMap::<i32, usize>::new();
    for round in 0..rounds {
        let mut arguments = match load {
            Load::Io => vec!["io", &filename, "--rw=write", "--size=64KiB", "--bs=64KiB"],
            Load::Create | Load::Orion => {
                "orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 --create 64KiB"
                    .split(' ')
                    .collect()
            }
        };
        match load {
            Load::Io if round % 2 == 1 => arguments.extend(["--destroy", name]),
            Load::Orion => arguments.extend(["-write", "100", "--destroy", name]),
            _ => {}
        }
        let output = lab.iostone(&arguments).output().unwrap();
        let code = output.status.code().unwrap_or_else(|| panic!("{}", words(&output)));
        assert!(!words(&output).contains("panicked"), "{}", words(&output));
        *ended.entry(code).or_default() += 1;
    }
    let swaps = swapper.end();
    eprintln!("{load:?} on `{name}`: {rounds} rounds, {swaps} swaps, ended with {ended:?}");
    assert!(swaps >= SWAPS * rounds as u64, "{swaps} swaps in {rounds} rounds: {ended:?}");
}

/// A directory of root's with a file in it, and what both hold.
struct Precious(PathBuf);

impl Precious {
    fn new(lab: &Lab) -> Self {
        let folder = lab.path().join("roots");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("F"), Self::content()).unwrap();
        Self(folder)
    }

    fn content() -> Vec<u8> {
        (0..64u32 << 10).map(|at| (at % 251) as u8).collect()
    }

    fn file(&self) -> PathBuf {
        self.0.join("F")
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert!(fs::read(self.file()).unwrap() == Self::content(), "root's file was written to");
        let names: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["F"], "files were made in root's directory");
    }
}

/// A name that is swapped for a link to root's file, and for one to a device with a filesystem that is not mounted.
fn race_for_names(load: Load, rounds: usize) {
    let lab = Lab::new();
    let precious = Precious::new(&lab);
    race(&lab, SWAP_NAME, &precious.file(), "mine/F", load, rounds);
    precious.assert_untouched();
}

fn race_for_devices(load: Load, rounds: usize) {
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let made = Command::new("mkfs.ext4").args(["-q", "-L", "precious", &disk.path]).status();
    assert!(made.unwrap().success());
    let device = || fs::read(&disk.path).unwrap();
    let before = device();
    race(&lab, SWAP_NAME, Path::new(&disk.path), "mine/F", load, rounds);
    assert!(device() == before, "the device was written to");
}

fn race_for_directories(load: Load, rounds: usize) {
    let lab = Lab::new();
    let precious = Precious::new(&lab);
    race(&lab, SWAP_DIRECTORY, &precious.0, "mine/d/F", load, rounds);
    precious.assert_untouched();
}

macro_rules! races {
    ($($name:ident: $race:ident($load:expr, $rounds:expr);)*) => {$(
        #[test]
        fn $name() {
            needs_root!();
            needs_tool!("perl");
            needs_tool!("setpriv");
            $race($load, $rounds);
        }
    )*};
}

races! {
    io_writes_to_no_file_that_a_name_was_swapped_for: race_for_names(Load::Io, ROUNDS);
    io_writes_to_no_device_that_a_name_was_swapped_for: race_for_devices(Load::Io, ROUNDS);
    io_writes_nowhere_through_a_directory_that_was_swapped: race_for_directories(Load::Io, ROUNDS);
    orion_fills_no_file_that_a_name_was_swapped_for: race_for_names(Load::Create, ROUNDS);
    orion_fills_no_device_that_a_name_was_swapped_for: race_for_devices(Load::Create, ROUNDS);
    orion_fills_nothing_through_a_directory_that_was_swapped: race_for_directories(Load::Create, ROUNDS);
    orion_measures_on_no_file_that_a_name_was_swapped_for: race_for_names(Load::Orion, 5);
    orion_measures_nothing_through_a_directory_that_was_swapped: race_for_directories(Load::Orion, 5);
}

#[test]
fn a_device_in_use_is_not_served_one_with_content_is_and_no_link_of_another_users() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    assert!(Command::new("mkfs.ext4").args(["-q", &disk.path]).status().unwrap().success());
    let before = fs::read(&disk.path).unwrap();
    let serve = |file: &str| lab.iostone(&["disk", "serve", "--socket", "v", "--file", file]);
    let mut served = serve(&disk.path).stderr(Stdio::piped()).spawn().unwrap();
    while !lab.path().join("v.control").exists() {
        assert!(served.try_wait().unwrap().is_none(), "it ended at once");
    }
    assert!(lab.iostone(&["disk", "control", "v.control", "end"]).status().unwrap().success());
    assert!(served.wait().unwrap().success());
    assert!(fs::read(&disk.path).unwrap() == before);

    let place = lab.path().join("mounted");
    fs::create_dir(&place).unwrap();
    assert!(Command::new("mount").arg(&disk.path).arg(&place).status().unwrap().success());
    let refused = serve(&disk.path).output().unwrap();
    assert!(Command::new("umount").arg(&place).status().unwrap().success());
    assert_eq!(refused.status.code(), Some(3), "{}", words(&refused));
    assert!(words(&refused).contains("mounted"), "{}", words(&refused));

    let mine = lab.path().join("mine");
    fs::create_dir(&mine).unwrap();
    std::os::unix::fs::symlink(&disk.path, mine.join("F")).unwrap();
    chown(&mine, Some(NOBODY), Some(NOBODY)).unwrap();
    let refused = serve("mine/F").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", words(&refused));
    assert!(words(&refused).contains("can change that link"), "{}", words(&refused));
}
