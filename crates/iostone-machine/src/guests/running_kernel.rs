//! Whether this host runs the kernel that a configuration asks for; what it does not, only a reboot brings.

use std::fs;

use iostone_model::experiment::{LocalMachine, MachineSpec};

use crate::failure::{Failure, FailureKind};

/// # Errors
/// [`FailureKind::Reboot`] with what runs, what is asked for and what to do.
pub(super) fn check(machine: &MachineSpec) -> Result<(), Failure> {
    let MachineSpec::Local(local) = machine else { return Ok(()) };
    if local.kernel.is_none() && local.kernel_arguments.is_empty() {
        return Ok(());
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let command_line = fs::read_to_string("/proc/cmdline").map_err(|error| {
        Failure::new(FailureKind::Failed, format!("`/proc/cmdline` cannot be read: {error}"))
    })?;
    compare(local, &release, command_line.trim())
}

fn compare(local: &LocalMachine, release: &str, command_line: &str) -> Result<(), Failure> {
    if let Some(asked) = local.kernel.as_deref().filter(|asked| *asked != release) {
        let message = format!(
            "this host runs kernel `{release}`, but the configuration needs `{asked}`; boot it, then resume with `iostone run \
             --resume`"
        );
        return Err(Failure::new(FailureKind::Reboot, message));
    }
    let missing = local
        .kernel_arguments
        .iter()
        .find(|wanted| !command_line.split_whitespace().any(|word| word == wanted.as_str()));
    match missing {
        None => Ok(()),
        Some(wanted) => {
            let message = format!(
                "this host's kernel command line is `{command_line}`, but the configuration needs `{wanted}` in it; reboot \
                 with it, then resume with `iostone run --resume`"
            );
            Err(Failure::new(FailureKind::Reboot, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(kernel: Option<&str>, arguments: &[&str]) -> LocalMachine {
        LocalMachine {
            kernel: kernel.map(str::to_owned),
            kernel_arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            ..LocalMachine::default()
        }
    }

    #[test]
    fn another_kernel_needs_a_reboot_and_says_which() {
        compare(&asking(Some("6.1.0"), &["mitigations=off"]), "6.1.0", "ro mitigations=off quiet").unwrap();
        let failure = compare(&asking(Some("6.1.0"), &[]), "6.12.1", "ro").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Reboot);
        assert!(failure.message.contains("`6.12.1`") && failure.message.contains("`6.1.0`"), "{failure}");
    }

    #[test]
    fn a_word_that_the_command_line_lacks_needs_a_reboot() {
        let failure = compare(&asking(None, &["mitigations=off"]), "6.1.0", "ro quiet").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Reboot);
        assert!(failure.message.contains("`mitigations=off`"), "{failure}");
        // A part of a word is no word.
        assert!(compare(&asking(None, &["qui"]), "6.1.0", "ro quiet").is_err());
    }

    #[test]
    fn a_host_that_is_asked_for_nothing_suits() {
        check(&MachineSpec::default()).unwrap();
    }
}
