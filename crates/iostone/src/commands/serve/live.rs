//! A run in progress as a stream of events (HTML Living Standard, 9.2): the whole state as words, whenever its journal grew.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::stream::unfold;
use iostone_lab::{is_at_work, read_underway, stamp_of_run};
use iostone_report::site::underway_event;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use super::door::plain;

/// How often the journal is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// Where nothing happens something is sent all the same, so that a client that went away is noticed.
const STILL_THERE: Duration = Duration::from_secs(15);

struct Follower {
    run: PathBuf,
    stamp: String,
    sent: Option<Instant>,
    is_over: bool,
    /// Given back when the stream ends.
    _permit: OwnedSemaphorePermit,
}

/// The events of a run.
pub(super) fn events(run: PathBuf, permit: OwnedSemaphorePermit) -> Response<Body> {
    let follower = Follower { run, stamp: String::new(), sent: None, is_over: false, _permit: permit };
    let stream = unfold(follower, |mut follower| async move {
        let event = next(&mut follower).await?;
        Some((Ok::<_, std::convert::Infallible>(event), follower))
    });
    let mut answer = Response::new(Body::from_stream(stream));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

/// Too many are followed already.
pub(super) fn too_many() -> Response<Body> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "too many runs in progress are followed at once\n")
}

async fn next(follower: &mut Follower) -> Option<String> {
    if follower.is_over {
        return None;
    }
    loop {
        if follower.sent.is_some() {
            sleep(EVERY).await;
        }
        let (run, stamp) = (follower.run.clone(), follower.stamp.clone());
        let looked = tokio::task::spawn_blocking(move || look(&run, &stamp)).await.ok()?;
        if let Some((stamp, event, is_over)) = looked {
            follower.stamp = stamp;
            follower.is_over = is_over;
            follower.sent = Some(Instant::now());
            return Some(format!("data: {event}\n\n"));
        }
        if follower.sent.is_none_or(|sent| sent.elapsed() > STILL_THERE) {
            follower.sent = Some(Instant::now());
            return Some(": nothing new\n\n".to_owned());
        }
    }
}

/// The state, if it is another than before; whether it is the last.
fn look(run: &std::path::Path, before: &str) -> Option<(String, String, bool)> {
    let stamp = stamp_of_run(run);
    // A process that was killed left no trace in the files.
    if stamp == before && is_at_work(run) {
        return None;
    }
    let underway = read_underway(run).ok()?;
    let is_over = underway.ended.is_some();
    Some((stamp, underway_event(&underway).ok()?, is_over))
}
