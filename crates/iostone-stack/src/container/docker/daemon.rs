//! A Docker daemon of our own: its data on the stack's filesystem, everything else in the trial's directory, and nothing
//! shared with the user's.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iostone_model::experiment::StorageDriver;
use iostone_probe::programs::search_path;

use super::client::{Client, failed};
use super::seclusion;
use crate::container::{ENGINE_VARIABLE, room};
use crate::control_groups;
use crate::error::StackError;
use crate::session::PROCESS_VARIABLE;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

/// A daemon that does not answer by then does not on this machine; on a slow disk it takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// For one question of the many until it answers.
const QUESTION: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
/// Turns off what keeps images elsewhere than in the storage driver, the default of new installations since 29
/// (docs.docker.com, "containerd image store").
const SETTINGS: &str = "{\"features\": {\"containerd-snapshotter\": false}}\n";
/// Its usual place, where in its own mount namespace nothing is: the sockets below have names that are too long for the
/// trial's directory.
const EXEC_ROOT: &str = "/run/docker";
/// What it needs of the surroundings: whether the root directory can be pivoted.
const KEPT_VARIABLES: [&str; 1] = ["DOCKER_RAMDISK"];

/// The daemon of a trial.
#[derive(Debug, Clone)]
pub(super) struct Daemon {
    pub(super) client: Client,
    /// Where images, containers and volumes are.
    pub(super) data_root: PathBuf,
    /// What its processes and those of its containers carry in [`ENGINE_VARIABLE`]; names them, too.
    pub(super) mark: String,
    /// Seconds until it answered.
    pub(super) seconds: f64,
    driver: StorageDriver,
    pid: u32,
    /// The containerd that it started and that keeps its containers; none where it has not been seen.
    containerd: Option<u32>,
    log: PathBuf,
}

impl Daemon {
    /// Starts it through the journal and waits until it answers. The thread that calls this has to outlive it, because the
    /// kernel ends it with that thread.
    ///
    /// # Errors
    /// [`StackError::MissingTool`], [`StackError::Io`] when it cannot be started, [`StackError::Container`] with its words
    /// when it ends or does not answer, [`StackError::Interrupted`].
    pub(super) fn start(site: &mut Site, mount: &Path, driver: StorageDriver) -> Result<Self, StackError> {
        let program = tool::find("dockerd")?;
        let place = site.trial_directory()?.join("engine");
        make_private(&place)?;
        let data_root = mount.join("docker");
        make_private(&data_root)?;
        let mark = format!("{}-{}", site.journal.owner.token, site.journal.entries.len());
        let group = format!("{}-engine", site.directory_name());
        let client = Client::find(&place.join("client"), &place.join("d.sock"))?;
        let log = place.join("dockerd.log");
        let mut command = Command::new(&program);
        set_surroundings(&mut command, &place, &mark)?;
        command.args(arguments(&place, &data_root, driver, &group)?);
        let said = File::create(&log).map_err(|source| StackError::io("create", &log, source))?;
        let too = said.try_clone().map_err(|source| StackError::io("open", &log, source))?;
        command.stdin(Stdio::null()).stdout(said).stderr(too);
        tool::die_with_this_process(&mut command, true);
        seclusion::seclude(&mut command, &place, &site.journal.owner.token)?;
        control_groups::remember_handed_down(site)?;
        let step = Step::Engine {
            variable: ENGINE_VARIABLE.to_owned(),
            value: mark.clone(),
            roots: vec![data_root.clone(), place.clone()],
            group,
        };
        site.journal.begin(Scope::Trial, step)?;
        let begun = Instant::now();
        let child = command
            .spawn()
            .map_err(|source| StackError::io("make a mount namespace for, and execute,", &program, source))?;
        let pid = child.id();
        site.servers.push(child);
        let mut daemon = Self { client, data_root, mark, seconds: 0.0, driver, pid, containerd: None, log };
        daemon.wait(site)?;
        daemon.containerd = child_of(pid, "containerd");
        daemon.seconds = begun.elapsed().as_secs_f64();
        Ok(daemon)
    }

    /// Whether it is alive.
    ///
    /// # Errors
    /// [`StackError::Container`] with its last words.
    pub(super) fn check(&self) -> Result<(), StackError> {
        if !is_alive(self.pid) {
            return Err(self.ended("the daemon is gone"));
        }
        // The daemon starts another one, whose containers are the same; what the trial ran on is not.
        match self.containerd {
            Some(pid) if !is_alive(pid) => {
                Err(failed(format!("its containerd (process {pid}) ended during the trial")))
            }
            _ => Ok(()),
        }
    }

    /// An error of the engine, with what helps where its words say that it found no room.
    pub(super) fn failed_with_room_hint(&self, what: &str, words: &str) -> StackError {
        let place = self.log.parent().unwrap_or(&self.log).to_owned();
        failed(format!("{what}: {words}{}", room::hint(words, &[place], &[PathBuf::from(EXEC_ROOT)])))
    }

    fn wait(&self, site: &mut Site) -> Result<(), StackError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            site.check_interrupt()?;
            let ended = site.servers.last_mut().map(Child::try_wait);
            if let Some(Ok(Some(status))) = ended {
                let driver = self.driver.docker_name();
                return Err(self.ended(&format!(
                    "the daemon did not start with storage driver `{driver}` ({status}; try another `stack.container.driver`)"
                )));
            }
            // Asked only once there is somebody to ask. It listens before it answers, so silence means only that it is busy.
            if self.log.with_file_name("d.sock").exists() {
                match self.client.run(&["version"], QUESTION, site.interrupt()) {
                    Ok(answer) if answer.succeeded => return Ok(()),
                    Ok(_) | Err(StackError::Container { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.ended(&format!("the daemon does not answer within {} s", PATIENCE.as_secs())))
    }

    fn ended(&self, what: &str) -> StackError {
        let words = last_words(&fs::read_to_string(&self.log).unwrap_or_default());
        failed(if words.is_empty() {
            format!("{what} without a message; start `dockerd` by hand to see why")
        } else {
            format!("{what}: {words}")
        })
    }
}

/// A directory that only root enters.
fn make_private(directory: &Path) -> Result<(), StackError> {
    DirBuilder::new()
        .mode(0o700)
        .create(directory)
        .map_err(|source| StackError::io("mkdir", directory, source))
}

/// Neither the user's settings nor proxies, and the marker by which it is found.
fn set_surroundings(command: &mut Command, place: &Path, mark: &str) -> Result<(), StackError> {
    let home = place.join("home");
    make_private(&home)?;
    make_private(&place.join("client"))?;
    let kept = KEPT_VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    command
        .env_clear()
        .envs(kept)
        .env("PATH", search_path())
        .env("LC_ALL", "C")
        .env("HOME", &home)
        .env("DOCKER_CONFIG", &home)
        .env("XDG_CONFIG_HOME", &home)
        .env("XDG_DATA_HOME", &home)
        .env("XDG_RUNTIME_DIR", &home)
        .env(ENGINE_VARIABLE, mark)
        .env_remove(PROCESS_VARIABLE)
        .current_dir("/");
    Ok(())
}

/// Flags that dockerd knows from 20.10 on (docs.docker.com, "dockerd"): no network of any kind, nothing at its usual place.
fn arguments(
    place: &Path,
    data_root: &Path,
    driver: StorageDriver,
    group: &str,
) -> Result<Vec<OsString>, StackError> {
    let settings = place.join("daemon.json");
    fs::write(&settings, SETTINGS).map_err(|source| StackError::io("write", &settings, source))?;
    let mut socket = OsString::from("unix://");
    socket.push(place.join("d.sock"));
    let mut arguments: Vec<OsString> = vec![
        "--config-file".into(),
        settings.into(),
        "--data-root".into(),
        data_root.into(),
        "--exec-root".into(),
        EXEC_ROOT.into(),
        "--pidfile".into(),
        place.join("d.pid").into(),
        "--host".into(),
        socket,
        "--storage-driver".into(),
        driver.docker_name().into(),
        "--cgroup-parent".into(),
        format!("/{group}").into(),
        "--exec-opt".into(),
        "native.cgroupdriver=cgroupfs".into(),
        "--log-driver".into(),
        "none".into(),
        "--bridge".into(),
        "none".into(),
        // Its group would be let in, were it there.
        "--group".into(),
        "0".into(),
    ];
    for switched_off in ["iptables", "ip6tables", "ip-masq", "ip-forward"] {
        arguments.push(format!("--{switched_off}=false").into());
    }
    Ok(arguments)
}

/// The child of a process that runs a program of that name (`proc_pid_stat(5)`).
fn child_of(parent: u32, name: &str) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?;
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((head, rest)) = stat.rsplit_once(')') else { return false };
        let is_child = rest.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent);
        is_child && head.split_once('(').is_some_and(|(_, program)| program == name)
    })
}

/// Dead processes that nobody has waited for count as gone (`proc_pid_stat(5)`).
fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// What the daemon's log says of its end: errors, and what is no line of the log.
fn last_words(log: &str) -> String {
    let said: Vec<String> = log
        .lines()
        .filter(|line| {
            !line.starts_with("time=")
                || ["level=error", "level=fatal"].iter().any(|level| line.contains(level))
        })
        .filter(|line| !line.trim().is_empty())
        .map(|line| message(line).to_owned())
        .collect();
    said[said.len().saturating_sub(2)..].join(" / ")
}

/// The message of a line such as `time="..." level=error msg="..." error="..."`.
fn message(line: &str) -> &str {
    let message =
        line.split_once(" msg=").filter(|_| line.starts_with("time=")).map_or(line, |(_, rest)| rest);
    message.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_errors_and_not_chatter() {
        let log = "time=\"a\" level=info msg=\"starting\"\n\
                   time=\"b\" level=error msg=\"one\"\n\
                   time=\"b\" level=error msg=\"two\"\n\
                   time=\"c\" level=warning msg=\"three\"\n\
                   failed to start daemon: error initializing graphdriver: driver not supported: btrfs\n\n";
        assert_eq!(
            last_words(log),
            "two / failed to start daemon: error initializing graphdriver: driver not supported: btrfs"
        );
        assert_eq!(last_words(""), "");
    }

    #[test]
    fn a_process_that_nobody_waited_for_is_not_alive() {
        assert!(is_alive(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        while is_alive(pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(child_of(std::process::id(), "no-such-child"), None);
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }
}
