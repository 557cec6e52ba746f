//! What is recorded of a guest: how it was started, and what it tells from inside.

use iostone_guest::Qemu;
use iostone_guest::accelerator::Choice;
use iostone_model::environment::Environment;
use iostone_model::experiment::Accelerator;
use iostone_model::trial::GuestFacts;

/// What is known from outside.
pub(super) fn begin(
    kernel: &iostone_guest::Kernel,
    qemu: &Qemu,
    choice: &Choice,
    modules: Vec<String>,
    boot_seconds: f64,
) -> GuestFacts {
    GuestFacts {
        kernel_source: kernel.source.clone(),
        kernel_sha256: kernel.sha256.clone(),
        accelerator: match choice.accelerator {
            Accelerator::Kvm => "kvm".to_owned(),
            Accelerator::Tcg => "tcg".to_owned(),
        },
        accelerator_note: choice.note.clone(),
        qemu_version: qemu.version.clone(),
        boot_seconds,
        modules,
        ..GuestFacts::default()
    }
}

/// Adds what the agent inside tells of its machine.
pub(super) fn complete(facts: &mut GuestFacts, inside: &Environment, with_root: bool) {
    let kernel = &inside.kernel;
    facts.uname = format!("Linux {} {} {}", kernel.release, kernel.version, inside.cpu.architecture);
    facts.kernel_release.clone_from(&kernel.release);
    facts.command_line = kernel.command_line.clone().unwrap_or_default();
    facts.os = inside.os.clone().filter(|_| with_root);
    facts.cpus = inside.cpu.logical;
    facts.memory_bytes = inside.memory.total_bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_uname_comes_from_inside() {
        let mut inside = Environment::default();
        inside.kernel.release = "6.1.0-56-cloud-amd64".to_owned();
        inside.kernel.version = "#1 SMP Debian 6.1.192-2".to_owned();
        inside.cpu.architecture = "x86_64".to_owned();
        inside.os = Some("Debian".to_owned());
        let mut facts = GuestFacts::default();
        complete(&mut facts, &inside, false);
        assert_eq!(facts.uname, "Linux 6.1.0-56-cloud-amd64 #1 SMP Debian 6.1.192-2 x86_64");
        assert_eq!(facts.os, None);
        complete(&mut facts, &inside, true);
        assert_eq!(facts.os.as_deref(), Some("Debian"));
    }
}
