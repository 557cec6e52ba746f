//! A companion that is a pair of commands of this host, where no engine is needed.

use iostone_model::trial::ContainerFacts;

use super::*;

fn marker() -> (String, String) {
    ("IOSTONE_TEST_MARK".to_owned(), "companion".to_owned())
}

fn standing(agent: &[&str], place: &str) -> StandingContainer {
    StandingContainer {
        agent: agent.iter().map(|word| (*word).to_owned()).collect(),
        directory: "/".into(),
        backing: None,
        mark: format!("test-{}-{:?}", std::process::id(), thread::current().id()),
        facts: ContainerFacts {
            kind: "docker".to_owned(),
            place: place.to_owned(),
            ..ContainerFacts::default()
        },
    }
}

fn failure_of(agent: &[&str]) -> Failure {
    match Companion::start(&standing(agent, "layer"), &marker(), StopFlag::default()) {
        Ok(_) => panic!("no agent is there"),
        Err(failure) => failure,
    }
}

#[test]
fn an_engine_that_cannot_start_the_agent_is_told_with_its_last_words() {
    let failure = failure_of(&[
        "sh",
        "-c",
        "head -c 1 >/dev/null; echo first >&2; echo 'Error: no such container' >&2; exit 125",
    ]);
    assert_eq!(failure.kind, FailureKind::Container);
    assert_eq!(
        failure.message,
        "docker: the agent in the container ended (exit status: 125); it said last: `Error: no such container`"
    );
    let missing = failure_of(&["/no/such/engine"]);
    assert_eq!(missing.kind, FailureKind::Container);
    assert!(missing.message.contains("`/no/such/engine` could not be started"), "{missing}");
}

#[test]
fn what_is_no_agent_is_not_waited_for() {
    let failure = failure_of(&["sh", "-c", "echo this is no frame at all; exec sleep 0.3"]);
    assert_eq!(failure.kind, FailureKind::Container, "{failure}");
}

#[test]
fn the_first_of_the_marked_processes_is_the_agent() {
    let mark = format!("first-{}", std::process::id());
    let child = Command::new("sh")
        .args(["-c", "sleep 100 & echo $!; wait"])
        .env(AGENT_VARIABLE, &mark)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut group = Group(child);
    let mut line = String::new();
    BufReader::new(group.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let started: u32 = line.trim().parse().unwrap();
    let mut both = vec![group.0.id(), started];
    both.sort_unstable();
    // In the midst of execve(2) a process has no environment: it gets its name before it.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut marked = processes_with(AGENT_VARIABLE, &mark);
        marked.sort_unstable();
        if marked == both {
            break;
        }
        assert!(Instant::now() < deadline, "{marked:?} instead of {both:?}");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(parent_of(started), Some(group.0.id()));
    assert_eq!(processes_with(AGENT_VARIABLE, "first"), Vec::<u32>::new());
}

#[test]
fn a_process_is_told_from_a_later_one_and_a_dead_one_is_gone() {
    let own = start_of(std::process::id()).unwrap();
    assert_eq!(start_of(std::process::id()), Some(own));
    let child =
        Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut group = Group(child);
    assert!(start_of(group.0.id()).unwrap() >= own);
    drop(group.0.stdin.take());
    // It is not reaped yet.
    while start_of(group.0.id()).is_some() {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn of_many_words_the_last_are_kept() {
    let said = Said::default();
    let text: String = (0..50).map(|number| ["line ", &number.to_string(), "\n\n"].concat()).collect();
    keep_last_lines(text.as_bytes(), &said);
    let kept = said.lock().unwrap();
    assert_eq!((kept.len(), kept.back().unwrap().as_str()), (LINES, "line 49"));
}

struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}
