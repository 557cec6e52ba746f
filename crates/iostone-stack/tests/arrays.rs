//! Arrays on a kernel that has them: built, proven, taken apart without a trace, and never another's.
//!
//! Where the running kernel has neither md nor a device mapper, a guest runs this very program.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use crate::common::machine;
use crate::common::members;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::machine::Machine;
use crate::common::members::{Kernel, Members, array_nodes, needs};
use iostone_model::experiment::{Array, Filesystem, LvmArray, MdArray, MdLevel, MdMetadata};
use iostone_model::units::Bytes;
use iostone_stack::{Applied, Permission, RefusalReason, Registry, Session, SessionOptions, StackError};

/// Tells the child, which is this very program, where to work and on which members.
const CHILD_VARIABLE: &str = "IOSTONE_ARRAYS_TEST_CHILD";

fn md(level: MdLevel, chunk_kib: Option<u64>, metadata: Option<MdMetadata>) -> Array {
    Array::Md(MdArray { level, chunk: chunk_kib.map(|chunk| Bytes(chunk << 10)), metadata })
}

fn lvm(stripes: Option<u32>, stripe_kib: Option<u64>) -> Array {
    Array::Lvm(LvmArray { stripes, stripe_size: stripe_kib.map(|size| Bytes(size << 10)) })
}

fn read_back(applied: &Applied, from: &str) -> String {
    let check = applied.checks.iter().find(|check| check.from.ends_with(from));
    check
        .map_or_else(|| panic!("no check from {from}: {:?}", applied.checks), |check| check.read_back.clone())
}

/// Builds, uses, verifies and undoes a stack so often in one session; gives what the last building told.
fn build(machine: &Machine, members: &Members, count: usize, array: &Array, times: u32) -> Applied {
    let case = format!("{count} {array:?}");
    let stack = members.stack(count, array.clone());
    let destroy = members::words_for_drives();
    let permission = Permission { destroy: &destroy, state: None };
    Session::preflight_permitting(&stack, true, &machine.work(), &permission)
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    let options = SessionOptions { destroy, ..machine.options() };
    let mut session = Session::begin(&machine.registry, options).unwrap();
    let mut last = None;
    for trial in 1..=times {
        let applied = session.apply(&stack, trial, 7).unwrap_or_else(|error| panic!("{case}: {error}"));
        let mount = applied.target.mount.clone().unwrap();
        std::fs::write(mount.join("file"), vec![1; 100_000]).unwrap();
        session.verify().unwrap_or_else(|error| panic!("{case}: {error}"));
        session.undo().unwrap_or_else(|error| panic!("{case}: {error}"));
        last = Some(applied);
    }
    session.finish().unwrap();
    members.assert_untouched(&case);
    last.unwrap()
}

#[test]
fn every_level_is_built_proven_and_undone_without_a_trace() {
    if needs("every_level_is_built_proven_and_undone_without_a_trace", Kernel::SoftwareRaid) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    for (level, count, chunk, metadata) in [
        (MdLevel::Raid0, 2, Some(256), Some(MdMetadata::V12)),
        (MdLevel::Raid0, 1, None, None),
        (MdLevel::Raid0, 4, Some(12), Some(MdMetadata::V10)),
        (MdLevel::Raid1, 2, None, Some(MdMetadata::V090)),
        (MdLevel::Raid10, 4, Some(64), Some(MdMetadata::V11)),
        (MdLevel::Raid5, 3, Some(64), Some(MdMetadata::V12)),
    ] {
        // A second trial finds the members as the first left them, which is hardest where data begin at their start.
        let times = if level == MdLevel::Raid1 { 2 } else { 1 };
        let applied = build(&machine, &members, count, &md(level, chunk, metadata), times);
        assert_eq!(read_back(&applied, "md/level"), level.as_str());
        assert_eq!(read_back(&applied, "md/raid_disks"), count.to_string());
        if let Some(chunk) = chunk {
            assert_eq!(read_back(&applied, "md/chunk_size"), (chunk << 10).to_string());
        }
        if let Some(metadata) = metadata {
            assert_eq!(read_back(&applied, "md/metadata_version"), metadata.as_str());
        }
        let line = applied.notes.iter().find(|note| note.starts_with("assembly: ARRAY /dev/md")).unwrap();
        assert!(line.contains("UUID="), "{line}");
    }
    drop(members);
    machine.assert_clean();
}

#[test]
fn an_array_without_a_filesystem_is_a_device_for_the_workload() {
    if needs("an_array_without_a_filesystem_is_a_device_for_the_workload", Kernel::SoftwareRaid) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    let mut stack = members.stack(2, md(MdLevel::Raid0, Some(64), None));
    stack.filesystem = Filesystem::None;
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    let device = applied.target.device.unwrap();
    assert!(device.starts_with("/dev") && array_nodes().contains(&device.display().to_string()));
    // While somebody has it open, it stays, and the answer says who.
    let mut holder =
        Command::new("sleep").arg("1000").stdin(std::fs::File::open(&device).unwrap()).spawn().unwrap();
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("sleep") && error.contains(&format!("kill {}", holder.id())), "{error}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    session.finish().unwrap();
    members.assert_untouched("open");
    drop(members);
    machine.assert_clean();
}

#[test]
fn an_array_of_somebody_elses_is_refused_and_left_alone() {
    if needs("an_array_of_somebody_elses_is_refused_and_left_alone", Kernel::SoftwareRaid) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    let node = |index: usize| members.nodes[index].to_str().unwrap().to_owned();
    let theirs = |number: &str, one: usize, other: usize| {
        let level = ["--create", number, "--run", "--level=raid0", "--raid-devices=2"];
        machine::run("mdadm", &[&level[..], &[&node(one), &node(other)]].concat());
    };
    theirs("/dev/md100", 2, 3);
    let mut session = machine.session();
    let stack = members.stack(4, md(MdLevel::Raid0, None, None));
    match session.apply(&stack, 1, 7).unwrap_err() {
        StackError::Refused(refusal) => assert_eq!(refusal.reason, RefusalReason::Held, "{refusal}"),
        other => panic!("{other}"),
    }
    // Ours is taken apart and theirs made at its very place, of its very members.
    let mut stack = members.stack(2, md(MdLevel::Raid0, None, None));
    stack.filesystem = Filesystem::None;
    let device = session.apply(&stack, 1, 7).unwrap().target.device.unwrap();
    let device = device.to_str().unwrap();
    machine::run("mdadm", &["--stop", device]);
    theirs(device, 0, 1);
    assert!(session.verify().is_err());
    session.finish().unwrap();
    for theirs in ["/dev/md100", device] {
        assert!(machine::run("mdadm", &["--detail", theirs]).contains("clean"), "{theirs}");
        machine::run("mdadm", &["--stop", theirs]);
    }
    for index in 0..4 {
        machine::run("mdadm", &["--zero-superblock", &node(index)]);
    }
    members.assert_untouched("theirs");
    drop(members);
    machine.assert_clean();
}

#[test]
fn a_filesystem_that_somebody_used_keeps_its_array() {
    if needs("a_filesystem_that_somebody_used_keeps_its_array", Kernel::SoftwareRaid) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    let mut session = machine.session();
    let applied = session.apply(&members.stack(2, md(MdLevel::Raid0, None, None)), 1, 7).unwrap();
    machine::run("umount", &[applied.target.mount.unwrap().to_str().unwrap()]);
    let error = session.undo().unwrap_err().to_string();
    assert!(error.contains("left alone"), "{error}");
    session.finish().unwrap();
    let node = array_nodes().into_iter().find(|node| node.starts_with("/dev/md")).unwrap();
    machine::run("mdadm", &["--stop", &node]);
    for member in &members.nodes[..2] {
        machine::run("mdadm", &["--zero-superblock", member.to_str().unwrap()]);
    }
    drop(members);
    machine.assert_clean();
}

#[test]
fn a_logical_volume_is_built_proven_and_undone_without_a_trace() {
    if needs("a_logical_volume_is_built_proven_and_undone_without_a_trace", Kernel::DeviceMapper) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    for (count, stripes, size, told) in [
        (2, None, Some(256), "2 stripes of 256 KiB"),
        (1, None, None, "1 stripes of 0 KiB"),
        (4, Some(2), Some(64), "2 stripes of 64 KiB"),
        (4, None, None, "4 stripes of 64 KiB"),
    ] {
        let times = if count == 2 { 2 } else { 1 };
        let applied = build(&machine, &members, count, &lvm(stripes, size), times);
        assert_eq!(read_back(&applied, "dmsetup table"), told);
    }
    drop(members);
    machine.assert_clean();
}

#[test]
fn a_volume_group_of_somebody_elses_is_refused_and_left_alone() {
    if needs("a_volume_group_of_somebody_elses_is_refused_and_left_alone", Kernel::DeviceMapper) {
        return;
    }
    let machine = Machine::new();
    let members = Members::new(&machine);
    let theirs = members.nodes[3].to_str().unwrap();
    machine::run("lvm", &["vgcreate", "-q", "theirs", theirs]);
    let mut session = machine.session();
    let refused = session.apply(&members.stack(4, lvm(None, None)), 1, 7).unwrap_err();
    assert!(matches!(&refused, StackError::Refused(refusal) if refusal.reason == RefusalReason::Signature));
    session.apply(&members.stack(3, lvm(None, None)), 1, 7).unwrap();
    session.finish().unwrap();
    assert!(machine::run("lvm", &["vgs", "--noheadings", "theirs"]).contains("theirs"));
    machine::run("lvm", &["vgremove", "-q", "-y", "theirs"]);
    machine::run("lvm", &["pvremove", "-q", "-y", theirs]);
    members.assert_untouched("theirs");
    drop(members);
    machine.assert_clean();
}

/// Not a test of its own: the session that the next one kills. Builds and undoes arrays for ever.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE) else { return };
    let mut words = place.to_str().unwrap().split('\n');
    let place = PathBuf::from(words.next().unwrap());
    let devices: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "child".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/area"),
        destroy: members::words_for_drives(),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    let mut arrays =
        vec![md(MdLevel::Raid5, Some(64), Some(MdMetadata::V10)), md(MdLevel::Raid0, None, None)];
    if members::has_device_mapper() {
        arrays.push(lvm(None, Some(64)));
    }
    for (trial, array) in (1..).zip(arrays.iter().cycle()) {
        let volume = iostone_model::experiment::BlockVolume { devices: devices.clone() };
        let volume = iostone_model::experiment::Volume::Block(volume);
        let stack =
            iostone_model::experiment::Stack { array: array.clone(), ..machine::ext4_on(volume, &[]) };
        session.apply(&stack, trial, 7).unwrap();
        session.undo().unwrap();
    }
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn journal_tells(machine: &Machine, kind: &str) -> bool {
    std::fs::read_dir(machine.registry.directory()).unwrap().flatten().any(|entry| {
        std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(&format!("\"{kind}\"")))
    })
}

#[test]
fn kill_at_any_moment_leaves_no_array_after_cleanup() {
    if needs("kill_at_any_moment_leaves_no_array_after_cleanup", Kernel::SoftwareRaid) {
        return;
    }
    let mut seen = Vec::new();
    let has_mapper = members::has_device_mapper();
    for round in 0..5 {
        let machine = Machine::new();
        let members = Members::new(&machine);
        let names: Vec<&str> = members.names[..3].iter().map(|name| name.to_str().unwrap()).collect();
        let place = format!("{}\n{}", machine.path().display(), names.join("\n"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "arrays::child_session", "--ignored"])
            .env(CHILD_VARIABLE, place)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut child = KilledOnDrop(child);
        // Killed within the making of an array, which begins with its step in the journal.
        let kind = if round == 3 && has_mapper { "volume_group" } else { "md_array" };
        while !journal_tells(&machine, kind) {
            assert!(child.0.try_wait().unwrap().is_none(), "the child ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis([0, 30, 120, 250, 600][round]));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let report = machine.registry.cleanup().unwrap();
        assert!(report.is_clean(), "round {round}: {report:?}");
        seen.push(format!("{report:?}"));
        members.assert_untouched(&format!("round {round}: {report:?}"));
        assert!(machine.registry.cleanup().unwrap().journals.is_empty());
        drop(members);
        machine.assert_clean();
    }
    assert!(seen.iter().any(|report| report.contains("array `/dev/md")), "{seen:?}");
}
