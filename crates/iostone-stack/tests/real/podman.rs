//! Podman for real, where it is: a storage of our own on a filesystem of ours, an agent in its container, and nothing left.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::contained::{
    Agent, alone, assert_alike, assert_gone, list, marked, provision, write_inside,
};
use crate::common::limits::take_turns;
use crate::common::machine::{
    MIB, Machine, has, loop_stack, loops_under, mounts_under, needs_root, wait_for,
};
use iostone_model::experiment::{
    Btrfs, Contained, Container, ContainerPlace, Filesystem, LowerFiles, Stack, StorageDriver,
};
use iostone_model::units::Bytes;
use iostone_stack::{AGENT_VARIABLE, Registry, Session, SessionOptions, StackError};

/// Tells the child, which is this very program, where to work.
const CHILD_VARIABLE: &str = "IOSTONE_STACK_TEST_PODMAN";
/// Places that Podman, its runtimes and its networks make or change unless they are kept from it.
const PLACES: [&str; 8] = [
    "/etc/containers",
    "/etc/cni",
    "/run",
    "/dev/shm",
    "/var/lib/containers",
    "/var/lib/cni",
    "/var/cache/containers",
    "/root/.config/containers",
];

/// True, with a word about it, where the test cannot run.
fn lacks(test: &str) -> bool {
    if needs_root(test) {
        return true;
    }
    let runtime = if has("crun") { "crun" } else { "runc" };
    let missing = ["podman", "conmon", runtime, "ldd", "tar"].into_iter().find(|tool| !has(tool));
    if let Some(tool) = missing {
        eprintln!("{test} skipped: needs {tool}");
    }
    missing.is_some()
}

fn stack(driver: StorageDriver, place: ContainerPlace, volatile: bool) -> Stack {
    let mut stack = loop_stack(400 * MIB, &[]);
    if driver == StorageDriver::Btrfs {
        stack.filesystem = Filesystem::Btrfs(Btrfs::default());
    }
    stack.container = Container::Podman(Contained { driver: Some(driver), place, volatile });
    stack
}

/// Names and ages of what lies at the places that the user's own Podman knows.
fn surroundings() -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for place in PLACES {
        list(Path::new(place), 3, &mut paths);
    }
    paths.retain(|path| !is_of_others(path) && !is_anybodys(path));
    paths
}

/// Of the places that every program of the machine uses, only what could come from Podman matters.
fn is_anybodys(path: &Path) -> bool {
    let names = ["containers", "libpod", "crun", "runc", "netns", "cni"];
    let text = path.to_string_lossy();
    ["/run", "/dev/shm"].iter().any(|shared| path.starts_with(shared))
        && !names.iter().any(|name| text.contains(name))
}

/// Other tests may run Docker meanwhile, or have sessions of their own, and this machine has users.
fn is_of_others(path: &Path) -> bool {
    if path.to_string_lossy().starts_with("/run/iostone-") {
        return true;
    }
    ["/run/docker", "/run/containerd", "/run/user", "/run/lock", "/run/blkid", "/run/mount", "/run/lvm"]
        .iter()
        .any(|other| path.starts_with(other))
}

#[test]
fn every_driver_and_place_stands_answers_and_leaves_nothing() {
    let test = "every_driver_and_place_stands_answers_and_leaves_nothing";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let before = surroundings();
    let lower = LowerFiles { large: Bytes(MIB), small_count: 2, small: Bytes(100) };
    let mut session = machine.session();
    session.provision(provision(&machine, Some(lower))).unwrap();
    let (_, token) = session.processes_marker();
    let mut cases = vec![
        (StorageDriver::Overlay2, ContainerPlace::Layer, false),
        (StorageDriver::Overlay2, ContainerPlace::Layer, true),
        (StorageDriver::Overlay2, ContainerPlace::Bind, false),
        (StorageDriver::Overlay2, ContainerPlace::Volume, false),
        (StorageDriver::Overlay2, ContainerPlace::Tmpfs, false),
        (StorageDriver::Vfs, ContainerPlace::Layer, false),
    ];
    if has("mkfs.btrfs") {
        cases.push((StorageDriver::Btrfs, ContainerPlace::Layer, false));
    }
    for (trial, (driver, place, volatile)) in (1..).zip(cases) {
        let case = format!("{driver:?} {place:?} volatile {volatile}");
        let applied = session.apply(&stack(driver, place, volatile), trial, 1).unwrap();
        let standing = applied.container.clone().unwrap();
        assert_eq!(
            (standing.facts.driver.as_str(), standing.facts.place.as_str(), standing.facts.volatile),
            (driver.podman_name(), place.word(), volatile)
        );
        assert!(standing.facts.engine_version.is_some() && standing.facts.runtime.is_some(), "{case}");
        assert!(applied.checks.iter().any(|check| check.from == "podman info"), "{case}");
        let kept = applied.checks.iter().find(|check| check.read_back.contains("fsync"));
        assert_eq!(kept.is_some(), driver == StorageDriver::Overlay2, "{case}");
        assert!(
            kept.is_none_or(|check| check.read_back.ends_with("dropped") == volatile),
            "{case}: {kept:?}"
        );
        let mut agent = Agent::start(&applied);
        assert_eq!(agent.ask("hello"), format!("hello {}", standing.mark), "{case}");
        assert!(!marked(&format!("{AGENT_VARIABLE}={}", standing.mark)).is_empty(), "{case}");
        assert_alike(&standing.mark);
        let mount = applied.target.mount.clone().unwrap();
        match &standing.backing {
            Some(backing) => {
                assert!(backing.starts_with(&mount) && backing.is_dir(), "{case}: {}", backing.display());
                // Seen from inside, the same file.
                assert!(write_inside(&applied, &standing.directory), "{case}");
                assert_eq!(fs::read_to_string(backing.join("file")).unwrap(), "x\n", "{case}");
            }
            None => assert_eq!(place, ContainerPlace::Tmpfs),
        }
        session.verify().unwrap();
        drop(agent);
        session.undo().unwrap();
        assert_eq!((mounts_under(machine.path()), loops_under(machine.path())), (0, 0), "{case}");
        assert_eq!(marked("IOSTONE_ENGINE=test-"), Vec::<u32>::new(), "{case}");
    }
    session.finish().unwrap();
    assert_gone(&machine, &token);
    assert_eq!(surroundings(), before);
}

#[test]
fn what_cannot_be_had_is_refused_with_its_reason_and_leaves_nothing() {
    let test = "what_cannot_be_had_is_refused_with_its_reason_and_leaves_nothing";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let mut session = machine.session();
    session.provision(provision(&machine, None)).unwrap();
    let (_, token) = session.processes_marker();
    // A driver that the filesystem does not carry: before anything is touched, and by the engine itself.
    let mut foreign = stack(StorageDriver::Btrfs, ContainerPlace::Layer, false);
    foreign.filesystem = loop_stack(MIB, &[]).filesystem;
    let early = Session::preflight(&foreign, false, &machine.work()).unwrap_err();
    assert!(matches!(early, StackError::Usage { .. }) && early.to_string().contains("btrfs"), "{early}");
    let late = session.apply(&foreign, 1, 1).unwrap_err();
    assert!(matches!(late, StackError::Container { engine: "podman", .. }), "{late}");
    // A layer that keeps what it is told to drop.
    let kept = session.apply(&stack(StorageDriver::Vfs, ContainerPlace::Layer, true), 2, 1).unwrap_err();
    assert!(kept.to_string().contains("only overlayfs can ignore fsync"), "{kept}");
    // A filesystem without room for the image.
    let lower = LowerFiles { large: Bytes(90 * MIB), small_count: 0, small: Bytes(0) };
    session.provision(provision(&machine, Some(lower))).unwrap();
    let mut small = loop_stack(64 * MIB, &[]);
    small.container = stack(StorageDriver::Overlay2, ContainerPlace::Layer, false).container;
    let full = session.apply(&small, 3, 1).unwrap_err();
    assert!(matches!(full, StackError::Container { .. }), "{full}");
    assert!(full.to_string().contains("no space left") && full.to_string().contains("larger"), "{full}");
    session.finish().unwrap();
    assert_gone(&machine, &token);
}

#[test]
fn a_container_that_ends_in_mid_trial_is_told() {
    if lacks("a_container_that_ends_in_mid_trial_is_told") {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let mut session = machine.session();
    session.provision(provision(&machine, None)).unwrap();
    session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer, false), 1, 1).unwrap();
    let (_, token) = session.processes_marker();
    // What is just being started carries the mark only after its exec.
    wait_for("the end of all that carries the mark", None, || {
        let left = marked(&format!("IOSTONE_ENGINE={token}"));
        for pid in &left {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        left.is_empty()
    });
    let error = session.verify().unwrap_err();
    assert!(matches!(error, StackError::Container { engine: "podman", .. }), "{error}");
    assert!(error.to_string().contains("its container is"), "{error}");
    session.finish().unwrap();
    assert_gone(&machine, &token);
}

/// A container of a storage that is not ours, as a user has one.
struct Foreign {
    directory: PathBuf,
}

impl Foreign {
    fn podman(&self) -> Command {
        let mut command = Command::new("podman");
        let at = |name: &str| self.directory.join(name);
        command.arg("--root").arg(at("root")).arg("--runroot").arg(at("run"));
        command.arg("--tmpdir").arg(at("tmp")).arg("--runtime-flag");
        command.arg(format!("root={}", at("state").display()));
        command.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none"]);
        command.args(["--runtime", if has("runc") { "runc" } else { "crun" }]);
        command.arg("--network-config-dir").arg(at("network"));
        command
    }

    fn start(machine: &Machine) -> Self {
        let provision = provision(machine, None);
        let foreign = Self { directory: machine.path().join("foreign") };
        fs::create_dir(&foreign.directory).unwrap();
        let archive = provision.archive.unwrap();
        let mut import = foreign.podman();
        import.args(["import", "--quiet"]).arg(&archive).arg("localhost/theirs:1");
        assert!(import.stdout(Stdio::null()).status().unwrap().success());
        let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--network", "none"];
        let entry =
            ["--cgroup-parent", "/theirs-of-a-test", "--entrypoint", "/bin/cat", "localhost/theirs:1"];
        let mut run = foreign.podman();
        run.args(["run", "--detach", "--interactive", "--name", "theirs"]).args(limits).args(entry);
        assert!(run.stdout(Stdio::null()).status().unwrap().success());
        foreign
    }

    /// Its container and its image, as the kernel and its own tables have them.
    fn state(&self) -> String {
        let state = self
            .podman()
            .args(["inspect", "--format", "{{.State.Status}} {{.State.Pid}}", "theirs"])
            .output();
        let images = self.podman().args(["images", "--quiet", "--no-trunc"]).output().unwrap();
        let words = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        format!("{} {}", words(state.unwrap().stdout), words(images.stdout))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.podman().args(["rm", "--force", "--time", "0", "theirs"]).output();
        let at = self.directory.join("root/vfs");
        let _ = Command::new("umount").arg(at).stderr(Stdio::null()).status();
        for hierarchy in fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
            let group = hierarchy.path().join("theirs-of-a-test");
            // conmon is in it until it has ended, which Podman does not wait for.
            for _ in 0..200 {
                for within in fs::read_dir(&group).into_iter().flatten().flatten() {
                    let _ = fs::remove_dir(within.path());
                }
                if fs::remove_dir(&group).is_ok() || !group.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn containers_and_images_of_others_are_as_they_were() {
    if lacks("containers_and_images_of_others_are_as_they_were") {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let foreign = Foreign::start(&machine);
    let before = (foreign.state(), surroundings());
    assert!(before.0.starts_with("running "), "{}", before.0);
    let mut session = machine.session();
    session.provision(provision(&machine, None)).unwrap();
    session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer, true), 1, 1).unwrap();
    assert_eq!(foreign.state(), before.0);
    session.finish().unwrap();
    assert_eq!((foreign.state(), surroundings()), before);
}

/// Not a test of its own: the session that the other kills.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else { return };
    let machine_provision = iostone_stack::Provision {
        archive: Some(place.join("root.tar")),
        program: vec!["/bin/sh".to_owned(), "/agent.sh".to_owned()],
        lower: None,
    };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "test".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/work"),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    session.provision(machine_provision).unwrap();
    let _applied = session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer, true), 1, 1).unwrap();
    fs::write(place.join("stands"), session.processes_marker().1).unwrap();
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn kill_leaves_nothing_after_cleanup() {
    if lacks("kill_leaves_nothing_after_cleanup") {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    provision(&machine, None);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "podman::child_session", "--ignored"])
        .env(CHILD_VARIABLE, machine.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stands = machine.path().join("stands");
    wait_for("a container that stands", Some(&mut child), || {
        fs::read(&stands).is_ok_and(|token| !token.is_empty())
    });
    let token = fs::read_to_string(&stands).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // conmon and the container outlive it.
    assert!(!marked(&format!("IOSTONE_ENGINE={token}")).is_empty());
    machine.registry.cleanup().unwrap();
    fs::remove_file(stands).unwrap();
    assert_gone(&machine, &token);
}
