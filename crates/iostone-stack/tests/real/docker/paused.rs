//! A container that stands still because somebody paused it.

use super::*;

/// Freezes the control group of a process, as `docker pause` does; false where it cannot be found.
fn pause(pid: u32) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let own = |marker: &str| groups.lines().find_map(|line| line.split_once(marker)).map(|(_, path)| path);
    let version_1 =
        own(":freezer:").map(|path| (format!("/sys/fs/cgroup/freezer{path}/freezer.state"), "FROZEN"));
    let version_2 = || own("0::").map(|path| (format!("/sys/fs/cgroup{path}/cgroup.freeze"), "1"));
    version_1.or_else(version_2).is_some_and(|(file, frozen)| fs::write(file, frozen).is_ok())
}

#[test]
fn a_trial_whose_container_was_paused_is_undone_and_the_next_one_begins() {
    let test = "a_trial_whose_container_was_paused_is_undone_and_the_next_one_begins";
    if lacks(test) {
        return;
    }
    let _turn = take_turns();
    let _alone = alone();
    let machine = Machine::new();
    let mut session = machine.session();
    session.provision(provision(&machine, None)).unwrap();
    let (_, token) = session.processes_marker();
    for trial in [1, 2] {
        let applied =
            session.apply(&stack(StorageDriver::Overlay2, ContainerPlace::Layer), trial, 1).unwrap();
        let mark = applied.container.clone().unwrap().mark;
        let mut agent = Agent::start(&applied);
        assert_eq!(agent.ask("hello"), format!("hello {mark}"));
        let inside = marked(&format!("{AGENT_VARIABLE}={mark}")).into_iter().find(|pid| is_shell(*pid));
        let pid = inside.unwrap();
        if !pause(pid) {
            eprintln!("{test} skipped: the container's group cannot be frozen");
            return;
        }
        wait_for("frozen", None, || iostone_stack::is_frozen(pid));
        drop(agent);
        session.undo().unwrap();
        assert_eq!(marked(&mark), Vec::<u32>::new());
    }
    session.finish().unwrap();
    assert_gone(&machine, &token);
}
