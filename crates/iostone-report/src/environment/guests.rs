//! The machines that levels ran in: guests as they told from inside, and how they were started.

use iostone_model::experiment::{Configuration, MachineSpec};
use iostone_model::metric::Unit;
use iostone_model::run::RunRecord;
use iostone_model::trial::GuestFacts;
use iostone_model::units::Bytes;

use super::{describe_all, join};

/// Every guest that a configuration ran in, in run order.
pub(crate) fn guests_of<'a>(
    run: &'a RunRecord,
    configuration: &'a str,
) -> impl Iterator<Item = &'a GuestFacts> {
    let own = run.trials.iter().filter(move |trial| trial.configuration == configuration);
    own.filter_map(|trial| trial.guest.as_deref())
}

/// The line of `uname` of each configuration, as read from inside; with its kernel's source.
pub(super) fn unames(run: &RunRecord) -> String {
    each(run, |_, facts| {
        let source = (!facts.kernel_source.is_empty()).then(|| format!("from {}", facts.kernel_source));
        join([Some(facts.uname.clone()), source])
    })
}

/// Processors, memory, accelerator, operating system and time to boot.
pub(super) fn guests(run: &RunRecord) -> String {
    let described = each(run, |configuration, facts| {
        let asked = configuration.machine.guest().map(|guest| guest.memory);
        let cpus = if facts.cpus == 1 { "processor" } else { "processors" };
        let memory = match asked {
            Some(asked) => format!("{asked} of memory"),
            None => format!("{} of memory", Bytes(facts.memory_bytes).approximate()),
        };
        join([
            Some(format!("{} {cpus}", facts.cpus)),
            Some(memory),
            facts.os.clone().or_else(|| Some("the agent alone, no operating system".to_owned())),
        ])
    });
    let all: Vec<&GuestFacts> = run.trials.iter().filter_map(|trial| trial.guest.as_deref()).collect();
    let boots = all.iter().map(|facts| facts.boot_seconds).filter(|seconds| *seconds > 0.0);
    let boots = crate::svg::scale::extent(boots).map(|(low, high)| format!("booted in {}", span(low, high)));
    let qemu = all.first().map(|facts| facts.qemu_version.clone());
    join([(!described.is_empty()).then_some(described), boots, qemu])
}

/// "3.50 s", or "3.20 s to 3.90 s".
fn span(low: f64, high: f64) -> String {
    let (low, high) = (Unit::Seconds.format(low), Unit::Seconds.format(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// How instructions were executed, and what that means, each once.
pub(super) fn accelerators(run: &RunRecord) -> String {
    let mut told: Vec<String> = Vec::new();
    for facts in run.trials.iter().filter_map(|trial| trial.guest.as_deref()) {
        let line = match facts.accelerator_note.as_str() {
            "" => facts.accelerator.clone(),
            note => format!("{}: {note}", facts.accelerator),
        };
        if !line.is_empty() && !told.contains(&line) {
            told.push(line);
        }
    }
    told.join("; ")
}

/// The kernel's command lines.
pub(super) fn command_lines(run: &RunRecord) -> String {
    each(run, |_, facts| facts.command_line.clone())
}

/// What each configuration's last guest told, all in one line: names only where they differ.
fn each(run: &RunRecord, describe: impl Fn(&Configuration, &GuestFacts) -> String) -> String {
    let configurations = &run.plan.experiment.configurations;
    let described: Vec<(&str, String)> = configurations
        .iter()
        .filter_map(|configuration| {
            let facts = guests_of(run, &configuration.name).last()?;
            Some((configuration.name.as_str(), describe(configuration, facts)))
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let alike = described.windows(2).all(|pair| matches!(pair, [left, right] if left.1 == right.1));
    if alike {
        return described.into_iter().next().map(|(_, text)| text).unwrap_or_default();
    }
    if described.len() > super::TOLD_APART {
        return describe_all(described.into_iter());
    }
    described.into_iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("; ")
}

/// What a level asks of the machine itself: kernel, words of its command line, instance. Empty where no level does.
pub(super) fn asked(run: &RunRecord) -> String {
    let configurations = &run.plan.experiment.configurations;
    let words = |configuration: &Configuration| {
        let (kernel, arguments) = match &configuration.machine {
            MachineSpec::Local(local) => (local.kernel.clone(), &local.kernel_arguments),
            MachineSpec::Guest(guest) => (Some(guest.kernel.clone()), &guest.kernel_arguments),
            MachineSpec::Agent(_) => return String::new(),
        };
        let kind = configuration.machine.guest().map(|_| "guest of QEMU".to_owned());
        let kernel = kernel.map(|kernel| format!("kernel {kernel}"));
        let arguments = (!arguments.is_empty()).then(|| arguments.join(" "));
        let instance = configuration.machine.instance().map(|instance| format!("as {instance}"));
        join([kind, kernel, arguments, instance])
    };
    describe_all(configurations.iter().map(|c| (c.name.as_str(), words(c))))
}
