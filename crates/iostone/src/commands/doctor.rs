//! `iostone doctor`: what this machine can do, what is missing, the command that helps, and what it blocks.

mod kernel;

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use iostone_engine::uring_available;
use iostone_lab::Link;
use iostone_machine::toolbox::{TOOLS, Tool};
use iostone_machine::{InProcess, StopFlag};
use iostone_model::environment::Environment;
use iostone_probe::Root;
use iostone_probe::nvme::{is_watchable, read_statistics};
use iostone_report::clean;
use iostone_stack::{LimitControllers, Registry, StackError, ThrottleController};
use serde::Serialize;

use crate::cli::DoctorArguments;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};
use kernel::KernelFacts;

/// How it stands with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ready,
    /// iostone works without it, but knows or does less.
    Limited,
    Missing,
}

#[derive(Debug, Serialize)]
struct Finding {
    name: String,
    state: State,
    /// What was found.
    found: String,
    /// The command that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The experiments that cannot run without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    machine: Vec<(String, String)>,
    findings: Vec<Finding>,
}

const LOOP_EXPERIMENTS: &str = "every experiment on a `loop` volume, such as experiments/barrier.toml";
const LIMITED_EXPERIMENTS: &str =
    "every experiment on a volume with limits, such as experiments/throttled-volume.toml";
const CPU_LIMITED_EXPERIMENTS: &str = "`iostone limit`, and every experiment with `limit` or a governed machine, such as experiments/cpu-limit.toml";
const BLOCK_EXPERIMENTS: &str = "every experiment on a `block` volume";
const PODMAN_EXPERIMENTS: &str = "every experiment with a `podman` container";
const RUNTIMES_OF_PODMAN: [&str; 2] = ["runc", "crun"];

pub(crate) fn doctor(arguments: &DoctorArguments, printer: &mut Printer) -> Result<ExitCode> {
    let mut machine = InProcess::new(StopFlag::default());
    let environment = Link(&mut machine).describe(arguments.metadata.no_metadata, None)?;
    let kernel = KernelFacts::read(&environment.kernel.release);
    let mut findings = vec![root(&environment), undo_registry(), kernel::loop_devices(&kernel)];
    findings.extend(kernel::filesystems(&kernel));
    findings.extend(tools(&environment));
    findings.extend(kernel::arrays(&kernel));
    findings.push(kernel::emulated_volumes(&kernel, &environment));
    findings.push(kernel::docker_daemon(&environment));
    findings.extend(kernel::guests());
    findings.extend([io_uring(), pressure(&environment), cgroups(&environment), limits()]);
    findings.push(workload_limits());
    findings.extend(volume_statistics(&environment));
    findings.push(ansible());
    let diagnosis = Diagnosis {
        schema: "iostone/doctor/1",
        machine: iostone_probe::describe(&environment)
            .into_iter()
            .map(|(label, value)| (label.to_owned(), value))
            .collect(),
        findings,
    };
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&diagnosis)?));
    } else {
        printer.data(&in_text(&diagnosis)?);
    }
    Ok(ExitCode::Success)
}

fn finding(name: &str, state: State, found: impl Into<String>) -> Finding {
    Finding { name: name.to_owned(), state, found: found.into(), help: None, blocks: Vec::new() }
}

fn root(environment: &Environment) -> Finding {
    if environment.root {
        return finding("root", State::Ready, "running as root");
    }
    Finding {
        help: Some("sudo iostone ...".to_owned()),
        blocks: vec![LOOP_EXPERIMENTS, BLOCK_EXPERIMENTS],
        ..finding("root", State::Missing, "not root; only `directory` volumes can be used")
    }
}

/// Whether many hosts can be reached. Its version is not asked: that takes half a second.
fn ansible() -> Finding {
    let name = "ansible-playbook";
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file()) {
        Some(program) => finding(name, State::Ready, program.display().to_string()),
        None => Finding {
            help: Some("apt-get install ansible-core, or pip install ansible-core".to_owned()),
            blocks: vec!["`iostone fleet run`"],
            ..finding(name, State::Limited, "not installed (many hosts)")
        },
    }
}

/// Whether undo journals can be kept, and are believed.
fn undo_registry() -> Finding {
    let name = "undo registry";
    match Registry::look() {
        Ok(place) => finding(name, State::Ready, place.display().to_string()),
        Err(error) => {
            let (reason, help) = reason_and_help(&error.to_string());
            let blocks = vec!["every run, and `iostone cleanup`"];
            Finding { help, blocks, ..finding(name, State::Missing, reason) }
        }
    }
}

fn tools(environment: &Environment) -> Vec<Finding> {
    TOOLS
        .iter()
        .map(|tool| match environment.tools.get(tool.name) {
            Some(Some(version)) => finding(tool.name, State::Ready, version.clone()),
            _ => Finding {
                help: Some(tool.install_command()),
                blocks: blocked(tool, environment),
                ..finding(tool.name, lacking(tool), format!("not installed ({})", tool.purpose))
            },
        })
        .collect()
}

/// What cannot run without a tool. Of the two that start podman's containers one is enough.
fn blocked(tool: &Tool, environment: &Environment) -> Vec<&'static str> {
    let is_there = |name: &str| environment.tools.get(name).is_some_and(Option::is_some);
    let is_runtime = RUNTIMES_OF_PODMAN.contains(&tool.name);
    let of_podman =
        (is_runtime && !RUNTIMES_OF_PODMAN.into_iter().any(is_there)).then_some(PODMAN_EXPERIMENTS);
    tool.blocks.into_iter().chain(of_podman).collect()
}

/// Without mkfs.ext4 iostone's main job cannot be done; another tool is needed by who names its workload, array,
/// filesystem or machine.
fn lacking(tool: &Tool) -> State {
    if tool.name == "mkfs.ext4" { State::Missing } else { State::Limited }
}

fn io_uring() -> Finding {
    match uring_available() {
        Ok(()) => finding("io_uring", State::Ready, "io_uring works"),
        Err(reason) => Finding {
            help: reason
                .contains("io_uring_disabled")
                .then(|| "sysctl kernel.io_uring_disabled=0".to_owned()),
            blocks: vec!["every `io` workload with an iodepth above 1"],
            ..finding("io_uring", State::Limited, format!("{reason}; synchronous I/O is used instead"))
        },
    }
}

fn pressure(environment: &Environment) -> Finding {
    if environment.pressure_stall_information {
        return finding("pressure stalls", State::Ready, "the kernel records pressure (PSI)");
    }
    Finding {
        help: Some("boot with psi=1".to_owned()),
        ..finding(
            "pressure stalls",
            State::Limited,
            "the kernel records no pressure (PSI); trials lack this signal",
        )
    }
}

fn cgroups(environment: &Environment) -> Finding {
    let mode = environment.cgroup.mode.as_str();
    let state = if mode == "none" { State::Limited } else { State::Ready };
    finding("control groups", state, format!("{mode}; CPU throttling is recorded"))
}

/// Whether volumes can be limited, and by which version of control groups.
fn limits() -> Finding {
    match ThrottleController::find() {
        Ok(found) => {
            let text = format!("by {}, in {}", found.version.in_words(), found.parent.display());
            finding("volume limits", State::Ready, text)
        }
        Err(error) => lacking_controller("volume limits", &error, LIMITED_EXPERIMENTS),
    }
}

/// Whether a workload can be held to CPU time, memory and processors.
fn workload_limits() -> Finding {
    let name = "CPU limits";
    let found = match LimitControllers::find() {
        Ok(found) => found,
        Err(error) => return lacking_controller(name, &error, CPU_LIMITED_EXPERIMENTS),
    };
    let others: String = found.others.iter().flat_map(|what| ["; ", what, " too"]).collect();
    let text = format!("by {} cpu, in {}{others}", found.version.name(), found.cpu.display());
    match found.lacking.first() {
        None => finding(name, State::Ready, text),
        Some(lacking) => {
            let (reason, help) = reason_and_help(lacking);
            Finding { help, ..finding(name, State::Limited, format!("{text}; {reason}")) }
        }
    }
}

/// Whether the NVMe devices of Amazon EC2 let their statistics be read; nothing on machines without any.
fn volume_statistics(environment: &Environment) -> Option<Finding> {
    let root = Root::live();
    let names: BTreeSet<String> =
        environment.block_devices.iter().filter_map(|device| is_watchable(&root, &device.name)).collect();
    let first = names.first()?;
    let all = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(match read_statistics(&root.join(format!("/dev/{first}"))) {
        Ok(_) => {
            finding("EBS statistics", State::Ready, format!("{all}: sampled before and after each trial"))
        }
        Err(error) => {
            let found = format!("{all}: {error}; trials lack them");
            let help = (!environment.root).then(|| "sudo iostone ...".to_owned());
            Finding { help, ..finding("EBS statistics", State::Limited, found) }
        }
    })
}

fn lacking_controller(name: &str, error: &StackError, blocks: &'static str) -> Finding {
    let (reason, help) = reason_and_help(&error.to_string());
    Finding { help, blocks: vec![blocks], ..finding(name, State::Limited, reason) }
}

/// What is wrong, and the command that helps.
fn reason_and_help(message: &str) -> (String, Option<String>) {
    let (reason, help) = message.split_once("; next: ").unwrap_or((message, ""));
    (reason.to_owned(), (!help.is_empty()).then(|| help.replace('`', "")))
}

fn in_text(diagnosis: &Diagnosis) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (label, value) in &diagnosis.machine {
        writeln!(text, "{label:<18} {}", clean(value))?;
    }
    text.push('\n');
    for finding in &diagnosis.findings {
        let mark = match finding.state {
            State::Ready => "✓",
            State::Limited => "-",
            State::Missing => "!",
        };
        writeln!(text, "{mark} {:<18} {}", finding.name, clean(&finding.found))?;
        for blocked in &finding.blocks {
            writeln!(text, "  {:<18} blocks {blocked}", "")?;
        }
        if let Some(help) = &finding.help {
            writeln!(text, "  {:<18} {}", "", bold(help))?;
        }
    }
    let count = |state: State| diagnosis.findings.iter().filter(|finding| finding.state == state).count();
    writeln!(text, "\n{}", verdict(count(State::Missing), count(State::Limited)))?;
    Ok(text)
}

/// How it stands in a sentence or two: what is marked `!` counts as missing, what is marked `-` is counted apart.
fn verdict(missing: usize, limited: usize) -> String {
    let needed = match missing {
        0 if limited == 0 => return "Everything is there.".to_owned(),
        0 => "Everything needed is there.".to_owned(),
        1 => "One item is missing.".to_owned(),
        several => format!("{several} items are missing."),
    };
    match limited {
        0 => needed,
        1 => format!("{needed} One more would help."),
        several => format!("{needed} {several} more would help."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_is_blocked_where_neither_of_its_runtimes_is_there() {
        let blocked_with = |there: &[&str], missing: &str| {
            let mut environment = Environment::default();
            for name in there {
                environment.tools.insert((*name).to_owned(), Some("1".to_owned()));
            }
            blocked(TOOLS.iter().find(|tool| tool.name == missing).unwrap(), &environment)
        };
        let docker = "every experiment with a `docker` container";
        assert_eq!(blocked_with(&[], "runc"), [docker, PODMAN_EXPERIMENTS]);
        assert_eq!(blocked_with(&[], "crun"), [PODMAN_EXPERIMENTS]);
        assert_eq!(blocked_with(&["crun"], "runc"), [docker]);
        assert_eq!(blocked_with(&["runc"], "crun"), [""; 0]);
    }

    #[test]
    fn the_sentence_agrees_with_the_marks() {
        assert_eq!(verdict(0, 0), "Everything is there.");
        assert_eq!(verdict(0, 1), "Everything needed is there. One more would help.");
        assert_eq!(verdict(1, 0), "One item is missing.");
        assert_eq!(verdict(1, 2), "One item is missing. 2 more would help.");
        assert_eq!(verdict(3, 1), "3 items are missing. One more would help.");
    }
}
