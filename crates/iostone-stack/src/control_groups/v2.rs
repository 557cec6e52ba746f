//! Version 2: the controllers that a group hands down to its children (Documentation/admin-guide/cgroup-v2.rst).

use std::fs;
use std::path::{Path, PathBuf};

use super::{Controller, hierarchy_of, write_line};
use crate::error::{StackError, UndoFailure};
use crate::site::{OWN_PREFIX, own_directory_name};
use crate::tool::quote;

pub(super) const CONTROLLERS: &str = "cgroup.controllers";
pub(super) const SUBTREE_CONTROL: &str = "cgroup.subtree_control";
/// The controllers of version 2 (Documentation/admin-guide/cgroup-v2.rst). What a later kernel has beside them is left
/// handed down, which limits nobody.
const KNOWN: [&str; 10] =
    ["cpu", "cpuset", "dmem", "hugetlb", "io", "memory", "misc", "perf_event", "pids", "rdma"];

/// Whether a name is that of a controller.
pub(crate) fn is_known_controller(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Whether a file of controllers, such as `cgroup.controllers`, lists one.
fn lists(file: &Path, name: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|word| word == name))
}

/// Those of the controllers that a group does not hand down to its children yet.
pub(super) fn not_handed_down(group: &Path, controllers: &[Controller]) -> Vec<Controller> {
    missing(&group.join(SUBTREE_CONTROL), controllers)
}

/// The controllers that a group has and does not hand down to its children: all of them, also those that no layer uses,
/// because the runtimes of containers do not choose.
pub(super) fn kept_back(group: &Path) -> Vec<String> {
    let handed_down = group.join(SUBTREE_CONTROL);
    let has = fs::read_to_string(group.join(CONTROLLERS)).unwrap_or_default();
    has.split_whitespace()
        .filter(|name| is_known_controller(name) && !lists(&handed_down, name))
        .map(str::to_owned)
        .collect()
}

/// Those of the controllers that a group itself does not have.
pub(super) fn not_there(group: &Path, controllers: &[Controller]) -> Vec<Controller> {
    missing(&group.join(CONTROLLERS), controllers)
}

fn missing(file: &Path, controllers: &[Controller]) -> Vec<Controller> {
    let is_missing = |one: &&Controller| one.name_2().is_some_and(|name| !lists(file, name));
    controllers.iter().filter(is_missing).copied().collect()
}

/// The group in which a group with those controllers can be made, and which of them it has to be told to hand down
/// first.
///
/// A group other than the root cannot hold processes and hand a controller down at once ("no internal processes"), so
/// the group of this process is seldom the one. The nearest that hands them all down already is taken, so that what
/// limits the groups above limits the trial too; unless that passes over a group with limits, which the trial would
/// escape, or there is none: then the nearest that may be told to. `line` is nearest first.
pub(super) fn choose_parent(
    line: &[PathBuf],
    controllers: &[Controller],
) -> Option<(PathBuf, Vec<Controller>)> {
    // A group that hands nothing down may hold processes and groups at once, so where nothing is needed the own one is it.
    let ready = line.iter().position(|group| not_handed_down(group, controllers).is_empty());
    let willing =
        line.iter().position(|group| not_there(group, controllers).is_empty() && can_have_children(group));
    let passes_over = |place: usize| {
        let is_limited = |group: &PathBuf| controllers.iter().any(|&one| is_touched(group, one));
        line.iter().take(place).skip(willing.unwrap_or(place)).any(is_limited)
    };
    let place = ready.filter(|&place| !passes_over(place)).or(willing)?;
    line.get(place).map(|group| (group.clone(), not_handed_down(group, controllers)))
}

/// Whether a group may hand controllers down: the root of all groups, which alone has no type, or one without processes.
fn can_have_children(group: &Path) -> bool {
    let is_root = !group.join("cgroup.type").exists();
    is_root || fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|text| text.trim().is_empty())
}

/// Has a group hand controllers down to its children.
///
/// # Errors
/// [`StackError::NotApplied`] in the name of that layer.
pub(crate) fn hand_down(
    layer: &'static str,
    group: &Path,
    controllers: &[Controller],
) -> Result<(), StackError> {
    let file = group.join(SUBTREE_CONTROL);
    let asked = in_words(controllers, '+');
    let refused = |read_back: String| {
        let (asked, from) = (asked.clone(), file.display().to_string());
        StackError::NotApplied { layer, asked, read_back, from }
    };
    write_line(&file, &asked).map_err(|error| refused(error.to_string()))?;
    if not_handed_down(group, controllers).is_empty() {
        return Ok(());
    }
    Err(refused(fs::read_to_string(&file).unwrap_or_default().trim().to_owned()))
}

/// `+cpu +memory`, as `cgroup.subtree_control` takes it.
pub(crate) fn in_words(controllers: &[Controller], sign: char) -> String {
    let names: Vec<String> =
        controllers.iter().filter_map(|one| Some(format!("{sign}{}", one.name_2()?))).collect();
    names.join(" ")
}

/// Takes that back for each of the controllers, whatever its name, unless another child of the group has come to rely on it
/// meanwhile; whether anything was taken back. Groups of the session with that token do not count: they may still be there,
/// and nobody works in them any more.
///
/// # Errors
/// What the kernel says, with the command that does it by hand.
pub(crate) fn stop_handing_down(group: &Path, names: &[String], token: &str) -> Result<bool, UndoFailure> {
    // A hierarchy that was taken off since hands nothing down.
    if hierarchy_of(group).is_none() {
        return Ok(false);
    }
    take_back(group, names, token)
}

fn take_back(group: &Path, names: &[String], token: &str) -> Result<bool, UndoFailure> {
    let file = group.join(SUBTREE_CONTROL);
    let ours = own_directory_name(token);
    let is_ours =
        |child: &Path| child.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&ours));
    let mut did = false;
    for name in names {
        if !lists(&file, name) || children(group).any(|child| !is_ours(&child) && relies_on(&child, name)) {
            continue;
        }
        match write_line(&file, &format!("-{name}")) {
            Ok(()) => did = true,
            // A child hands it down further: it is in use.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            Err(error) => {
                return Err(UndoFailure {
                    object: file.display().to_string(),
                    reason: error.to_string(),
                    next: format!("echo -{name} > {}", quote(file.as_os_str())),
                });
            }
        }
    }
    Ok(did)
}

fn children(group: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// A group that is named as a session's is another one's, which may be about to set its limits.
fn relies_on(group: &Path, name: &str) -> bool {
    let is_a_sessions = group.file_name().is_some_and(|own| own.to_string_lossy().starts_with(OWN_PREFIX));
    let known = Controller::OF_VERSION_2.into_iter().find(|one| one.name_2() == Some(name));
    is_a_sessions
        || lists(&group.join(SUBTREE_CONTROL), name)
        || known.map_or_else(|| has_a_limit(group, name), |controller| is_touched(group, controller))
}

/// Whether there is a figure in a file such as `pids.max`, `hugetlb.2MB.max` or `rdma.max`, which tell `max` for each thing
/// as long as nobody has limited it.
fn has_a_limit(group: &Path, name: &str) -> bool {
    let of_controller = format!("{name}.");
    fs::read_dir(group).into_iter().flatten().flatten().any(|entry| {
        let file = entry.file_name();
        let file = file.to_string_lossy();
        let is_limit = file.starts_with(&of_controller) && file.ends_with(".max");
        is_limit
            && fs::read_to_string(entry.path())
                .is_ok_and(|text| text.split(['=', ' ', '\n']).any(|word| word.parse::<u64>().is_ok()))
    })
}

/// Whether somebody has set something of the controller on a group.
fn is_touched(group: &Path, controller: Controller) -> bool {
    let is_set = |(file, untouched): &(&str, &str)| {
        fs::read_to_string(group.join(file)).is_ok_and(|text| text.trim() != *untouched)
    };
    controller.untouched_2().iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: &[Controller] = &[Controller::Io];

    fn group(path: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
    }

    fn stop(group: &Path, names: &[&str]) -> bool {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        take_back(group, &names, "own-0123456789abcdef").unwrap()
    }

    #[test]
    fn the_nearest_group_that_hands_everything_down_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let (slice, scope) = (root.join("user.slice"), root.join("user.slice/session-1.scope"));
        group(
            &root,
            &[(CONTROLLERS, "cpu io memory\n"), (SUBTREE_CONTROL, "cpu io\n"), ("cgroup.procs", "1\n")],
        );
        let own = [("cgroup.type", "domain\n"), (CONTROLLERS, "cpu io\n"), (SUBTREE_CONTROL, "cpu\n")];
        group(&slice, &own);
        group(&slice, &[("cgroup.procs", "")]);
        group(&scope, &own);
        group(&scope, &[("cgroup.procs", "42\n"), (SUBTREE_CONTROL, "")]);
        let line = [scope.clone(), slice.clone(), root.clone()];
        assert_eq!(kept_back(&root), ["memory"]);
        assert_eq!(choose_parent(&line, IO), Some((root.clone(), vec![])));
        assert_eq!(choose_parent(&line, &[Controller::Cpu]), Some((slice.clone(), vec![])));
        let both = [Controller::Cpu, Controller::Memory];
        assert_eq!(choose_parent(&line, &both), Some((root.clone(), vec![Controller::Memory])));
        assert_eq!(choose_parent(&line, &[Controller::Cpuacct]), Some((scope.clone(), vec![])));
        // Nobody hands it down: an empty group, or the root, can be told to.
        fs::write(root.join(SUBTREE_CONTROL), "cpu\n").unwrap();
        assert_eq!(choose_parent(&line, IO), Some((slice.clone(), IO.to_vec())));
        fs::write(slice.join(CONTROLLERS), "cpu\n").unwrap();
        fs::write(scope.join(CONTROLLERS), "cpu\n").unwrap();
        assert_eq!(choose_parent(&line, IO), Some((root.clone(), IO.to_vec())));
        // A container's root holds processes and is not the root of all groups.
        fs::write(root.join("cgroup.type"), "domain\n").unwrap();
        assert_eq!(choose_parent(&line, IO), None);
    }

    #[test]
    fn a_group_with_limits_is_not_escaped() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let (outer, leaf) = (root.join("outer"), root.join("outer/leaf"));
        group(&root, &[(CONTROLLERS, "cpu\n"), (SUBTREE_CONTROL, "cpu\n")]);
        group(&leaf, &[("cgroup.type", "domain\n"), ("cgroup.procs", "42\n"), (CONTROLLERS, "")]);
        let max = |text| group(&outer, &[("cpu.max", text)]);
        group(&outer, &[("cgroup.type", "domain\n"), ("cgroup.procs", ""), (CONTROLLERS, "cpu\n")]);
        let line = [leaf, outer.clone(), root.clone()];
        max("max 100000\n");
        assert_eq!(choose_parent(&line, &[Controller::Cpu]), Some((root.clone(), vec![])));
        max("30000 100000\n");
        assert_eq!(choose_parent(&line, &[Controller::Cpu]), Some((outer, vec![Controller::Cpu])));
    }

    #[test]
    fn a_controller_that_others_came_to_rely_on_stays() {
        let directory = tempfile::tempdir().unwrap();
        group(directory.path(), &[(SUBTREE_CONTROL, "cpu io\n")]);
        let other = directory.path().join("other");
        group(
            &other,
            &[
                ("io.max", "8:0 rbps=1 wbps=max riops=max wiops=max\n"),
                ("cpu.max", "max 100000\n"),
                (SUBTREE_CONTROL, "\n"),
            ],
        );
        assert!(!stop(directory.path(), &["io", "memory"]));
        fs::write(other.join("io.max"), "").unwrap();
        assert!(stop(directory.path(), &["io"]));
        assert_eq!(fs::read_to_string(directory.path().join(SUBTREE_CONTROL)).unwrap(), "-io io\n");
        fs::write(directory.path().join(SUBTREE_CONTROL), "cpu\n").unwrap();
        assert!(stop(directory.path(), &["io", "cpu"]), "each for itself");
    }

    #[test]
    fn controllers_that_no_layer_uses_are_kept_in_mind_and_taken_back_too() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        group(root, &[(CONTROLLERS, "cpu pids hugetlb rdma misc\n"), (SUBTREE_CONTROL, "cpu misc\n")]);
        assert_eq!(kept_back(root), ["pids", "hugetlb", "rdma"]);
        let other = root.join("other");
        let unlimited = [("pids.max", "max\n"), ("rdma.max", "mlx4_0 hca_handle=max hca_object=max\n")];
        group(&other, &unlimited);
        group(&other, &[("pids.current", "3\n"), ("hugetlb.2MB.max", "4194304\n")]);
        for (name, is_taken_back) in [("pids", true), ("hugetlb", false), ("rdma", true)] {
            fs::write(root.join(SUBTREE_CONTROL), "pids hugetlb rdma\n").unwrap();
            assert_eq!(stop(root, &[name]), is_taken_back, "{name}");
        }
        group(&other, &[("pids.max", "512\n"), ("rdma.max", "mlx4_0 hca_handle=2 hca_object=max\n")]);
        fs::write(root.join(SUBTREE_CONTROL), "pids hugetlb rdma\n").unwrap();
        assert!(!stop(root, &["pids", "hugetlb", "rdma"]));
    }

    #[test]
    fn what_another_session_may_be_about_to_use_stays() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        group(root, &[(SUBTREE_CONTROL, "cpu pids\n")]);
        let theirs = root.join("iostone-other-0123456789abcdef");
        fs::create_dir(&theirs).unwrap();
        assert!(!stop(root, &["cpu", "pids"]));
        fs::remove_dir(&theirs).unwrap();
        assert!(stop(root, &["cpu", "pids"]));
    }

    #[test]
    fn groups_of_its_own_do_not_keep_a_session_from_taking_back() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        group(root, &[(SUBTREE_CONTROL, "cpu pids\n")]);
        // That of its limits is made before a container and removed after it.
        group(&root.join("iostone-own-0123456789abcdef"), &[("cpu.max", "30000 100000\n")]);
        group(&root.join("iostone-own-0123456789abcdef-engine"), &[("pids.max", "512\n")]);
        assert!(stop(root, &["cpu"]));
        fs::write(root.join(SUBTREE_CONTROL), "pids\n").unwrap();
        assert!(stop(root, &["pids"]));
    }

    #[test]
    fn several_are_handed_down_in_one_write() {
        let directory = tempfile::tempdir().unwrap();
        group(directory.path(), &[(SUBTREE_CONTROL, "")]);
        let two = [Controller::Cpu, Controller::Cpuacct, Controller::Memory];
        // A file takes the text as it is, where the kernel takes it as an order.
        let error = hand_down("limit", directory.path(), &two).unwrap_err().to_string();
        assert!(
            error.contains("asked for `+cpu +memory`") && error.contains("reports `+cpu +memory`"),
            "{error}"
        );
    }
}
