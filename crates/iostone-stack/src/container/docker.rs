//! Docker: a daemon of our own with its data on the stack's filesystem, an image made on the spot, and a container that
//! waits for the agent.

pub(super) mod client;
mod daemon;
pub(super) mod seclusion;
pub(super) mod told;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_model::experiment::{Contained, ContainerPlace, Filesystem, Stack, StorageDriver};
use iostone_model::trial::{Check, ContainerFacts};
use iostone_probe::programs::find_program;

use super::image::{self, BIND_INSIDE, LAYER_INSIDE, TMPFS_INSIDE, VOLUME_INSIDE};
use super::{AGENT_VARIABLE, ENGINE_VARIABLE, StandingContainer, alike};
use crate::error::StackError;
use crate::fill::forget_cache;
use crate::journal::random_hex;
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::tool;
use client::failed;
use daemon::Daemon;
use told::{Info, Inspected};

/// The word for it in errors and facts.
const ENGINE: &str = "docker";
/// For questions that a daemon answers at once.
const QUESTION: Duration = Duration::from_secs(30);
/// For what may have to wait for a slow disk.
const WORK: Duration = Duration::from_secs(600);
/// The name of the image, of which a daemon has one.
const IMAGE: &str = "iostone:trial";
/// The name of the engine's volume.
pub(super) const VOLUME: &str = "iostone";

/// The layer.
#[derive(Debug)]
pub(crate) struct DockerLayer {
    contained: Contained,
    /// Once it stands.
    running: Option<RunningContainer>,
}

#[derive(Debug)]
struct RunningContainer {
    daemon: Daemon,
    /// The container's name.
    name: String,
    /// Where the workload works inside, and the host's directory or volume behind it.
    inside: Inside,
}

/// What the container is given to work in.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    pub(super) place: ContainerPlace,
    pub(super) directory: PathBuf,
    /// The directory of the host that is mounted there, or that is worked in.
    pub(super) host: Option<PathBuf>,
}

impl DockerLayer {
    /// # Errors
    /// [`StackError::Usage`] for what it cannot be asked.
    pub(crate) fn new(contained: &Contained) -> Result<Self, StackError> {
        if contained.volatile {
            return Err(StackError::usage(
                "container.volatile",
                "Docker has no layer that ignores fsync; use `podman`, which has one with `--rm`, or `overlay`",
            ));
        }
        Ok(Self { contained: contained.clone(), running: None })
    }

    fn running(&self) -> Result<&RunningContainer, StackError> {
        self.running.as_ref().ok_or_else(|| StackError::unexpected("container", "it does not stand"))
    }
}

impl Layer for DockerLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mount = site
            .mount
            .clone()
            .ok_or_else(|| StackError::usage("container", "it needs a filesystem in the stack"))?;
        let daemon = Daemon::start(site, &mount, self.contained.effective_driver())?;
        let info = info(&daemon, site)?;
        check_driver(&info, self.contained.effective_driver(), &daemon)?;
        let import_seconds = import(&daemon, site)?;
        let inside = Inside::make(self.contained.place, &mount)?;
        let name = format!("iostone-{}", daemon.mark);
        let begun = Instant::now();
        run(&daemon, &name, &inside, site)?;
        let start_seconds = begun.elapsed().as_secs_f64();
        let inspected = inspect(&daemon, &name, site)?;
        let backing = lay_out(&inside, &inspected, &mount, site)?;
        let facts = ContainerFacts {
            kind: ENGINE.to_owned(),
            engine_version: Some(info.server_version.clone()),
            runtime: Some(runtime_in_words(&info.default_runtime)),
            driver: info.driver.clone(),
            backing_filesystem: backing_filesystem(&info, site),
            place: self.contained.place.word().to_owned(),
            directory: inside.directory.display().to_string(),
            daemon_seconds: Some(daemon.seconds),
            import_seconds: Some(import_seconds),
            start_seconds: Some(start_seconds),
            ..ContainerFacts::default()
        };
        let mark = random_hex()?;
        site.notes.push(format!(
            "Docker {} of its own, {} on {}; containers without the seccomp filter, with iostone's own limits of open files \
             and locked memory",
            info.server_version, info.driver, facts.backing_filesystem
        ));
        let agent = agent(&daemon, &name, &inside, &mark, site)?;
        inside.hand_over(
            StandingContainer { agent, directory: inside.directory.clone(), backing, mark, facts },
            site,
        );
        self.running = Some(RunningContainer { daemon, name, inside });
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let RunningContainer { daemon, name, inside } = self.running()?;
        daemon.check()?;
        let info = info(daemon, site)?;
        let inspected = inspect(daemon, name, site)?;
        let mut checks = vec![check_driver(&info, self.contained.effective_driver(), daemon)?];
        checks.extend(check_mount(inside, &inspected)?);
        Ok(checks)
    }
}

impl Inside {
    /// Gives the container that stands to the layers above, and with it the directory of the host that the workload's is.
    pub(super) fn hand_over(&self, running: StandingContainer, site: &mut Site) {
        if matches!(self.place, ContainerPlace::Host | ContainerPlace::Bind) {
            site.directory.clone_from(&self.host);
        }
        site.container = Some(running);
    }

    /// Makes the directory of the host that it needs.
    pub(super) fn make(place: ContainerPlace, mount: &Path) -> Result<Self, StackError> {
        let (directory, host) = match place {
            ContainerPlace::Host => (mount.join("host"), Some(mount.join("host"))),
            ContainerPlace::Bind => (PathBuf::from(BIND_INSIDE), Some(mount.join("bind"))),
            ContainerPlace::Volume => (PathBuf::from(VOLUME_INSIDE), None),
            ContainerPlace::Layer => (PathBuf::from(LAYER_INSIDE), None),
            ContainerPlace::Tmpfs => (PathBuf::from(TMPFS_INSIDE), None),
        };
        if let Some(host) = &host {
            fs::create_dir(host).map_err(|source| StackError::io("mkdir", host, source))?;
        }
        Ok(Self { place, directory, host })
    }

    /// The words of `docker run` that mount it. Values are fields of CSV (RFC 4180), as the path may hold a comma.
    fn mount_words(&self) -> Vec<String> {
        let target = self.directory.display();
        match (self.place, &self.host) {
            (ContainerPlace::Bind, Some(host)) => {
                let source = format!("source={}", host.display()).replace('"', "\"\"");
                vec!["--mount".to_owned(), format!("type=bind,\"{source}\",target={target}")]
            }
            (ContainerPlace::Volume, _) => {
                vec!["--mount".to_owned(), format!("type=volume,source={VOLUME},target={target}")]
            }
            (ContainerPlace::Tmpfs, _) => vec!["--tmpfs".to_owned(), format!("{target}:rw,exec")],
            _ => Vec::new(),
        }
    }
}

fn info(daemon: &Daemon, site: &Site) -> Result<Info, StackError> {
    daemon.client.ask(&["info", "--format", "{{json .}}"], QUESTION, site.interrupt())
}

/// A container that runs; else an error with its last words.
fn inspect(daemon: &Daemon, name: &str, site: &Site) -> Result<Inspected, StackError> {
    let words = ["inspect", "--type", "container", "--format", "{{json .}}", name];
    let inspected: Inspected = daemon.client.ask(&words, QUESTION, site.interrupt())?;
    if inspected.state.running {
        return Ok(inspected);
    }
    let error = Some(inspected.state.error.as_str()).filter(|error| !error.is_empty());
    Err(failed(format!("its container is {}: {}", inspected.state.status, error.unwrap_or("it has ended"))))
}

/// That the daemon works as it was asked to, and where.
fn check_driver(info: &Info, driver: StorageDriver, daemon: &Daemon) -> Result<Check, StackError> {
    let in_words = |name: &str, root: &Path| format!("driver {name} in {}", root.display());
    let asked = in_words(driver.docker_name(), &daemon.data_root);
    let read_back = in_words(&info.driver, &info.docker_root_dir);
    let from = "docker info".to_owned();
    if asked != read_back {
        return Err(StackError::NotApplied { layer: "container", asked, read_back, from });
    }
    Ok(Check { layer: "container".to_owned(), asked, read_back, from })
}

/// That the place to work in is mounted inside, from where it was asked.
fn check_mount(inside: &Inside, inspected: &Inspected) -> Result<Option<Check>, StackError> {
    let kind = match inside.place {
        ContainerPlace::Bind => "bind",
        ContainerPlace::Volume => "volume",
        // What is no mount of the host's is seen from inside.
        _ => return Ok(None),
    };
    let found = inspected.mounts.iter().find(|mount| mount.destination == inside.directory);
    let source = inside.host.as_ref().map(|host| format!(" of {}", host.display())).unwrap_or_default();
    let asked = format!("{kind}{source} at {}", inside.directory.display());
    let read_back = found.map_or("nothing there".to_owned(), |mount| {
        let source = inside.host.as_ref().map(|_| format!(" of {}", mount.source.display()));
        format!("{}{} at {}", mount.kind, source.unwrap_or_default(), mount.destination.display())
    });
    let from = "docker inspect".to_owned();
    if asked != read_back {
        return Err(StackError::NotApplied { layer: "container", asked, read_back, from });
    }
    Ok(Some(Check { layer: "container".to_owned(), asked, read_back, from }))
}

/// Makes the image from one stream, without a file of it; gives the seconds that it took.
fn import(daemon: &Daemon, site: &Site) -> Result<f64, StackError> {
    let begun = Instant::now();
    let (provision, seed, interrupt) = (&site.provision, site.seed, site.interrupt());
    let feed = |sink: &mut dyn Write| image::write_image(provision, seed, sink, interrupt);
    let answer = daemon.client.feed(&["import", "-", IMAGE], WORK, interrupt, Some(&feed))?;
    if !answer.succeeded {
        daemon.check()?;
        return Err(daemon.failed_with_room_hint("the image could not be imported", &answer.words));
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Starts the container. Its first process is the agent with a standard input that stays open, so it waits for ever.
fn run(daemon: &Daemon, name: &str, inside: &Inside, site: &Site) -> Result<(), StackError> {
    let Some((entry, rest)) = site.provision.program.split_first() else {
        return Err(StackError::unexpected("container", "no program was provided to run in it"));
    };
    let mut words: Vec<String> = [
        "run",
        "--detach",
        "--interactive",
        "--pull",
        "never",
        "--name",
        name,
        "--network",
        "none",
        // It knows no io_uring since Docker 25, and costs time at every call.
        "--security-opt",
        "seccomp=unconfined",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(["--env".to_owned(), format!("{ENGINE_VARIABLE}={}", daemon.mark)]);
    words.extend(alike::words());
    words.extend(inside.mount_words());
    words.extend(["--entrypoint".to_owned(), entry.clone(), IMAGE.to_owned()]);
    words.extend(rest.iter().cloned());
    words.push("agent".to_owned());
    let answer = daemon.client.run(&words, WORK, site.interrupt())?;
    if !answer.succeeded {
        daemon.check()?;
        return Err(daemon.failed_with_room_hint("the container could not be started", &answer.words));
    }
    Ok(())
}

/// Lays the workload's files where it works, flushes everything and takes the files out of the page cache. Gives the
/// directory of the host that it works in; none for memory.
pub(super) fn lay_out(
    inside: &Inside,
    inspected: &Inspected,
    mount: &Path,
    site: &Site,
) -> Result<Option<PathBuf>, StackError> {
    let process = PathBuf::from(format!("/proc/{}", inspected.state.pid));
    let below_root = |directory: &Path| directory.strip_prefix("/").unwrap_or(directory).to_owned();
    let seen = process.join("root").join(below_root(&inside.directory));
    let backing = match inside.place {
        ContainerPlace::Host | ContainerPlace::Bind => inside.host.clone(),
        ContainerPlace::Volume => {
            let volume = inspected.mounts.iter().find(|mount| mount.destination == inside.directory);
            volume.map(|volume| volume.source.clone())
        }
        ContainerPlace::Tmpfs => None,
        ContainerPlace::Layer => {
            // The first change copies the directory itself up, so that it is there on the host as well.
            let first = seen.join(".iostone");
            File::create(&first)
                .and_then(|_| fs::remove_file(&first))
                .map_err(|source| StackError::io("write", &first, source))?;
            let root = match inspected.graph_driver.upper() {
                Some(upper) => upper,
                None => root_on_host(&process, mount)?,
            };
            Some(root.join(below_root(&inside.directory)))
        }
    };
    if let (Some(lower), false) = (site.provision.lower, inside.place == ContainerPlace::Layer) {
        let place = if inside.place == ContainerPlace::Host { &inside.directory } else { &seen };
        image::lay_lower(lower, place, site.seed, site.interrupt())?;
    }
    let root = File::open(mount).map_err(|source| StackError::io("open", mount, source))?;
    rustix::fs::syncfs(&root).map_err(|source| StackError::io("syncfs", mount, source))?;
    if inside.place == ContainerPlace::Layer {
        let lower = inspected.graph_driver.lower().into_iter();
        let layers = lower.map(|layer| layer.join(below_root(&inside.directory))).chain(backing.clone());
        for layer in layers.filter(|layer| layer.is_dir()) {
            forget(&layer)?;
        }
    }
    Ok(backing)
}

/// Takes the files of a directory out of the page cache.
fn forget(directory: &Path) -> Result<(), StackError> {
    let entries = fs::read_dir(directory).map_err(|source| StackError::io("list", directory, source))?;
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
        let file = File::open(&path).map_err(|source| StackError::io("open", &path, source))?;
        forget_cache(&file, &path)?;
    }
    Ok(())
}

/// The directory of the stack's filesystem that is the root of a process, from the mount tables of both.
fn root_on_host(process: &Path, mount: &Path) -> Result<PathBuf, StackError> {
    let table = process.join("mountinfo");
    let bytes = fs::read(&table).map_err(|source| StackError::io("read", &table, source))?;
    let mounts = mountinfo::parse(&bytes);
    let own = mountinfo::own_mounts()?;
    let root = mounts.iter().rev().find(|mounted| mounted.target == Path::new("/"));
    let stack = own.iter().rev().find(|mounted| mounted.target == mount);
    root.zip(stack)
        .and_then(|(root, stack)| root.root.strip_prefix(&stack.root).ok())
        .map(|rest| mount.join(rest))
        .ok_or_else(|| failed("the root of its container is not on the stack's filesystem".to_owned()))
}

/// How the agent is started: inside, or beside it.
fn agent(
    daemon: &Daemon,
    name: &str,
    inside: &Inside,
    mark: &str,
    site: &Site,
) -> Result<Vec<String>, StackError> {
    if inside.place == ContainerPlace::Host {
        return Ok(vec![site.own_program()?.display().to_string(), "agent".to_owned()]);
    }
    let mark = format!("{AGENT_VARIABLE}={mark}");
    let mut words = vec!["exec", "--interactive", "--env", &mark, name];
    words.extend(site.provision.program.iter().map(String::as_str));
    words.push("agent");
    daemon.client.words(&words)
}

/// Docker calls the whole family `extfs`; which of them it is, the stack knows.
fn backing_filesystem(info: &Info, site: &Site) -> String {
    let told = info.status("Backing Filesystem").filter(|told| *told != "extfs");
    told.or(site.filesystem_kind).unwrap_or("unknown").to_owned()
}

/// "runc 1.1.5".
pub(super) fn runtime_in_words(name: &str) -> String {
    // What is told is not to name just any program.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return name.to_owned();
    }
    let version = find_program(name).and_then(|program| tool::run(&program, &["--version"], None).ok());
    let first = version.as_ref().and_then(|output| output.stdout.lines().next()).unwrap_or_default();
    match first.split_whitespace().next_back().filter(|_| first.starts_with(name)) {
        Some(version) => format!("{name} {}", version.split('+').next().unwrap_or(version)),
        None => name.to_owned(),
    }
}

/// What this machine lacks for it.
///
/// # Errors
/// As [`super::examine`].
pub(super) fn examine(stack: &Stack) -> Result<(), StackError> {
    let driver = stack.container.contained().map(Contained::effective_driver);
    if driver == Some(StorageDriver::Btrfs) && !matches!(stack.filesystem, Filesystem::Btrfs(_)) {
        return Err(StackError::usage(
            "container.driver",
            "`btrfs` keeps layers as subvolumes and needs `filesystem = { kind = \"btrfs\" }`; take `overlay2` or `vfs`",
        ));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(StackError::NeedsRoot { what: "a Docker daemon".to_owned() });
    }
    for program in ["dockerd", "docker", "containerd", "runc"] {
        tool::find(program)?;
    }
    seclusion::check_places()
}
