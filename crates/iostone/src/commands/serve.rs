//! `iostone serve`: runs as web pages, for the one who started it. It reads run directories and changes nothing.

mod asked;
mod door;
mod live;
mod pages;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use iostone_lab::Shelf;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::cli::RunsDirectory;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use door::Door;
use pages::Kept;

/// More connections wait in the kernel.
const CONNECTIONS: usize = 128;
/// More runs in progress are not followed at once.
const FOLLOWERS: usize = 32;
/// A request's line and headers take at most so many bytes.
const LONGEST_REQUEST: usize = 16 << 10;
/// As long may a client take for them.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// A connection ends after this, also one that nobody reads from; browsers take events up again by themselves.
const CONNECTION_TIME: Duration = Duration::from_secs(15 * 60);
/// So many pages are made at once: a run in progress needs the processors more.
const MAKERS: usize = 2;
/// How far pages stand back behind a run.
const NICENESS: i32 = 10;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address and port; port 0 takes a free one. Beyond loopback the printed address holds a token that every browser needs
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    #[command(flatten)]
    directory: RunsDirectory,
}

/// What all requests share.
pub(crate) struct Site {
    parent: PathBuf,
    shelf: Mutex<Shelf>,
    kept: Mutex<Kept>,
    followers: Arc<Semaphore>,
}

pub(crate) fn serve(arguments: &ServeArguments, printer: &mut Printer) -> Result<ExitCode> {
    let listener = TcpListener::bind(arguments.listen)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .with_context(|| format!("listening on {}", arguments.listen))?;
    let bound = listener.local_addr().context("listening")?;
    let door = Arc::new(Door::at(bound)?);
    // Failing to stand back is no reason not to serve.
    let _ = rustix::process::nice(NICENESS);
    let parent = arguments.directory.runs.clone();
    let site = Arc::new(Site {
        shelf: Mutex::new(Shelf::of(&parent)),
        parent,
        kept: Mutex::default(),
        followers: Arc::new(Semaphore::new(FOLLOWERS)),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(MAKERS)
        .build()
        .context("starting the server")?;
    printer.data(&format!("{}\n", door.address()));
    let place = site.parent.display();
    printer.note(format_args!("serves the runs of `{place}`, which it only reads; Ctrl-C ends it"));
    // SIGINT ends the process as it ends any: there is nothing to undo.
    runtime.block_on(accept(listener, door, site))?;
    Ok(ExitCode::Success)
}

async fn accept(listener: TcpListener, door: Arc<Door>, site: Arc<Site>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener).context("listening")?;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let router = pages::router(Arc::clone(&site));
    // The first reader does not wait for all runs to be read.
    tokio::task::spawn_blocking(move || site.runs().map(drop));
    loop {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, mostly: some connection has to end first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        let (door, router) = (Arc::clone(&door), router.clone());
        let answer = service_fn(move |request| {
            let (door, router) = (Arc::clone(&door), router.clone());
            async move { Ok::<_, std::convert::Infallible>(door.answer(request, local, router).await) }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(REQUEST_TIME)
                .max_buf_size(LONGEST_REQUEST)
                .serve_connection(TokioIo::new(stream), answer);
            // How a connection ends is the client's affair.
            let _ = timeout(CONNECTION_TIME, connection).await;
            drop(permit);
        });
    }
}
