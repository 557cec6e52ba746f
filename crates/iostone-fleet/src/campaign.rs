//! From an inventory to run directories: start everywhere, ask rarely, fetch what has ended, name what is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iostone_model::fleet::{Archive, HostState, HostStatus, Manifest, RunState, is_host_name};
use iostone_model::run::Plan;
use serde_json::{Value, json};

use crate::archive::{Bounds, unpack};
use crate::directory::FleetDirectory;
use crate::engine::{Engine, EngineOptions, Event, EventState};
use crate::error::FleetError;
use crate::manifest;
use crate::reason::explain;

/// Unanswered questions after which a host counts as lost.
const MOST_UNANSWERED: u32 = 3;
/// Hosts that one playbook works on: Ansible holds what it knows of each in memory.
const BATCH: usize = 250;
/// Room that a host needs beside the program, in KiB.
const SPACE: u64 = 16 << 10;

/// The program for each architecture that `uname -m` names, with its SHA-256.
pub type Programs = BTreeMap<String, PathBuf>;

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two questions.
    pub poll: Duration,
    /// After which a host that nobody asks stops by itself.
    pub lease: Duration,
    /// For a connection.
    pub connect: Duration,
}

/// What is told while a fleet runs.
#[derive(Debug, Clone, PartialEq)]
pub enum News<'a> {
    /// The run of a host has begun.
    Started {
        /// The host.
        host: &'a str,
    },
    /// A host said how far it is.
    Status {
        /// The host.
        host: &'a str,
        /// What it said.
        status: &'a HostStatus,
    },
    /// A host's run directory is here and checked.
    Fetched {
        /// The host.
        host: &'a str,
    },
    /// A host has no result.
    Missing {
        /// The host.
        host: &'a str,
        /// Why.
        reason: &'a str,
        /// What to do.
        next: &'a str,
    },
    /// A host was cleaned, or could not be.
    Cleaned {
        /// The host.
        host: &'a str,
        /// Why not.
        failure: Option<&'a str>,
    },
}

/// A fleet at work.
pub struct Campaign<'a> {
    directory: &'a mut FleetDirectory,
    engine: Engine,
    programs: Programs,
    checksums: BTreeMap<String, String>,
    /// Room that a host needs, in KiB.
    space: u64,
    timing: Timing,
    bounds: Bounds,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(News<'_>),
    /// The command that completes the fleet.
    resume: String,
}

impl<'a> Campaign<'a> {
    /// Prepares Ansible for a fleet directory. `forks` hosts are worked on at once.
    ///
    /// # Errors
    /// The file system's.
    pub fn new(
        directory: &'a mut FleetDirectory,
        programs: Programs,
        timing: Timing,
        forks: u32,
        r#become: bool,
        stop: &'a AtomicBool,
        tell: &'a mut dyn FnMut(News<'_>),
    ) -> Result<Self, FleetError> {
        let bounds = Bounds::default();
        let mut checksums = BTreeMap::new();
        let mut space = SPACE;
        for (architecture, program) in &programs {
            let digest = manifest::digest_file(program, u64::MAX)?;
            space = space.max(SPACE + digest.bytes / 1024);
            checksums.insert(architecture.clone(), digest.sha256);
        }
        let options = EngineOptions {
            forks,
            persist: timing.poll * 2 + Duration::from_secs(60),
            connect_timeout: timing.connect,
            r#become,
            largest_file: bounds.total * 2,
        };
        let engine = Engine::new(Path::new(&directory.fleet.inventory), options)?;
        let resume =
            format!("iostone fleet run --resume {}", iostone_stack::quote(directory.path().as_os_str()));
        Ok(Self { directory, engine, programs, checksums, space, timing, bounds, stop, tell, resume })
    }

    /// Runs every host that has no result yet to an end, or until it is known why it has none.
    ///
    /// # Errors
    /// Ansible as a whole, or an interrupt. What was fetched is kept, and hosts that run go on until their lease is over.
    pub fn run(&mut self) -> Result<(), FleetError> {
        for host in &mut self.directory.fleet.hosts {
            // One that runs still is left alone by a start, and one that has stopped meanwhile goes on.
            if host.state != HostState::Done && is_host_name(&host.name) {
                host.state = HostState::Waiting;
                (host.reason, host.next) = (None, None);
            }
        }
        let mut results = self.start(&self.directory.in_state(HostState::Waiting));
        let mut unanswered = BTreeMap::new();
        let mut begun = Instant::now();
        while results.is_ok() {
            let running = self.directory.in_state(HostState::Running);
            if running.is_empty() {
                break;
            }
            self.rest(begun + self.timing.poll);
            begun = Instant::now();
            results = self.ask(&running, &mut unanswered).and_then(|ended| self.bring(&ended));
        }
        self.directory.save()?;
        results
    }

    /// Stops, undoes and removes everything of the fleet on every host. Gives the number of hosts where that failed.
    ///
    /// # Errors
    /// Ansible as a whole, or an interrupt.
    pub fn clean(&mut self, hosts: &[String]) -> Result<usize, FleetError> {
        let mut failures: BTreeMap<String, Option<String>> = BTreeMap::new();
        self.play("clean", hosts, |_, event| match event.state {
            EventState::Ok => {
                failures.insert(event.host, None);
            }
            _ => {
                failures.insert(event.host, Some(event.message));
            }
        })?;
        let mut failed = 0;
        for host in hosts {
            let failure = match failures.get(host) {
                Some(failure) => failure.as_deref(),
                None => Some("Ansible says nothing of it"),
            };
            failed += usize::from(failure.is_some());
            let words = failure
                .map(|failure| explain(host, failure, &self.directory.fleet.inventory, &self.resume).reason);
            (self.tell)(News::Cleaned { host, failure: words.as_deref() });
        }
        Ok(failed)
    }

    fn start(&mut self, hosts: &[String]) -> Result<(), FleetError> {
        if hosts.is_empty() {
            return Ok(());
        }
        let mut failed = Vec::new();
        let mut started = Vec::new();
        self.play("start", hosts, |campaign, event| match event.state {
            EventState::Ok if event.action.ends_with("raw") && event.stdout.is_empty() => {
                (campaign.tell)(News::Started { host: &event.host });
                started.push(event.host);
            }
            EventState::Ok => {}
            _ => failed.push((event.host, or_printed(event.message, event.stdout))),
        })?;
        for host in &started {
            self.set(host, HostState::Running);
        }
        for (host, message) in failed {
            self.miss(&host, &message);
        }
        for host in self.directory.in_state(HostState::Waiting) {
            self.miss(&host, "Ansible says nothing of it: is it still in the inventory?");
        }
        self.directory.save()
    }

    /// Asks every host how far it is, and gives those whose result can be fetched.
    fn ask(
        &mut self,
        hosts: &[String],
        unanswered: &mut BTreeMap<String, u32>,
    ) -> Result<Vec<(String, Archive)>, FleetError> {
        let mut answers = BTreeMap::new();
        self.play("poll", hosts, |_, event| {
            answers.insert(event.host.clone(), event);
        })?;
        let mut ended = Vec::new();
        for host in hosts {
            let status = match answers.remove(host) {
                Some(Event { state: EventState::Ok, stdout, .. }) => {
                    serde_json::from_str::<HostStatus>(&stdout)
                        .map_err(|_| "its status cannot be read".to_owned())
                }
                Some(Event { message, stdout, .. }) => Err(or_printed(message, stdout)),
                None => Err("Ansible says nothing of it".to_owned()),
            };
            match status {
                Ok(status) => {
                    unanswered.remove(host);
                    (self.tell)(News::Status { host, status: &status });
                    match (status.state, status.archive) {
                        (RunState::Running, _) => {}
                        (RunState::Done, Some(archive)) => ended.push((host.clone(), archive)),
                        (state, _) => {
                            let reason = status.reason.unwrap_or_else(|| lost_in_words(state).to_owned());
                            self.miss(host, &reason);
                        }
                    }
                }
                Err(message) => {
                    let count = unanswered.entry(host.clone()).or_insert(0);
                    *count += 1;
                    if *count >= MOST_UNANSWERED {
                        self.miss(host, &message);
                    }
                }
            }
        }
        Ok(ended)
    }

    /// Fetches results, checks them, and cleans the hosts that they came from.
    fn bring(&mut self, ended: &[(String, Archive)]) -> Result<(), FleetError> {
        if ended.is_empty() {
            return Ok(());
        }
        let results = self.results();
        fs::create_dir_all(&results).map_err(|error| FleetError::file("making", &results, error))?;
        let (hosts, mut too_large): (Vec<_>, Vec<_>) =
            ended.iter().partition(|(_, archive)| archive.bytes <= self.bounds.total);
        let names: Vec<String> = hosts.iter().map(|(host, _)| host.clone()).collect();
        let mut failures = BTreeMap::new();
        self.play("fetch", &names, |_, event| {
            if event.state != EventState::Ok {
                failures.insert(event.host, event.message);
            }
        })?;
        let mut fetched = Vec::new();
        for (host, archive) in hosts {
            if let Some(message) = failures.get(host) {
                self.miss(host, message);
                continue;
            }
            match self.receive(host, archive) {
                Ok(digest) => {
                    if let Some(kept) = self.directory.fleet.hosts.iter_mut().find(|one| one.name == *host) {
                        kept.state = HostState::Done;
                        kept.run = Some(format!("hosts/{host}"));
                        kept.digest = Some(digest);
                        (kept.reason, kept.next) = (None, None);
                    }
                    (self.tell)(News::Fetched { host });
                    fetched.push(host.clone());
                }
                Err(error) => self.miss(host, &error.to_string()),
            }
        }
        for (host, archive) in too_large.drain(..) {
            self.miss(
                host,
                &format!("refused: its archive has {} bytes, more than a host may deliver", archive.bytes),
            );
        }
        self.directory.save()?;
        self.clean(&fetched).map(|_| ())
    }

    /// Unpacks and checks what was fetched from a host, and gives its content's digest.
    fn receive(&self, host: &str, archive: &Archive) -> Result<String, FleetError> {
        let fetched = self.results().join(format!("{host}.tar"));
        let part = self.directory.path().join("hosts").join(format!(".{host}.part"));
        let received = self.check(host, archive, &fetched, &part);
        let _ = fs::remove_file(&fetched);
        if received.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        received
    }

    fn check(
        &self,
        host: &str,
        archive: &Archive,
        fetched: &Path,
        part: &Path,
    ) -> Result<String, FleetError> {
        let digest = manifest::digest_file(fetched, self.bounds.total)?;
        if digest.sha256 != archive.sha256 {
            return Err(FleetError::Refused(
                "what was fetched is not what the host announced: digests differ".to_owned(),
            ));
        }
        let _ = fs::remove_dir_all(part);
        let found = unpack(fetched, part, &self.bounds)?;
        self.check_identity(host, &found, part)?;
        let content = manifest::digest_of(&found.files);
        let twin = self.directory.fleet.hosts.iter().find(|one| one.digest.as_ref() == Some(&content));
        if let Some(twin) = twin.filter(|twin| twin.name != host) {
            return Err(FleetError::Refused(format!("it delivered the run of {}, file by file", twin.name)));
        }
        let run = self.directory.run_of(host);
        if run.exists() {
            fs::remove_dir_all(&run).map_err(|error| FleetError::file("replacing", &run, error))?;
        }
        fs::rename(part, &run).map_err(|error| FleetError::file("placing", &run, error))?;
        Ok(content)
    }

    /// Whether a run is this fleet's and this host's.
    fn check_identity(&self, host: &str, found: &Manifest, run: &Path) -> Result<(), FleetError> {
        let fleet = &self.directory.fleet;
        let refused = |words: String| Err(FleetError::Refused(words));
        if found.fleet_id != fleet.fleet_id {
            return refused(format!("its run belongs to fleet `{}`", bounded(&found.fleet_id)));
        }
        if found.host != host {
            return refused(format!("its run says that it is of host `{}`", bounded(&found.host)));
        }
        let read = |path: &Path| fs::read(path).map_err(|error| FleetError::file("reading", path, error));
        let plan_path = run.join("plan.json");
        let plan: Plan = serde_json::from_slice(&read(&plan_path)?)
            .map_err(|error| FleetError::damaged(&plan_path, error))?;
        if plan.iostone_version != fleet.iostone_version {
            let (there, here) = (bounded(&plan.iostone_version), &fleet.iostone_version);
            return refused(format!("another version: its run was made by iostone {there}, not {here}"));
        }
        if plan.seed != crate::directory::seed_of(fleet.seed, host) {
            return refused("its run has another seed than the one it was given".to_owned());
        }
        if read(&run.join("experiment.toml"))? != read(&self.directory.experiment())? {
            return refused("its run is of another experiment".to_owned());
        }
        Ok(())
    }

    fn results(&self) -> PathBuf {
        self.directory.path().join(".fetched")
    }

    fn play(
        &mut self,
        playbook: &str,
        hosts: &[String],
        mut take: impl FnMut(&mut Self, Event),
    ) -> Result<(), FleetError> {
        let variables = self.variables();
        for batch in hosts.chunks(BATCH) {
            let mut events = Vec::new();
            let told = self.engine.play(playbook, batch, &variables, self.stop, |event| events.push(event));
            for event in events.into_iter().filter(|event| batch.contains(&event.host)) {
                take(self, event);
            }
            told?;
        }
        Ok(())
    }

    /// What the role is told. Nothing in it is a secret.
    fn variables(&self) -> Value {
        let fleet = &self.directory.fleet;
        let mut variables = json!({
            "iostone_fleet": fleet.fleet_id,
            "iostone_experiment": self.directory.experiment(),
            "iostone_binaries": self.programs,
            "iostone_checksums": self.checksums,
            "iostone_version": fleet.iostone_version,
            "iostone_lease": format!("{}s", self.timing.lease.as_secs()),
            "iostone_seed": fleet.seed,
            "iostone_set": fleet.overrides,
            "iostone_quick": fleet.quick,
            "iostone_results": self.results(),
            "iostone_space": self.space,
        });
        // What is not said here can be said in the inventory, host by host.
        if !fleet.destroy.is_empty()
            && let Some(variables) = variables.as_object_mut()
        {
            variables.insert("iostone_destroy".to_owned(), json!(fleet.destroy));
        }
        variables
    }

    fn rest(&self, until: Instant) {
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(Duration::from_millis(200)));
        }
    }

    fn set(&mut self, host: &str, state: HostState) {
        for one in self.directory.fleet.hosts.iter_mut().filter(|one| one.name == host) {
            one.state = state;
        }
    }

    fn miss(&mut self, host: &str, message: &str) {
        let missing = explain(host, message, &self.directory.fleet.inventory, &self.resume);
        (self.tell)(News::Missing { host, reason: &missing.reason, next: &missing.next });
        for one in self.directory.fleet.hosts.iter_mut().filter(|one| one.name == host) {
            one.state = HostState::Missing;
            one.reason = Some(missing.reason.clone());
            one.next = Some(missing.next.clone());
        }
    }
}

/// The message, or the last of what was printed where there is none.
fn or_printed(message: String, printed: String) -> String {
    if message.trim().is_empty() { printed } else { message }
}

/// What a host says, short enough for a sentence.
fn bounded(words: &str) -> String {
    words.chars().filter(|character| !character.is_control()).take(60).collect()
}

fn lost_in_words(state: RunState) -> &'static str {
    match state {
        RunState::Expired => "its lease was over before anybody asked: it stopped and undid everything",
        RunState::Dead => "its run ended without a word: killed, or the host was restarted",
        _ => "its run failed",
    }
}
