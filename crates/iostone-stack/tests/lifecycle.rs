//! A stack's whole life on real loop devices and ext4: built, proven, undone, with nothing left behind.

use crate::common::machine;
use std::fs;
use std::path::Path;

use crate::common::machine::{MIB, Machine, ext4_on, loop_stack, loops_under, mounts_under, needs_root};
use iostone_model::experiment::{BackingIo, BlockVolume, DirectoryVolume, Volume, WriteCache};
use iostone_stack::{Role, Session, StackError, plan_steps};

#[test]
fn a_stack_is_built_proven_and_undone_without_a_trace() {
    if needs_root("a_stack_is_built_proven_and_undone_without_a_trace") {
        return;
    }
    let machine = Machine::new();
    let stack = loop_stack(64 * MIB, &["noatime", "barrier=0"]);
    let preflight = Session::preflight(&stack, true, &machine.work()).unwrap();
    assert_eq!(preflight.disk_bytes, 64 * MIB);
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    let mount = applied.target.mount.clone().unwrap();
    assert_eq!(applied.target.directory.as_deref(), Some(mount.as_path()));
    assert_eq!(applied.target.device, None);
    assert_eq!(applied.devices[0].role, Role::Stack);
    assert!(applied.devices[0].name.starts_with("loop"));
    assert!(applied.notes.iter().any(|note| note.starts_with("backing file on ")), "{:?}", applied.notes);
    let read_back = |asked: &str| {
        let check = applied.checks.iter().find(|check| check.asked == asked);
        check.map(|check| check.read_back.as_str())
    };
    assert_eq!(read_back("barrier=0"), Some("nobarrier"));
    assert_eq!(read_back("noatime"), Some("noatime"));
    assert_eq!(read_back("dio 0"), Some("dio 0"));
    fs::write(mount.join("file"), "hello").unwrap();
    assert_eq!(session.verify().unwrap(), applied.checks);
    assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (1, 1));
    session.undo().unwrap();
    session.undo().unwrap();
    assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (0, 0));
    assert_eq!(machine.journals(), 1);
    session.finish().unwrap();
    machine.assert_clean();
}

/// Planted by one trial and looked for in the next.
const MARK: &[u8] = b"iostone-test-mark-that-random-data-never-holds";

#[test]
fn the_next_trial_sees_nothing_of_the_one_before() {
    if needs_root("the_next_trial_sees_nothing_of_the_one_before") {
        return;
    }
    let machine = Machine::new();
    let stack = loop_stack(64 * MIB, &[]);
    let mut session = machine.session();
    let first = session.apply(&stack, 1, 7).unwrap().target.mount.unwrap();
    fs::write(first.join("planted"), MARK).unwrap();
    session.undo().unwrap();
    let image = machine.image();
    let inode = machine::inode(&image);
    assert!(holds(&image, MARK), "the mark reached the disk in the first trial");
    let second = session.apply(&stack, 2, 8).unwrap().target.mount.unwrap();
    assert!(!second.join("planted").exists());
    session.undo().unwrap();
    assert_eq!(machine::inode(&image), inode, "the file is rewritten in place");
    assert!(!holds(&image, MARK));
    session.finish().unwrap();
    machine.assert_clean();
}

fn holds(path: &Path, mark: &[u8]) -> bool {
    fs::read(path).expect("the image can be read").windows(mark.len()).any(|window| window == mark)
}

#[test]
fn the_filled_image_has_no_holes_and_is_not_in_memory_and_direct_io_reads_back() {
    if needs_root("the_filled_image_has_no_holes_and_is_not_in_memory_and_direct_io_reads_back") {
        return;
    }
    let machine = Machine::new();
    let mut stack = loop_stack(32 * MIB, &["barrier=1"]);
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.backing_io = Some(BackingIo::Direct);
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    assert!(applied.checks.iter().any(|check| check.read_back == "dio 1"));
    assert!(applied.checks.iter().any(|check| check.asked == "barrier=1" && check.read_back == "barrier"));
    assert!(applied.notes.iter().any(|note| note.ends_with("direct I/O")));
    let image = machine.image();
    let file = fs::File::open(&image).unwrap();
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap();
    assert_eq!(hole, 32 * MIB, "mkfs must not discard");
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn the_write_cache_is_set_and_put_back() {
    if needs_root("the_write_cache_is_set_and_put_back") {
        return;
    }
    let machine = Machine::new();
    let mut stack = loop_stack(32 * MIB, &[]);
    stack.queue.write_cache = Some(WriteCache::WriteThrough);
    let mut session = machine.session();
    let applied = session.apply(&stack, 1, 7).unwrap();
    let name = applied.devices[0].name.clone();
    let setting = format!("/sys/block/{name}/queue/write_cache");
    assert_eq!(fs::read_to_string(&setting).unwrap().trim(), "write through");
    assert!(
        applied
            .checks
            .iter()
            .any(|check| check.layer == "queue" && check.read_back == "write_cache write through")
    );
    // Somebody changes it during the trial: that is an error, not a footnote.
    fs::write(&setting, "write back").unwrap();
    let error = session.verify().unwrap_err();
    assert!(matches!(error, StackError::NotApplied { layer: "queue", .. }), "{error}");
    session.undo().unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_mount_option_that_does_not_stick_is_an_error_and_everything_is_undone() {
    if needs_root("a_mount_option_that_does_not_stick_is_an_error_and_everything_is_undone") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    for (option, reported) in [("commit=0", "commit=5"), ("no-such-option", "Invalid argument")] {
        let error = session.apply(&loop_stack(16 * MIB, &[option]), 1, 7).unwrap_err();
        let StackError::NotApplied { layer: "mount", read_back, .. } = &error else { panic!("{error}") };
        assert!(read_back.contains(reported), "{error}");
        assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (0, 0));
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn mount_options_of_every_kind_read_back_from_the_kernel() {
    if needs_root("mount_options_of_every_kind_read_back_from_the_kernel") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mut stack = loop_stack(16 * MIB, &[]);
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.fill = false;
    for options in [
        "noatime,commit=7,data=writeback",
        "strictatime,nodiratime,nodelalloc,discard",
        "relatime,lazytime,barrier,auto_da_alloc=0",
        "nobarrier,dioread_lock,errors=remount-ro,nodev,noexec,nosuid",
        "sync,dirsync,max_batch_time=0,stripe=16",
        "async,exec,dev,suid,rw,data=ordered,nodiscard,delalloc,commit=5",
        "data=journal,noinit_itable",
    ] {
        stack.mount.options = vec![options.to_owned()];
        let applied = session.apply(&stack, 1, 7).unwrap_or_else(|error| panic!("{options}: {error}"));
        let asked: Vec<_> = options.split(',').collect();
        for option in asked {
            assert!(applied.checks.iter().any(|check| check.asked == option), "{option} is checked");
        }
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_remount_during_the_trial_is_noticed() {
    if needs_root("a_remount_during_the_trial_is_noticed") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mount = session.apply(&loop_stack(16 * MIB, &["barrier=1"]), 1, 7).unwrap().target.mount.unwrap();
    machine::run("mount", &["-o", "remount,barrier=0", mount.to_str().unwrap()]);
    let error = session.verify().unwrap_err();
    assert!(
        matches!(&error, StackError::NotApplied { read_back, .. } if read_back == "nobarrier"),
        "{error}"
    );
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_raw_loop_device_is_handed_to_the_workload() {
    if needs_root("a_raw_loop_device_is_handed_to_the_workload") {
        return;
    }
    let machine = Machine::new();
    let mut stack = loop_stack(16 * MIB, &[]);
    stack.filesystem = iostone_model::experiment::Filesystem::None;
    let mut session = machine.session();
    let target = session.apply(&stack, 1, 7).unwrap().target;
    assert_eq!((target.directory, target.mount), (None, None));
    assert!(target.device.unwrap().to_str().unwrap().starts_with("/dev/loop"));
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_directory_volume_is_new_for_each_trial_and_needs_no_root() {
    let machine = Machine::new();
    let mut stack = loop_stack(16 * MIB, &[]);
    stack.filesystem = iostone_model::experiment::Filesystem::None;
    stack.volume = Volume::Directory(DirectoryVolume { path: Some(machine.work()) });
    fs::create_dir_all(machine.work()).unwrap();
    fs::write(machine.work().join("precious"), "x").unwrap();
    Session::preflight(&stack, false, &machine.work()).unwrap();
    let mut session = machine.session();
    for trial in 1..3 {
        let directory = session.apply(&stack, trial, 7).unwrap().target.directory.unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::create_dir(directory.join("sub")).unwrap();
        fs::write(directory.join("sub/file"), "x").unwrap();
        assert!(!session.verify().unwrap().is_empty());
    }
    session.finish().unwrap();
    assert_eq!(fs::read_dir(machine.work()).unwrap().count(), 1);
    assert_eq!(machine.journals(), 0);
}

#[test]
fn two_sessions_share_a_work_directory() {
    if needs_root("two_sessions_share_a_work_directory") {
        return;
    }
    let machine = Machine::new();
    // Made by the test: whoever of the two made it could not remove it while the other is still at work.
    fs::create_dir_all(machine.work()).unwrap();
    let stack = loop_stack(16 * MIB, &[]);
    let (mut one, mut two) = (machine.session(), machine.session());
    std::thread::scope(|scope| {
        for session in [&mut one, &mut two] {
            scope.spawn(|| {
                for trial in 1..4 {
                    session.apply(&stack, trial, u64::from(trial)).unwrap();
                }
            });
        }
    });
    assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (2, 2));
    one.finish().unwrap();
    assert_eq!((loops_under(&machine.work()), mounts_under(&machine.work())), (1, 1));
    assert!(!two.verify().unwrap().is_empty());
    two.finish().unwrap();
    assert_eq!(fs::read_dir(machine.work()).unwrap().count(), 0);
    fs::remove_dir_all(machine.path().join("run")).unwrap();
    machine.assert_clean();
}

#[test]
fn a_dropped_session_undoes_everything() {
    if needs_root("a_dropped_session_undoes_everything") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap();
    drop(session);
    machine.assert_clean();
}

/// A process by its id, which nobody else would end if the test failed.
struct KilledOnFailure(String);

impl Drop for KilledOnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = std::process::Command::new("kill").args(["-KILL", &self.0]).status();
        }
    }
}

#[test]
fn a_process_that_shed_its_marker_and_its_parent_is_ended_too() {
    if needs_root("a_process_that_shed_its_marker_and_its_parent_is_ended_too") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mount = session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap().target.mount.unwrap();
    // A daemon as they are: no environment, a session of its own, no parent, deaf to SIGTERM.
    let daemon = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done";
    let status = std::process::Command::new("sh")
        .args(["-c", "env -i setsid /bin/sh -c \"$0\" > /dev/null 2>&1 &", daemon])
        .current_dir(&mount)
        .status();
    assert!(status.unwrap().success());
    while fs::read_to_string(mount.join("pid")).unwrap_or_default().trim().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _guard = KilledOnFailure(fs::read_to_string(mount.join("pid")).unwrap().trim().to_owned());
    session.undo().unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn processes_of_the_session_are_ended_when_it_is_undone() {
    if needs_root("processes_of_the_session_are_ended_when_it_is_undone") {
        return;
    }
    let machine = Machine::new();
    let mut session = machine.session();
    let mount = session.apply(&loop_stack(16 * MIB, &[]), 1, 7).unwrap().target.mount.unwrap();
    let (name, value) = session.processes_marker();
    let mut left =
        std::process::Command::new("sleep").arg("1000").env(name, value).current_dir(&mount).spawn().unwrap();
    session.undo().unwrap();
    assert!(!left.wait().unwrap().success());
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn too_little_room_is_said_before_anything_is_made() {
    if needs_root("too_little_room_is_said_before_anything_is_made") {
        return;
    }
    let machine = Machine::new();
    let small = machine.small_filesystem(48 * MIB);
    let mut stack = loop_stack(60 * MIB, &[]);
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.directory = Some(small.target.clone());
    let error = Session::preflight(&stack, true, &machine.work()).unwrap_err();
    assert!(matches!(&error, StackError::NoSpace { missing_bytes, .. } if *missing_bytes > 0), "{error}");
    let mut session = machine.session();
    assert!(matches!(session.apply(&stack, 1, 7), Err(StackError::NoSpace { .. })));
    session.finish().unwrap();
    drop(small);
    machine.assert_clean();
}

#[test]
fn a_filesystem_that_fills_up_midway_is_a_clean_error() {
    if needs_root("a_filesystem_that_fills_up_midway_is_a_clean_error") {
        return;
    }
    let machine = Machine::new();
    let small = machine.small_filesystem(96 * MIB);
    let mut stack = loop_stack(40 * MIB, &[]);
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.directory = Some(small.target.clone());
    let mut session = machine.session();
    session.apply(&stack, 1, 7).unwrap();
    session.undo().unwrap();
    // The image is emptied and its room taken: the refill runs full although the first filling did not.
    let image = machine::find_image(&small.target);
    fs::File::options().write(true).open(&image).unwrap().set_len(0).unwrap();
    let hog = small.target.join("hog");
    let written = std::process::Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "count=60"])
        .arg(format!("of={}", hog.display()))
        .stderr(std::process::Stdio::null())
        .status();
    assert!(written.is_ok());
    let error = session.apply(&stack, 2, 8).unwrap_err();
    assert!(matches!(error, StackError::NoSpace { .. }), "{error}");
    fs::remove_file(hog).unwrap();
    session.apply(&stack, 3, 9).unwrap();
    session.finish().unwrap();
    assert_eq!(
        fs::read_dir(&small.target)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name() != "lost+found")
            .count(),
        0
    );
    drop(small);
    machine.assert_clean();
}

#[test]
fn an_interrupt_undoes_what_was_begun() {
    if needs_root("an_interrupt_undoes_what_was_begun") {
        return;
    }
    let machine = Machine::new();
    let (mut session, flag) = machine.interruptible_session();
    let stack = loop_stack(4096 * MIB, &[]);
    let stop = std::thread::spawn({
        let (flag, work) = (flag.clone(), machine.work());
        move || {
            while !machine::has_image(&work) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(matches!(session.apply(&stack, 1, 7), Err(StackError::Interrupted)));
    stop.join().unwrap();
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn memory_is_refused_where_flushes_are_the_question() {
    if needs_root("memory_is_refused_where_flushes_are_the_question") || !Path::new("/dev/shm").is_dir() {
        return;
    }
    let machine = Machine::new();
    let mut stack = loop_stack(MIB, &[]);
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.directory = Some("/dev/shm".into());
    let error = Session::preflight(&stack, true, &machine.work()).unwrap_err().to_string();
    assert!(error.contains("`stack.volume.directory`: `/dev/shm` is tmpfs"), "{error}");
    assert!(Session::preflight(&stack, false, &machine.work()).unwrap().notes[0].contains("tmpfs"));
    // Where no key was set, none is to blame.
    let Volume::Loop(volume) = &mut stack.volume else { unreachable!() };
    volume.directory = None;
    let work = Path::new("/dev/shm/iostone-stack-test/none/work");
    let error = Session::preflight(&stack, true, work).unwrap_err().to_string();
    assert!(error.starts_with("`/dev/shm`: it is tmpfs") && error.contains("`--runs`"), "{error}");
    assert!(!error.contains("stack."), "{error}");
    machine.assert_clean();
}

#[test]
fn what_cannot_be_built_is_said_by_the_key() {
    let machine = Machine::new();
    let mut no_device = ext4_on(Volume::Directory(DirectoryVolume { path: None }), &[]);
    let mut cases = vec![
        (no_device.clone(), "stack.filesystem"),
        (ext4_on(Volume::Block(BlockVolume { devices: Vec::new() }), &[]), "stack.volume.devices"),
        (loop_stack(MIB + 1, &[]), "stack.volume.size"),
        (loop_stack(MIB, &["barrier=0", "barrier=1"]), "stack.mount.options"),
    ];
    no_device.filesystem = iostone_model::experiment::Filesystem::None;
    no_device.queue.write_cache = Some(WriteCache::WriteBack);
    cases.push((no_device.clone(), "stack.queue"));
    no_device.queue.write_cache = None;
    no_device.mount.options = vec!["noatime".to_owned()];
    cases.push((no_device, "stack.mount.options"));
    for (stack, key) in cases {
        let error = Session::preflight(&stack, false, &machine.work()).unwrap_err();
        assert!(error.to_string().contains(&format!("`{key}`")), "{key}: {error}");
        plan_steps(&stack, &machine.work());
    }
}
