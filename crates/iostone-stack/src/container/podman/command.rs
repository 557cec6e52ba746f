//! Podman's command line, always for a storage of our own: whatever the user's surroundings, settings and containers are.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostone_model::experiment::StorageDriver;
use iostone_probe::programs::{find_program, search_path};
use serde::de::DeserializeOwned;

use super::ENGINE;
use crate::container::docker::client::{Answer, Feed, converse};
use crate::container::docker::seclusion::seclude_from;
use crate::container::{ENGINE_VARIABLE, room};
use crate::control_groups;
use crate::error::StackError;
use crate::session::PROCESS_VARIABLE;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

/// What Podman and what it starts read of their surroundings (podman(1), containers.conf(5), containers-storage.conf(5)).
const UNSET: [&str; 20] = [
    "CONTAINERS_CONF_OVERRIDE",
    "CONTAINERS_REGISTRIES_CONF",
    "CONTAINERS_STORAGE_CONF_OVERRIDE",
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "CONTAINER_SSHKEY",
    "DBUS_SESSION_BUS_ADDRESS",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "PODMAN_CONNECTIONS_CONF",
    "REGISTRY_AUTH_FILE",
    "STORAGE_DRIVER",
    "STORAGE_OPTS",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "_CONTAINERS_ROOTLESS_GID",
    "_CONTAINERS_ROOTLESS_UID",
    "_CONTAINERS_USERNS_CONFIGURED",
];
/// Made at a fixed place by whatever copies an image, when the user is root: the cache of containers-image, which no option
/// moves (found by strace with Podman 4.3.1).
const SHARED: [&str; 1] = ["/var/lib/containers"];
/// Signatures are for images from elsewhere; ours is made here (containers-policy.json(5)).
const POLICY: &str = "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}\n";

/// Podman with a storage of ours.
#[derive(Debug, Clone)]
pub(super) struct Podman {
    program: PathBuf,
    /// The same for every command (podman(1), "Global options").
    options: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    /// Where images, containers and volumes are.
    pub(super) root: PathBuf,
    /// The directory of ours for everything else.
    place: PathBuf,
    /// What of its state lies in memory.
    of_state: [PathBuf; 3],
    /// The session's.
    token: String,
    /// What its processes and those of its containers carry in [`ENGINE_VARIABLE`]; names them, too.
    pub(super) mark: String,
    /// The parent of its control groups.
    pub(super) group: String,
}

impl Podman {
    /// Makes the places of a storage, and writes down what undoes all that will be done in it.
    ///
    /// # Errors
    /// [`StackError::MissingTool`], [`StackError::Io`] when the places cannot be made.
    pub(super) fn begin(site: &mut Site, mount: &Path, driver: StorageDriver) -> Result<Self, StackError> {
        let program = tool::find("podman")?;
        let runtime = runtime()?;
        let place = site.trial_directory()?.join("engine");
        // A run root of more than 50 characters is refused.
        let short = site.short_directory()?;
        let root = mount.join("podman");
        let mark = format!("{}-{}", site.journal.owner.token, site.journal.entries.len());
        let group = format!("{}-engine", site.directory_name());
        control_groups::remember_handed_down(site)?;
        // Not the whole of the short one, in which the filesystem itself may be mounted.
        let of_state = OF_STATE.map(|name| short.join(name));
        let step = Step::Engine {
            variable: ENGINE_VARIABLE.to_owned(),
            value: mark.clone(),
            roots: [root.clone(), place.clone()].into_iter().chain(of_state.clone()).collect(),
            group: group.clone(),
        };
        site.journal.begin(Scope::Trial, step)?;
        for directory in [&root, &place] {
            make_private(directory)?;
        }
        for name in ["home", "home/.config", "home/.config/containers", "tmp", "runtime", "stage"] {
            make_private(&place.join(name))?;
        }
        let podman = Self {
            options: options(&place, &short, &root, driver, runtime),
            environment: environment(&place, &mark),
            program,
            root,
            place,
            of_state,
            token: site.journal.owner.token.clone(),
            mark,
            group,
        };
        podman.write_settings(driver, &short)?;
        Ok(podman)
    }

    /// Where it keeps the stream of an image on the way, on the filesystem of the run and not of the stack.
    pub(super) fn spool(&self) -> PathBuf {
        spool(&self.place)
    }

    /// An error of the engine, with what helps where its words say that it found no room.
    pub(super) fn failed_with_room_hint(&self, what: &str, words: &str) -> StackError {
        let of_run = [self.spool(), self.place.clone()];
        failed(format!("{what}: {words}{}", room::hint(words, &of_run, &self.of_state)))
    }

    fn write_settings(&self, driver: StorageDriver, short: &Path) -> Result<(), StackError> {
        // conmon gets no other environment than this, and hands it to the `podman container cleanup` that it runs when the
        // container ends: without our settings that one would take the user's locks.
        let handed_on: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| quoted(&format!("{name}={}", value.to_string_lossy())))
            .collect();
        // Locks in memory are one file for all of the user's storages.
        let containers = format!(
            "[engine]\nlock_type = \"file\"\nevents_logger = \"none\"\nconmon_env_vars = [{}]\n\
             [network]\nnetwork_config_dir = {}\n",
            handed_on.join(", "),
            quoted(&self.place.join("network").to_string_lossy()),
        );
        let storage = format!(
            "[storage]\ndriver = {}\nrunroot = {}\ngraphroot = {}\n",
            quoted(driver.podman_name()),
            quoted(&short.join("run").to_string_lossy()),
            quoted(&self.root.to_string_lossy()),
        );
        for (name, text) in [
            ("containers.conf", containers.as_str()),
            ("storage.conf", &storage),
            ("registries.conf", ""),
            ("home/.config/containers/policy.json", POLICY),
        ] {
            let file = self.place.join(name);
            fs::write(&file, text).map_err(|source| StackError::io("write", &file, source))?;
        }
        Ok(())
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.options)
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env_remove(PROCESS_VARIABLE)
            .current_dir("/");
        command
    }

    /// The words of a command, for somebody else to start. Variables that are not of ours are handed on but for those that
    /// would lead it elsewhere.
    ///
    /// # Errors
    /// [`StackError::MissingTool`] without env(1).
    pub(super) fn words(&self, arguments: &[String]) -> Result<Vec<String>, StackError> {
        let mut words = vec![tool::find("env")?.display().to_string()];
        for variable in UNSET {
            words.extend(["-u".to_owned(), variable.to_owned()]);
        }
        words.extend(
            self.environment.iter().map(|(name, value)| format!("{name}={}", value.to_string_lossy())),
        );
        words.push(self.program.display().to_string());
        words.extend(self.options.iter().map(|option| option.to_string_lossy().into_owned()));
        words.extend_from_slice(arguments);
        Ok(words)
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// [`StackError::Io`] if it cannot be started, [`StackError::Interrupted`], [`StackError::Container`] when it does not
    /// end in time.
    pub(super) fn run(
        &self,
        arguments: &[String],
        patience: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Answer, StackError> {
        converse(ENGINE, self.command(arguments), patience, interrupt, None)
    }

    /// Makes an image of a stream, where the user's cache of images is not seen; gives its name.
    ///
    /// # Errors
    /// As [`run`](Self::run), and those of `feed`.
    pub(super) fn import(
        &self,
        name: &str,
        patience: Duration,
        interrupt: Option<&AtomicBool>,
        feed: &Feed<'_>,
    ) -> Result<Answer, StackError> {
        let words = ["import", "--quiet", "-", name].map(str::to_owned);
        let mut command = self.command(&words);
        seclude_from(&SHARED, &mut command, &self.place.join("stage"), &self.token)?;
        converse(ENGINE, command, patience, interrupt, Some(feed))
    }

    /// Asks for something that is told in JSON.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`StackError::Container`] with its words, or for what makes no sense.
    pub(super) fn ask<Told: DeserializeOwned>(
        &self,
        arguments: &[&str],
        patience: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Told, StackError> {
        let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let answer = self.run(&words, patience, interrupt)?;
        let command = arguments.first().copied().unwrap_or_default();
        if !answer.succeeded {
            return Err(failed(format!("`podman {command}` failed: {}", answer.words)));
        }
        serde_json::from_str(answer.stdout.trim())
            .map_err(|error| failed(format!("cannot parse the answer to `podman {command}`: {error}")))
    }
}

/// An error of the engine.
pub(super) fn failed(reason: String) -> StackError {
    StackError::Container { engine: ENGINE, reason }
}

/// The runtime that Docker has by default, else the other one.
///
/// # Errors
/// [`StackError::MissingTool`] without either.
pub(super) fn runtime() -> Result<&'static str, StackError> {
    match find_program("runc").or_else(|| find_program("crun")) {
        Some(program) if program.ends_with("runc") => Ok("runc"),
        Some(_) => Ok("crun"),
        None => tool::find("runc").map(|_| "runc"),
    }
}

/// What Podman and the runtime keep below the short directory.
const OF_STATE: [&str; 3] = ["run", "state", "libpod"];

/// Nothing of it lies at a place that the user's own Podman knows; the runtime's state is moved by an option of its own,
/// which runc(8) and crun(1) share.
fn options(place: &Path, short: &Path, root: &Path, driver: StorageDriver, runtime: &str) -> Vec<OsString> {
    let mut state = OsString::from("root=");
    state.push(short.join("state"));
    vec![
        "--root".into(),
        root.into(),
        "--runroot".into(),
        short.join("run").into(),
        "--tmpdir".into(),
        short.join("libpod").into(),
        "--network-config-dir".into(),
        place.join("network").into(),
        "--storage-driver".into(),
        driver.podman_name().into(),
        "--runtime".into(),
        runtime.into(),
        "--runtime-flag".into(),
        state,
        "--cgroup-manager".into(),
        "cgroupfs".into(),
        "--events-backend".into(),
        "none".into(),
    ]
}

fn environment(place: &Path, mark: &str) -> Vec<(&'static str, OsString)> {
    vec![
        ("PATH", search_path()),
        ("LC_ALL", "C".into()),
        ("HOME", place.join("home").into()),
        ("TMPDIR", spool(place).into()),
        ("XDG_RUNTIME_DIR", place.join("runtime").into()),
        ("CONTAINERS_CONF", place.join("containers.conf").into()),
        ("CONTAINERS_STORAGE_CONF", place.join("storage.conf").into()),
        ("REGISTRIES_CONFIG_PATH", place.join("registries.conf").into()),
        (ENGINE_VARIABLE, mark.into()),
    ]
}

fn spool(place: &Path) -> PathBuf {
    place.join("tmp")
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A directory that only root enters.
fn make_private(directory: &Path) -> Result<(), StackError> {
    DirBuilder::new()
        .mode(0o700)
        .create(directory)
        .map_err(|source| StackError::io("mkdir", directory, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_ours_and_every_word_is_quoted_for_toml() {
        let options = options(
            Path::new("/t"),
            Path::new("/r"),
            Path::new("/m/podman"),
            StorageDriver::Overlay2,
            "crun",
        );
        let paths: Vec<&OsString> =
            options.iter().filter(|word| word.to_string_lossy().starts_with('/')).collect();
        assert_eq!(paths, ["/m/podman", "/r/run", "/r/libpod", "/t/network"]);
        assert!(options.windows(2).any(|pair| pair == ["--storage-driver", "overlay"]));
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
        let environment = environment(Path::new("/t"), "m");
        assert!(environment.iter().all(|(name, _)| !UNSET.contains(name)));
    }
}
