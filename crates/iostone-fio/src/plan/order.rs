//! Which jobs run beside each other, and which are reported together.

use crate::job_file::Section;
use crate::plan::Planner;
use crate::values::ExitWhat;

/// Where a section runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) phase: usize,
    pub(super) group: u32,
}

/// Deals the sections out. A `stonewall` begins a phase; a job that waits for another runs in the phase behind it.
pub(super) fn order(sections: &[Section], planner: &mut Planner<'_>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(sections.len());
    // Behind a stonewall jobs start at this phase, whatever waited further on before it.
    let mut base = 0;
    let mut group = 0;
    for (index, section) in sections.iter().enumerate() {
        let options = &section.options;
        let is_first = index == 0;
        if options.stonewall == Some(true) && !is_first {
            base = turns.iter().map(|turn| turn.phase + 1).max().unwrap_or(0);
        }
        if (options.stonewall == Some(true) || options.new_group == Some(true)) && !is_first {
            group += 1;
        }
        let phase = match &options.wait_for {
            None => base,
            Some(awaited) => {
                let behind =
                    sections[..index].iter().zip(&turns).filter(|(other, _)| other.title() == awaited);
                behind.map(|(_, turn)| turn.phase + 1).max().unwrap_or(base).max(base)
            }
        };
        turns.push(Turn { phase, group });
    }
    check_waits(sections, &turns, planner);
    check_exits(sections, &turns, planner);
    turns
}

/// A phase ends with its last job, so that a job can wait for one only where that one is alone.
fn check_waits(sections: &[Section], turns: &[Turn], planner: &mut Planner<'_>) {
    for (section, turn) in sections.iter().zip(turns) {
        let Some(awaited) = &section.options.wait_for else { continue };
        let before = sections.iter().zip(turns).filter(|(_, other)| other.phase + 1 == turn.phase);
        let others: Vec<&str> =
            before.map(|(other, _)| other.title()).filter(|title| title != awaited).collect();
        if !others.is_empty() {
            let why = format!(
                "a job cannot wait for `{awaited}` alone while `{}` may run on; use `stonewall`",
                others.join("`, `")
            );
            planner.refuse(section, "wait_for", why);
        }
    }
}

/// The end of a job ends those that it runs beside, all of them and no others.
fn check_exits(sections: &[Section], turns: &[Turn], planner: &mut Planner<'_>) {
    if !sections.iter().any(|section| section.options.exitall == Some(true)) {
        return;
    }
    let phases = turns.iter().map(|turn| turn.phase).max().unwrap_or(0) + 1;
    for (section, turn) in sections.iter().zip(turns) {
        let beside: Vec<&Turn> = turns.iter().filter(|other| other.phase == turn.phase).collect();
        match section.options.exit_what.unwrap_or_default() {
            ExitWhat::Stonewall => {}
            ExitWhat::Group if beside.iter().all(|other| other.group == turn.group) => {}
            ExitWhat::All if turn.phase + 1 == phases => {}
            ExitWhat::Group => {
                let option = if section.options.exit_what.is_some() { "exit_what" } else { "exitall" };
                planner.refuse(
                    section,
                    option,
                    "the end of a job ends all that it runs beside, and these are of several groups",
                );
            }
            ExitWhat::All => {
                planner.refuse(
                    section,
                    "exit_what",
                    "the end of a job does not keep later ones from running",
                );
            }
        }
    }
}
