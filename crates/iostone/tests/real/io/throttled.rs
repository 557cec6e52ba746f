//! On a device limited by its own speed the same job comes to the same throughput under fio and under this binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use iostone_stack::{CgroupVersion, ThrottleController};
use serde_json::Value;

use crate::lab::{Lab, needs_root, words};
use crate::loop_disk::Disk;

const READS_A_SECOND: u64 = 1500;
const WRITTEN_BYTES_A_SECOND: u64 = 24_000_000;
/// A machine with other things to do may hold up either; of so many pairs one has to agree.
const PAIRS: usize = 4;

/// A control group with limits on one device. Processes are in it from before they begin.
struct Group {
    path: PathBuf,
}

impl Group {
    fn new(
        controller: &ThrottleController,
        device: &str,
        reads_a_second: u64,
        written_bytes_a_second: u64,
    ) -> Self {
        let path = controller.parent.join(format!("compared-with-fio-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let group = Self { path };
        let name = Path::new(device).file_name().unwrap();
        let number = fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")).unwrap();
        let number = number.trim();
        let write = |file: &str, text: String| fs::write(group.path.join(file), text).unwrap();
        match controller.version {
            CgroupVersion::One => {
                write("blkio.throttle.read_iops_device", format!("{number} {reads_a_second}"));
                write("blkio.throttle.write_bps_device", format!("{number} {written_bytes_a_second}"));
            }
            CgroupVersion::Two => {
                write("io.max", format!("{number} riops={reads_a_second} wbps={written_bytes_a_second}"));
            }
        }
        group
    }

    /// Runs a command in the group.
    fn run(&self, command: &Command) -> Output {
        let mut inside = Command::new("sh");
        inside.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(self.path.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            inside.current_dir(directory);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside.output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group is busy for a moment after its last process.
        let deadline = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.path).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_limited_device_gives_as_much_as_to_fio() {
    needs_root!();
    let controller = match ThrottleController::find() {
        Ok(controller) if controller.must_be_handed_down => {
            return eprintln!("skipped: needs a group with `io`");
        }
        Ok(controller) => controller,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    if Command::new("fio").arg("--version").output().is_err() {
        return eprintln!("skipped: needs fio");
    }
    let lab = Lab::new();
    // In memory, so that nothing but the limits is slow.
    let disk = Disk::in_memory(&lab, 64 << 20);
    let group = Group::new(&controller, &disk.device, READS_A_SECOND, WRITTEN_BYTES_A_SECOND);
    let file = lab.write(
        "limited.fio",
        &format!(
            "[global]\nfilename={}\ndirect=1\nioengine=libaio\ntime_based\nramp_time=1\nruntime=3\n\
             [reads]\nrw=randread\nbs=4k\niodepth=16\nsize=32m\n\
             [writes]\nrw=write\nbs=64k\niodepth=8\noffset=32m\nsize=32m\n",
            disk.device
        ),
    );
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "--thread", &file]).current_dir(lab.path());
    let mut seen = Vec::new();
    for _ in 0..PAIRS {
        let theirs = group.run(&fio);
        assert!(theirs.status.success(), "{}", words(&theirs));
        let text = String::from_utf8(theirs.stdout).unwrap();
        let theirs: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        // It holds what fio has written.
        let word = format!("backing file {}, 64 MiB", disk.image.display());
        let ours = group.run(&lab.iostone(&["io", &file, "--json", "--destroy", &word]));
        assert!(ours.status.success(), "{}", words(&ours));
        let ours: Value = serde_json::from_slice(&ours.stdout).unwrap();
        let pair =
            [(0, "read", READS_A_SECOND as f64), (1, "write", WRITTEN_BYTES_A_SECOND as f64 / 65_536.0)].map(
                |(job, side, limit)| {
                    let fio = theirs["jobs"][job][side]["iops"].as_f64().unwrap();
                    let own = ours["jobs"][job]["iops"].as_f64().unwrap();
                    assert!(
                        own < limit * 1.05 && fio < limit * 1.05,
                        "{side}: {own}, fio {fio}, limit {limit}"
                    );
                    (own, fio)
                },
            );
        if pair.iter().all(|(own, fio)| (own / fio - 1.0).abs() < 0.02) {
            return;
        }
        seen.push(pair);
    }
    panic!("reads and writes a second, beside those of fio: {seen:?}");
}
