//! Run directories from anywhere, merged into a fleet: Slurm's, Kubernetes', a colleague's, fetched ones.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iostone_lab::{new_id, read_or_make};
use iostone_model::fleet::{FLEET_SCHEMA, Fleet, FleetHost, HostState, Manifest, is_host_name};
use iostone_model::run::Plan;
use iostone_model::summary::{RunState, RunSummary};

use crate::archive::{Bounds, unpack};
use crate::directory::FleetDirectory;
use crate::error::FleetError;
use crate::manifest;

/// What became of all that was given.
pub struct Collected {
    /// The fleet of what was taken.
    pub directory: FleetDirectory,
    /// What was not taken: where it lies, and why.
    pub refused: Vec<(PathBuf, String)>,
    /// What was there already, under the name of which host.
    pub duplicates: Vec<(PathBuf, String)>,
    /// Runs without a manifest: nobody can say whether they were changed.
    pub unsealed: Vec<PathBuf>,
    /// Runs that had not come to their end, and of which host.
    pub unfinished: Vec<(PathBuf, String)>,
}

/// The deepest that runs are looked for below a directory that is given.
const DEEPEST: usize = 4;
const MOST_RUNS: usize = 20_000;

/// Merges run directories, archives of them, and directories that hold such, into a new fleet directory below `parent`. What is
/// refused is named, and the rest goes on.
///
/// # Errors
/// Nothing could be taken, or the file system's.
pub fn collect(given: &[PathBuf], parent: &Path, bounds: &Bounds) -> Result<Collected, FleetError> {
    let mut found = Vec::new();
    for path in given {
        fs::symlink_metadata(path).map_err(|error| FleetError::file("reading", path, error))?;
        find(path, DEEPEST, &mut found);
    }
    let staging = tempfile::Builder::new()
        .prefix(".collecting")
        .tempdir_in(parent)
        .map_err(|error| FleetError::file("making", parent, error))?;
    if found.len() > MOST_RUNS {
        return Err(FleetError::Usage(format!(
            "there are more than {MOST_RUNS} runs and archives; name a part of them"
        )));
    }
    let mut collected = Gathering::default();
    for (number, path) in found.iter().enumerate() {
        let part = staging.path().join(number.to_string());
        if let Err(error) = collected.take(path, &part, bounds) {
            collected.refused.push((path.clone(), error.to_string()));
            let _ = fs::remove_dir_all(&part);
        }
    }
    collected.place(parent)
}

/// Runs and archives at a path or below it.
fn find(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if found.len() > MOST_RUNS {
        return;
    }
    let Ok(kind) = fs::symlink_metadata(path).map(|found| found.file_type()) else { return };
    let archive = kind.is_file() && path.extension().is_some_and(|end| end == "tar");
    if archive || kind.is_dir() && path.join("plan.json").is_file() {
        found.push(path.to_owned());
    } else if kind.is_dir() && depth > 0 {
        let mut below: Vec<PathBuf> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        below.sort();
        for path in &below {
            find(path, depth - 1, found);
        }
    }
}

/// A run that was checked and copied.
struct Taken {
    host: FleetHost,
    part: PathBuf,
    text: String,
    plan: Box<Plan>,
    experiment: Option<String>,
}

#[derive(Default)]
struct Gathering {
    taken: Vec<Taken>,
    refused: Vec<(PathBuf, String)>,
    duplicates: Vec<(PathBuf, String)>,
    unsealed: Vec<PathBuf>,
    unfinished: Vec<(PathBuf, String)>,
}

impl Gathering {
    fn take(&mut self, path: &Path, part: &Path, bounds: &Bounds) -> Result<(), FleetError> {
        let sealed = if path.is_dir() {
            let sealed = manifest::check(path, bounds)?;
            copy(path, part, bounds)?;
            sealed
        } else {
            Some(unpack(path, part, bounds)?)
        };
        let digest = manifest::content_digest(part, bounds)?;
        let summary = read_or_make(part).map_err(|error| FleetError::Refused(error.to_string()))?;
        let name = name_of(sealed.as_ref(), &summary)?;
        if let Some(twin) = self.taken.iter().find(|one| one.host.digest.as_ref() == Some(&digest)) {
            if twin.host.name != name {
                let other = &twin.host.name;
                return Err(FleetError::Refused(format!(
                    "it says that it is of {name}, and is the run of {other}, file by file"
                )));
            }
            self.duplicates.push((path.to_owned(), name));
            return fs::remove_dir_all(part).map_err(|error| FleetError::file("removing", part, error));
        }
        if self.taken.iter().any(|one| one.host.name == name) {
            return Err(FleetError::Refused(format!(
                "another run says that it is of {name} too, and was given before it"
            )));
        }
        if let Some(first) = self.taken.first().filter(|one| one.experiment != summary.experiment_digest) {
            let other = &first.host.name;
            return Err(FleetError::Refused(format!(
                "it is of another experiment than the run of {other}, which was given first"
            )));
        }
        let plan_path = part.join("plan.json");
        let plan = fs::read(&plan_path).map_err(|error| FleetError::file("reading", &plan_path, error))?;
        let plan: Box<Plan> =
            serde_json::from_slice(&plan).map_err(|error| FleetError::damaged(&plan_path, error))?;
        let text = part.join("experiment.toml");
        let text = fs::read_to_string(&text).map_err(|error| FleetError::file("reading", &text, error))?;
        if sealed.is_none() {
            self.unsealed.push(path.to_owned());
        }
        if summary.state != RunState::Finished {
            self.unfinished.push((path.to_owned(), name.clone()));
        }
        self.taken.push(Taken {
            host: FleetHost {
                run: Some(format!("hosts/{name}")),
                name,
                state: HostState::Done,
                digest: Some(digest),
                ..FleetHost::default()
            },
            part: part.to_owned(),
            text,
            plan,
            experiment: summary.experiment_digest,
        });
        Ok(())
    }

    /// Moves what was taken into a fleet directory.
    fn place(self, parent: &Path) -> Result<Collected, FleetError> {
        let Some(first) = self.taken.first() else {
            let why = self.refused.first().map(|(path, why)| format!(": `{}`: {why}", path.display()));
            return Err(FleetError::Usage(format!("no run could be taken{}", why.unwrap_or_default())));
        };
        let plan = &first.plan;
        let fleet = Fleet {
            schema: FLEET_SCHEMA.to_owned(),
            fleet_id: new_id(),
            created_at: jiff::Timestamp::now().to_string(),
            iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: plan.experiment.name.clone(),
            question: plan.experiment.question.clone().unwrap_or_default(),
            seed: plan.seed,
            overrides: Vec::new(),
            quick: plan.quick,
            destroy: Vec::new(),
            inventory: String::new(),
            hosts: self.taken.iter().map(|one| one.host.clone()).collect(),
        };
        let directory = FleetDirectory::create(parent, fleet, &first.text)?;
        for one in &self.taken {
            let run = directory.run_of(&one.host.name);
            fs::rename(&one.part, &run).map_err(|error| FleetError::file("placing", &run, error))?;
        }
        let Self { refused, duplicates, unsealed, unfinished, .. } = self;
        Ok(Collected { directory, refused, duplicates, unsealed, unfinished })
    }
}

/// The host that a run is of: as its manifest says, or as the machine called itself.
fn name_of(sealed: Option<&Manifest>, summary: &RunSummary) -> Result<String, FleetError> {
    let declared = sealed.map(|manifest| manifest.host.as_str()).filter(|host| !host.is_empty());
    let name = declared.unwrap_or(&summary.machine.host);
    if is_host_name(name) {
        return Ok(name.to_owned());
    }
    let shown: String = name.chars().filter(|character| !character.is_control()).take(60).collect();
    Err(FleetError::Refused(format!("it says that it is of host `{shown}`, which cannot be a file's name")))
}

/// Copies the files of a run directory, and nothing else that lies there.
fn copy(run: &Path, part: &Path, bounds: &Bounds) -> Result<(), FleetError> {
    fs::create_dir_all(part).map_err(|error| FleetError::file("making", part, error))?;
    for (name, from) in manifest::list(run, bounds)? {
        let to = part.join(&name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| FleetError::file("making", parent, error))?;
        }
        let mut source = File::open(&from).map_err(|error| FleetError::file("reading", &from, error))?;
        let mut copy = File::create_new(&to).map_err(|error| FleetError::file("writing", &to, error))?;
        io::copy(&mut source, &mut copy).map_err(|error| FleetError::file("writing", &to, error))?;
    }
    Ok(())
}
