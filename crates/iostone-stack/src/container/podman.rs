//! Podman: a storage of our own on the stack's filesystem, without a daemon, an image made on the spot, and a container
//! that waits for the agent.

mod command;
mod told;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_model::experiment::{Contained, ContainerPlace, Filesystem, Stack, StorageDriver};
use iostone_model::trial::{Check, ContainerFacts};

use super::docker::told::Inspected;
use super::docker::{Inside, VOLUME, lay_out, runtime_in_words};
use super::{AGENT_VARIABLE, ENGINE_VARIABLE, StandingContainer, alike, image, room};
use crate::error::StackError;
use crate::journal::random_hex;
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::tool;
use command::{Podman, failed};
use told::Info;

/// The word for it in errors and facts.
const ENGINE: &str = "podman";
/// For questions.
const QUESTION: Duration = Duration::from_secs(60);
/// For what may have to wait for a slow disk.
const WORK: Duration = Duration::from_secs(600);
/// So many processes may be inside; Podman lowers its own limit before it sets that of a container, and cannot go above it.
const PROCESSES_MAX: u64 = 32768;
/// The name of the image, in full, so that it is looked up nowhere else.
const IMAGE: &str = "localhost/iostone:trial";

/// The layer.
#[derive(Debug)]
pub(crate) struct PodmanLayer {
    contained: Contained,
    /// Once it stands.
    running: Option<RunningContainer>,
}

#[derive(Debug)]
struct RunningContainer {
    podman: Podman,
    /// The container's name.
    name: String,
    inside: Inside,
}

impl PodmanLayer {
    /// # Errors
    /// [`StackError::Usage`] for what it cannot be asked.
    pub(crate) fn new(contained: &Contained) -> Result<Self, StackError> {
        if contained.volatile && contained.effective_driver() != StorageDriver::Overlay2 {
            return Err(StackError::usage(
                "container.volatile",
                format!(
                    "only overlayfs can ignore fsync, not Podman's driver `{}`; leave it out, or use `driver = \"overlay2\"`",
                    contained.effective_driver().podman_name()
                ),
            ));
        }
        if contained.volatile && contained.place != ContainerPlace::Layer {
            return Err(StackError::usage(
                "container.volatile",
                format!(
                    "only the container's own layer can ignore fsync, not `place = \"{}\"`; leave it out, or use `place = \
                     \"layer\"`",
                    contained.place.word()
                ),
            ));
        }
        Ok(Self { contained: contained.clone(), running: None })
    }
}

impl Layer for PodmanLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let mount = site
            .mount
            .clone()
            .ok_or_else(|| StackError::usage("container", "it needs a filesystem in the stack"))?;
        let driver = self.contained.effective_driver();
        let podman = Podman::begin(site, &mount, driver)?;
        let info = info(&podman, site)?;
        check_driver(&info, driver, &podman)?;
        let import_seconds = import(&podman, site)?;
        let inside = Inside::make(self.contained.place, &mount)?;
        let name = format!("iostone-{}", podman.mark);
        let begun = Instant::now();
        run(&podman, &name, &inside, self.contained.volatile, site)?;
        let start_seconds = begun.elapsed().as_secs_f64();
        let inspected = inspect(&podman, &name, site)?;
        let backing = lay_out(&inside, &inspected, &mount, site)?;
        let facts = ContainerFacts {
            kind: ENGINE.to_owned(),
            engine_version: Some(info.version.version.clone()),
            runtime: Some(runtime_in_words(&info.host.oci_runtime.name)),
            driver: info.store.driver.clone(),
            backing_filesystem: backing_filesystem(&info, site),
            place: self.contained.place.word().to_owned(),
            directory: inside.directory.display().to_string(),
            volatile: self.contained.volatile,
            import_seconds: Some(import_seconds),
            start_seconds: Some(start_seconds),
            ..ContainerFacts::default()
        };
        site.notes.push(format!(
            "Podman {} with a storage of its own, {} on {}{}; containers without the seccomp filter, with iostone's \
             own limits of open files and locked memory",
            info.version.version,
            facts.driver,
            facts.backing_filesystem,
            if self.contained.volatile { ", started with `--rm`, whose layer drops every fsync" } else { "" },
        ));
        let mark = random_hex()?;
        let agent = agent(&podman, &name, &inside, &mark, site)?;
        inside.hand_over(
            StandingContainer { agent, directory: inside.directory.clone(), backing, mark, facts },
            site,
        );
        self.running = Some(RunningContainer { podman, name, inside });
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let Some(RunningContainer { podman, name, inside }) = &self.running else {
            return Err(StackError::unexpected("container", "it does not stand"));
        };
        let driver = self.contained.effective_driver();
        let mut checks = vec![check_driver(&info(podman, site)?, driver, podman)?];
        let inspected = inspect(podman, name, site)?;
        checks.extend(check_mount(inside, &inspected)?);
        if driver == StorageDriver::Overlay2 {
            checks.push(check_layer(self.contained.volatile, &inspected)?);
        }
        Ok(checks)
    }
}

fn info(podman: &Podman, site: &Site) -> Result<Info, StackError> {
    podman.ask(&["info", "--format", "json"], QUESTION, site.interrupt())
}

/// A container that runs; else an error with its last words.
fn inspect(podman: &Podman, name: &str, site: &Site) -> Result<Inspected, StackError> {
    let told: Vec<Inspected> =
        podman.ask(&["inspect", "--type", "container", name], QUESTION, site.interrupt())?;
    let Some(inspected) = told.into_iter().next() else {
        return Err(failed(format!("its container `{name}` is gone")));
    };
    // Without a daemon it is Podman's last knowledge, which a killed conmon does not correct.
    // Of a process that nobody has waited for, the kernel tells no mounts.
    let is_alive = fs::read(format!("/proc/{}/mountinfo", inspected.state.pid)).is_ok();
    if inspected.state.running && is_alive {
        return Ok(inspected);
    }
    let status = if inspected.state.running { "gone" } else { inspected.state.status.as_str() };
    let error = Some(inspected.state.error.as_str()).filter(|error| !error.is_empty());
    Err(failed(format!("its container is {status}: {}", error.unwrap_or("it has ended"))))
}

/// That it works as it was asked to, and where.
fn check_driver(info: &Info, driver: StorageDriver, podman: &Podman) -> Result<Check, StackError> {
    let in_words = |name: &str, root: &Path| format!("driver {name} in {}", root.display());
    check(
        in_words(driver.podman_name(), &podman.root),
        in_words(&info.store.driver, &info.store.root),
        "podman info",
    )
}

/// That the place to work in is mounted inside, from where it was asked.
fn check_mount(inside: &Inside, inspected: &Inspected) -> Result<Option<Check>, StackError> {
    let kind = match inside.place {
        ContainerPlace::Bind => "bind",
        ContainerPlace::Volume => "volume",
        // What is no mount of the host's is seen from inside.
        ContainerPlace::Host | ContainerPlace::Layer | ContainerPlace::Tmpfs => return Ok(None),
    };
    let in_words = |kind: &str, source: Option<&PathBuf>| {
        let source = source.map(|source| format!(" of {}", source.display())).unwrap_or_default();
        format!("{kind}{source} at {}", inside.directory.display())
    };
    let found = inspected.mounts.iter().find(|mount| mount.destination == inside.directory);
    let read_back = found.map_or("nothing there".to_owned(), |mount| {
        in_words(&mount.kind, inside.host.as_ref().map(|_| &mount.source))
    });
    check(in_words(kind, inside.host.as_ref()), read_back, "podman inspect").map(Some)
}

/// Whether the container's own layer keeps fsync: `volatile` on kernels from 5.10, `fsync=volatile` as later ones write it
/// (Documentation/filesystems/overlayfs.rst, "Volatile mount").
fn check_layer(volatile: bool, inspected: &Inspected) -> Result<Check, StackError> {
    let table = PathBuf::from(format!("/proc/{}/mountinfo", inspected.state.pid));
    let bytes = fs::read(&table).map_err(|source| StackError::io("read", &table, source))?;
    let mounts = mountinfo::parse(&bytes);
    let root = mounts.iter().rev().find(|mounted| mounted.target == Path::new("/"));
    let is_dropped = root.is_some_and(|root| {
        root.super_options.iter().any(|option| matches!(option.as_str(), "volatile" | "fsync=volatile"))
    });
    let in_words = |kind: &str, is_dropped: bool| {
        format!("root on {kind}, fsync {}", if is_dropped { "dropped" } else { "kept" })
    };
    let kind = root.map_or("nothing", |root| root.filesystem.as_str());
    check(in_words("overlay", volatile), in_words(kind, is_dropped), &table.display().to_string())
}

fn check(asked: String, read_back: String, from: &str) -> Result<Check, StackError> {
    let from = from.to_owned();
    if asked != read_back {
        return Err(StackError::NotApplied { layer: "container", asked, read_back, from });
    }
    Ok(Check { layer: "container".to_owned(), asked, read_back, from })
}

/// Makes the image; gives the seconds that it took. Podman keeps the stream in a file first, in the trial's directory.
fn import(podman: &Podman, site: &Site) -> Result<f64, StackError> {
    let begun = Instant::now();
    let (provision, seed, interrupt) = (&site.provision, site.seed, site.interrupt());
    let feed = |sink: &mut dyn Write| image::write_image(provision, seed, sink, interrupt);
    room::check_stream(provision, &podman.spool())?;
    let answer = podman.import(IMAGE, WORK, interrupt, &feed)?;
    if !answer.succeeded {
        return Err(podman.failed_with_room_hint("the image could not be imported", &answer.words));
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Starts the container. Its first process is the agent with a standard input that stays open, so it waits for ever.
fn run(podman: &Podman, name: &str, inside: &Inside, volatile: bool, site: &Site) -> Result<(), StackError> {
    if site.provision.program.is_empty() {
        return Err(StackError::unexpected("container", "no program was provided to run in it"));
    }
    let entry = serde_json::to_string(&site.provision.program)
        .map_err(|error| StackError::unexpected("container", error.to_string()))?;
    let mut words: Vec<String> = ["run", "--detach", "--interactive", "--pull", "never", "--name", name]
        .into_iter()
        // The host's interfaces are not touched, and nothing inside reaches any.
        .chain(["--network", "none", "--log-driver", "none", "--http-proxy=false", "--systemd", "false"])
        // Filters cost time at every call, and a profile would be loaded into the kernel for all.
        .chain(["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"])
        .chain(["--security-opt", "label=disable", "--cgroups", "no-conmon"])
        .map(str::to_owned)
        .collect();
    words.extend(["--cgroup-parent".to_owned(), format!("/{}", podman.group)]);
    words.extend(["--env".to_owned(), format!("{ENGINE_VARIABLE}={}", podman.mark)]);
    // Podman's own limits, of a million files and four million processes, are more than some hosts allow it to set.
    words.extend(alike::words());
    let processes = rustix::process::getrlimit(rustix::process::Resource::Nproc);
    let most = processes.current.unwrap_or(PROCESSES_MAX).min(PROCESSES_MAX);
    words.extend(["--ulimit".to_owned(), format!("nproc={most}:{most}")]);
    if volatile {
        // What Podman mounts `volatile` (podman-run(1), "--rm").
        words.push("--rm".to_owned());
    }
    words.extend(mount_words(inside));
    words.extend(["--entrypoint".to_owned(), entry, IMAGE.to_owned(), "agent".to_owned()]);
    let answer = podman.run(&words, WORK, site.interrupt())?;
    if !answer.succeeded {
        return Err(podman.failed_with_room_hint("the container could not be started", &answer.words));
    }
    Ok(())
}

/// The words of `podman run` that mount the place to work in. Versions before 5 know no quotes in them.
fn mount_words(inside: &Inside) -> Vec<String> {
    let target = inside.directory.display();
    match (inside.place, &inside.host) {
        (ContainerPlace::Bind, Some(host)) => {
            vec!["--mount".to_owned(), format!("type=bind,source={},target={target}", host.display())]
        }
        (ContainerPlace::Volume, _) => {
            vec!["--mount".to_owned(), format!("type=volume,source={VOLUME},target={target}")]
        }
        (ContainerPlace::Tmpfs, _) => vec!["--tmpfs".to_owned(), format!("{target}:rw,exec")],
        _ => Vec::new(),
    }
}

/// How the agent is started: inside, or beside it.
fn agent(
    podman: &Podman,
    name: &str,
    inside: &Inside,
    mark: &str,
    site: &Site,
) -> Result<Vec<String>, StackError> {
    if inside.place == ContainerPlace::Host {
        return Ok(vec![site.own_program()?.display().to_string(), "agent".to_owned()]);
    }
    let mut words: Vec<String> =
        ["exec", "--interactive", "--env", &format!("{AGENT_VARIABLE}={mark}"), name]
            .map(str::to_owned)
            .to_vec();
    words.extend(site.provision.program.iter().cloned());
    words.push("agent".to_owned());
    podman.words(&words)
}

/// Podman calls the whole family `extfs`; which of them it is, the stack knows.
fn backing_filesystem(info: &Info, site: &Site) -> String {
    let told = info.backing_filesystem().filter(|told| *told != "extfs");
    told.or(site.filesystem_kind).unwrap_or("unknown").to_owned()
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
        return Err(StackError::NeedsRoot {
            what: "a container of Podman with a storage of its own".to_owned(),
        });
    }
    for program in ["podman", "conmon"] {
        tool::find(program)?;
    }
    command::runtime().map(|_| ())
}
