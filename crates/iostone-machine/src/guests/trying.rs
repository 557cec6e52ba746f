//! A guest to try something in: booted, given one program to run, switched off.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use iostone_guest::{ModuleNeed, needs_of};
use iostone_model::experiment::{DirectoryVolume, Guest, Stack, Volume};
use iostone_model::trial::GuestFacts;
use iostone_model::units::Bytes;
use iostone_stack::{Drive, DriveSource, Registry, Session, SessionOptions, refuse_exposed};

use super::launch::{Launch, Launched};
use super::supplies::{Freight, Supplies};
use super::{facts, out_of_turn};
use crate::StopFlag;
use crate::conversation::Patience;
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Execute, Executed, Reply, Request};

/// What to try.
#[derive(Debug, Clone)]
pub struct TryOut {
    /// The guest.
    pub guest: Guest,
    /// Empty drives, each of that size; inside their serial numbers are `iostone-v0` and so on.
    pub drives: Vec<Bytes>,
    /// Empty drives that are NVMe devices, each of that size; inside their serial numbers are `iostone-n0` and so on.
    pub nvme_drives: Vec<Bytes>,
    /// Further modules of the kernel.
    pub modules: Vec<String>,
    /// The program to run; it is not carried in by itself, see [`Guest::carry`].
    pub program: Execute,
    /// How long the program may take once the guest is up.
    pub limit: Option<Duration>,
    /// Where the guest's files are made.
    pub work_directory: PathBuf,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct TriedOut {
    /// How the program ended, or why there is nothing to tell of it.
    pub executed: Result<Executed, Failure>,
    /// The guest, if it booted.
    pub guest: Option<GuestFacts>,
    /// What it printed on its console.
    pub console: String,
}

/// Boots the guest, runs the program, switches the guest off; nothing of it is left.
///
/// # Errors
/// It could not be booted, or not be taken away again.
pub fn try_out(
    wanted: &TryOut,
    progress: &mut dyn FnMut(&str),
    stop: &StopFlag,
) -> Result<TriedOut, Failure> {
    let next = ["set `TMPDIR` to a directory that only root can write to"];
    refuse_exposed(&wanted.work_directory, "directory for the drives", &next)?;
    let mut supplies = Supplies::new(StopFlag::clone(stop));
    // Everything that may be missing, and what takes long to fetch, before anything is made.
    supplies.qemu()?;
    let kernel = supplies.kernel(&wanted.guest, progress)?;
    let stack = Stack::of(Volume::Directory(DirectoryVolume { path: None }));
    let mut needs = needs_of(&stack, None);
    needs.modules.extend(wanted.modules.iter().map(|name| ModuleNeed::new(name, "what was asked for")));
    if !wanted.nvme_drives.is_empty() {
        needs.modules.push(ModuleNeed::new("nvme", "an NVMe drive"));
    }
    let freight = Freight::of(needs, &wanted.guest)?;
    supplies.archive(&kernel, &freight)?;
    let options = SessionOptions {
        run_token: "guest".to_owned(),
        run_directory: wanted.work_directory.clone(),
        work_directory: wanted.work_directory.clone(),
        destroy: Vec::new(),
        interrupt: Some(StopFlag::clone(stop)),
        server_program: None,
    };
    let mut session = Session::begin(&Registry::open()?, options)?;
    let tried = run(wanted, freight, &mut session, &mut supplies, stop);
    session.finish()?;
    tried
}

fn run(
    wanted: &TryOut,
    freight: Freight,
    session: &mut Session,
    supplies: &mut Supplies,
    stop: &StopFlag,
) -> Result<TriedOut, Failure> {
    let drives = make_drives("iostone-v", &wanted.drives, session)?;
    let nvme_drives = make_drives("iostone-n", &wanted.nvme_drives, session)?;
    let launch = Launch {
        guest: &wanted.guest,
        freight,
        drives: &drives,
        nvme_drives: &nvme_drives,
        scratch: &wanted.work_directory,
    };
    let Launched { mut booted, facts: mut of_guest, .. } = launch.boot(session, supplies, stop)?;
    let described = booted.call(Request::Describe { no_metadata: true, tools: None }, &mut |_| {});
    let executed = match described {
        Ok(Reply::Environment(inside)) => {
            facts::complete(&mut of_guest, &inside, wanted.guest.rootfs.is_some());
            let patience = Patience { reply: wanted.limit, ..super::booted::PATIENCE };
            let started = Instant::now();
            match booted.call_within(Request::Execute(wanted.program.clone()), patience, &mut |_| {}) {
                Ok(Reply::Executed(executed)) => Ok(executed),
                Ok(_) => Err(out_of_turn("execute")),
                Err(failure) if failure.kind == FailureKind::Guest && is_over(wanted.limit, started) => {
                    Err(too_long(wanted))
                }
                Err(failure) => Err(failure),
            }
        }
        Ok(_) => Err(out_of_turn("describe")),
        Err(failure) => Err(failure),
    };
    if executed.is_ok() {
        booted.power_off();
    } else {
        booted.kill();
    }
    Ok(TriedOut { executed, guest: Some(of_guest), console: booted.console_text() })
}

fn is_over(limit: Option<Duration>, started: Instant) -> bool {
    limit.is_some_and(|limit| started.elapsed() >= limit)
}

fn too_long(wanted: &TryOut) -> Failure {
    let program = wanted.program.argv.first().map_or("the program", String::as_str);
    let seconds = wanted.limit.unwrap_or_default().as_secs_f64();
    Failure::new(FailureKind::Failed, format!("`{program}` did not end in the guest within {seconds} s"))
}

fn make_drives(name: &str, sizes: &[Bytes], session: &mut Session) -> Result<Vec<Drive>, Failure> {
    let place = session.trial_directory()?;
    (0..)
        .zip(sizes)
        .map(|(number, size): (u32, &Bytes)| {
            let serial = format!("{name}{number}");
            let path = place.join(&serial);
            File::create_new(&path).and_then(|file| file.set_len(size.0)).map_err(|error| {
                Failure::new(FailureKind::Failed, format!("the drive `{}`: {error}", path.display()))
            })?;
            Ok(Drive { serial, source: DriveSource::File { path, direct: false }, size_bytes: size.0 })
        })
        .collect()
}
