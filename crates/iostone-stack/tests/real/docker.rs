//! Docker for real, where it is: a daemon of our own on a filesystem of ours, an agent in its container, and nothing left.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

mod killed;
mod paused;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::contained::{
    Agent, alone, assert_alike, assert_gone, list, marked, provision, write_inside,
};
use crate::common::limits::take_turns;
use crate::common::machine::{
    MIB, Machine, has, loop_stack, loops_under, mounts_under, needs_root, run, wait_for,
};
use iostone_model::experiment::{
    Btrfs, Contained, Container, ContainerPlace, Filesystem, LowerFiles, Stack, StorageDriver, Volume,
};
use iostone_model::units::Bytes;
use iostone_stack::{
    AGENT_VARIABLE, Applied, InsideView, Provision, Registry, Session, SessionOptions, StackError,
};

/// Places that a daemon makes or changes unless it is kept from it.
const PLACES: [&str; 6] = [
    "/etc/docker",
    "/run/docker",
    "/run/containerd",
    "/opt/containerd",
    "/var/lib/docker",
    "/var/lib/containerd",
];

/// True, with a word about it, where the test cannot run.
fn lacks(test: &str) -> bool {
    if needs_root(test) {
        return true;
    }
    let missing =
        ["dockerd", "docker", "containerd", "runc", "ldd", "tar"].into_iter().find(|tool| !has(tool));
    if let Some(tool) = missing {
        eprintln!("{test} skipped: needs {tool}");
    }
    missing.is_some()
}

fn stack(driver: StorageDriver, place: ContainerPlace) -> Stack {
    let mut stack = loop_stack(400 * MIB, &[]);
    if let Volume::Loop(volume) = &mut stack.volume {
        volume.fill = false;
    }
    if driver == StorageDriver::Btrfs {
        stack.filesystem = Filesystem::Btrfs(Btrfs::default());
    }
    stack.container = Container::Docker(Contained { driver: Some(driver), place, ..Contained::default() });
    stack
}

/// The link of a Docker of the user's, which a daemon without a bridge of its own would remove.
struct UsersBridge;

impl UsersBridge {
    /// None where there is one already, or none can be made; the test goes on without.
    fn make() -> Option<Self> {
        let is_there = Path::new("/sys/class/net/docker0").exists();
        let add = || Command::new("ip").args(["link", "add", "docker0", "type", "bridge"]).output();
        (!is_there && has("ip") && add().is_ok_and(|output| output.status.success())).then_some(Self)
    }
}

impl Drop for UsersBridge {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", "docker0"]).output();
    }
}

/// What a daemon could change of the machine: files, links, packet filters, forwarding.
fn surroundings() -> (BTreeSet<PathBuf>, Vec<String>) {
    let mut paths = BTreeSet::new();
    for place in PLACES {
        paths.extend(Path::new(place).exists().then(|| PathBuf::from(place)));
        list(Path::new(place), 3, &mut paths);
    }
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let links = fs::read_dir("/sys/class/net")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect::<BTreeSet<_>>();
    let filters = if has("iptables-save") {
        let output = Command::new("iptables-save").output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.starts_with('#')).collect()
    } else {
        String::new()
    };
    (paths, vec![read("/proc/sys/net/ipv4/ip_forward"), format!("{links:?}"), filters])
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
    let bridge = UsersBridge::make();
    if bridge.is_none() {
        eprintln!("{test}: no link `docker0` could be made; it is not seen whether a user's stays");
    }
    let before = surroundings();
    let mut session = machine.session();
    session.provision(provision(&machine, None)).unwrap();
    let (_, token) = session.processes_marker();
    let mut cases = vec![
        (StorageDriver::Overlay2, ContainerPlace::Layer),
        (StorageDriver::Overlay2, ContainerPlace::Bind),
        (StorageDriver::Overlay2, ContainerPlace::Volume),
        (StorageDriver::Overlay2, ContainerPlace::Tmpfs),
        (StorageDriver::Vfs, ContainerPlace::Layer),
    ];
    if has("mkfs.btrfs") {
        cases.push((StorageDriver::Btrfs, ContainerPlace::Layer));
    }
    for (trial, (driver, place)) in (1..).zip(cases) {
        let case = format!("{driver:?} {place:?}");
        let applied = session.apply(&stack(driver, place), trial, 1).unwrap();
        let standing = applied.container.clone().unwrap();
        assert_eq!(
            (standing.facts.driver.as_str(), standing.facts.place.as_str()),
            (driver.docker_name(), place.word())
        );
        assert!(standing.facts.engine_version.is_some() && standing.facts.runtime.is_some(), "{case}");
        assert!(applied.checks.iter().any(|check| check.from == "docker info"), "{case}");
        let mut agent = Agent::start(&applied);
        assert_eq!(agent.ask("hello"), format!("hello {}", standing.mark), "{case}");
        assert!(!marked(&format!("{AGENT_VARIABLE}={}", standing.mark)).is_empty(), "{case}");
        assert_alike(&standing.mark);
        let mount = applied.target.mount.clone().unwrap();
        match &standing.backing {
            Some(backing) => {
                assert!(backing.starts_with(&mount) && backing.is_dir(), "{case}: {}", backing.display());
                // Seen from inside, the same file.
                let inside = write_inside(&applied, &standing.directory);
                assert!(inside, "{case}");
                assert_eq!(fs::read_to_string(backing.join("file")).unwrap(), "x\n", "{case}");
            }
            None => assert_eq!(place, ContainerPlace::Tmpfs),
        }
        let (facts, checks) = session.recognise(&view(&applied)).unwrap();
        assert!(!facts.volatile && !checks.is_empty(), "{case}");
        assert_eq!(facts.device.is_none(), place == ContainerPlace::Tmpfs, "{case}");
        session.verify().unwrap();
        assert_eq!(surroundings(), before, "{case}");
        drop(agent);
        session.undo().unwrap();
        assert_eq!((mounts_under(machine.path()), loops_under(machine.path())), (0, 0), "{case}");
        assert_eq!(marked("IOSTONE_ENGINE=test-"), Vec::<u32>::new(), "{case}");
    }
    session.finish().unwrap();
    assert_gone(&machine, &token);
    assert_eq!(surroundings(), before);
}

fn is_shell(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sh")
}

/// What the agent sees of its directory, through the eyes of its process.
fn view(applied: &Applied) -> InsideView {
    let standing = applied.container.as_ref().unwrap();
    let pid = marked(&format!("{AGENT_VARIABLE}={}", standing.mark))
        .into_iter()
        .find(|pid| is_shell(*pid))
        .unwrap();
    let table = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
    let target = |line: &str| line.split(' ').nth(4).map(PathBuf::from).unwrap();
    let holds = table.lines().filter(|line| standing.directory.starts_with(target(line)));
    let line = holds.max_by_key(|line| target(line).as_os_str().len()).unwrap();
    let inside = format!("/proc/{pid}/root{}", standing.directory.display());
    let device = fs::metadata(&inside).unwrap().dev();
    InsideView {
        mount_line: line.to_owned(),
        device: (rustix::fs::major(device), rustix::fs::minor(device)),
        filesystem_magic: u64::try_from(rustix::fs::statfs(&inside).unwrap().f_type).unwrap(),
    }
}

/// The process of our daemon.
fn daemon_of(machine: &Machine) -> String {
    let found = run("find", &[machine.work().to_str().unwrap(), "-name", "d.pid"]);
    fs::read_to_string(found.trim()).unwrap().trim().to_owned()
}

#[test]
fn beside_the_container_the_agent_is_this_program_and_files_lie_where_it_works() {
    let test = "beside_the_container_the_agent_is_this_program_and_files_lie_where_it_works";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let mut session = machine.session();
    let lower = LowerFiles { large: Bytes(3 * MIB), small_count: 2, small: Bytes(4096) };
    session.provision(provision(&machine, Some(lower))).unwrap();
    let applied = session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Host), 1, 1).unwrap();
    let standing = applied.container.unwrap();
    assert_eq!(standing.agent.last().unwrap(), "agent");
    assert_eq!(standing.agent.len(), 2);
    assert_eq!(standing.backing.as_ref(), Some(&standing.directory));
    assert_eq!(fs::read_dir(&standing.directory).unwrap().count(), 3);
    for (trial, place) in
        [(2, ContainerPlace::Tmpfs), (3, ContainerPlace::Layer), (4, ContainerPlace::Volume)]
    {
        let applied = session.apply(&stack(StorageDriver::Overlay2, place), trial, 1).unwrap();
        let standing = applied.container.clone().unwrap();
        let mut shell = None;
        // It stands before its program is the one that was asked for.
        wait_for("the container's shell", None, || {
            shell = marked("IOSTONE_ENGINE=test-").into_iter().find(|pid| is_shell(*pid));
            shell.is_some()
        });
        let pid = shell.unwrap();
        let inside = format!("/proc/{pid}/root{}", standing.directory.display());
        assert_eq!(fs::read_dir(inside).unwrap().count(), 3, "{place:?}");
    }
    session.finish().unwrap();
    machine.assert_clean();
}

#[test]
fn a_daemon_that_dies_a_full_data_root_and_a_driver_that_does_not_fit_are_said() {
    let test = "a_daemon_that_dies_a_full_data_root_and_a_driver_that_does_not_fit_are_said";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let mut session = machine.session();
    let (_, token) = session.processes_marker();
    session.provision(provision(&machine, None)).unwrap();
    let good = stack(StorageDriver::Overlay2, ContainerPlace::Layer);
    session.apply(&good, 1, 1).unwrap();
    run("kill", &["-KILL", &daemon_of(&machine)]);
    let mut said = None;
    wait_for("the daemon's end to be seen", None, || {
        match session.verify() {
            Err(StackError::Container { engine: "docker", reason }) => said = Some(reason),
            other => assert!(other.is_ok(), "{other:?}"),
        }
        said.is_some()
    });
    let reason = said.unwrap();
    assert!(reason.contains("daemon"), "{reason}");
    session.undo().unwrap();

    let unfit =
        Stack { container: stack(StorageDriver::Btrfs, ContainerPlace::Layer).container, ..good.clone() };
    let refused = Session::preflight(&unfit, true, &machine.work()).unwrap_err();
    assert!(
        matches!(&refused, StackError::Usage { object, .. } if object == "stack.container.driver"),
        "{refused}"
    );
    let failed = session.apply(&unfit, 2, 1).unwrap_err();
    assert!(matches!(&failed, StackError::Container { .. }), "{failed:?}");
    assert!(failed.to_string().contains("btrfs") && failed.to_string().contains("did not start"), "{failed}");

    let lower = LowerFiles { large: Bytes(600 * MIB), small_count: 0, small: Bytes(0) };
    session.provision(provision(&machine, Some(lower))).unwrap();
    let full = session.apply(&good, 3, 1).unwrap_err();
    assert!(matches!(&full, StackError::Container { .. }), "{full:?}");
    let words = full.to_string();
    assert!(words.contains("no space left") && words.contains("stack.volume.size"), "{words}");

    let gone = Provision { archive: Some(machine.path().join("gone.tar")), ..provision(&machine, None) };
    session.provision(gone).unwrap();
    let unmade = session.apply(&good, 4, 1).unwrap_err();
    assert!(
        matches!(&unmade, StackError::Container { .. }) && unmade.to_string().contains("gone.tar"),
        "{unmade}"
    );

    // And after all that the next one stands.
    session.provision(provision(&machine, None)).unwrap();
    let applied = session.apply(&good, 5, 1).unwrap();
    assert!(Agent::start(&applied).ask("hello").starts_with("hello "));
    session.finish().unwrap();
    assert_gone(&machine, &token);
}

#[test]
fn what_docker_cannot_be_asked_is_refused() {
    let mut asked = stack(StorageDriver::Overlay2, ContainerPlace::Layer);
    asked.container = Container::Docker(Contained { volatile: true, ..Contained::default() });
    let refused = Session::preflight(&asked, true, Path::new("/var/tmp")).unwrap_err().to_string();
    assert!(refused.contains("podman") && refused.contains("overlay"), "{refused}");
}

/// Children of this process that ended and were not waited for.
fn zombies() -> Vec<String> {
    let stats = fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let own = format!(") Z {} ", std::process::id());
    stats.filter(|stat| stat.contains(&own)).collect()
}

#[test]
fn another_sessions_volume_is_not_held_by_the_daemon_and_nothing_dead_stays() {
    let test = "another_sessions_volume_is_not_held_by_the_daemon_and_nothing_dead_stays";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    // Of other tests: a foreign daemon's, and what a daemon that was killed left dead.
    let before = zombies();
    let (mut first, mut second) = (machine.session(), machine.session());
    let mount = first.apply(&loop_stack(16 * MIB, &[]), 1, 1).unwrap().target.mount.unwrap();
    second.provision(provision(&machine, None)).unwrap();
    let applied = second.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer), 1, 1).unwrap();
    let table = fs::read_to_string(format!("/proc/{}/mountinfo", daemon_of(&machine))).unwrap();
    assert!(!table.contains(&format!(" {} ", mount.display())), "{table}");
    // Where mounts are private this used to wait for the daemon's end.
    first.undo().unwrap();
    second.verify().unwrap();
    assert!(Agent::start(&applied).ask("hello").starts_with("hello "));
    second.undo().unwrap();
    // A child of a test beside this one may have ended this moment; what nobody waits for stays.
    let mut new = zombies();
    new.retain(|zombie| !before.contains(zombie));
    let patience = Instant::now() + Duration::from_secs(30);
    while !new.is_empty() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(100));
        let still = zombies();
        new.retain(|zombie| still.contains(zombie));
    }
    assert_eq!(new, Vec::<String>::new());
    second.finish().unwrap();
    // It made the work directory that both were in.
    first.finish().unwrap();
    machine.assert_clean();
}

/// A daemon that stands for the user's: with data of its own, and a container that runs.
struct Foreign {
    place: PathBuf,
    daemon: Child,
}

impl Foreign {
    fn start(machine: &Machine) -> Self {
        let place = machine.path().join("foreign");
        fs::create_dir(&place).unwrap();
        // What it makes at fixed places is not to stay on the tester's machine.
        let script = "mount --make-rslave / && mount -t tmpfs tmpfs /etc/docker && mount -t tmpfs tmpfs /run && \
                      mount -t tmpfs tmpfs /opt && exec dockerd --config-file $0/none.json --data-root $0/data \
                      --pidfile $0/pid -H unix://$0/sock --storage-driver vfs --iptables=false \
                      --ip6tables=false --ip-masq=false --ip-forward=false --bridge=none";
        fs::write(place.join("none.json"), "{}").unwrap();
        let log = fs::File::create(place.join("log")).unwrap();
        let daemon = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .arg(&place)
            .env("FOREIGN", &place)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        // Ended by its own drop, should it not answer.
        let mut foreign = Self { place, daemon };
        let host = foreign.host();
        let version = || Command::new("docker").args(["--host", &host, "version"]).output().unwrap();
        wait_for("a daemon of others", Some(&mut foreign.daemon), || version().status.success());
        foreign
    }

    fn host(&self) -> String {
        format!("unix://{}", self.place.join("sock").display())
    }

    fn docker(&self, arguments: &[&str]) -> std::process::Output {
        Command::new("docker").args(["--host", &self.host()]).args(arguments).output().unwrap()
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.docker(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.docker(&["rm", "--force", "theirs"]);
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        for pid in marked(&format!("FOREIGN={}", self.place.display())) {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        for hierarchy in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let _ = fs::remove_dir(hierarchy.path().join("iostone-test-foreign"));
        }
    }
}

#[test]
fn the_users_own_docker_is_not_touched() {
    let test = "the_users_own_docker_is_not_touched";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    if !Path::new("/etc/docker").is_dir() || !has("unshare") {
        eprintln!("{test} skipped: needs /etc/docker and unshare");
        return;
    }
    let _alone = alone();
    let machine = Machine::new();
    let before = surroundings();
    let provision = provision(&machine, None);
    let foreign = Foreign::start(&machine);
    foreign.told(&["import", provision.archive.as_ref().unwrap().to_str().unwrap(), "theirs:1"]);
    foreign.told(&[
        "run",
        "--detach",
        "--interactive",
        "--network",
        "none",
        "--cgroup-parent",
        "/iostone-test-foreign",
        "--name",
        "theirs",
        "theirs:1",
        "/bin/sh",
        "/agent.sh",
    ]);
    let state = |foreign: &Foreign| {
        let container = foreign.told(&["inspect", "--format", "{{json .State}} {{json .Image}}", "theirs"]);
        (
            container,
            foreign.told(&["images", "--no-trunc"]).lines().count(),
            foreign.told(&["ps", "--all", "--quiet"]),
        )
    };
    let theirs = state(&foreign);
    let mut session = machine.session();
    session.provision(provision).unwrap();
    for trial in 1..3 {
        let applied =
            session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer), trial, 1).unwrap();
        assert!(Agent::start(&applied).ask("hello").starts_with("hello "));
        assert_eq!(state(&foreign), theirs);
        assert_eq!(surroundings(), before);
    }
    session.finish().unwrap();
    assert_eq!(state(&foreign), theirs);
    assert_eq!(surroundings(), before);
    drop(foreign);
    machine.assert_clean();
}
