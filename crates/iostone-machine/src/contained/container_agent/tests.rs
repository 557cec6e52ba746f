//! A container agent that is a pair of commands of this host, where no engine is needed.

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
    match ContainerAgent::start(&standing(agent, "layer"), &marker(), StopFlag::default()) {
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
        "docker: the agent in the container ended (exit status: 125); last message: `Error: no such container`"
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
fn of_many_words_the_last_are_kept() {
    let said = Said::default();
    let text: String = (0..50).map(|number| ["line ", &number.to_string(), "\n\n"].concat()).collect();
    keep_last_lines(text.as_bytes(), &said);
    let kept = said.lock().unwrap();
    assert_eq!((kept.len(), kept.back().unwrap().as_str()), (LINES, "line 49"));
}

#[test]
fn an_agent_that_a_stop_ends_is_an_interrupt() {
    let stop = StopFlag::default();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let started = ContainerAgent::start(&standing(&["sh", "-c", "exit 143"], "layer"), &marker(), stop);
    assert_eq!(started.err().unwrap().kind, FailureKind::Interrupted);
}

#[test]
fn an_agent_that_was_killed_is_known_by_its_end() {
    for (place, end, killed) in
        [("layer", "exit 137", true), ("host", "kill -9 $$", true), ("host", "exit 137", false)]
    {
        let mut container_agent = container_agent_of(end, place, std::io::empty());
        assert!(!container_agent.was_killed());
        let told = container_agent.explain(Failure::lost("the agent ended"));
        assert_eq!((told.kind, container_agent.was_killed()), (FailureKind::Container, killed), "{told}");
    }
}

#[test]
fn an_agent_that_was_seen_to_be_gone_first_is_known_by_the_end_of_its_client() {
    for (end, killed) in [("sleep 2; exit 137", true), ("sleep 2; exit 1", false)] {
        // The client keeps the stream open for as long as it lives.
        let (answers, _client) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut container_agent = container_agent_of(end, "layer", answers);
        container_agent.conversation.watch(|| Sight::Gone);
        let told = container_agent.ask(Request::Work, None).unwrap_err();
        assert!(told.message.contains("ended during the trial"), "{told}");
        assert_eq!(container_agent.was_killed(), killed, "{told}");
    }
}

/// A container agent whose agent, or whose engine's client, is a shell.
fn container_agent_of(script: &str, place: &str, answers: impl Read + Send + 'static) -> ContainerAgent {
    ContainerAgent {
        conversation: Conversation::new("the agent", std::io::sink(), answers, StopFlag::default()),
        said: Said::default(),
        listener: thread::spawn(|| ()),
        engine: "docker".to_owned(),
        mark: "none".to_owned(),
        process: None,
        ended: None,
        is_outside: place == "host",
        started_seconds: 0.0,
        child: Command::new("sh").args(["-c", script]).spawn().unwrap(),
    }
}
