//! The far end: an agent driven by frames, which is `iostone agent`.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureKind};
use crate::protocol::{Event, Reply, Request};
use crate::{Agent, StopFlag, frame};

/// A request on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestFrame {
    pub(crate) id: u64,
    #[serde(flatten)]
    pub(crate) request: Request,
}

/// An answer on the wire: events, then the reply, all with the id of the request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReplyFrame {
    pub(crate) id: u64,
    #[serde(flatten)]
    pub(crate) answer: Answer,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    Reply(Reply),
    Event(Event),
}

/// The stream of answers: a heartbeat must not come in the middle of a reply.
struct Pen<W>(Mutex<W>);

impl<W: Write> Pen<W> {
    fn write(&self, answered: &ReplyFrame) -> io::Result<()> {
        frame::write(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), answered)
    }
}

/// Tells that the agent lives, until it is dropped.
struct Heartbeat(Arc<AtomicBool>);

impl Heartbeat {
    fn start<W: Write + Send + 'static>(every: Duration, pen: &Arc<Pen<W>>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (seen, pen) = (Arc::clone(&ended), Arc::clone(pen));
        thread::spawn(move || {
            let alive = ReplyFrame { id: 0, answer: Answer::Event(Event::Alive) };
            while !seen.load(Ordering::Relaxed) && pen.write(&alive).is_ok() {
                thread::sleep(every);
            }
        });
        Self(ended)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answers requests until the stream ends, then undoes whatever is still built. With a `heartbeat`, which the agent of a
/// guest has, [`Event::Alive`] is sent once greeted and then each time it has gone by.
///
/// When the other end goes away in the middle of a trial, the workload is stopped and everything is taken down.
///
/// # Errors
/// A broken stream, or a frame that is no request, as a sentence; everything was undone by then.
pub fn serve(
    requests: impl Read + Send + 'static,
    answers: impl Write + Send + 'static,
    stop: &StopFlag,
    heartbeat: Option<Duration>,
) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel();
    let reader_stop = StopFlag::clone(stop);
    // Requests are read on a thread of their own, so that an interrupt, or the end of the stream, is seen while a
    // workload runs.
    thread::spawn(move || {
        let mut requests = requests;
        loop {
            let asked = frame::read::<RequestFrame>(&mut requests);
            let last = !matches!(asked, Ok(Some(_)));
            if last || matches!(&asked, Ok(Some(asked)) if asked.request == Request::Interrupt) {
                reader_stop.store(true, Ordering::Relaxed);
            }
            if sender.send(asked).is_err() || last {
                return;
            }
        }
    });

    let mut agent = Agent::new(StopFlag::clone(stop));
    let mut greeted = false;
    let pen = Arc::new(Pen(Mutex::new(answers)));
    let mut beating = None;
    for asked in receiver {
        let RequestFrame { id, request } = match asked {
            Ok(Some(asked)) => asked,
            Ok(None) => break,
            Err(error) => return Err(Failure::lost(format!("the request could not be read: {error}"))),
        };
        if request == Request::Interrupt {
            continue;
        }
        let hello = matches!(request, Request::Hello { .. });
        let mut written = Ok(());
        let reply = if greeted || hello {
            agent.handle(request, &mut |event| {
                if written.is_ok() {
                    written = pen.write(&ReplyFrame { id, answer: Answer::Event(event) });
                }
            })
        } else {
            Reply::Failed(Failure::new(FailureKind::Usage, "the first request must be `hello`"))
        };
        greeted |= hello && !matches!(reply, Reply::Failed(_));
        written
            .and_then(|()| pen.write(&ReplyFrame { id, answer: Answer::Reply(reply) }))
            .map_err(|error| Failure::lost(format!("the answer could not be written: {error}")))?;
        if let Some(every) = heartbeat.filter(|_| greeted && beating.is_none()) {
            beating = Some(Heartbeat::start(every, &pen));
        }
    }
    drop(beating);
    Ok(())
}
