//! Which accelerator a guest gets: the asked one, or KVM if a probe guest answers soon, translation otherwise.
//!
//! That /dev/kvm exists says little: inside other virtual machines it may abort QEMU, or hang. So a guest with the very
//! kernel and archive is booted with it, once for each boot of the host, version of QEMU and kernel.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_model::experiment::Accelerator;
use serde::{Deserialize, Serialize};

use crate::error::GuestError;
use crate::qemu::{Boot, Qemu, Running};

/// A guest under KVM boots in well under two seconds; one that has not answered by then does not use the processor.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const DEVICE: &str = "/dev/kvm";

/// An accelerator, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub accelerator: Accelerator,
    /// Why, and what it means for figures that the CPU bounds; for the report.
    pub note: String,
}

/// What translation means for figures.
const TRANSLATED: &str = "instructions are translated: limits and counts are right, CPU-bound figures are 10 to 50 times too \
                          slow; compare guests only with guests";
const NATIVE: &str = "instructions run natively";

impl Choice {
    fn kvm(why: &str) -> Self {
        Self { accelerator: Accelerator::Kvm, note: format!("{why}: {NATIVE}") }
    }

    fn tcg(why: &str) -> Self {
        Self { accelerator: Accelerator::Tcg, note: format!("{why}: {TRANSLATED}") }
    }
}

/// What a probe found, kept for the boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    boot_id: String,
    qemu_version: String,
    kernel_sha256: String,
    answered: bool,
    why: String,
}

/// How to find out.
pub struct Question<'a> {
    /// What the user asked for; none to find out.
    pub asked: Option<Accelerator>,
    /// The guest to boot for a probe; its drives are left out and its accelerator is passed over.
    pub boot: &'a Boot,
    /// QEMU.
    pub qemu: &'a Qemu,
    /// The kernel's checksum, by which the answer is kept.
    pub kernel_sha256: &'a str,
    /// The directory that answers are kept in.
    pub answers: &'a Path,
    /// What is sent to the agent's port; that anything comes back means that the guest runs.
    pub greeting: &'a [u8],
    /// Raised by whoever wants to stop.
    pub stop: &'a AtomicBool,
}

/// Chooses; `spawn` starts the probe's QEMU, so that its owner can write it down before.
///
/// # Errors
/// [`GuestError::Interrupted`]; [`GuestError::Unsuitable`] for KVM asked for where it does not work. Where nothing was
/// asked for, that a probe fails is an answer, not an error.
pub fn choose(
    question: &Question<'_>,
    spawn: &mut dyn FnMut(Command) -> Result<Child, GuestError>,
) -> Result<Choice, GuestError> {
    let openable = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    match question.asked {
        Some(Accelerator::Tcg) => return Ok(Choice::tcg("translation as asked")),
        Some(Accelerator::Kvm) => {
            return match openable {
                Ok(_) => {
                    let found = found(question, spawn)?;
                    if found.answered {
                        Ok(Choice::kvm("KVM as asked"))
                    } else {
                        Err(does_not_work(&found.why))
                    }
                }
                Err(error) => Err(GuestError::Unsuitable(format!(
                    "`machine.accelerator` is `kvm`, but `{DEVICE}` cannot be used ({error}); leave it out, or load \
                     the processor's module with `modprobe kvm_intel` or `modprobe kvm_amd`"
                ))),
            };
        }
        None => {}
    }
    if let Err(error) = openable {
        return Ok(Choice::tcg(&format!("no KVM: `{DEVICE}` cannot be used ({error})")));
    }
    let found = found(question, spawn)?;
    Ok(if found.answered { Choice::kvm(&found.why) } else { Choice::tcg(&found.why) })
}

/// What a probe finds, or found since the host was booted.
fn found(
    question: &Question<'_>,
    spawn: &mut dyn FnMut(Command) -> Result<Child, GuestError>,
) -> Result<Found, GuestError> {
    if let Some(found) = recall(question) {
        return Ok(found);
    }
    let found = probe(question, spawn)?;
    remember(question, &found);
    Ok(found)
}

fn does_not_work(why: &str) -> GuestError {
    GuestError::Unsuitable(format!(
        "`machine.accelerator` is `kvm`, but there is {why}; leave `accelerator` out, or write `tcg`"
    ))
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

fn answer_file(question: &Question<'_>) -> PathBuf {
    let short: String = question.kernel_sha256.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    question.answers.join(format!("kvm-{short}.json"))
}

fn recall(question: &Question<'_>) -> Option<Found> {
    let found: Found = serde_json::from_slice(&fs::read(answer_file(question)).ok()?).ok()?;
    let current = found.boot_id == boot_id()?
        && found.qemu_version == question.qemu.version
        && found.kernel_sha256 == question.kernel_sha256;
    current.then_some(found)
}

/// Kept by best effort: asking again costs five seconds and harms nothing.
fn remember(question: &Question<'_>, found: &Found) {
    let Ok(text) = serde_json::to_vec(found) else { return };
    let file = answer_file(question);
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::create_dir_all(question.answers);
    if fs::write(&beside, text).and_then(|()| fs::rename(&beside, &file)).is_err() {
        let _ = fs::remove_file(&beside);
    }
}

fn probe(
    question: &Question<'_>,
    spawn: &mut dyn FnMut(Command) -> Result<Child, GuestError>,
) -> Result<Found, GuestError> {
    let boot = Boot {
        accelerator: Accelerator::Kvm,
        drives: Vec::new(),
        console: question.boot.console.with_extension("probe"),
        complaints: question.boot.complaints.with_extension("probe"),
        ..question.boot.clone()
    };
    let (command, port) = boot.command(question.qemu)?;
    let mut running = Running::new(spawn(command)?, &boot);
    let outcome = listen(question, &mut running, port)?;
    running.kill();
    let (answered, why) = match outcome {
        Ok(elapsed) => (true, format!("KVM: a probe guest answered after {:.1} s", elapsed.as_secs_f64())),
        Err(why) => (false, why),
    };
    Ok(Found {
        boot_id: boot_id().unwrap_or_default(),
        qemu_version: question.qemu.version.clone(),
        kernel_sha256: question.kernel_sha256.to_owned(),
        answered,
        why,
    })
}

/// Waits for the probe's answer: how long it took, or why none came.
fn listen(
    question: &Question<'_>,
    running: &mut Running,
    mut port: std::os::unix::net::UnixStream,
) -> Result<Result<Duration, String>, GuestError> {
    let started = Instant::now();
    let io = |source| GuestError::Io { action: "speak to", object: "the probe guest".to_owned(), source };
    port.set_read_timeout(Some(LOOK_EVERY)).map_err(io)?;
    port.set_write_timeout(Some(PROBE_PATIENCE)).map_err(io)?;
    // A QEMU that has aborted does not take it: then the loop finds it ended.
    let _ = port.write_all(question.greeting);
    let mut byte = [0u8; 1];
    while started.elapsed() < PROBE_PATIENCE {
        if question.stop.load(Ordering::Relaxed) {
            return Err(GuestError::Interrupted);
        }
        if let Ok(1) = port.read(&mut byte) {
            return Ok(Ok(started.elapsed()));
        }
        if let Some(ended) = running.ended() {
            let complaint = running.complaints_text();
            let line = complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            let line = if line.is_empty() { String::new() } else { format!(" (`{line}`)") };
            return Ok(Err(format!("no KVM: {ended} with a probe guest{line}")));
        }
    }
    Ok(Err(format!("no KVM: a probe guest did not answer within {} s", PROBE_PATIENCE.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(directory: &Path) -> Boot {
        Boot {
            kernel: PathBuf::from("/k"),
            archive: PathBuf::from("/a"),
            kernel_arguments: Vec::new(),
            cpus: 1,
            memory_bytes: 64 << 20,
            accelerator: Accelerator::Tcg,
            drives: Vec::new(),
            console: directory.join("console"),
            complaints: directory.join("complaints"),
        }
    }

    fn ask(
        directory: &Path,
        program: &str,
        asked: Option<Accelerator>,
        probes: &mut u32,
    ) -> Result<Choice, GuestError> {
        let boot = boot(directory);
        let qemu = Qemu { path: PathBuf::from(program), version: "1".to_owned() };
        let stop = AtomicBool::new(false);
        let question = Question {
            asked,
            boot: &boot,
            qemu: &qemu,
            kernel_sha256: "0123456789abcdef0123",
            answers: directory,
            greeting: b"hello",
            stop: &stop,
        };
        choose(&question, &mut |mut command| {
            *probes += 1;
            command.spawn().map_err(|source| GuestError::Io {
                action: "start",
                object: program.to_owned(),
                source,
            })
        })
    }

    #[test]
    fn translation_as_asked_needs_no_probe() {
        let directory = tempfile::tempdir().unwrap();
        let mut probes = 0;
        let choice = ask(directory.path(), "/nowhere", Some(Accelerator::Tcg), &mut probes).unwrap();
        assert_eq!((choice.accelerator, probes), (Accelerator::Tcg, 0));
        assert!(choice.note.contains("10 to 50 times"), "{}", choice.note);
    }

    #[test]
    fn a_qemu_that_ends_is_an_answer_and_is_asked_once_a_boot() {
        if fs::OpenOptions::new().read(true).write(true).open(DEVICE).is_err() {
            eprintln!("skipped: needs {DEVICE}");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut probes = 0;
        let first = ask(directory.path(), "/bin/false", None, &mut probes).unwrap();
        assert_eq!(first.accelerator, Accelerator::Tcg);
        assert!(first.note.contains("QEMU ended"), "{}", first.note);
        let second = ask(directory.path(), "/bin/false", None, &mut probes).unwrap();
        assert_eq!((second, probes), (first, 1));
    }

    #[test]
    fn kvm_as_asked_that_does_not_work_is_refused() {
        if fs::OpenOptions::new().read(true).write(true).open(DEVICE).is_err() {
            eprintln!("skipped: needs {DEVICE}");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let error =
            ask(directory.path(), "/bin/false", Some(Accelerator::Kvm), &mut 0).unwrap_err().to_string();
        assert!(error.contains("leave `accelerator` out, or write `tcg`"), "{error}");
    }
}
