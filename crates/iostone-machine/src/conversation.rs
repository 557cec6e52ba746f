//! The near end of a conversation in frames, over any pair of streams: one request at a time, and its answers.

use std::io::{self, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, FailureKind};
use crate::protocol::{Event, PROTOCOL_VERSION, Reply, Request};
use crate::serve::{Answer, ReplyFrame, RequestFrame};
use crate::{StopFlag, frame};

/// How soon an interrupt is passed on.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the far end is looked at where it can be seen.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// Its last answer may still be under way when it has ended; no longer than this.
const LAST_ANSWER: Duration = Duration::from_secs(1);
/// So long it may stand still: a snapshot or a debugger stops a process for a moment.
const STANDSTILL: Duration = Duration::from_secs(5);

/// What is said of an agent that hangs.
pub(crate) const SILENT: &str = "sent no heartbeat";

/// How long to wait for an agent; no limits for one that cannot hang without its connection ending.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    /// For the reply.
    pub(crate) reply: Option<Duration>,
    /// For any sign of life: an agent with heartbeats that is silent for so long hangs.
    pub(crate) silence: Option<Duration>,
    /// For the reply once an interrupt was passed on.
    pub(crate) interrupted: Option<Duration>,
}

/// A conversation with an agent.
pub(crate) struct Conversation {
    /// The agent in words, as the subject of a sentence: "the agent behind `ssh host iostone agent`".
    name: String,
    requests: Option<Box<dyn Write + Send>>,
    answers: mpsc::Receiver<io::Result<Option<ReplyFrame>>>,
    stop: StopFlag,
    /// Whether an interrupt was passed on: the far end remembers it.
    passed_on: bool,
    next_id: u64,
    heard: Instant,
    watched: Option<Watched>,
}

/// What is seen of the far end from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    Works,
    /// It is stopped or frozen, and can neither work nor answer.
    StandsStill,
    Gone,
}

/// The far end, seen from here as well.
struct Watched {
    look: Box<dyn FnMut() -> Sight + Send>,
    looked: Instant,
    /// What was seen last, and since when.
    sight: (Sight, Instant),
}

impl Conversation {
    /// Joins the streams; a thread reads the answers until they end.
    pub(crate) fn new(
        name: impl Into<String>,
        requests: impl Write + Send + 'static,
        answers: impl Read + Send + 'static,
        stop: StopFlag,
    ) -> Self {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut answers = answers;
            loop {
                let answered = frame::read::<ReplyFrame>(&mut answers);
                let last = !matches!(answered, Ok(Some(_)));
                if sender.send(answered).is_err() || last {
                    return;
                }
            }
        });
        Self {
            name: name.into(),
            requests: Some(Box::new(requests)),
            answers: receiver,
            stop,
            passed_on: false,
            next_id: 0,
            heard: Instant::now(),
            watched: None,
        }
    }

    /// From now on looks while it waits whether the far end is still there and works: streams that lead through another
    /// process may stay open long after it, and those of one that stands still do.
    pub(crate) fn watch(&mut self, look: impl FnMut() -> Sight + Send + 'static) {
        let now = Instant::now();
        self.watched = Some(Watched { look: Box::new(look), looked: now, sight: (Sight::Works, now) });
    }

    /// Agrees on the version.
    ///
    /// # Errors
    /// No agent answers, or one of another version.
    pub(crate) fn greet(&mut self, patience: Patience) -> Result<(), Failure> {
        match self.call(Request::Hello { version: PROTOCOL_VERSION }, patience, &mut |_| {})? {
            Reply::Hello { version: PROTOCOL_VERSION, .. } => Ok(()),
            Reply::Hello { version, iostone_version } => Err(Failure::lost(format!(
                "{} is iostone {iostone_version} and speaks version {version} of the protocol, \
                 this one {PROTOCOL_VERSION}; install the same iostone on both",
                self.name
            ))),
            _ => Err(Failure::lost(format!("{} did not answer as an iostone agent", self.name))),
        }
    }

    /// Sends a request and waits for its reply. An interrupt that came before it is passed on with it, and one that comes
    /// meanwhile at once.
    ///
    /// # Errors
    /// The agent's own failure; one of kind `Lost` when it is gone or stands still, or patience is at its end.
    pub(crate) fn call(
        &mut self,
        request: Request,
        patience: Patience,
        events: &mut dyn FnMut(Event),
    ) -> Result<Reply, Failure> {
        self.next_id += 1;
        let id = self.next_id;
        let started = Instant::now();
        // A silence counts from now, and so does a standstill: between two requests nobody listened or looked.
        self.heard = started;
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.sight.0 == Sight::StandsStill) {
            watched.sight.1 = started;
        }
        self.send(id, request)?;
        let mut interrupted = None;
        loop {
            if self.is_stopping() {
                interrupted.get_or_insert_with(Instant::now);
                if !self.passed_on {
                    self.passed_on = true;
                    self.send(0, Request::Interrupt)?;
                }
            }
            match self.answers.recv_timeout(LOOK_EVERY) {
                Ok(Ok(Some(ReplyFrame { id: of, answer }))) => {
                    self.heard = Instant::now();
                    match answer {
                        Answer::Event(Event::Alive) => events(Event::Alive),
                        // An answer to an earlier request.
                        _ if of != id => {}
                        Answer::Event(event) => events(event),
                        Answer::Reply(Reply::Failed(failure)) => return Err(failure),
                        Answer::Reply(reply) => return Ok(reply),
                    }
                }
                Ok(Ok(None)) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::lost(format!("{} ended", self.name)));
                }
                Ok(Err(error)) => return Err(Failure::lost(format!("{}: {error}", self.name))),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            self.check(&patience, started, interrupted)?;
            match self.watched.as_mut().and_then(Watched::end) {
                Some(Sight::Gone) => {
                    return Err(Failure::lost(format!("{} was killed before it answered", self.name)));
                }
                Some(Sight::StandsStill) => {
                    let message = format!(
                        "{} was suspended for {} s: its process was stopped, or its cgroup frozen",
                        self.name,
                        STANDSTILL.as_secs()
                    );
                    return Err(Failure::lost(message));
                }
                Some(Sight::Works) | None => {}
            }
        }
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn check(
        &self,
        patience: &Patience,
        started: Instant,
        interrupted: Option<Instant>,
    ) -> Result<(), Failure> {
        let over = |limit: Option<Duration>, since: Instant| limit.filter(|limit| since.elapsed() >= *limit);
        if let Some(at) = interrupted
            && over(patience.interrupted, at).is_some()
        {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        if let Some(limit) = over(patience.silence, self.heard) {
            let message = format!("{} {SILENT} for {} s", self.name, limit.as_secs());
            return Err(Failure::lost(message));
        }
        if let Some(limit) = over(patience.reply, started) {
            return Err(Failure::lost(format!("{} did not answer within {} s", self.name, limit.as_secs())));
        }
        Ok(())
    }

    fn send(&mut self, id: u64, request: Request) -> Result<(), Failure> {
        let Some(stream) = self.requests.as_mut() else {
            return Err(Failure::lost(format!("{} closed the connection", self.name)));
        };
        let sent = frame::write(stream, &RequestFrame { id, request });
        sent.map_err(|error| {
            // Half a frame may be under way: nothing after it would be understood.
            self.requests = None;
            Failure::lost(format!("{} is gone: {error}", self.name))
        })
    }

    /// What was seen last of the far end; none where nobody looks.
    pub(crate) fn sight(&self) -> Option<Sight> {
        Some(self.watched.as_ref()?.sight.0)
    }

    /// Ends the agent's input, upon which it undoes everything and ends.
    pub(crate) fn close(&mut self) {
        self.requests = None;
    }
}

impl Watched {
    /// Why it is waited for no longer: it is gone, and was so long enough for what it said last to arrive, or stands still
    /// for too long.
    fn end(&mut self) -> Option<Sight> {
        if self.sight.0 != Sight::Gone && self.looked.elapsed() >= WATCH_EVERY {
            self.looked = Instant::now();
            let sight = (self.look)();
            if sight != self.sight.0 {
                self.sight = (sight, self.looked);
            }
        }
        let (sight, since) = self.sight;
        let limit = match sight {
            Sight::Works => return None,
            Sight::StandsStill => STANDSTILL,
            Sight::Gone => LAST_ANSWER,
        };
        (since.elapsed() >= limit).then_some(sight)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pair() -> (Conversation, UnixStream, StopFlag) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (conversation, stop) = over(ours);
        (conversation, theirs, stop)
    }

    fn over(stream: UnixStream) -> (Conversation, StopFlag) {
        let stop = StopFlag::default();
        let reader = stream.try_clone().unwrap();
        (Conversation::new("the agent", stream, reader, StopFlag::clone(&stop)), stop)
    }

    #[test]
    fn an_agent_over_a_socket_answers_and_ends_with_its_input() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let shut = ours.try_clone().unwrap();
        let (mut conversation, _) = over(ours);
        let answers = theirs.try_clone().unwrap();
        let beat = Some(Duration::from_millis(5));
        let agent = thread::spawn(move || crate::serve(theirs, answers, &StopFlag::default(), beat));
        conversation.greet(Patience::default()).unwrap();
        let failure = conversation.call(Request::Verify, Patience::default(), &mut |_| {}).unwrap_err();
        assert_eq!(failure.message, "no session was started");
        shut.shutdown(std::net::Shutdown::Write).unwrap();
        agent.join().unwrap().unwrap();
    }

    /// Five beats and silence: how many were heard, what came of it, and how long the beating took from one to the next at
    /// most.
    fn hear_five_beats() -> (u32, Failure, Duration) {
        let (mut conversation, theirs, _) = pair();
        let mut far = theirs.try_clone().unwrap();
        let mut last = Instant::now();
        let beats = thread::spawn(move || {
            let mut largest = Duration::ZERO;
            for _ in 0..5 {
                thread::sleep(Duration::from_millis(40));
                frame::write(&mut far, &ReplyFrame { id: 0, answer: Answer::Event(Event::Alive) }).unwrap();
                largest = largest.max(last.elapsed());
                last = Instant::now();
            }
            largest
        });
        let patience = Patience { silence: Some(Duration::from_millis(400)), ..Patience::default() };
        let mut alive = 0;
        let failure = conversation
            .call(Request::Verify, patience, &mut |event| alive += u32::from(event == Event::Alive))
            .unwrap_err();
        let largest = beats.join().unwrap();
        drop(theirs);
        (alive, failure, largest)
    }

    #[test]
    fn heartbeats_are_signs_of_life_and_silence_is_none() {
        for _ in 0..5 {
            let (alive, failure, largest) = hear_five_beats();
            assert_eq!(failure.kind, FailureKind::Lost);
            assert!(failure.message.contains("no heartbeat"), "{failure}");
            // On a busy machine the beats themselves may come too late.
            if largest <= Duration::from_millis(300) {
                assert_eq!(alive, 5);
                return;
            }
        }
        panic!("in none of five times did the beats come in time");
    }

    #[test]
    fn an_interrupt_is_passed_on_and_not_waited_for_without_end() {
        let (mut conversation, mut theirs, stop) = pair();
        // Raised by what the agent says, so that it is surely up while the request is under way, and not before.
        let raised = StopFlag::clone(&stop);
        frame::write(&mut theirs, &ReplyFrame { id: 0, answer: Answer::Event(Event::Alive) }).unwrap();
        let patience = Patience { interrupted: Some(Duration::from_millis(60)), ..Patience::default() };
        let failure = conversation
            .call(Request::Verify, patience, &mut |_| raised.store(true, Ordering::Relaxed))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Interrupted);
        assert_eq!(frame::read::<RequestFrame>(&mut theirs).unwrap().unwrap().request, Request::Verify);
        assert_eq!(frame::read::<RequestFrame>(&mut theirs).unwrap().unwrap().request, Request::Interrupt);
    }

    #[test]
    fn an_interrupt_between_two_requests_is_passed_on_once_and_not_waited_for_without_end() {
        let (mut conversation, mut theirs, stop) = pair();
        stop.store(true, Ordering::Relaxed);
        let patience = Patience { interrupted: Some(Duration::from_millis(60)), ..Patience::default() };
        for _ in 0..2 {
            let failure = conversation.call(Request::Work, patience, &mut |_| {}).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Interrupted);
        }
        conversation.close();
        drop(conversation);
        let mut heard = Vec::new();
        while heard.len() < 3 {
            heard.push(frame::read::<RequestFrame>(&mut theirs).unwrap().unwrap().request);
        }
        assert_eq!(heard, [Request::Work, Request::Interrupt, Request::Work]);
    }

    #[test]
    fn what_undoes_after_an_interrupt_is_waited_for() {
        let (mut conversation, mut theirs, stop) = pair();
        stop.store(true, Ordering::Relaxed);
        frame::write(&mut theirs, &ReplyFrame { id: 1, answer: Answer::Reply(Reply::Done) }).unwrap();
        let reply = conversation.call(Request::Undo, Patience::default(), &mut |_| {}).unwrap();
        assert_eq!(reply, Reply::Done);
    }

    #[test]
    fn an_agent_that_stands_still_is_not_waited_for_and_one_that_goes_on_is() {
        let (mut conversation, theirs, _) = pair();
        let mut looks = 0;
        let begun = Instant::now();
        conversation.watch(move || {
            looks += 1;
            // Its first standstill is a short one.
            if looks == 3 { Sight::Works } else { Sight::StandsStill }
        });
        let failure = conversation.call(Request::Verify, Patience::default(), &mut |_| {}).unwrap_err();
        assert_eq!((failure.kind, conversation.sight()), (FailureKind::Lost, Some(Sight::StandsStill)));
        assert!(failure.message.starts_with("the agent was suspended for 5 s: "), "{failure}");
        assert!(begun.elapsed() >= STANDSTILL + 3 * WATCH_EVERY);
        drop(theirs);
    }

    #[test]
    fn an_agent_that_is_gone_is_told_at_once() {
        let (mut conversation, theirs, _) = pair();
        drop(theirs);
        for _ in 0..2 {
            let failure = conversation.call(Request::Verify, Patience::default(), &mut |_| {}).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Lost);
        }
    }

    #[test]
    fn an_agent_that_is_seen_to_be_gone_is_not_waited_for_while_its_stream_is_open() {
        let (mut conversation, theirs, _) = pair();
        conversation.watch(|| Sight::Gone);
        let failure = conversation.call(Request::Verify, Patience::default(), &mut |_| {}).unwrap_err();
        assert_eq!((failure.kind, conversation.sight()), (FailureKind::Lost, Some(Sight::Gone)));
        assert_eq!(failure.message, "the agent was killed before it answered");
        drop(theirs);
    }

    #[test]
    fn what_an_agent_said_before_its_end_is_heard() {
        let (mut conversation, theirs, _) = pair();
        let mut far = theirs.try_clone().unwrap();
        // Said only once it was seen to be gone.
        conversation.watch(move || {
            frame::write(&mut far, &ReplyFrame { id: 1, answer: Answer::Reply(Reply::Done) }).unwrap();
            Sight::Gone
        });
        let reply = conversation.call(Request::Verify, Patience::default(), &mut |_| {}).unwrap();
        assert_eq!(reply, Reply::Done);
        drop(theirs);
    }
}
