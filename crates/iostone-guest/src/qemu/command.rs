//! The command line of QEMU for one guest.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use iostone_model::experiment::Accelerator;
use serde_json::{Value, json};

use super::{AGENT_PORT, Boot, BootDrive, DriveInterface, DriveSource, Qemu, clock, option_value};
use crate::error::GuestError;

/// A virtio block device's serial number has 20 bytes (`VIRTIO_BLK_ID_BYTES`, virtio specification 5.2), an NVMe
/// controller's too (Identify Controller, bytes 4 to 23).
const LARGEST_SERIAL_BYTES: usize = 20;

/// What the kernel is told before the user's words.
///
/// `panic=-1` with QEMU's `-no-reboot` ends a guest that panicked; `tsc_early_khz` and `no_timer_check` save the
/// calibrations that take long, or never end, where instructions are translated; `psi=1` switches pressure figures on.
fn command_line(boot: &Boot) -> String {
    let mut words: Vec<String> =
        ["console=ttyS0", "quiet", "panic=-1", "psi=1"].iter().map(|word| (*word).to_owned()).collect();
    if boot.accelerator == Accelerator::Tcg {
        words.push("no_timer_check".to_owned());
        // Guards against leaks between guests of a processor that is not there; only slow where they are translated.
        words.push("mitigations=off".to_owned());
        words.extend(clock::counter_khz().map(|khz| format!("tsc_early_khz={khz}")));
    }
    words.push("rdinit=/iostone/bin/iostone".to_owned());
    words.extend(boot.kernel_arguments.iter().cloned());
    // What follows goes to the first process: Documentation/admin-guide/kernel-parameters.rst.
    words.extend(["--", "agent", "--guest"].map(str::to_owned));
    words.join(" ")
}

/// The name of the node that the drive's device stands on.
fn node(index: usize) -> String {
    format!("drive{index}")
}

fn block_nodes(index: usize, drive: &BootDrive) -> Result<Vec<Value>, GuestError> {
    let text = |path: &std::path::Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            GuestError::Unsuitable(format!("`{}` is not UTF-8, which QEMU needs", path.display()))
        })
    };
    Ok(match &drive.source {
        DriveSource::File { path, direct } => {
            use std::os::unix::fs::FileTypeExt;
            let is_device = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
            let protocol = format!("file{index}");
            vec![
                json!({
                    "driver": if is_device { "host_device" } else { "file" },
                    "node-name": protocol,
                    "filename": text(path)?,
                    "aio": "threads",
                    "cache": { "direct": direct, "no-flush": false },
                    "read-only": drive.read_only,
                }),
                json!({
                    "driver": "raw",
                    "node-name": node(index),
                    "file": protocol,
                    "cache": { "direct": direct, "no-flush": false },
                    "read-only": drive.read_only,
                }),
            ]
        }
        DriveSource::Nbd { socket } => vec![json!({
            "driver": "nbd",
            "node-name": node(index),
            "server": { "type": "unix", "path": text(socket)? },
            "export": "",
            "read-only": drive.read_only,
        })],
    })
}

fn device(index: usize, drive: &BootDrive) -> Value {
    if drive.interface == DriveInterface::Nvme {
        return json!({ "driver": "nvme", "drive": node(index), "serial": drive.serial, "write-cache": "on" });
    }
    json!({
        "driver": "virtio-blk-pci",
        "drive": node(index),
        "serial": drive.serial,
        "write-cache": "on",
        // The images are full so that nothing is served faster than data; a guest must not make holes.
        "discard": false,
        "write-zeroes": false,
    })
}

impl Boot {
    /// The command that boots it, and our end of the agent's port.
    ///
    /// The port's other end is the command's standard input: a pair of sockets has no path, so that nothing depends on
    /// how long the names of directories are, and nobody else can connect.
    ///
    /// # Errors
    /// [`GuestError::Unsuitable`] for a serial number that is too long or a path that QEMU cannot take;
    /// [`GuestError::Io`] when a socket or file cannot be made.
    pub fn command(&self, qemu: &Qemu) -> Result<(Command, UnixStream), GuestError> {
        let mut command = Command::new(&qemu.path);
        let (accelerator, processor) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            Accelerator::Tcg => ("tcg,thread=multi", "max"),
        };
        let memory_mib = self.memory_bytes.div_ceil(1 << 20);
        command.args(["-M", "q35", "-accel", accelerator, "-cpu", processor]);
        command.args(["-smp", &self.cpus.to_string(), "-m", &memory_mib.to_string()]);
        // The threads of its processors have names then, so that their time can be told from QEMU's own.
        command.args(["-name", "iostone,debug-threads=on"]);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.archive);
        command.arg("-append").arg(command_line(self));
        let mut console = OsString::from("file,id=console,path=");
        console.push(option_value(&self.console));
        command.arg("-chardev").arg(console).args(["-serial", "chardev:console"]);
        command.args(["-chardev", "socket,id=agent,fd=0", "-device", "virtio-serial-pci"]);
        command.args(["-device", &format!("virtserialport,chardev=agent,name={AGENT_PORT}")]);
        for (index, drive) in self.drives.iter().enumerate() {
            if drive.serial.len() > LARGEST_SERIAL_BYTES {
                return Err(GuestError::Unsuitable(format!(
                    "`{}` is too long for a drive's serial number of {} bytes",
                    drive.serial, LARGEST_SERIAL_BYTES
                )));
            }
            for node in block_nodes(index, drive)? {
                command.args(["-blockdev", &node.to_string()]);
            }
            command.args(["-device", &device(index, drive).to_string()]);
        }
        let io = |action: &'static str, object: String| {
            move |source: std::io::Error| GuestError::Io { action, object, source }
        };
        let (ours, theirs) =
            UnixStream::pair().map_err(io("make a pair of sockets for", "QEMU".to_owned()))?;
        let complaints =
            File::create(&self.complaints).map_err(io("create", self.complaints.display().to_string()))?;
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(complaints);
        Ok((command, ours))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn boot(directory: &std::path::Path) -> Boot {
        Boot {
            kernel: PathBuf::from("/k"),
            archive: PathBuf::from("/a"),
            kernel_arguments: vec!["mitigations=auto".to_owned()],
            cpus: 2,
            memory_bytes: (64 << 20) + 1,
            accelerator: Accelerator::Tcg,
            drives: vec![
                BootDrive {
                    serial: "iostone-v0".to_owned(),
                    interface: DriveInterface::Virtio,
                    source: DriveSource::File { path: PathBuf::from("/x,y\"z"), direct: true },
                    read_only: false,
                },
                BootDrive {
                    serial: "iostone-v1".to_owned(),
                    interface: DriveInterface::Nvme,
                    source: DriveSource::Nbd { socket: PathBuf::from("/s") },
                    read_only: true,
                },
            ],
            console: directory.join("con,sole"),
            complaints: directory.join("complaints"),
        }
    }

    fn words(boot: &Boot) -> Vec<String> {
        let qemu = Qemu { path: PathBuf::from("/usr/bin/qemu"), version: String::new() };
        let (command, _port) = boot.command(&qemu).unwrap();
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_command_says_what_was_asked() {
        let directory = tempfile::tempdir().unwrap();
        let words = words(&boot(directory.path()));
        let after = |name: &str| {
            words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned().unwrap()
        };
        assert_eq!(after("-smp"), "2");
        assert_eq!(after("-m"), "65");
        assert_eq!(after("-accel"), "tcg,thread=multi");
        assert!(after("-append").ends_with("mitigations=auto -- agent --guest"), "{}", after("-append"));
        assert!(after("-chardev").ends_with("con,,sole"));
        let drives: Vec<Value> =
            words.iter().filter_map(|word| serde_json::from_str::<Value>(word).ok()).collect();
        let of = |driver: &str| drives.iter().find(|drive| drive["driver"] == driver).unwrap();
        assert_eq!(of("file")["filename"], "/x,y\"z");
        assert_eq!(of("file")["cache"]["direct"], true);
        assert_eq!(of("nbd")["server"]["path"], "/s");
        assert_eq!(of("virtio-blk-pci")["serial"], "iostone-v0");
        assert_eq!(of("nvme")["serial"], "iostone-v1");
        assert_eq!(of("nvme")["drive"], "drive1");
    }

    #[test]
    fn a_serial_number_that_a_drive_cannot_hold_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut boot = boot(directory.path());
        boot.drives[0].serial = "x".repeat(21);
        let qemu = Qemu { path: PathBuf::from("/usr/bin/qemu"), version: String::new() };
        assert!(boot.command(&qemu).unwrap_err().to_string().contains("20 bytes"));
    }
}
