//! Namespaces for the daemon: one of mounts, in which the places that it would share with the user's own Docker are empty
//! (`mount_namespaces(7)`) and no other session's mounts are, and one of the network (`network_namespaces(7)`), because a dockerd without a bridge removes the
//! link `docker0`, whoever made it. Both go with the last process in them.
#![expect(unsafe_code, reason = "the namespace has to be entered between fork and exec")]

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::thread::UnshareFlags;

use iostone_probe::programs;

use crate::error::StackError;
use crate::mountinfo::{self, Mount};
use crate::site::is_own_name;
use crate::undo::is_ours;

/// What dockerd and containerd make at fixed places, whatever their flags say (found by strace with dockerd 20.10.24):
/// `key.json`, plug-in sockets, the sockets of the shims, and directories for optional programs.
const SHARED: [&str; 4] = ["/etc/docker", "/run/docker", "/run/containerd", "/opt/containerd"];
/// `Y` where the kernel runs `AppArmor`. dockerd then loads a profile into it that all daemons share.
const APPARMOR: &str = "/sys/module/apparmor/parameters/enabled";

/// What dockerd raises where it is lower ("root key limit"): it gets files of its own with the same in them.
const RAISED: [&str; 2] = ["/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes"];

/// One call of those that prepare the namespace. Paths are made before the fork, after which nothing may allocate.
#[derive(Debug)]
enum Act {
    /// An empty directory in memory over one that is there.
    Empty(CString),
    Directory(CString),
    File(CString),
    Link {
        to: CString,
        at: CString,
    },
    /// What is at one place, with all mounts below, also at another; a place that is gone meanwhile is passed over.
    Bind {
        from: CString,
        at: CString,
    },
    Move {
        from: CString,
        to: CString,
    },
    /// A mount goes, with all that is on it, whoever uses it; one that is gone meanwhile is passed over.
    Detach(CString),
}

/// Has a command of the session with that token run in namespaces of its own. `stage` is a directory for its preparation.
/// Its socket is a file, and is reached from other namespaces of the network.
///
/// # Errors
/// [`StackError::Io`] when the places cannot be looked at, [`StackError::Lacking`] as [`check_places`].
pub(super) fn seclude(command: &mut Command, stage: &Path, token: &str) -> Result<(), StackError> {
    enter(UnshareFlags::NEWNS | UnshareFlags::NEWNET, &SHARED, command, stage, token)
}

/// Whether everything that a daemon makes at fixed places can be kept from the host.
///
/// # Errors
/// [`StackError::Lacking`] with the directory that is missing.
pub(super) fn check_places() -> Result<(), StackError> {
    SHARED.iter().try_for_each(|path| parent_of(Path::new(path)).map(|_| ()))
}

/// As [`seclude`], for other places, and with the host's network.
///
/// # Errors
/// As there.
pub(in crate::container) fn seclude_from(
    shared: &[&str],
    command: &mut Command,
    stage: &Path,
    token: &str,
) -> Result<(), StackError> {
    enter(UnshareFlags::NEWNS, shared, command, stage, token)
}

fn enter(
    namespaces: UnshareFlags,
    shared: &[&str],
    command: &mut Command,
    stage: &Path,
    token: &str,
) -> Result<(), StackError> {
    let shared: Vec<PathBuf> = shared.iter().map(PathBuf::from).collect();
    let acts = acts(&shared, stage, token)?;
    // SAFETY: between fork and exec only system calls are made, by paths that were made before; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::thread::unshare_unsafe(namespaces)?;
            // Unmounts of the host still arrive where its mounts are shared, so that nothing of it is kept busy; nothing
            // goes back.
            rustix::mount::mount_change(
                c"/",
                MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
            )?;
            for act in &acts {
                act.perform()?;
            }
            Ok(())
        });
    }
    Ok(())
}

/// What is to be done so that none of the directories is seen, and no mount of another session; of the rest everything is.
fn acts(shared: &[PathBuf], stage: &Path, token: &str) -> Result<Vec<Act>, StackError> {
    let mounts = mountinfo::own_mounts()?;
    let needed = needed_paths(&mounts, stage, token);
    let mut acts = Vec::new();
    // Where the host's mounts are private, what its owner unmounts would stay here, and its device busy.
    for target in of_other_sessions(&mounts, &needed, token) {
        acts.push(Act::Detach(c_string(target)?));
    }
    let mut parents: BTreeMap<PathBuf, Vec<&OsStr>> = BTreeMap::new();
    for path in shared {
        if let Some(name) = path.file_name() {
            parents.entry(parent_of(path)?).or_default().push(name);
        }
    }
    // An unmount on the host arrives below the mount that it was on, which these directories in memory are not.
    let is_left_out = |path: &Path| {
        mounts.iter().any(|mounted| mounted.target == path)
            && !needed.iter().any(|needed| needed.starts_with(path))
    };
    for (index, (parent, hidden)) in parents.iter().enumerate() {
        let stage = stage.join(format!("stage-{index}"));
        fs::create_dir(&stage).map_err(|source| StackError::io("mkdir", &stage, source))?;
        acts.extend(rebuilt(parent, hidden, &is_left_out, &stage)?);
    }
    if Path::new(APPARMOR).exists() {
        let disabled = stage.join("apparmor-enabled");
        fs::write(&disabled, "N\n").map_err(|source| StackError::io("write", &disabled, source))?;
        acts.push(Act::Bind { from: c_string(&disabled)?, at: c_string(Path::new(APPARMOR))? });
    }
    for (index, file) in RAISED.iter().enumerate() {
        let Ok(limit) = fs::read(file) else { continue };
        let own = stage.join(format!("limit-{index}"));
        fs::write(&own, limit).map_err(|source| StackError::io("write", &own, source))?;
        acts.push(Act::Bind { from: c_string(&own)?, at: c_string(Path::new(file))? });
    }
    Ok(acts)
}

/// Where a directory lies that is to be hidden. Without it the program would make it on the host.
///
/// # Errors
/// [`StackError::Lacking`].
fn parent_of(path: &Path) -> Result<PathBuf, StackError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::canonicalize(parent).map_err(|error| StackError::Lacking {
        object: parent.display().to_string(),
        reason: format!(
            "the engine creates `{}`, which can be hidden from this machine only if its parent exists ({error}); next: `mkdir \
             {}`",
            path.display(),
            parent.display()
        ),
    })
}

/// What has to be seen: where the session works, its mounts, and programs.
fn needed_paths(mounts: &[Mount], stage: &Path, token: &str) -> Vec<PathBuf> {
    let ours = mounts.iter().map(|mounted| &mounted.target).filter(|target| is_ours(target, token));
    let real = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
    [stage.to_owned()].into_iter().chain(ours.cloned()).chain(programs::directories()).map(real).collect()
}

/// Where sessions other than that with the token have mounted something; never what holds something that is needed.
fn of_other_sessions<'a>(mounts: &'a [Mount], needed: &[PathBuf], token: &str) -> Vec<&'a Path> {
    let is_in_a_sessions =
        |target: &Path| target.components().any(|component| is_own_name(component.as_os_str()));
    let targets = mounts.iter().rev().map(|mounted| mounted.target.as_path());
    targets
        .filter(|target| is_in_a_sessions(target) && !is_ours(target, token))
        .filter(|target| !needed.iter().any(|needed| needed.starts_with(target)))
        .collect()
}

/// A directory in memory in the place of one of the host, with the same in it: what is made there is not made on the host.
/// Those of the names that are there, and what is left out, are empty directories of it. They are not covered where they are, because the kernel
/// unmounts what covers a directory everywhere once it is removed on the host (`rmdir(2)` succeeds since Linux 3.18).
fn rebuilt(
    parent: &Path,
    hidden: &[&OsStr],
    is_left_out: &dyn Fn(&Path) -> bool,
    stage: &Path,
) -> Result<Vec<Act>, StackError> {
    let mut acts = vec![Act::Empty(c_string(stage)?)];
    let entries = fs::read_dir(parent).map_err(|source| StackError::io("list", parent, source))?;
    for entry in entries.flatten() {
        let (from, at) = (entry.path(), stage.join(entry.file_name()));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            if let Ok(to) = fs::read_link(&from) {
                acts.push(Act::Link { to: c_string(&to)?, at: c_string(&at)? });
            }
            continue;
        }
        let at = c_string(&at)?;
        if hidden.contains(&entry.file_name().as_os_str()) || (kind.is_dir() && is_left_out(&from)) {
            acts.push(Act::Directory(at));
            continue;
        }
        acts.push(if kind.is_dir() { Act::Directory(at.clone()) } else { Act::File(at.clone()) });
        acts.push(Act::Bind { from: c_string(&from)?, at });
    }
    acts.push(Act::Move { from: c_string(stage)?, to: c_string(parent)? });
    Ok(acts)
}

fn c_string(path: &Path) -> Result<CString, StackError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| StackError::unexpected(path, "its name contains a NUL byte"))
}

impl Act {
    fn perform(&self) -> Result<(), Errno> {
        match self {
            Self::Empty(at) => rustix::mount::mount(
                c"tmpfs",
                at.as_c_str(),
                c"tmpfs",
                MountFlags::NOSUID | MountFlags::NODEV,
                Some(c"mode=0755"),
            ),
            Self::Directory(at) => rustix::fs::mkdir(at.as_c_str(), Mode::from(0o755)),
            Self::File(at) => {
                let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::CLOEXEC;
                rustix::fs::open(at.as_c_str(), flags, Mode::from(0o644)).map(drop)
            }
            Self::Link { to, at } => rustix::fs::symlink(to.as_c_str(), at.as_c_str()),
            Self::Bind { from, at } => {
                match rustix::mount::mount_bind_recursive(from.as_c_str(), at.as_c_str()) {
                    Err(Errno::NOENT) => Ok(()),
                    other => other,
                }
            }
            Self::Move { from, to } => rustix::mount::mount_move(from.as_c_str(), to.as_c_str()),
            Self::Detach(target) => {
                let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
                match rustix::mount::unmount(target.as_c_str(), flags) {
                    // Gone meanwhile, or with the one that it was on.
                    Err(Errno::INVAL | Errno::NOENT) => Ok(()),
                    other => other,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_covered_and_what_is_not_is_made_in_memory() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let host = directory.path().join("host");
        let stage = directory.path().join("stage");
        fs::create_dir_all(host.join("there")).unwrap();
        fs::create_dir_all(host.join("other/there")).unwrap();
        fs::create_dir(&stage).unwrap();
        fs::write(host.join("there/secret"), "x").unwrap();
        fs::write(host.join("other/there/file"), "x").unwrap();
        std::os::unix::fs::symlink("there/file", host.join("other/link")).unwrap();
        let shared = [host.join("there"), host.join("other/new")];
        let acts = acts(&shared, &stage, "none").unwrap();
        let mut command = Command::new("sh");
        let script = "test ! -e there/secret && touch there/a && mkdir other/new && touch other/new/a && \
                      test -e other/link && echo seen";
        command.args(["-c", script]).current_dir("/");
        command.args(["sh"]);
        command.env("PWD", &host);
        // SAFETY: system calls only, as in `seclude`; the test's directory is entered after the mounts.
        unsafe {
            let host = c_string(&host).unwrap();
            command.pre_exec(move || {
                rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)?;
                rustix::mount::mount_change(
                    c"/",
                    MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
                )?;
                for act in &acts {
                    act.perform()?;
                }
                rustix::process::chdir(host.as_c_str())?;
                Ok(())
            });
        }
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "seen\n", "{output:?}");
        assert!(!host.join("there/a").exists() && !host.join("other/new").exists());
        assert!(host.join("there/secret").exists());
    }

    fn mounts(targets: &[&str]) -> Vec<Mount> {
        let lines: Vec<String> =
            targets.iter().map(|target| format!("60 1 7:3 / {target} rw - ext4 /dev/loop3 rw")).collect();
        mountinfo::parse(lines.join("\n").as_bytes())
    }

    #[test]
    fn mounts_of_other_sessions_go_and_what_our_own_stands_on_stays() {
        let (own, other) = ("one-0123456789abcdef", "two-fedcba9876543210");
        let ours = format!("/srv/iostone-{own}/mount");
        let theirs =
            [format!("/srv/iostone-{other}/mount"), "/run/iostone-fedcba9876543210/mount".to_owned()];
        let below_theirs = format!("/mnt/iostone-{other}/mount");
        let nested = format!("{below_theirs}/iostone-{own}/mount");
        let table = mounts(&[
            "/",
            "/mnt/iostone-data",
            &ours,
            "/run/iostone-0123456789abcdef/mount",
            &theirs[0],
            &theirs[1],
            &below_theirs,
            &nested,
        ]);
        let needed = needed_paths(&table, Path::new("/srv/stage"), own);
        assert_eq!(of_other_sessions(&table, &needed, own), [Path::new(&theirs[1]), Path::new(&theirs[0])]);
    }

    #[test]
    fn a_place_without_a_directory_above_it_is_refused_with_the_command_that_makes_that() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("opt");
        let refused = acts(&[missing.join("containerd")], directory.path(), "none").unwrap_err();
        assert!(matches!(refused, StackError::Lacking { .. }), "{refused:?}");
        assert!(refused.to_string().contains(&format!("`mkdir {}`", missing.display())), "{refused}");
    }

    #[test]
    fn a_mount_on_a_rebuilt_directory_is_left_out_so_that_its_device_is_free_on_the_host() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let host = fs::canonicalize(directory.path()).unwrap().join("host");
        let stage = directory.path().join("stage");
        fs::create_dir_all(host.join("data")).unwrap();
        fs::create_dir_all(host.join("plain")).unwrap();
        fs::create_dir(&stage).unwrap();
        rustix::mount::mount("tmpfs", host.join("data"), "tmpfs", MountFlags::empty(), None).unwrap();
        let acts = acts(&[host.join("hidden")], &stage, "none");
        rustix::mount::unmount(host.join("data"), UnmountFlags::empty()).unwrap();
        let bound: Vec<String> = acts
            .unwrap()
            .iter()
            .filter_map(|act| match act {
                Act::Bind { from, .. } => Some(from.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        assert!(bound.contains(&host.join("plain").display().to_string()), "{bound:?}");
        assert!(!bound.contains(&host.join("data").display().to_string()), "{bound:?}");
    }
}
