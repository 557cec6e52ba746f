//! `iostone run`: runs an experiment, or goes on with one.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use iostone_lab::{
    Conductor, LabError, Link, Observer, PlanOptions, RunDirectory, estimate, make_plan, plan_warnings,
};
use iostone_machine::{Failure, FailureKind, Guests, Machine, Remote, StopFlag};
use iostone_model::experiment::{Experiment, MachineSpec, Override, read_with};
use iostone_model::run::{Plan, RunRecord};
use iostone_model::verdict::Verdicts;
use iostone_stack::{CleanupReport, JournalOutcome, refuse_exposed_runs};

use crate::cli::{RunArguments, RunOptions};
use crate::commands::report::explained;
use crate::exit_code::{ExitCode, FileErrors, Resumable};
use crate::live::{self, Live};
use crate::printer::Printer;
use crate::progress::{RunProgress, in_words};
use crate::{commands, interrupt, named_file, recipe, runs};

/// An experiment file is a page of text; what is larger is another file.
const LARGEST_FILE_BYTES: u64 = 1 << 20;

pub(crate) fn run(arguments: &RunArguments, printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let options = &arguments.options;
    if let Some(named) = &arguments.resume {
        let path = runs::find(&options.runs.runs, named, printer)?;
        return resume(&path, options, stop, printer);
    }
    let file = arguments.file.as_deref().ok_or_else(|| anyhow!("no experiment file given"))?;
    let Source { name, text, directory } = source_of(file)?;
    let options = &options.with_time(arguments.time);
    let experiment = parse(&name, &text, &options.set, printer)?;
    start(experiment, &text, directory, options, stop, printer)
}

/// Goes on with an unfinished run.
pub(crate) fn resume(
    path: &Path,
    options: &RunOptions,
    stop: StopFlag,
    printer: &mut Printer,
) -> Result<ExitCode> {
    if options.live {
        live::check_terminal()?;
    }
    let (mut directory, mut plan, _) = RunDirectory::resume(path)?;
    options.fail_if.check_plan(&plan)?;
    // After a crash nobody knows whose data a device holds, so that the user says it for this session.
    plan.destroy.extend(options.destroy.iter().cloned());
    let mut machine = connect(&plan.experiment.machine, &stop)?;
    clean_first(machine.as_mut(), printer)?;
    let ended = conduct(&plan, &mut directory, machine.as_mut(), stop, options, printer);
    runs::hand_over(path, printer);
    show(&ended?, options, printer)
}

/// The text of an experiment, what it is called in errors, and where its files are looked for.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) directory: PathBuf,
}

/// A file; standard input; or a recipe, where no file has that name.
pub(crate) fn source_of(file: &Path) -> Result<Source> {
    let here = || std::env::current_dir().context("the current directory");
    if file == Path::new("-") {
        let text = read_text(std::io::stdin().lock(), "standard input")?;
        return Ok(Source { name: "standard input".to_owned(), text, directory: here()? });
    }
    let is_a_name = file.extension().is_none() && file.components().count() == 1;
    if is_a_name && file.symlink_metadata().is_err() {
        let recipe = recipe::instead_of_file(file)?;
        return Ok(Source { name: recipe.name.to_owned(), text: recipe.text.to_owned(), directory: here()? });
    }
    Ok(Source { name: file.display().to_string(), text: read_file(file)?, directory: directory_of(file)? })
}

/// Where a file lies, symbolic links followed: an experiment that is linked to still finds what lies beside it.
pub(crate) fn directory_of(file: &Path) -> Result<PathBuf> {
    let place = file.canonicalize().with_context(|| format!("finding `{}`", file.display()))?;
    Ok(place.parent().map(Path::to_owned).unwrap_or_default())
}

/// A run that has come to its end.
pub(crate) struct Ended {
    /// What was recorded, with what bound its figures.
    pub(crate) record: RunRecord,
    /// What was concluded.
    pub(crate) verdicts: Verdicts,
    /// The page that was written of it, or why it could not be.
    pub(crate) report: Result<PathBuf>,
}

/// Runs a new experiment and reports it, or prints what it would do; `directory` is where the files and programs that it names
/// are.
pub(crate) fn start(
    experiment: Experiment,
    text: &str,
    directory: PathBuf,
    options: &RunOptions,
    stop: StopFlag,
    printer: &mut Printer,
) -> Result<ExitCode> {
    match measure(experiment, text, directory, options, stop, printer)? {
        Some(ended) => show(&ended, options, printer),
        None => Ok(ExitCode::Success),
    }
}

/// Runs a new experiment; none where it only prints what it would do.
pub(crate) fn measure(
    experiment: Experiment,
    text: &str,
    directory: PathBuf,
    options: &RunOptions,
    stop: StopFlag,
    printer: &mut Printer,
) -> Result<Option<Ended>> {
    if options.live {
        live::check_terminal()?;
    }
    let settled = PlanOptions {
        quick: options.quick,
        identical_levels: options.aa,
        overrides: options.set.clone(),
        tags: options.tag.clone(),
        destroy: options.destroy.clone(),
        directory,
    };
    let plan = make_plan(experiment, settled)?;
    options.fail_if.check_plan(&plan)?;
    for warning in plan_warnings(&plan).into_iter().chain(short_of_time(&plan)) {
        printer.warning(warning);
    }
    let parent = std::path::absolute(&options.runs.runs).context("the current directory")?;
    if options.dry_run {
        commands::dry_run::print(&plan, &parent, options.json, printer)?;
        say_refusal(&plan, parent, &stop, printer);
        return Ok(None);
    }
    let mut machine = connect(&plan.experiment.machine, &stop)?;
    clean_first(machine.as_mut(), printer)?;
    // Refusals come before anything is written, the directory of runs included.
    Link(machine.as_mut()).preflight(&plan.experiment, parent.clone(), plan.destroy.clone())?;
    refuse_exposed_runs(&parent).map_err(Failure::from)?;
    let made_runs = !parent.exists();
    fs::create_dir_all(&parent).with_context(|| format!("making `{}`", parent.display()))?;
    let mut directory = RunDirectory::create(&parent, &plan, text)?;
    let ended = conduct(&plan, &mut directory, machine.as_mut(), stop, options, printer);
    runs::hand_over(if made_runs { &parent } else { directory.path() }, printer);
    ended.map(Some)
}

/// Warns of a time limit that is probably over before the first look that can decide.
fn short_of_time(plan: &Plan) -> Option<String> {
    let limit = plan.experiment.decide.time.filter(|_| !plan.quick)?;
    let estimate = estimate(plan);
    let needed = estimate.a_trial? * estimate.trials.0;
    (needed > limit.0).then(|| {
        format!(
            "{limit} is probably too short for a verdict: the first {} trials take about {}",
            estimate.trials.0,
            in_words(needed)
        )
    })
}

/// Says of a run on this host what would refuse it. Looks only; a guest, or another host, is not started to be asked.
fn say_refusal(plan: &Plan, parent: PathBuf, stop: &StopFlag, printer: &mut Printer) {
    if !matches!(plan.experiment.machine, MachineSpec::Local(_) | MachineSpec::Governed(_)) {
        return;
    }
    let mut machine = Guests::new(StopFlag::clone(stop));
    match Link(&mut machine).preflight(&plan.experiment, parent, plan.destroy.clone()) {
        // That the host would have to be rebooted is one of the steps.
        Ok(_) => {}
        Err(error) if error.is_reboot() || error.is_interrupt() => {}
        // Without root not all can be looked at, and a dry run is where one asks whether root is needed.
        Err(LabError::Machine(failure))
            if failure.kind == FailureKind::Missing && !rustix::process::geteuid().is_root() =>
        {
            printer.note(format_args!("as root: {failure}"));
        }
        Err(error) => printer.note(format_args!("the run would be refused: {error}")),
    }
}

/// Reads a file that should be an experiment.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    let file = named_file::open(path).with_context(|| format!("reading `{}`", path.display()))?;
    read_text(file, &path.display().to_string())
}

fn read_text(from: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(LARGEST_FILE_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("reading `{name}`"))?;
    if bytes.len() as u64 > LARGEST_FILE_BYTES {
        bail!("`{name}` is larger than 1 MiB; an experiment file is a page of TOML");
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("`{name}` is not UTF-8 text (byte {at}); an experiment file is a page of TOML")
    })
}

/// Reads an experiment's text, showing what is wrong with it.
pub(crate) fn parse(name: &str, text: &str, set: &[String], printer: &mut Printer) -> Result<Experiment> {
    let overrides: Vec<Override> = set
        .iter()
        .map(|setting| match setting.split_once('=') {
            Some((path, value)) => {
                Ok(Override { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            None => Err(anyhow!("`--set {setting}` has no `=`; write it like `--set workload.bs=8KiB`")),
        })
        .collect::<Result<_>>()?;
    read_with(text, &overrides, &iostone_cloud::problem_of_machine).map_err(|diagnostics| {
        printer.diagnostics(name, text, &diagnostics);
        FileErrors { file: name.to_owned(), count: diagnostics.len() }.into()
    })
}

/// The machine that the trials run on.
pub(crate) fn connect(spec: &MachineSpec, stop: &StopFlag) -> Result<Box<dyn Machine>> {
    Ok(match spec {
        MachineSpec::Local(_)
        | MachineSpec::Governed(_)
        | MachineSpec::Emulate(_)
        | MachineSpec::Guest(_) => Box::new(Guests::new(StopFlag::clone(stop))),
        MachineSpec::Agent(agent) => Box::new(Remote::start(&agent.argv, StopFlag::clone(stop))?),
    })
}

/// A start after a crash first takes away what the crash left.
fn clean_first(machine: &mut dyn Machine, printer: &mut Printer) -> Result<(), LabError> {
    let report: CleanupReport = Link(machine).cleanup()?;
    for (journal, outcome) in &report.journals {
        match outcome {
            JournalOutcome::Undone { owner, undone } if !undone.is_empty() => {
                printer.note(format_args!("undone after process {}: {}", owner.pid, undone.join(", ")));
            }
            JournalOutcome::Failed { failure, .. } => {
                printer.warning(format_args!("cannot undo an earlier run: {failure}"));
            }
            JournalOutcome::Unreadable { reason } => {
                printer.warning(format_args!("`{}` is left alone: {reason}", journal.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn conduct(
    plan: &Plan,
    directory: &mut RunDirectory,
    machine: &mut dyn Machine,
    stop: StopFlag,
    options: &RunOptions,
    printer: &mut Printer,
) -> Result<Ended> {
    let path = shorten(directory.path());
    printer.note(format_args!("{} in {}", plan.experiment.name, path.display()));
    let ended = {
        let mut progress: Box<dyn Observer> = if options.live {
            Box::new(Live::start(plan).context("the terminal")?)
        } else {
            Box::new(RunProgress::new(printer, plan).with_status(options.status.as_deref()))
        };
        Conductor::new(plan, directory, machine, progress.as_mut(), stop)?
            .without_metadata(options.metadata.no_metadata)
            .run()
    };
    if !directory.path().join("plan.json").exists() {
        return Err(LabError::Removed { path: directory.path().to_owned() }.into());
    }
    let record = directory.record().map(explained);
    // What ended the run is said, not that its report could not be written either.
    let report = record
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
        .and_then(|record| Ok(directory.write_report("report.html", &iostone_report::html(record)?)?));
    let has_trials = match &record {
        Ok(record) => !record.trials.is_empty() || !record.pilots.is_empty(),
        Err(_) => true,
    };
    let verdicts = match ended {
        Ok((_, verdicts)) => verdicts,
        Err(error) if error.is_reboot() => {
            offer_unit(&plan.run_id, directory.path(), printer);
            return Err(Resumable { error, run: path.display().to_string(), has_trials }.into());
        }
        Err(error) if cannot_go_on(&error) => return Err(error.into()),
        Err(error) if !has_trials && !error.is_governor() && !error.is_interrupt() => {
            return Err(error.into());
        }
        Err(error) => return Err(Resumable { error, run: path.display().to_string(), has_trials }.into()),
    };
    Ok(Ended { record: record?, verdicts, report })
}

fn show(ended: &Ended, options: &RunOptions, printer: &mut Printer) -> Result<ExitCode> {
    let Ended { record, verdicts, report } = ended;
    if options.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(verdicts)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::text(record, printer.extent(options.full), style));
    }
    let code = options.fail_if.judge(verdicts, printer)?;
    let is_written = tell_report(report, options, printer);
    Ok(if code == ExitCode::Success && !is_written { ExitCode::Partial } else { code })
}

/// Says where the page of a run is, or why there is none; whether there is one.
pub(crate) fn tell_report(report: &Result<PathBuf>, options: &RunOptions, printer: &mut Printer) -> bool {
    match report {
        // A fleet takes the run elsewhere.
        Ok(_) if options.status.is_some() => {}
        Ok(report) => printer.note(format_args!("\nreport: {}", shorten(report).display())),
        Err(error) => printer.warning(format_args!(
            "the run is complete, but its report is not: {error}; `iostone report --format html -o FILE` writes it"
        )),
    }
    report.is_ok()
}

/// Whether the same would stop the run again: what its plan asks for cannot be.
fn cannot_go_on(error: &LabError) -> bool {
    match error {
        LabError::Plan(_) => true,
        LabError::Machine(failure) => failure.kind == FailureKind::Usage,
        _ => false,
    }
}

/// A unit of systemd that would go on with a run after a reboot. It is only shown: what starts with the machine is for
/// its owner to decide.
fn offer_unit(run_id: &str, run: &Path, printer: &mut Printer) {
    let Ok(program) = std::env::current_exe() else { return };
    let name = format!("iostone-resume-{run_id}.service");
    printer.note(format_args!(
        "to resume automatically after the reboot, write this to `/etc/systemd/system/{name}`, then `systemctl enable {name}`; \
         `systemctl disable {name}` once the run has ended\n\n{}",
        resume_unit(&program, run, &set_variables())
    ));
}

/// Variables that say where things lie, as they are set now: a unit has an environment of its own.
fn set_variables() -> Vec<(&'static str, PathBuf)> {
    ["IOSTONE_RUNS", "IOSTONE_STATE_DIR", "IOSTONE_CACHE"]
        .into_iter()
        .filter_map(|name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some((name, std::path::absolute(&value).unwrap_or_else(|_| value.into())))
        })
        .collect()
}

/// `systemd.service(5)`: exit code 4 says that the next reboot is due, which is no failure.
fn resume_unit(program: &Path, run: &Path, variables: &[(&str, PathBuf)]) -> String {
    // What systemd would expand or split in a command line (`systemd.service(5)`, "COMMAND LINES").
    let escaped = |path: &Path| {
        let text = path.display().to_string();
        text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%")
    };
    let quoted = |path: &Path| format!("\"{}\"", escaped(path).replace('$', "$$"));
    let assignments: Vec<String> =
        variables.iter().map(|(name, path)| format!("Environment=\"{name}={}\"\n", escaped(path))).collect();
    let variables = assignments.concat();
    format!(
        "[Unit]\nDescription=iostone: resume a run after a \
         reboot\nAfter=local-fs.target\n\n[Service]\nType=oneshot\n{variables}\
         ExecStart={} run --resume {}\nSuccessExitStatus=4\n\n[Install]\nWantedBy=multi-user.target\n",
        quoted(program),
        quoted(run)
    )
}

/// A path relative to the current directory where that is shorter.
pub(crate) fn shorten(path: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned))
        .filter(|short| !short.as_os_str().is_empty())
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_into_a_unit_as_it_is() {
        let cache = [("IOSTONE_CACHE", PathBuf::from("/srv/$a 5%"))];
        let unit = resume_unit(Path::new("/usr/bin/iostone"), Path::new("/srv/my runs/100%$\"x"), &cache);
        assert!(
            unit.contains("\nType=oneshot\nEnvironment=\"IOSTONE_CACHE=/srv/$a 5%%\"\nExecStart="),
            "{unit}"
        );
        let line = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(line, "ExecStart=\"/usr/bin/iostone\" run --resume \"/srv/my runs/100%%$$\\\"x\"");
    }
}
