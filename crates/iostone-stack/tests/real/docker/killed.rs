//! A session that is killed at some moment of its daemon's or container's life is cleaned up.

use std::time::Instant;

use super::*;

/// Tells the child, which is this very program, where to work.
const CHILD_VARIABLE: &str = "IOSTONE_STACK_TEST_DOCKER";

/// Not a test of its own: the session that another kills.
#[test]
#[ignore = "run by the test that kills it"]
fn child_session() {
    let Some(place) = std::env::var_os(CHILD_VARIABLE).map(PathBuf::from) else { return };
    let registry = Registry::at(&place.join("state")).unwrap();
    let options = SessionOptions {
        run_token: "child".to_owned(),
        run_directory: place.join("run"),
        work_directory: place.join("run/work"),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&registry, options).unwrap();
    let program = vec!["/bin/sh".to_owned(), "/agent.sh".to_owned()];
    let archive = Some(place.join("root.tar"));
    session.provision(Provision { archive, program, lower: None }).unwrap();
    let applied = session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer), 1, 1).unwrap();
    let mut agent = Agent::start(&applied);
    agent.ask("hello");
    fs::write(place.join("ready"), "").unwrap();
    thread::sleep(Duration::from_secs(3600));
}

/// Begins that session.
fn begin_child(machine: &Machine) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "docker::killed::child_session", "--ignored"])
        .env(CHILD_VARIABLE, machine.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_session_is_cleaned_up_whenever_it_was_killed() {
    let test = "a_killed_session_is_cleaned_up_whenever_it_was_killed";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let before = surroundings();
    // At last when it stands; before that at some moment of the daemon's start, the import, or the container's.
    for round in [1500u64, 2500, 3500, u64::MAX] {
        let machine = Machine::new();
        provision(&machine, None);
        let mut child = begin_child(&machine);
        let ready = machine.path().join("ready");
        let mut waited = 0;
        while !ready.exists() && waited < round && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(10));
            waited += 10;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(round < u64::MAX || ready.exists(), "the session ended by itself");
        let report = machine.registry.cleanup().unwrap();
        assert!(report.is_clean(), "{round}: {report:?}");
        assert_gone(&machine, "child-");
    }
    assert_eq!(surroundings(), before);
}

/// Whether a container of the child's is made and not yet started: runc waits in a process that carries no marker.
fn is_made_and_not_started() -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
        read("cmdline") == b"runc\0init\0"
            && String::from_utf8_lossy(&read("cgroup")).contains("/iostone-child-")
    })
}

#[test]
fn a_session_killed_while_its_container_is_made_and_not_started_is_cleaned_up() {
    let test = "a_session_killed_while_its_container_is_made_and_not_started_is_cleaned_up";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    // The moment is short, and may pass between two looks.
    let is_caught = (0..5).any(|_| is_cleaned_up_when_killed_there());
    if !is_caught {
        eprintln!("{test}: runc was not seen between create and start");
    }
}

/// Kills a session at that moment, or when it stands, and cleans up; whether the moment was caught.
fn is_cleaned_up_when_killed_there() -> bool {
    let machine = Machine::new();
    provision(&machine, None);
    let mut child = begin_child(&machine);
    let ready = machine.path().join("ready");
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut is_caught = false;
    while !is_caught && !ready.exists() && child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
        is_caught = is_made_and_not_started();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let report = machine.registry.cleanup().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert!(!is_made_and_not_started());
    assert_gone(&machine, "child-");
    is_caught
}
