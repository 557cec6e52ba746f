//! Guests through the binary: a kernel boots, a trial runs inside, a panic is told, and nothing is ever left. They need
//! root, QEMU and a kernel in the cache, or an archive to fetch one from, and are skipped by name without.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop, and say where")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use iostone_guest::{Cache, Qemu};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_iostone");
/// The smallest kernels; the name that is fetched where the cache has none.
const FETCHED: &str = "debian:6.1";

/// The image, the modules and the release of a kernel.
#[derive(Debug, Clone)]
struct BootableKernel {
    image: PathBuf,
    modules: PathBuf,
    release: String,
}

/// A kernel of the cache, found once for all tests; fetched if there is none.
fn kernel() -> Option<&'static BootableKernel> {
    static KERNEL: OnceLock<Option<BootableKernel>> = OnceLock::new();
    KERNEL.get_or_init(find_kernel).as_ref()
}

fn find_kernel() -> Option<BootableKernel> {
    if !rustix::process::geteuid().is_root() || Qemu::find().is_err() {
        return None;
    }
    let cache = Cache::of_user().ok()?;
    let cached = || {
        cache.kernels().into_iter().find(|kernel| kernel.release.contains("cloud")).map(|kernel| {
            let place = cache.root().join("kernels").join(&kernel.release);
            let (image, modules) = (place.join("vmlinuz"), place.join("modules"));
            BootableKernel { image, modules, release: kernel.release }
        })
    };
    cached().or_else(|| {
        let fetched = Command::new(PROGRAM).args(["guest", "kernels", "--fetch", FETCHED]).output().ok()?;
        fetched.status.success().then(cached).flatten()
    })
}

/// Ends the test by name where there is nothing to boot.
macro_rules! needs_kernel {
    () => {
        match kernel() {
            Some(kernel) => kernel,
            None => {
                eprintln!(
                    "skipped: needs root, QEMU and a kernel (`iostone guest kernels --fetch {FETCHED}`)"
                );
                return;
            }
        }
    };
}

/// A place for runs and journals of its own.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn iostone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("IOSTONE_STATE_DIR", self.directory.path().join("state"))
            .env("TMPDIR", self.directory.path())
            .stdin(Stdio::null());
        command
    }

    /// An experiment with one configuration more than needed to be one.
    fn experiment(&self, kernel: &BootableKernel, workload: &str, metric: &str) -> String {
        let text = format!(
            "name = \"guest\"\nquestion = \"Does it?\"\n\
             [stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
             [[factor]]\nname = \"barrier\"\n\
             levels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\
             [workload]\n{workload}\n\
             [decide]\nmetric = \"{metric}\"\nbaseline = \"on\"\nmargin = \"5%\"\n\
             [machine]\nkind = \"guest\"\nkernel = \"{}\"\nmodules = \"{}\"\nmemory = \"256MiB\"\n",
            kernel.image.display(),
            kernel.modules.display()
        );
        let file = self.directory.path().join("experiment.toml");
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn trials(&self) -> Vec<(PathBuf, Value)> {
        let mut found = Vec::new();
        for run in fs::read_dir(self.directory.path().join("runs")).into_iter().flatten().flatten() {
            for trial in fs::read_dir(run.path().join("trials")).into_iter().flatten().flatten() {
                if let Ok(text) = fs::read(trial.path().join("trial.json")) {
                    found.push((trial.path(), serde_json::from_slice(&text).unwrap()));
                }
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }

    fn journals(&self) -> usize {
        fs::read_dir(self.directory.path().join("state/journals")).map_or(0, Iterator::count)
    }

    /// No journal, no image, no process that names a file of ours.
    fn assert_nothing_left(&self) {
        assert_eq!(self.journals(), 0);
        let images = files_below(self.directory.path(), &|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("iostone-"))
        });
        assert!(images.is_empty(), "{images:?}");
        let place = self.directory.path().display().to_string();
        assert_eq!(processes_with(&place), Vec::<String>::new());
        let loops = fs::read_to_string("/proc/mounts").unwrap();
        assert!(!loops.contains(&place));
    }
}

fn files_below(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if wanted(&entry.path()) {
            found.push(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path(), wanted));
        }
    }
    found
}

/// Command lines that hold a text.
fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if let Ok(line) = fs::read(entry.path().join("cmdline")) {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(text) {
                found.push(line);
            }
        }
    }
    found
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

const IO: &str = "kind = \"io\"\nrw = \"randwrite\"\nbs = \"4KiB\"\nsize = \"8MiB\"\nruntime = \"1s\"";

#[test]
fn a_program_runs_under_the_kernel_that_was_asked_for() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let image = kernel.image.display().to_string();
    let modules = kernel.modules.display().to_string();
    let booted = ["guest", "run", "--kernel", &image, "--modules", &modules, "--drive", "32MiB"];
    let mut arguments = booted.to_vec();
    arguments.extend(["--", "uname", "-r"]);
    let output = place.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), kernel.release);

    // A status other than 0 comes through, and so does what stands in the drives' serial numbers.
    let mut arguments = booted.to_vec();
    arguments.extend(["--", "grep", "-c", "iostone-v0", "/sys/block/vda/serial", "/nowhere"]);
    let output = place.iostone(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("/sys/block/vda/serial:1"),
        "{}",
        words(&output)
    );
    place.assert_nothing_left();
}

#[test]
fn a_trial_in_a_guest_records_the_guest() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let file = place.experiment(kernel, IO, "iops");
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let trials = place.trials();
    assert_eq!(trials.len(), 2);
    for (path, trial) in &trials {
        let guest = &trial["guest"];
        assert_eq!(guest["kernel_release"], kernel.release.as_str());
        assert!(guest["uname"].as_str().unwrap().starts_with(&format!("Linux {} ", kernel.release)));
        assert!(guest["command_line"].as_str().unwrap().contains("-- agent --guest"));
        assert_eq!(guest["cpus"], 1);
        assert!(guest["boot_seconds"].as_f64().unwrap() > 0.0);
        assert!(["kvm", "tcg"].contains(&guest["accelerator"].as_str().unwrap()));
        assert!(trial["metrics"]["iops"].as_f64().unwrap() > 0.0);
        assert!(path.join("trial.json").exists());
    }
    place.assert_nothing_left();
}

#[test]
fn a_panic_inside_is_told_with_the_last_lines_of_the_console() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let workload = "kind = \"command\"\nargv = [\"/bin/sh\", \"-c\", \"echo c > /proc/sysrq-trigger\"]";
    let file = place.experiment(kernel, workload, "wall_time");
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(!output.status.success());
    let told = words(&output)
        + &place.trials().iter().map(|(_, trial)| trial.to_string()).collect::<Vec<_>>().join("\n");
    assert!(told.contains("Kernel panic - not syncing: sysrq triggered crash"), "{told}");
    place.assert_nothing_left();
}

#[test]
fn nothing_is_left_of_a_guest_whose_iostone_was_killed() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let workload = "kind = \"command\"\nargv = [\"/bin/sleep\", \"600\"]";
    let file = place.experiment(kernel, workload, "wall_time");
    let mut child =
        place.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mark = place.directory.path().display().to_string();
    let guest_runs = || {
        processes_with(&mark).iter().any(|line| line.contains("-accel") && line.contains("virtserialport"))
    };
    while !guest_runs() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before a guest ran");
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = place.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    place.assert_nothing_left();
}
