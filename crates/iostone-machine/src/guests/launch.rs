//! Booting one guest: its kernel, its archive, its drives, its accelerator.

use std::path::Path;
use std::process::{Child, Command};

use iostone_guest::accelerator::{self, Question};
use iostone_guest::{Boot, BootDrive, DriveInterface, GuestError, ROOT_SERIAL, check_memory, needs_of};
use iostone_model::experiment::{Accelerator, Guest, Stack, Workload};
use iostone_model::trial::GuestFacts;
use iostone_stack::{Drive, DriveSource, Session};

use super::booted::Booted;
use super::facts;
use super::supplies::{Freight, Supplies};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{PROTOCOL_VERSION, Request};
use crate::serve::RequestFrame;
use crate::{StopFlag, frame};

/// A guest to boot.
pub(super) struct Launch<'a> {
    pub(super) guest: &'a Guest,
    pub(super) freight: Freight,
    pub(super) drives: &'a [Drive],
    /// Drives that it finds as NVMe devices.
    pub(super) nvme_drives: &'a [Drive],
    /// A directory on a disk, for files without names.
    pub(super) scratch: &'a Path,
}

/// A guest that booted, and what is known of it from outside.
pub(super) struct Launched {
    pub(super) booted: Booted,
    pub(super) facts: GuestFacts,
    pub(super) notes: Vec<String>,
}

impl<'a> Launch<'a> {
    /// The guest of a trial.
    ///
    /// # Errors
    /// A root filesystem that is none.
    pub(super) fn of_trial(
        guest: &'a Guest,
        stack: &Stack,
        workload: Option<&Workload>,
        drives: &'a [Drive],
        scratch: &'a Path,
    ) -> Result<Self, Failure> {
        Ok(Self {
            guest,
            freight: Freight::of(needs_of(stack, workload), guest)?,
            drives,
            nvme_drives: &[],
            scratch,
        })
    }

    /// Boots it; QEMU is a server of the session's, so that it goes with the trial whatever happens.
    ///
    /// # Errors
    /// Something that it is made of is missing, or [`FailureKind::Guest`] where it does not answer.
    pub(super) fn boot(
        &self,
        session: &mut Session,
        supplies: &mut Supplies,
        stop: &StopFlag,
    ) -> Result<Launched, Failure> {
        let guest = self.guest;
        let qemu = supplies.qemu()?;
        let kernel = supplies.kernel(guest, &mut |_| {})?;
        let archive = supplies.archive(&kernel, &self.freight)?;
        check_memory(guest.memory.0, archive.bytes)?;
        let place = session.trial_directory()?;
        let mut drives: Vec<BootDrive> =
            self.drives.iter().map(|drive| boot_drive(drive, DriveInterface::Virtio)).collect();
        drives.extend(self.nvme_drives.iter().map(|drive| boot_drive(drive, DriveInterface::Nvme)));
        let root = match &guest.rootfs {
            Some(root) => Some(supplies.root(root, self.scratch)?),
            None => None,
        };
        drives.extend(root.as_ref().map(|image| BootDrive {
            serial: ROOT_SERIAL.to_owned(),
            interface: DriveInterface::Virtio,
            source: iostone_guest::DriveSource::File { path: image.path(), direct: false },
            read_only: true,
        }));
        let mut boot = Boot {
            kernel: kernel.image.clone(),
            archive: archive.path(),
            kernel_arguments: guest.kernel_arguments.clone(),
            cpus: guest.cpus,
            memory_bytes: guest.memory.0,
            accelerator: Accelerator::Tcg,
            drives,
            console: place.join("console.log"),
            complaints: place.join("qemu.log"),
        };
        let mut spawn = |command: Command| spawn_server(session, command);
        let greeting = greeting()?;
        let question = Question {
            asked: guest.accelerator,
            boot: &boot,
            qemu: &qemu,
            kernel_sha256: &kernel.sha256,
            answers: &Supplies::answers()?,
            greeting: &greeting,
            stop,
        };
        let choice = accelerator::choose(&question, &mut spawn)?;
        boot.accelerator = choice.accelerator;
        let booted = Booted::boot(&boot, &qemu, &mut spawn, stop)?;
        let modules = self.freight.module_names();
        let facts = facts::begin(&kernel, &qemu, &choice, modules, booted.boot_seconds);
        Ok(Launched { booted, facts, notes: archive.notes.clone() })
    }
}

fn spawn_server(session: &mut Session, command: Command) -> Result<Child, GuestError> {
    session.spawn_server(command).map_err(|error| match error {
        iostone_stack::StackError::Io { action, object, source } => GuestError::Io { action, object, source },
        other => GuestError::Unsuitable(other.to_string()),
    })
}

/// What a probe guest is sent: the first frame of every conversation.
fn greeting() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, &RequestFrame { id: 1, request: Request::Hello { version: PROTOCOL_VERSION } })
        .map_err(|error| Failure::new(FailureKind::Failed, format!("the greeting: {error}")))?;
    Ok(bytes)
}

fn boot_drive(drive: &Drive, interface: DriveInterface) -> BootDrive {
    BootDrive {
        serial: drive.serial.clone(),
        interface,
        source: match &drive.source {
            DriveSource::File { path, direct } => {
                iostone_guest::DriveSource::File { path: path.clone(), direct: *direct }
            }
            DriveSource::Nbd { socket } => iostone_guest::DriveSource::Nbd { socket: socket.clone() },
        },
        read_only: false,
    }
}
