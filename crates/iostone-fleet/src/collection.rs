//! The Ansible collection within the program, so that the program is enough; its source is `ansible/` in the repository.

use std::fs;
use std::path::Path;

use crate::error::FleetError;

macro_rules! collection {
    ($($path:literal),* $(,)?) => {
        /// The files that playbooks need, by their path in the collection.
        pub const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../../../ansible/", $path)))),*];
    };
}

collection![
    "galaxy.yml",
    "README.md",
    "meta/runtime.yml",
    "playbooks/start.yml",
    "playbooks/poll.yml",
    "playbooks/fetch.yml",
    "playbooks/clean.yml",
    "playbooks/site.yml",
    "plugins/callback/events.py",
    "roles/iostone/defaults/main.yml",
    "roles/iostone/vars/main.yml",
    "roles/iostone/meta/main.yml",
    "roles/iostone/meta/argument_specs.yml",
    "roles/iostone/tasks/main.yml",
    "roles/iostone/tasks/start.yml",
    "roles/iostone/tasks/poll.yml",
    "roles/iostone/tasks/wait.yml",
    "roles/iostone/tasks/fetch.yml",
    "roles/iostone/tasks/clean.yml",
    "roles/iostone/templates/start.sh.j2",
];

/// Writes the collection below `place`, as `ansible_collections/iostone/fleet`, where Ansible looks for it by that name.
///
/// # Errors
/// The file system's.
pub fn unpack(place: &Path) -> Result<(), FleetError> {
    let root = place.join("ansible_collections/iostone/fleet");
    for (name, text) in FILES {
        let path = root.join(name);
        let parent = path.parent().unwrap_or(&root);
        fs::create_dir_all(parent).map_err(|error| FleetError::file("making", parent, error))?;
        fs::write(&path, text).map_err(|error| FleetError::file("writing", &path, error))?;
    }
    Ok(())
}
