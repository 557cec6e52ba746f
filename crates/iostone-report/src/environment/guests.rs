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

/// The line of `uname` of each configuration, as read from inside, with its kernel's source: each on a line of its own.
pub(super) fn unames(run: &RunRecord) -> String {
    let told = each(run, |_, facts| {
        let source = (!facts.kernel_source.is_empty()).then(|| format!("from {}", facts.kernel_source));
        join([Some(facts.uname.clone()), source])
    });
    told.join("\n")
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
    })
    .join("; ");
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
    let told = each(run, |_, facts| match facts.accelerator_note.as_str() {
        "" => facts.accelerator.clone(),
        note => format!("{}: {note}", facts.accelerator),
    });
    told.join("; ")
}

/// A word that the host adds to every command line, with a figure measured at that moment.
const CLOCK_HINT: &str = "tsc_early_khz=";

/// The kernel's command lines; what differs only in how fast the host's clock was found to be is one.
pub(super) fn command_lines(run: &RunRecord) -> String {
    let as_booted = each(run, |_, facts| facts.command_line.clone());
    if as_booted.len() < 2 {
        return as_booted.join("; ");
    }
    let without_hint = |line: &str| {
        let words = line.split(' ');
        words
            .map(|word| if word.starts_with(CLOCK_HINT) { format!("{CLOCK_HINT}…") } else { word.to_owned() })
            .collect::<Vec<_>>()
            .join(" ")
    };
    each(run, |_, facts| without_hint(&facts.command_line)).join("; ")
}

/// What each configuration's last guest told, once where several told the same: with the names of those that did, unless
/// all are alike.
fn each(run: &RunRecord, describe: impl Fn(&Configuration, &GuestFacts) -> String) -> Vec<String> {
    let configurations = &run.plan.experiment.configurations;
    let mut described: Vec<(Vec<&str>, String)> = Vec::new();
    for configuration in configurations {
        let Some(facts) = guests_of(run, &configuration.name).last() else { continue };
        let text = describe(configuration, facts);
        match described.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) => names.push(&configuration.name),
            None if text.is_empty() => {}
            None => described.push((vec![&configuration.name], text)),
        }
    }
    match described.as_slice() {
        [(names, text)] if names.len() == configurations.len() => vec![text.clone()],
        _ => described.into_iter().map(|(names, text)| format!("{}: {text}", names.join(", "))).collect(),
    }
}

/// What a level asks of the machine itself: kernel, words of its command line, instance. Empty where no level does.
pub(super) fn asked(run: &RunRecord) -> String {
    let configurations = &run.plan.experiment.configurations;
    let words = |configuration: &Configuration| {
        let (kernel, arguments) = match &configuration.machine {
            MachineSpec::Local(local) => (local.kernel.clone(), &local.kernel_arguments),
            MachineSpec::Guest(guest) => (Some(guest.kernel.clone()), &guest.kernel_arguments),
            MachineSpec::Emulate(emulated) => {
                let pace = format!("as {}, {} times faster", emulated.emulate, emulated.speed);
                let date = emulated.date.map(|date| format!("limits of {date}"));
                let pace = if emulated.speed > 1.0 { pace } else { format!("as {}", emulated.emulate) };
                return join([Some(pace), date]);
            }
            MachineSpec::Governed(_) | MachineSpec::Agent(_) => return String::new(),
        };
        let kind = configuration.machine.guest().map(|_| "guest of QEMU".to_owned());
        let kernel = kernel.map(|kernel| format!("kernel {kernel}"));
        let arguments = (!arguments.is_empty()).then(|| arguments.join(" "));
        let instance = configuration.machine.instance().map(|instance| format!("as {instance}"));
        join([kind, kernel, arguments, instance])
    };
    describe_all(configurations.iter().map(|c| (c.name.as_str(), words(c))))
}
