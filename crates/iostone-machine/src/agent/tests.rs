//! The agent by itself: what it carries out without a session, and how it names a kill.

use iostone_model::trial::WorkloadReport;

use super::*;

#[test]
fn an_agent_that_has_entered_a_place_works_there_without_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(StopFlag::default());
    let prepare = Request::Prepare(Prepare {
        workload: serde_json::from_str(
            r#"{"kind":"command","argv":["sh","-c","echo $IOSTONE_TEST_PLACE > here"]}"#,
        )
        .unwrap(),
        trial: 1,
        configuration: "on".to_owned(),
        seed: 7,
    });
    let mut ask = |request: Request| agent.handle(request, &mut |_| {});
    for request in [prepare.clone(), Request::Work] {
        let Reply::Failed(failure) = ask(request) else { panic!("there is no place yet") };
        assert_eq!(failure.kind, FailureKind::Usage);
    }
    let marker = ("IOSTONE_TEST_PLACE".to_owned(), "marked".to_owned());
    let enter = Request::Enter { directory: directory.path().to_owned(), marker };
    let Reply::Entered(view) = ask(enter.clone()) else { panic!("the directory is there") };
    let Reply::Entered(again) = ask(enter) else { panic!("it may be asked again") };
    assert_eq!(view, again);
    assert!(matches!(ask(prepare), Reply::Prepared(_)));
    let Reply::Worked(measurement) = ask(Request::Work) else { panic!("it was prepared") };
    assert!(measurement.metrics.contains_key("wall_time"), "{measurement:?}");
    assert!(measurement.cpu.is_some());
    assert_eq!(std::fs::read_to_string(directory.path().join("here")).unwrap(), "marked\n");
}

#[test]
fn a_kill_by_the_memory_limit_is_called_that() {
    let said = |error: Option<&str>, kills, limit| {
        let mut report = WorkloadReport { error: error.map(str::to_owned), ..WorkloadReport::default() };
        tell_kills(&mut report, kills, limit);
        (report.error, report.facts.get("memory").cloned())
    };
    let limit = Some(Bytes(20 << 20));
    let (ended, _) = said(Some("`python3` was ended by signal 9"), 1, limit);
    assert_eq!(
        ended.unwrap(),
        "`python3` was ended by signal 9: killed by its memory limit of 20MiB; raise `limit.memory`"
    );
    let (failed, _) = said(Some("`sh` ended with status 137"), 2, limit);
    assert!(failed.unwrap().contains("2 of its processes were killed by its memory limit"));
    let (error, fact) = said(None, 1, limit);
    assert_eq!(
        (error, fact.unwrap().as_str()),
        (None, "one of its processes was killed by its memory limit of 20MiB")
    );
    let gone = Failure::new(FailureKind::Container, "docker: the agent in the container ended");
    let killed = tell_kill(gone.clone(), true, 1, limit);
    assert!(killed.message.ends_with("ended: killed by its memory limit of 20MiB; raise `limit.memory`"));
    let other = tell_kill(gone.clone(), false, 1, limit);
    let words = "ended: one of its processes was killed by its memory limit of 20MiB; raise `limit.memory`";
    assert!(other.message.ends_with(words), "{other}");
    assert_eq!(tell_kill(gone.clone(), true, 0, limit), gone);
    assert_eq!(said(Some("other"), 0, limit), (Some("other".to_owned()), None));
    assert_eq!(said(None, 1, None), (None, None));
}

#[test]
fn what_a_stop_does_to_a_container_is_an_interrupt_and_no_failed_trial() {
    let stop = StopFlag::default();
    let mut agent = Agent::new(StopFlag::clone(&stop));
    let gone = Failure::new(FailureKind::Container, "docker: the agent in the container ended");
    let other = Failure::new(FailureKind::Failed, "other");
    assert_eq!(agent.blame(gone.clone()), gone);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(agent.blame(gone).kind, FailureKind::Interrupted);
    assert_eq!(agent.blame(other.clone()), other);
}
