//! `iostone fleet run --dry-run`: the hosts of the inventory, what is pushed to them and how long it takes. Connects to none.

use std::fmt::Write;
use std::path::Path;

use iostone_fleet::{InventoryHost, Programs, Timing};
use iostone_lab::estimate;
use iostone_model::figures::counted;
use iostone_model::metric::Unit;
use iostone_model::run::Plan;
use iostone_report::clean;

use super::run::is_dynamic;
use crate::progress::in_words;

pub(super) fn text(
    plan: &Plan,
    inventory: &Path,
    hosts: &[InventoryHost],
    programs: &Programs,
    timing: Timing,
    forks: u32,
) -> String {
    let mut text = String::new();
    let name = &plan.experiment.name;
    let asked = hosts.iter().filter(|host| !host.bad_name).count();
    let _ = writeln!(
        text,
        "{} on {} of {}, at most {forks} worked on at once",
        clean(name),
        counted(asked, "host"),
        inventory.display()
    );
    let found = estimate(plan);
    let time = match (found.least, found.most) {
        (Some(least), Some(most)) if least != most => format!("{} to {}", in_words(least), in_words(most)),
        (Some(_), Some(exact)) => in_words(exact),
        (Some(least), None) => format!("at least {}", in_words(least)),
        (None, Some(most)) => format!("at most {}", in_words(most)),
        (None, None) => "as long as its command takes".to_owned(),
    };
    let _ = writeln!(text, "time on each host, all at once: {time}");
    let _ = writeln!(
        text,
        "status: asked every {}; a host that is not asked for {} stops and undoes everything",
        in_words(timing.poll),
        in_words(timing.lease)
    );
    for (architecture, program) in programs {
        let size = program.metadata().map_or(0, |found| found.len());
        let _ = writeln!(
            text,
            "program for {architecture}: {} ({})",
            program.display(),
            Unit::Bytes.format(size as f64)
        );
    }
    if asked > 0 && hosts.iter().any(|host| !host.has_program) && is_dynamic(programs) {
        let _ = writeln!(text, "  linked dynamically: hosts that it is pushed to need its libraries");
    }
    let _ = writeln!(text, "hosts:");
    for host in hosts {
        let what = match (host.bad_name, host.has_program) {
            (true, _) => "left out: its name cannot be a file's name; give it an alias",
            (false, true) => "runs its own iostone (`iostone_program`); the experiment is pushed",
            (false, false) => "the program for its architecture and the experiment are pushed",
        };
        let labels: Vec<String> = host.labels.iter().map(|(name, label)| format!("{name} {label}")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
        let _ = writeln!(text, "  {}{}: {what}", clean(&host.name), clean(&labels));
    }
    text
}
