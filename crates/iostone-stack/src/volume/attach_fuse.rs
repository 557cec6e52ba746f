//! A socket of the disk server as a file, shown by `nbdfuse` of libnbd, for a loop device to stand on.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::attach::Backing;
use crate::disk_server::carry_marker;
use crate::error::StackError;
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

/// A file that is not there by then never is.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// Mounts a socket over a file of that name in the trial's directory. `marker` is the server's: whatever of `nbdfuse`
/// outlives the unmount is ended with it.
///
/// # Errors
/// [`StackError::Tool`] with what `nbdfuse` said where it ended or shows no file of that size.
pub(super) fn mount(
    site: &mut Site,
    program: &Path,
    socket: &Path,
    name: &str,
    marker: &str,
    size_bytes: u64,
) -> Result<Backing, StackError> {
    let directory = site.trial_directory()?;
    let target = directory.join(name);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&target)
        .map_err(|source| StackError::io("create", &target, source))?;
    let log = directory.join(format!("{name}.log"));
    let said = fs::File::create(&log).map_err(|source| StackError::io("create", &log, source))?;
    site.journal.begin(Scope::Trial, Step::Fuse { target: target.clone() })?;
    let mut command = Command::new(program);
    command
        .arg(&target)
        .arg("--unix")
        .arg(socket)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(said));
    carry_marker(&mut command, marker);
    let child = command.spawn().map_err(|source| StackError::io("execute", program, source))?;
    site.servers.push(child);
    let deadline = Instant::now() + PATIENCE;
    loop {
        site.check_interrupt()?;
        if is_mounted(&target)? && fs::metadata(&target).is_ok_and(|shown| shown.size() == size_bytes) {
            return Backing::open(&target, size_bytes, true);
        }
        let ended = site.servers.last_mut().and_then(|child| child.try_wait().ok().flatten());
        if ended.is_some() || Instant::now() > deadline {
            let arguments = [target.into_os_string(), "--unix".into(), socket.as_os_str().to_owned()];
            return Err(StackError::Tool {
                command: tool::command_line(program, &arguments),
                outcome: ended.map_or("shows no file".to_owned(), |status| format!("ended with {status}")),
                output: tool::last_lines(&fs::read_to_string(&log).unwrap_or_default()),
            });
        }
        std::thread::sleep(PAUSE);
    }
}

fn is_mounted(target: &Path) -> Result<bool, StackError> {
    Ok(mountinfo::own_mounts()?.iter().any(|mounted| mounted.target == target))
}
