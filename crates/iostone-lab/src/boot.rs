//! Kernels that levels ask of a real host: which one a level needs, whether it runs, and the order with the fewest reboots.

use iostone_model::environment::Kernel;
use iostone_model::experiment::{Boot, Configuration};
use iostone_model::run::Plan;
use iostone_model::trial::Check;

use crate::conclude::blocks_of_pairs;
use crate::error::LabError;

/// Whether any configuration asks for a kernel or for words of its command line.
pub(crate) fn is_asked(plan: &Plan) -> bool {
    plan.boots().iter().any(|boot| *boot != Boot::default())
}

/// A level that asks for no kernel beside one that does would be measured under whichever happens to run.
pub(crate) fn check(plan: &Plan) -> Result<(), LabError> {
    let local = |configuration: &&Configuration| configuration.machine.boot().is_some();
    let configurations = || plan.experiment.configurations.iter().filter(local);
    let asks = |c: &&Configuration| c.machine.boot().is_some_and(|boot| boot.kernel.is_some());
    let (Some(with), Some(without)) = (configurations().find(asks), configurations().find(|c| !asks(c)))
    else {
        return Ok(());
    };
    Err(LabError::Plan(format!(
        "`{}` asks for a kernel and `{}` for none, so it would run under whichever is booted; say `machine.kernel` for \
         every level, as `uname -r` tells it",
        with.name, without.name
    )))
}

/// Why a configuration cannot run under this kernel: which one to boot. Words that other levels ask for and this one
/// does not must be absent, or it would be measured as one of those.
pub(crate) fn lacking(plan: &Plan, configuration: &Configuration, running: &Kernel) -> Option<String> {
    let boot = configuration.machine.boot()?;
    let line = running.command_line.as_deref().unwrap_or_default();
    let runs_with = |word: &str| line.split_whitespace().any(|own| own == word);
    let wrong_kernel = boot.kernel.filter(|kernel| *kernel != running.release);
    let missing: Vec<&str> =
        boot.arguments.iter().map(String::as_str).filter(|word| !runs_with(word)).collect();
    let mut foreign: Vec<&str> = plan
        .boots()
        .iter()
        .flat_map(|other| other.arguments)
        .map(String::as_str)
        .filter(|word| !boot.arguments.iter().any(|own| own == word) && runs_with(word))
        .collect();
    foreign.sort_unstable();
    foreign.dedup();
    let listed = |words: &[&str]| format!("`{}`", words.join(" "));
    let command_line = match (missing.as_slice(), foreign.as_slice()) {
        ([], []) => None,
        (with, []) => Some(format!("with {} in its command line", listed(with))),
        ([], without) => Some(format!("without {} in its command line", listed(without))),
        (with, without) => {
            Some(format!("with {} and without {} in its command line", listed(with), listed(without)))
        }
    };
    let name = &configuration.name;
    Some(match (wrong_kernel, command_line) {
        (None, None) => return None,
        (Some(kernel), None) => {
            format!("`{name}` asks for kernel `{kernel}`, and `{}` runs: boot that one", running.release)
        }
        (Some(kernel), Some(line)) => {
            format!(
                "`{name}` asks for kernel `{kernel}`, and `{}` runs: boot that one, {line}",
                running.release
            )
        }
        (None, Some(line)) => {
            format!("`{name}` asks for another boot of kernel `{}`: reboot {line}", running.release)
        }
    })
}

/// What a configuration asked of the kernel, and what runs.
pub(crate) fn checks(configuration: &Configuration, running: &Kernel) -> Vec<Check> {
    let Some(boot) = configuration.machine.boot() else { return Vec::new() };
    let check = |asked: String, read_back: &str, from: &str| Check {
        layer: "machine".to_owned(),
        asked,
        read_back: read_back.to_owned(),
        from: from.to_owned(),
    };
    let kernel = boot.kernel.map(|kernel| check(format!("kernel={kernel}"), &running.release, "uname(2)"));
    // That a configuration runs at all means that each was found.
    let words = boot.arguments.iter().map(|word| check(word.clone(), word, "/proc/cmdline"));
    kernel.into_iter().chain(words).collect()
}

/// A block's order with at most one reboot between its first trial and its last group: configurations that need the
/// same boot stand together, in the order that was drawn for them. The groups come in the reverse of the block before
/// (A B, then B A), which begins where that one ended; in the first block what runs already comes first.
pub(crate) fn group<'a>(
    plan: &Plan,
    drawn: Vec<&'a Configuration>,
    before: Option<&[String]>,
    running: &Kernel,
) -> Vec<&'a Configuration> {
    let all = plan.boots();
    if all.len() < 2 {
        return drawn;
    }
    let boot_of = |configuration: &Configuration| {
        configuration.machine.boot().and_then(|boot| all.iter().position(|own| *own == boot))
    };
    let of_name = |name: &String| {
        boot_of(plan.experiment.configurations.iter().find(|configuration| configuration.name == *name)?)
    };
    let runs = |configuration: &Configuration| lacking(plan, configuration, running).is_none();
    let first: Vec<usize> = match before {
        Some(names) => names.iter().rev().filter_map(of_name).collect(),
        None => drawn.iter().filter(|c| runs(c)).filter_map(|c| boot_of(c)).collect(),
    };
    let mut groups: Vec<usize> = Vec::new();
    for boot in first.into_iter().chain(0..all.len()) {
        if !groups.contains(&boot) {
            groups.push(boot);
        }
    }
    // What runs anywhere goes with the first group.
    let place = |configuration: &Configuration| {
        boot_of(configuration).and_then(|boot| groups.iter().position(|own| *own == boot)).unwrap_or(0)
    };
    let mut ordered = drawn;
    ordered.sort_by_key(|configuration| place(configuration));
    ordered
}

/// How many times the host has to be rebooted for a run, at least and at most; none where no level asks for a kernel.
/// Within a block each boot follows the one before, and the next block begins with the last of them.
pub fn reboots(plan: &Plan, running: &Kernel) -> Option<(u32, u32)> {
    if !is_asked(plan) {
        return None;
    }
    let changes = u32::try_from(plan.boots().len().saturating_sub(1)).unwrap_or(u32::MAX);
    let configurations = &plan.experiment.configurations;
    let runs_here = |c: &Configuration| c.machine.boot().is_some() && lacking(plan, c, running).is_none();
    let first = u32::from(!configurations.iter().any(runs_here));
    let blocks = plan.experiment.decide.blocks;
    let of = |blocks: u32| first.saturating_add(changes.saturating_mul(blocks));
    let fewest = blocks_of_pairs(plan).unwrap_or(blocks.min);
    Some(if plan.quick { (of(1), of(1)) } else { (of(fewest), of(blocks.max)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanOptions, make_plan};

    fn plan(levels: &str, baseline: &str) -> Plan {
        let text = format!(
            "name = \"k\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\n[[factor]]\nname = \"boot\"\n\
             {levels}\n[workload]\nkind = \"io\"\nrw = \"read\"\nbs = \"4KiB\"\ndirect = true\nruntime = \"1s\"\n\
             [decide]\nmetric = \"iops\"\nbaseline = \"{baseline}\"\n[machine]\nkind = \"local\"\n"
        );
        make_plan(iostone_model::experiment::read(&text, &[]).unwrap(), PlanOptions::default()).unwrap()
    }

    fn kernel(release: &str, line: &str) -> Kernel {
        Kernel { release: release.to_owned(), command_line: Some(line.to_owned()), ..Kernel::default() }
    }

    const KERNELS: &str = "levels = { a = { machine.kernel = \"6.1\" }, b = { machine.kernel = \"6.12\" }, \
                           c = { machine = { kernel = \"6.1\", kernel_arguments = [\"quiet\"] } } }";

    fn names(ordered: &[&Configuration]) -> Vec<String> {
        ordered.iter().map(|configuration| configuration.name.clone()).collect()
    }

    #[test]
    fn levels_of_one_boot_stand_together_and_groups_alternate() {
        let plan = plan(KERNELS, "a");
        let configurations = &plan.experiment.configurations;
        let drawn = || configurations.iter().rev().collect::<Vec<_>>();
        let first = group(&plan, drawn(), None, &kernel("6.12", ""));
        assert_eq!(names(&first), ["b", "a", "c"]);
        let second = group(&plan, drawn(), Some(&names(&first)), &kernel("6.1", "quiet"));
        assert_eq!(names(&second), ["c", "a", "b"]);
        let third = group(&plan, drawn(), Some(&names(&second)), &kernel("6.12", ""));
        assert_eq!(names(&third), names(&first));
    }

    #[test]
    fn a_word_that_only_another_level_asks_for_must_be_absent() {
        let plan = plan(
            "levels = { plain = { mount.options = [] }, quiet = { machine.kernel_arguments = [\"quiet\"] } }",
            "plain",
        );
        let [without, with] = plan.experiment.configurations.as_slice() else { panic!("two configurations") };
        assert_eq!(lacking(&plan, without, &kernel("6.1", "ro")), None);
        let told = lacking(&plan, without, &kernel("6.1", "ro quiet")).unwrap();
        assert_eq!(
            told,
            "`plain` asks for another boot of kernel `6.1`: reboot without `quiet` in its command line"
        );
        let told = lacking(&plan, with, &kernel("6.1", "ro")).unwrap();
        assert!(told.ends_with("reboot with `quiet` in its command line"), "{told}");
    }

    #[test]
    fn another_kernel_has_to_be_booted() {
        let plan = plan(KERNELS, "a");
        let [a, b, _] = plan.experiment.configurations.as_slice() else { panic!("three configurations") };
        assert_eq!(lacking(&plan, a, &kernel("6.1", "")), None);
        assert_eq!(
            lacking(&plan, b, &kernel("6.1", "")).unwrap(),
            "`b` asks for kernel `6.12`, and `6.1` runs: boot that one"
        );
    }

    #[test]
    fn a_level_without_a_kernel_beside_one_with_is_refused() {
        let text = "levels = { a = { machine.kernel = \"6.1\" }, b = { mount.options = [\"noatime\"] } }";
        let experiment = format!(
            "name = \"k\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
             [[factor]]\nname = \"boot\"\n{text}\n[workload]\nkind = \"io\"\nrw = \"read\"\nbs = \"4KiB\"\nsize = \
             \"16MiB\"\ndirect = true\nruntime = \"1s\"\n[decide]\nmetric = \"iops\"\nbaseline = \"a\"\n[machine]\nkind = \"local\"\n"
        );
        let experiment = iostone_model::experiment::read(&experiment, &[]).unwrap();
        let error = make_plan(experiment, PlanOptions::default()).unwrap_err().to_string();
        assert!(error.contains("`a` asks for a kernel and `b` for none"), "{error}");
    }

    #[test]
    fn reboots_are_counted() {
        let plan = plan(KERNELS, "a");
        let (least, most) = reboots(&plan, &kernel("6.1", "")).unwrap();
        let blocks = plan.experiment.decide.blocks;
        // Three kernels change twice a block.
        assert_eq!((least, most), (2 * blocks.min, 2 * blocks.max));
        assert_eq!(reboots(&plan, &kernel("5.10", "")).unwrap().0, least + 1);
    }
}
