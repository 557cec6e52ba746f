//! The virtio-serial port at whose other end the host waits.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_guest::AGENT_PORT;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::wrong;
use crate::failure::{Failure, FailureKind};

const PORTS: &str = "/sys/class/virtio-ports";
/// The device is announced by an interrupt soon after the driver is there; under translation soon is long.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Opens the agent's port once the host is at its other end: before that, reading would give the end of the stream.
///
/// # Errors
/// No such port came, or nobody is at its other end.
pub(super) fn open() -> Result<File, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let path = loop {
        if let Some(path) = find(Path::new(PORTS)) {
            break path;
        }
        if Instant::now() >= deadline {
            let message =
                format!("there is no port `{AGENT_PORT}` in `{PORTS}`; is the driver virtio_console loaded?");
            return Err(Failure::new(FailureKind::Guest, message));
        }
        std::thread::sleep(LOOK_EVERY);
    };
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| wrong(&format!("`{}`", path.display()), &error))?;
    while !has_other_end(&file) {
        if Instant::now() >= deadline {
            let message = format!("nothing is connected to the port `{AGENT_PORT}`");
            return Err(Failure::new(FailureKind::Guest, message));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(file)
}

/// A port without an other end reports a hang-up (`drivers/char/virtio_console.c`).
fn has_other_end(port: &File) -> bool {
    let mut polled = [PollFd::new(port, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut polled, Some(&at_once)) {
        Ok(_) => !polled.iter().any(|port| port.revents().contains(PollFlags::HUP)),
        Err(_) => false,
    }
}

fn find(ports: &Path) -> Option<PathBuf> {
    fs::read_dir(ports).ok()?.flatten().find_map(|entry| {
        let name = fs::read_to_string(entry.path().join("name")).ok()?;
        (name.trim() == AGENT_PORT).then(|| Path::new("/dev").join(entry.file_name()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_known_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        for (port, name) in [("vport0p1", "org.qemu.guest_agent.0"), ("vport1p1", "iostone.agent")] {
            fs::create_dir(directory.path().join(port)).unwrap();
            fs::write(directory.path().join(port).join("name"), format!("{name}\n")).unwrap();
        }
        assert_eq!(find(directory.path()), Some(PathBuf::from("/dev/vport1p1")));
        assert_eq!(find(Path::new("/nowhere")), None);
    }
}
