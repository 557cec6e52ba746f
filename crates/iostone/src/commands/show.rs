//! `iostone show`: one run trial by trial, or one trial in full.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use iostone_lab::conclude::Subject;
use iostone_lab::{is_import, read_import, read_run};
use iostone_model::figures::counted;
use iostone_model::metric;
use iostone_model::run::{ImportRecord, RunRecord};
use iostone_model::trial::{ContainerFacts, CpuAccount, SpaceRecord, TrialRecord};
use iostone_model::units::Bytes;
use iostone_model::warm_up::SteadyState;
use iostone_report::{clean, clean_lines, cpu_text, is_detail};

use crate::cli::ShowArguments;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};
use crate::runs;

pub(crate) fn show(arguments: &ShowArguments, printer: &mut Printer) -> Result<ExitCode> {
    let path = runs::find(&arguments.runs.runs, &arguments.run, printer)?;
    if is_import(&path) {
        return show_import(&path, arguments, printer);
    }
    let run = read_run(&path)?;
    match arguments.trial {
        Some(number) => {
            let Some(trial) = run.trials.iter().find(|trial| trial.number == number) else {
                bail!("run {} has no trial {number}; it has {}", clean(&run.directory), run.trials.len());
            };
            if arguments.json {
                printer.data(&format!("{}\n", serde_json::to_string_pretty(trial)?));
            } else {
                printer.data(&one_trial(&run, trial)?);
            }
        }
        None if arguments.json => printer.data(&format!("{}\n", serde_json::to_string_pretty(&run)?)),
        None => printer.data(&all_trials(&run)?),
    }
    Ok(ExitCode::Success)
}

/// Every observation of an import, or one of them in full.
fn show_import(path: &Path, arguments: &ShowArguments, printer: &mut Printer) -> Result<ExitCode> {
    let record = read_import(path)?;
    let observations = &record.dataset.observations;
    match arguments.trial {
        Some(number) => {
            let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            let Some(observation) = place.and_then(|place| observations.get(place)) else {
                bail!("`{}` has no observation {number}; it has {}", path.display(), observations.len());
            };
            printer.data(&format!("{}\n", serde_json::to_string_pretty(observation)?));
        }
        None if arguments.json => printer.data(&format!("{}\n", serde_json::to_string_pretty(&record)?)),
        None => printer.data(&all_observations(&record)?),
    }
    Ok(ExitCode::Success)
}

fn all_observations(record: &ImportRecord) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "{}\nimported {}\n", bold(&clean(&record.dataset.name)), clean(&record.created_at))?;
    for (number, observation) in record.dataset.observations.iter().enumerate() {
        let labels: Vec<String> =
            observation.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        let run = observation.run.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
        let place = format!("{:>4}  {}: {}{run}", number + 1, observation.place(), labels.join(", "));
        writeln!(text, "{}", clean(&place))?;
        let figures = observation.figures.iter().filter(|(name, _)| !is_detail(observation, name));
        let figures: Vec<String> = figures
            .map(|(name, figure)| format!("{name} {}", record.dataset.unit_of(name).format(figure.value)))
            .collect();
        writeln!(text, "      {}", clean(&figures.join(", ")))?;
    }
    Ok(text)
}

fn all_trials(run: &RunRecord) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let decide = &run.plan.experiment.decide;
    writeln!(text, "{}", bold(&clean(&run.directory)))?;
    if let Some(question) = &run.plan.experiment.question {
        writeln!(text, "{}", clean(question))?;
    }
    let state = if run.finished { "finished" } else { "unfinished" };
    writeln!(text, "{state}, seed {}, metric {}", run.plan.seed, clean(&decide.metric))?;
    if let Some(reason) = &run.ended {
        let ended = if run.finished { "ended" } else { "ended early" };
        writeln!(text, "{ended}: {}", clean(reason))?;
    }
    for pilot in &run.pilots {
        let found = match pilot.cut {
            Some(cut) if cut.at_limit => format!("still warming up after {}", cut.after),
            Some(cut) => format!("warm-up {}", cut.after),
            None => "too short to detect a warm-up".to_owned(),
        };
        let configuration = clean(&pilot.configuration);
        let failed: Vec<String> =
            pilot.gates.iter().filter(|gate| !gate.passed).map(|gate| clean(&gate.message)).collect();
        let doubt = if failed.is_empty() { String::new() } else { format!("; {}", failed.join("; ")) };
        writeln!(text, "pilot {}: {configuration}, {} run, {found}{doubt}", pilot.number, pilot.runtime)?;
    }
    if let Some(declared) = &run.declared_ramp {
        writeln!(
            text,
            "declared before block 1: {} warm-up in every trial, the {} of {}",
            declared.ramp,
            clean(&declared.rule),
            counted(declared.pilots, "pilot")
        )?;
    }
    if let Some(runtime) = run.declared_ramp.as_ref().and_then(|declared| declared.runtime.as_ref()) {
        writeln!(text, "declared before block 1: {runtime}")?;
    }
    for declared in &run.covariates {
        writeln!(text, "declared before block 1: {}", clean(&declared.to_string()))?;
    }
    for defect in &run.defects {
        writeln!(text, "! damaged: {}", clean(defect))?;
    }
    text.push('\n');
    let names: Vec<String> = run.trials.iter().map(|trial| clean(&trial.configuration)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(13);
    let withheld = withheld_columns(run);
    let heads: Vec<String> = withheld.iter().map(|(head, _)| format!("  {head:>9}")).collect();
    let heads = heads.concat();
    writeln!(
        text,
        "trial  block  {:<width$}  {:>12}   steal{heads}  remarks",
        "configuration",
        clean(&decide.metric)
    )?;
    let subject = Subject::of(&run.plan);
    for (trial, name) in run.trials.iter().zip(&names) {
        let figure = subject.describe(&run.plan, trial).unwrap_or_else(|| "none".to_owned());
        let block = run.blocks.iter().find(|block| block.number == trial.block);
        let mut remarks: Vec<String> =
            trial.gates.iter().filter(|gate| !gate.passed).map(|gate| gate.message.clone()).collect();
        if remarks.is_empty()
            && let Some(block) = block.filter(|block| !block.counted)
        {
            remarks.push(format!(
                "not counted: {}",
                block.reason.as_deref().unwrap_or("its block is incomplete")
            ));
        }
        remarks.extend(trial.steady_state.as_ref().and_then(SteadyState::flag).map(|flag| flag.message));
        // A dash where the kernel cannot see it.
        let steal =
            trial.signals.steal.map_or("-".to_owned(), |share| format!("{:.1}\u{a0}%", share * 100.0));
        let account = trial.signals.cpu.as_ref();
        let withheld: Vec<String> =
            withheld.iter().map(|(_, of)| format!("  {:>9}", share_of_wall(account, *of))).collect();
        let line = format!(
            "{:>5}  {:>5}  {name:<width$}  {figure:>12}  {:>6}{}  {}",
            trial.number,
            trial.block + 1,
            steal,
            withheld.concat(),
            clean(&remarks.join("; "))
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
}

/// Seconds of a part of an account, where there is a limit that it tells of.
type Withheld = fn(&CpuAccount) -> Option<f64>;

/// The columns of what a limit or an emulated allowance withheld, those only of which some trial tells.
fn withheld_columns(run: &RunRecord) -> Vec<(&'static str, Withheld)> {
    let columns: [(&'static str, Withheld); 2] = [
        ("throttled", |account| account.throttled_seconds),
        ("governed", |account| account.governed_seconds),
    ];
    let told = |(_, of): &(&'static str, Withheld)| {
        run.trials.iter().filter_map(|trial| trial.signals.cpu.as_ref()).any(|account| of(account).is_some())
    };
    columns.into_iter().filter(told).collect()
}

/// A part as a share of the wall time; a dash where nothing limits the trial.
fn share_of_wall(account: Option<&CpuAccount>, of: Withheld) -> String {
    let share = account.filter(|account| account.wall_seconds > 0.0).and_then(|account| {
        let share = of(account)? / account.wall_seconds;
        share.is_finite().then_some(share)
    });
    share.map_or("-".to_owned(), |share| format!("{:.1}\u{a0}%", share * 100.0))
}

/// The unit of a trial's figure: as its workload declares it, else as the name means anywhere.
fn unit_of(run: &RunRecord, trial: &TrialRecord, name: &str) -> Option<metric::Unit> {
    let configurations = &run.plan.experiment.configurations;
    let own = configurations.iter().find(|configuration| configuration.name == trial.configuration);
    let declared = own.and_then(|configuration| configuration.workload.metric(name));
    declared.map(|declared| declared.unit).or_else(|| metric::find(name).map(|metric| metric.unit))
}

/// The container as it was read back, a line each.
fn container_lines(container: &ContainerFacts) -> Result<String, std::fmt::Error> {
    let mut text = String::from("\ncontainer\n");
    let engine = container.engine_version.iter().map(|version| format!(" {version}"));
    let runtime = container.runtime.iter().map(|runtime| format!(", {runtime}"));
    let engine: String = engine.chain(runtime).collect();
    let sync = if container.volatile { "dropped; synced data there is not durable" } else { "kept" };
    let lines = [
        ("engine", format!("{}{engine}", container.kind)),
        ("layers", format!("{} on {}", container.driver, container.backing_filesystem)),
        ("place", format!("{}, {}", container.place, container.directory)),
        ("mount", container.mount_line.clone()),
        ("fsync", sync.to_owned()),
        ("device", container.device.clone().unwrap_or_else(|| "none: memory".to_owned())),
    ];
    for (name, value) in lines {
        writeln!(text, "  {name:<10} {}", clean(&value))?;
    }
    let times = [
        ("daemon", container.daemon_seconds),
        ("image", container.import_seconds),
        ("start", container.start_seconds),
    ];
    for (name, seconds) in times {
        if let Some(seconds) = seconds {
            writeln!(text, "  {name:<10} {}", metric::Unit::Seconds.format(seconds))?;
        }
    }
    Ok(text)
}

/// The room that the workload took up, a line each.
fn space_lines(space: &SpaceRecord) -> Result<String, std::fmt::Error> {
    let mut text = format!("\nroom on {}\n", clean(&space.filesystem));
    let used = [space.used_made_bytes, space.used_prepared_bytes, space.used_after_bytes];
    let [made, prepared, after] = used.map(|bytes| Bytes(bytes).approximate());
    writeln!(text, "  {:<10} {made} as made, {prepared} laid out, {after} after", "in use")?;
    let files = &space.files;
    let extents = files.extents.map_or("extents unknown".to_owned(), |count| {
        format!("{count} extents ({} compressed, {} shared)", files.encoded_extents, files.shared_extents)
    });
    let [size, allocated] = [files.bytes, files.allocated_bytes].map(|bytes| Bytes(bytes).approximate());
    writeln!(text, "  {:<10} {}, {size}, {allocated} allocated, {extents}", "files", files.count)?;
    if let Some(free) = &space.free_after {
        let longest = Bytes(free.longest_bytes).approximate();
        writeln!(text, "  {:<10} in {} runs, the longest {longest}", "free", free.extents)?;
    }
    for loss in &space.losses {
        writeln!(text, "  {:<10} {}", "unknown", clean(loss))?;
    }
    Ok(text)
}

fn one_trial(run: &RunRecord, trial: &TrialRecord) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "{}", bold(&format!("trial {}: {}", trial.number, clean(&trial.configuration))))?;
    writeln!(
        text,
        "block {}, position {}, started {}\n",
        trial.block + 1,
        trial.position + 1,
        clean(&trial.started_at)
    )?;
    for (name, value) in &trial.metrics {
        let value = unit_of(run, trial, name).map_or_else(|| value.to_string(), |unit| unit.format(*value));
        writeln!(text, "  {:<16} {value}", clean(name))?;
    }
    for (name, reason) in &trial.workload.absent {
        writeln!(text, "  {:<16} none: {}", clean(name), clean(reason))?;
    }
    if trial.ramp_seconds > 0.0 {
        writeln!(
            text,
            "  {:<16} {} not counted",
            "warm-up",
            metric::Unit::Seconds.format(trial.ramp_seconds)
        )?;
    }
    if let Some(state) = &trial.steady_state {
        let words = match state {
            SteadyState::Steady { range_fraction, slope_fraction } => format!(
                "yes: five windows within {:.1}\u{a0}%, slope {:+.1}\u{a0}%",
                range_fraction * 100.0,
                slope_fraction * 100.0
            ),
            SteadyState::NotSteady { reason, .. } => format!("no: {}", clean(reason)),
            SteadyState::NotChecked { reason } => format!("not checked, {}", clean(reason)),
        };
        writeln!(text, "  {:<16} {words}", "steady")?;
    }
    if let Some(error) = &trial.workload.error {
        writeln!(text, "  failed: {}", clean(error))?;
    }
    writeln!(text, "\nread back")?;
    for check in &trial.checks {
        let [layer, asked, found, from] =
            [&check.layer, &check.asked, &check.read_back, &check.from].map(|piece| clean(piece));
        writeln!(text, "  {layer:<10} {asked} -> {found} ({from})")?;
    }
    if let Some(container) = trial.container.as_deref() {
        write!(text, "{}", container_lines(container)?)?;
    }
    if let Some(space) = trial.space.as_deref() {
        write!(text, "{}", space_lines(space)?)?;
    }
    writeln!(text, "\nserved")?;
    for device in &trial.signals.devices {
        let served = &device.served;
        writeln!(
            text,
            "  {:<10} {} read, {} written, {} flushes ({})",
            clean(&device.name),
            Bytes(served.read_bytes).approximate(),
            Bytes(served.written_bytes).approximate(),
            served.flushes,
            clean(&device.role)
        )?;
    }
    // Eighty columns, as everything here: a bar of the whole width would compare with nothing.
    if let Some(account) = &trial.signals.cpu {
        write!(text, "\nwhere the CPU went\n{}", cpu_text(account, 80))?;
    }
    writeln!(text, "\ngates")?;
    for gate in &trial.gates {
        writeln!(
            text,
            "  {} {:<10} {}",
            if gate.passed { "✓" } else { "!" },
            clean(&gate.gate),
            clean(&gate.message)
        )?;
    }
    writeln!(text, "\nfacts")?;
    for (name, value) in &trial.workload.facts {
        writeln!(text, "  {:<16} {}", clean(name), clean(value))?;
    }
    for note in &trial.notes {
        writeln!(text, "  note             {}", clean(note))?;
    }
    if let Some(tail) = &trial.workload.stderr_tail {
        writeln!(text, "\nend of standard error\n{}", clean_lines(tail))?;
    }
    Ok(text)
}
