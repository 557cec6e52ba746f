//! The guard through the binary: exit code 3, and not a byte changed.

use std::process::Command;

use crate::lab::{Disk, Lab, needs_root, words};

/// Every command that writes to a device that the user names, with its arguments.
fn commands(lab: &Lab, device: &str) -> Vec<(&'static str, Vec<String>)> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    lab.write("orion.lun", &format!("{device}\n"));
    let job = format!("[j]\nfilename={device}\nrw=write\nbs=64k\nsize=1m\nnumber_ios=1\n");
    let raw = format!(
        "name = \"raw\"\n[stack]\nvolume = {{ kind = \"block\", devices = [\"{device}\"] }}\n[workload]\nkind = \"io\"\n\
         rw = \"write\"\nsize = \"1MiB\"\nruntime = \"100ms\"\n[decide]\nmetric = \"iops\"\nbaseline = \"a\"\n\
         blocks = {{ min = 6, max = 6 }}\n[[factor]]\nname = \"size\"\n\
         levels = {{ a = {{ workload.bs = \"4KiB\" }}, b = {{ workload.bs = \"8KiB\" }} }}\n"
    );
    vec![
        ("run", words(&format!("run {}", lab.write("ext4.toml", &experiment(device))))),
        ("run --dry-run", words(&format!("run --dry-run {}", lab.write("ext4.toml", &experiment(device))))),
        ("io", words(&format!("io --filename {device} --rw write --bs 64k --size 1m --number_ios 1"))),
        ("a fio job", words(&format!("io {}", lab.write("job.fio", &job)))),
        ("trim", words(&format!("io --filename {device} --rw trim --bs 64k --size 1m --number_ios 1"))),
        (
            "orion",
            words(
                "orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -write 50 --allow-unwritten",
            ),
        ),
        (
            "orion --prefill",
            words("orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 --prefill"),
        ),
        ("run on the device itself", words(&format!("run {}", lab.write("raw.toml", &raw)))),
    ]
}

fn experiment(device: &str) -> String {
    format!(
        r#"
name = "block"
[stack]
volume = {{ kind = "block", devices = ["{device}"] }}
filesystem = {{ kind = "ext4" }}
[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}
[workload]
kind = "io"
rw = "randwrite"
size = "8MiB"
fdatasync = 1
runtime = "100ms"
[decide]
metric = "iops"
baseline = "on"
blocks = {{ min = 6, max = 6 }}
[trials]
settle = "10ms"
[gates]
steal = "off"
idle = "off"
"#
    )
}

fn refused(lab: &Lab, device: &str) -> String {
    let file = lab.write("experiment.toml", &experiment(device));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(
        !lab.runs().exists() || std::fs::read_dir(lab.runs()).unwrap().next().is_none(),
        "no run was made"
    );
    words(&output)
}

#[test]
fn a_device_with_a_filesystem_is_refused_mounted_or_not_and_not_a_byte_changes() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    assert!(Command::new("mkfs.ext4").args(["-q", "-L", "precious", &disk.path]).status().unwrap().success());
    Command::new("sync").status().unwrap();
    let before = disk.content();
    let said = refused(&lab, &disk.path);
    assert!(said.contains("ext4") && said.contains("precious"), "{said}");
    assert_eq!(disk.content(), before);

    let mount = lab.path().join("mounted");
    std::fs::create_dir(&mount).unwrap();
    // Read-only, so that mounting itself changes nothing.
    let status = Command::new("mount").args(["-o", "ro,noload", &disk.path]).arg(&mount).status().unwrap();
    assert!(status.success());
    let said = refused(&lab, &disk.path);
    assert!(said.contains("mounted") && said.contains("umount"), "{said}");
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    assert_eq!(disk.content(), before);
}

#[test]
fn the_root_disk_is_refused() {
    needs_root!();
    let lab = Lab::new();
    let output = Command::new("findmnt").args(["-n", "-o", "SOURCE", "/"]).output().unwrap();
    let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    if !device.starts_with("/dev/") {
        eprintln!("skipped: / is on {device}, no block device");
        return;
    }
    let said = refused(&lab, &device);
    assert!(said.contains("root") || said.contains('/'), "{said}");
    let output =
        lab.iostone(&["io", "--filename", &device, "--rw", "write", "--runtime", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
}

#[test]
fn a_blank_device_is_used_and_left_blank() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let file = lab.write("experiment.toml", &experiment(&disk.path));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let output = Command::new("blkid").args(["-p", &disk.path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "no signature is left: {}", words(&output));
    // Blank again, so it can be used again.
    std::fs::remove_dir_all(lab.runs()).unwrap();
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    drop(disk);
    lab.assert_nothing_left();
}

#[test]
fn data_of_no_known_format_are_refused_by_every_command_and_keep_every_byte() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let page: Vec<u8> =
        (0..8192u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    for place in [0u64, 5 << 20, (64 << 20) - 8192] {
        let image = std::fs::File::options().write(true).open(lab.path().join("users-disk")).unwrap();
        image.set_len(0).unwrap();
        image.set_len(64 << 20).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&image, &page, place).unwrap();
        image.sync_all().unwrap();
        drop(image);
        let before = disk.content();
        for (what, arguments) in commands(&lab, &disk.path) {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = lab.iostone(&arguments).output().unwrap();
            let said = words(&output);
            let expected = if what == "run --dry-run" { Some(0) } else { Some(3) };
            assert_eq!(output.status.code(), expected, "{what}: {said}");
            assert!(said.contains("data of unknown format at"), "{what}: {said}");
            assert!(said.contains("--destroy"), "{what}: {said}");
            assert!(disk.content() == before, "{what} at {place}: a byte was changed");
        }
    }
    drop(disk);
    lab.assert_nothing_left();
}

#[test]
fn what_a_load_left_on_a_device_may_be_written_over_until_somebody_else_writes() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let io = |rw: &str| {
        let arguments = ["io", "--filename", &disk.path, "--rw", rw, "--bs", "64k", "--size", "8m"];
        lab.iostone(&arguments).output().unwrap()
    };
    for rw in ["write", "randwrite", "randrw"] {
        let output = io(rw);
        assert!(output.status.success(), "{rw}: {}", words(&output));
    }
    let orion = commands(&lab, &disk.path).into_iter().find(|(what, _)| *what == "orion").unwrap().1;
    let orion: Vec<&str> = orion.iter().map(String::as_str).collect();
    let output = lab.iostone(&orion).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let output = io("write");
    assert!(output.status.success(), "after orion: {}", words(&output));
    // A byte of somebody else's, where iostone's own data are.
    let write = format!("printf x | dd of={} bs=1 seek=99 conv=fsync", disk.path);
    assert!(Command::new("sh").args(["-c", &write]).output().unwrap().status.success());
    let before = disk.content();
    let output = io("write");
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(disk.content() == before);
    drop(disk);
    lab.assert_nothing_left();
}

#[test]
fn a_killed_run_goes_on_once_the_content_of_its_device_was_let_go() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let file = lab.write("experiment.toml", &experiment(&disk.path));
    let mut run = lab.iostone(&["run", &file]).spawn().unwrap();
    let recorded = || {
        let runs = std::fs::read_dir(lab.runs()).into_iter().flatten().flatten();
        runs.map(|run| run.path()).find(|run| run.join("trials/000002/trial.json").exists())
    };
    let directory = loop {
        if let Some(directory) = recorded() {
            break directory.display().to_string();
        }
        assert!(run.try_wait().unwrap().is_none(), "it ended before its time");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    run.kill().unwrap();
    run.wait().unwrap();
    let resume = |further: &[&str]| {
        let arguments = [&["run", "--resume", &directory], further].concat();
        lab.iostone(&arguments).output().unwrap()
    };
    let refused = resume(&[]);
    let said = words(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    let (_, behind) = said.split_once("--destroy '").unwrap_or_else(|| panic!("{said}"));
    let (word, _) = behind.split_once('\'').unwrap();
    let gone_on = resume(&["--destroy", word]);
    assert!(gone_on.status.success(), "{}", words(&gone_on));
    drop(disk);
    lab.assert_nothing_left();
}
