//! `iostone fleet run`: the same experiment on every host of an inventory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use iostone_fleet::{
    Campaign, FleetDirectory, FleetError, InventoryHost, News, Programs, Timing, read_inventory,
};
use iostone_lab::{PlanOptions, estimate, make_plan, plan_warnings};
use iostone_model::figures::counted;
use iostone_model::fleet::{FLEET_SCHEMA, Fleet, FleetHost, HostState, RunState};
use iostone_model::run::Plan;
use iostone_model::units::Span;
use iostone_stack::refuse_exposed_runs;

use super::show;
use crate::cli::RunsDirectory;
use crate::commands::run::{parse, shorten, source_of};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::{interrupt, runs};

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct FleetRunArguments {
    /// The experiment file, `-` for standard input, or the name of a recipe
    #[arg(value_name = "FILE | RECIPE", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// The Ansible inventory: a list, a directory, a cloud's plugin, a program
    #[arg(long, short, value_name = "INVENTORY", required_unless_present = "resume")]
    inventory: Option<PathBuf>,
    /// Only these hosts: a pattern of Ansible's
    #[arg(long, value_name = "PATTERN")]
    limit: Option<String>,
    /// Complete a fleet: run only the hosts that have no result yet
    #[arg(long, value_name = "FLEETDIR", conflicts_with_all = ["file", "inventory", "limit", "set", "quick"])]
    resume: Option<PathBuf>,
    /// Print the hosts, what is pushed to them and how long it will take; connect to none
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    /// Override a value of the experiment, as in `--set workload.bs=8KiB`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Rehearse on every host: one block, small sizes, no verdict
    #[arg(long)]
    quick: bool,
    /// Allow the data on this device to be destroyed on every host, by the identity that a refusal printed; repeatable.
    /// `iostone_destroy` in the inventory says it for one host
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    /// The static program for hosts of an architecture that `uname -m` names; repeatable. By default this program itself
    #[arg(long = "binary", value_name = "ARCH=FILE")]
    binaries: Vec<String>,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    reach: Reach,
    /// Print the report as JSON on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    runs: RunsDirectory,
}

/// How often hosts are asked, and how long they wait for it.
#[derive(Debug, Args)]
pub(super) struct Pace {
    /// Time between two questions for the hosts' status; by default a quarter of the shortest run, 10 s to 5 min
    #[arg(long, value_name = "TIME")]
    pub(super) poll: Option<Span>,
    /// A host that is not asked for this long stops, undoes everything and can be resumed; by default 30 min or more
    #[arg(long, value_name = "TIME")]
    pub(super) lease: Option<Span>,
}

/// How hosts are reached.
#[derive(Debug, Args)]
pub(super) struct Reach {
    /// Time that a connection may take
    #[arg(long, value_name = "TIME", default_value = "15s")]
    pub(super) connect_timeout: Span,
    /// Hosts that are worked on at once
    #[arg(long, value_name = "HOSTS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) forks: u32,
    /// Become root on the hosts, as Ansible's `--become`
    #[arg(long = "become")]
    pub(super) becomes: bool,
}

pub(super) const USUAL_LEASE: Duration = Duration::from_secs(30 * 60);

impl Pace {
    fn timing(&self, least: Option<Duration>, reach: &Reach) -> Result<Timing> {
        let usual = least.map_or(Duration::from_secs(30), |least| least / 4);
        let usual = usual.clamp(Duration::from_secs(10), Duration::from_secs(300));
        let poll = self.poll.map_or(usual, |poll| poll.0);
        let until = self.lease.map_or(USUAL_LEASE.max(poll * 4), |lease| lease.0);
        if until < poll * 2 {
            bail!("`--lease` must be twice `--poll` at least, or hosts stop between two questions");
        }
        Ok(Timing { poll, lease: until, connect: reach.connect_timeout.0 })
    }
}

pub(crate) fn run(arguments: &FleetRunArguments, printer: &mut Printer) -> Result<ExitCode> {
    let programs = programs(&arguments.binaries)?;
    if arguments.dry_run {
        return dry_run(arguments, &programs, printer);
    }
    let stop = interrupt::stop_flag();
    let (mut directory, plan) = if let Some(path) = &arguments.resume {
        let (mut directory, plan) = take_up(&super::find(&arguments.runs.runs, path)?, printer)?;
        let known = &mut directory.fleet.destroy;
        known.extend(arguments.destroy.iter().filter(|id| !known.contains(id)).cloned().collect::<Vec<_>>());
        (directory, plan)
    } else {
        let begun = prepare(arguments, printer)?;
        if begun.hosts.iter().any(|host| !host.has_program) && is_dynamic(&programs) {
            printer.note(
                    "this program is linked dynamically: hosts that it is pushed to need its libraries. `make static` makes one \
                     that runs anywhere",
                );
        }
        create(arguments, begun)?
    };
    let timing = arguments.pace.timing(estimate(&plan).least, &arguments.reach)?;
    let place = shorten(directory.path());
    let left = directory.fleet.hosts.iter().filter(|host| host.state != HostState::Done).count();
    printer.note(format_args!(
        "{} on {} in {}",
        directory.fleet.experiment,
        counted(left, "host"),
        place.display()
    ));
    let mut progress = Progress::new(&directory.fleet, printer);
    let mut tell = |news: News<'_>| progress.tell(&news);
    let ended = Campaign::new(
        &mut directory,
        programs,
        timing,
        arguments.reach.forks,
        arguments.reach.becomes,
        &stop,
        &mut tell,
    )
    .and_then(|mut campaign| campaign.run());
    directory.save()?;
    runs::hand_over(directory.path(), printer);
    match ended {
        Err(FleetError::Interrupted) => {
            printer.warning(format_args!(
                "hosts that run go on until their lease is over; `iostone fleet run --resume {0}` fetches their results, \
                 `iostone fleet cleanup {0}` stops them",
                place.display()
            ));
            return Ok(ExitCode::Interrupted);
        }
        Err(error) => {
            return Err(anyhow::Error::new(error)
                .context(format!("resume with `iostone fleet run --resume {}`", place.display())));
        }
        Ok(()) => {}
    }
    show::conclude(&directory, arguments.json, printer)
}

/// A fleet that is about to begin.
struct Begun {
    plan: Plan,
    text: String,
    inventory: PathBuf,
    hosts: Vec<InventoryHost>,
}

fn prepare(arguments: &FleetRunArguments, printer: &mut Printer) -> Result<Begun> {
    let file = arguments.file.as_deref().ok_or_else(|| anyhow!("no experiment file given"))?;
    let inventory = arguments.inventory.as_deref().ok_or_else(|| anyhow!("no inventory given"))?;
    let source = source_of(file)?;
    let experiment = parse(&source.name, &source.text, &arguments.set, printer)?;
    let settled = PlanOptions {
        quick: arguments.quick,
        overrides: arguments.set.clone(),
        destroy: arguments.destroy.clone(),
        directory: source.directory,
        ..PlanOptions::default()
    };
    // What is wrong with the experiment is said here, and not by every host.
    let plan = make_plan(experiment, settled)?;
    for warning in plan_warnings(&plan) {
        printer.warning(warning);
    }
    let inventory = std::path::absolute(inventory).context("the current directory")?;
    let hosts = read_inventory(&inventory, arguments.limit.as_deref())?;
    Ok(Begun { plan, text: source.text, inventory, hosts })
}

/// Prints what a fleet would do, by the inventory alone.
fn dry_run(arguments: &FleetRunArguments, programs: &Programs, printer: &mut Printer) -> Result<ExitCode> {
    let (plan, inventory, hosts) = match &arguments.resume {
        None => {
            let begun = prepare(arguments, printer)?;
            (begun.plan, begun.inventory, begun.hosts)
        }
        Some(path) => {
            let (directory, plan) = take_up(&super::find(&arguments.runs.runs, path)?, printer)?;
            let inventory = PathBuf::from(&directory.fleet.inventory);
            let left = |name: &str| {
                directory.fleet.hosts.iter().any(|host| host.name == name && host.state != HostState::Done)
            };
            let hosts =
                read_inventory(&inventory, None)?.into_iter().filter(|host| left(&host.name)).collect();
            (plan, inventory, hosts)
        }
    };
    let timing = arguments.pace.timing(estimate(&plan).least, &arguments.reach)?;
    printer.data(&super::plan::text(&plan, &inventory, &hosts, programs, timing, arguments.reach.forks));
    Ok(ExitCode::Success)
}

fn create(arguments: &FleetRunArguments, begun: Begun) -> Result<(FleetDirectory, Plan)> {
    let Begun { plan, text, inventory, hosts } = begun;
    let fleet = Fleet {
        schema: FLEET_SCHEMA.to_owned(),
        fleet_id: plan.run_id.clone(),
        created_at: plan.created_at.clone(),
        iostone_version: plan.iostone_version.clone(),
        experiment: plan.experiment.name.clone(),
        question: plan.experiment.question.clone().unwrap_or_default(),
        seed: plan.seed,
        overrides: arguments.set.clone(),
        quick: arguments.quick,
        destroy: arguments.destroy.clone(),
        inventory: inventory.display().to_string(),
        hosts: hosts.into_iter().map(host_of).collect(),
    };
    let parent = std::path::absolute(&arguments.runs.runs).context("the current directory")?;
    refuse_exposed_runs(&parent)?;
    fs::create_dir_all(&parent).with_context(|| format!("making `{}`", parent.display()))?;
    Ok((FleetDirectory::create(&parent, fleet, &text)?, plan))
}

fn host_of(host: InventoryHost) -> FleetHost {
    let mut kept = FleetHost { name: host.name, labels: host.labels, ..FleetHost::default() };
    if host.bad_name {
        kept.state = HostState::Missing;
        kept.reason = Some("its name cannot be a file's name".to_owned());
        kept.next = Some("give it an alias in the inventory, and its address as `ansible_host`".to_owned());
    }
    kept
}

fn take_up(path: &Path, printer: &mut Printer) -> Result<(FleetDirectory, Plan)> {
    let directory = FleetDirectory::open(path)?;
    let fleet = &directory.fleet;
    if fleet.inventory.is_empty() {
        bail!("`{}` was collected from directories, so there is no inventory to run it on", path.display());
    }
    if fleet.iostone_version != env!("CARGO_PKG_VERSION") {
        bail!(
            "the fleet was begun with iostone {}, this is {}; hosts of two versions cannot be compared",
            fleet.iostone_version,
            env!("CARGO_PKG_VERSION")
        );
    }
    let file = directory.experiment();
    let source = source_of(&file)?;
    let experiment = parse(&source.name, &source.text, &fleet.overrides, printer)?;
    let settled = PlanOptions { quick: fleet.quick, directory: source.directory, ..PlanOptions::default() };
    Ok((directory, make_plan(experiment, settled)?))
}

/// The program for each architecture: this one for its own, and what was given.
pub(super) fn programs(given: &[String]) -> Result<Programs> {
    let mut programs = BTreeMap::new();
    for one in given {
        let (architecture, file) = one
            .split_once('=')
            .ok_or_else(|| anyhow!("`--binary {one}` has no `=`; write it like `--binary aarch64=FILE`"))?;
        let file = fs::canonicalize(file).with_context(|| format!("reading `{file}`"))?;
        // A device has no end, and a pipe no second reader.
        if !file.is_file() {
            bail!("`--binary {one}` names no regular file");
        }
        programs.insert(architecture.to_owned(), file);
    }
    let own = std::env::consts::ARCH;
    if !programs.contains_key(own) {
        let program = std::env::current_exe().context("finding this program")?;
        programs.insert(own.to_owned(), program);
    }
    Ok(programs)
}

/// Whether the program for this architecture needs libraries of the host.
pub(super) fn is_dynamic(programs: &Programs) -> bool {
    let own = programs.get(std::env::consts::ARCH);
    own.is_some_and(|program| has_interpreter(program).unwrap_or(false))
}

/// Whether a 64-bit ELF file asks for a dynamic loader (`elf(5)`, `PT_INTERP`).
fn has_interpreter(program: &Path) -> Option<bool> {
    const HEADER: usize = 56;
    const INTERPRETER: [u8; 4] = 3_u32.to_ne_bytes();
    let mut start = Vec::new();
    fs::File::open(program).ok()?.take(1 << 16).read_to_end(&mut start).ok()?;
    let count = u16::from_ne_bytes(start.get(56..58)?.try_into().ok()?);
    let table = start.get(64..64 + HEADER * usize::from(count))?;
    Some(table.chunks(HEADER).any(|header| header.starts_with(&INTERPRETER)))
}

/// A line for each host at each turn, on standard error.
struct Progress<'a> {
    printer: &'a mut Printer,
    all: usize,
    ended: usize,
    /// Trials that each host had when it was last said.
    said: BTreeMap<String, u32>,
}

impl<'a> Progress<'a> {
    fn new(fleet: &Fleet, printer: &'a mut Printer) -> Self {
        let ended = fleet.hosts.iter().filter(|host| host.state == HostState::Done).count();
        Self { printer, all: fleet.hosts.len(), ended, said: BTreeMap::new() }
    }

    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Started { host } => self.printer.note(format_args!("{host}: started")),
            News::Status { host, status } if status.state == RunState::Running => {
                let before = self.said.insert((*host).to_owned(), status.trials);
                if before != Some(status.trials) && status.trials > 0 {
                    let (trials, budget) = (counted(status.trials, "trial"), counted(status.budget, "block"));
                    self.printer
                        .note(format_args!("{host}: {trials}, {} of at most {budget}", status.blocks));
                }
            }
            News::Fetched { host } => {
                self.ended += 1;
                self.printer.note(format_args!("{host}: fetched ({} of {})", self.ended, self.all));
            }
            News::Missing { host, reason, next } => {
                self.printer.warning(format_args!("{host}: {reason}\n  next: {next}"));
            }
            News::Cleaned { host, failure: Some(failure) } => {
                self.printer.warning(format_args!("{host} was not cleaned: {failure}"));
            }
            News::Status { .. } | News::Cleaned { .. } => {}
        }
    }
}
