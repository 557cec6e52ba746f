//! The steps of a dry run between the filesystem and the workload: an overlay, or an engine with its container.

use iostone_model::experiment::{Contained, Container, ContainerPlace, Stack};

use super::{Plan, SHORT};
use crate::container::OVERLAY_BASE;

/// Adds what makes the container on the filesystem mounted on `mount`, with its mount point in the session's own
/// directory, and what takes it back to the front of `undo`.
pub(super) fn add(plan: &mut Plan, stack: &Stack, mount: &str, own: &str, undo: &mut Vec<String>) {
    match &stack.container {
        Container::None => {}
        Container::Overlay(contained) => add_overlay(plan, contained, mount, own, undo),
        Container::Docker(contained) => {
            let root = format!("{mount}/docker");
            let driver = contained.effective_driver().docker_name();
            let text = format!(
                "dockerd --data-root {root} --storage-driver {driver} --bridge none --iptables=false, on its own socket, in \
                 its own mount namespace"
            );
            plan.add("container", text, Some("iostone's own Docker daemon".to_owned()), 0);
            undo.insert(
                0,
                "stop that daemon and everything it started, and unmount what it mounted".to_owned(),
            );
            add_container(plan, contained, "docker", mount);
        }
        Container::Podman(contained) => {
            let root = format!("{mount}/podman");
            plan.add("container", format!("mkdir {SHORT} {root}"), Some(format!("{SHORT} and {root}")), 0);
            let text = format!(
                "for every podman below: --root {root} --runroot {SHORT}/run --tmpdir {SHORT}/libpod --storage-driver {} \
                 --runtime-flag root={SHORT}/state --cgroup-manager cgroupfs --events-backend none, with its own settings",
                contained.effective_driver().podman_name()
            );
            plan.add("container", text, None, 0);
            undo.insert(
                0,
                format!(
                    "stop the container and everything podman started, unmount what it mounted, and rm -r {SHORT}"
                ),
            );
            add_container(plan, contained, "podman", mount);
        }
    }
}

fn add_overlay(plan: &mut Plan, contained: &Contained, mount: &str, own: &str, undo: &mut Vec<String>) {
    let base = format!("{mount}/{OVERLAY_BASE}");
    let target = format!("{own}/{OVERLAY_BASE}");
    let name = own.rsplit('/').next().unwrap_or(own);
    let (directories, command) = match contained.place {
        ContainerPlace::Host => (format!("{base}/host"), None),
        ContainerPlace::Layer => {
            let volatile = if contained.volatile { ",volatile" } else { "" };
            let options =
                format!("lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work{volatile}");
            let directories = format!("{base}/lower {base}/upper {base}/work {target}");
            (directories, Some(format!("mount -t overlay -o {options} {name} {target}")))
        }
        ContainerPlace::Bind => {
            (format!("{base}/bind {target}"), Some(format!("mount --bind {base}/bind {target}")))
        }
        ContainerPlace::Tmpfs => {
            (format!("{base} {target}"), Some(format!("mount -t tmpfs -o mode=755 {name} {target}")))
        }
        // There is none; preflight says so.
        ContainerPlace::Volume => return,
    };
    plan.add("container", format!("mkdir --parents {directories}"), None, 0);
    if let Some(command) = command {
        plan.add("container", command, Some(format!("a mount on {target}")), 0);
        undo.insert(0, format!("umount {target}"));
    }
}

/// What Docker and Podman have in common. It goes with the engine, so that it has no undoing of its own.
fn add_container(plan: &mut Plan, contained: &Contained, engine: &str, mount: &str) {
    let host = match contained.place {
        ContainerPlace::Host => Some(format!("{mount}/host")),
        ContainerPlace::Bind => Some(format!("{mount}/bind")),
        ContainerPlace::Volume | ContainerPlace::Layer | ContainerPlace::Tmpfs => None,
    };
    if let Some(host) = &host {
        plan.add("container", format!("mkdir {host}"), Some(host.clone()), 0);
    }
    let is_podman = engine == "podman";
    let (apart, image) = if is_podman {
        (" (where /var/lib/containers is not seen)", "localhost/iostone:trial")
    } else {
        ("", "iostone:trial")
    };
    let import =
        format!("{engine} import - {image}{apart}, from the iostone binary alone and without a registry");
    plan.add("container", import, Some("an image".to_owned()), 0);
    let place = match contained.place {
        ContainerPlace::Bind => format!(" --mount type=bind,source={mount}/bind,target=/iostone/bind"),
        ContainerPlace::Volume => " --mount type=volume,source=iostone,target=/iostone/volume".to_owned(),
        ContainerPlace::Tmpfs => " --tmpfs /iostone/tmpfs".to_owned(),
        ContainerPlace::Host | ContainerPlace::Layer => String::new(),
    };
    let removed = if contained.volatile { " --rm" } else { "" };
    let own = if is_podman {
        " --cgroups no-conmon --cgroup-parent /iostone-TOKEN-engine --security-opt apparmor=unconfined \
         --security-opt label=disable"
    } else {
        ""
    };
    let run = format!(
        "{engine} run --detach --interactive{removed} --network none --security-opt seccomp=unconfined{own}{place} {image} \
         agent"
    );
    plan.add("container", run, Some("a container without a network".to_owned()), 0);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use iostone_model::experiment::{Ext4, Filesystem, LoopVolume, StorageDriver, Volume};
    use iostone_model::units::Bytes;

    use super::super::plan_steps;
    use super::*;

    fn steps_of(container: Container) -> Vec<String> {
        let stack = Stack {
            filesystem: Filesystem::Ext4(Ext4::default()),
            container,
            ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(64 << 20))))
        };
        plan_steps(&stack, Path::new("/srv")).into_iter().skip(6).map(|step| step.text).collect()
    }

    #[test]
    fn a_path_with_a_meaning_in_mount_options_gives_way_to_the_one_short_directory() {
        let stack = Stack {
            filesystem: Filesystem::Ext4(Ext4::default()),
            container: Container::Podman(Contained::default()),
            ..Stack::of(Volume::Loop(LoopVolume::new(Bytes(64 << 20))))
        };
        let steps = plan_steps(&stack, Path::new("/srv/a,b"));
        let mount = steps.iter().find(|step| step.text.starts_with("mount ")).unwrap();
        assert!(mount.text.ends_with(" /run/iostone-HEX/mount"), "{}", mount.text);
        assert!(steps.iter().any(|step| {
            step.text.contains("--root /run/iostone-HEX/mount/podman --runroot /run/iostone-HEX/run ")
        }));
    }

    #[test]
    fn an_overlay_is_mounted_over_the_filesystem_and_goes_before_it() {
        let contained = Contained { volatile: true, ..Contained::default() };
        let base = "/srv/iostone-TOKEN/mount/container";
        let target = "/srv/iostone-TOKEN/container";
        assert_eq!(
            steps_of(Container::Overlay(contained))[..4],
            [
                format!("mkdir --parents {base}/lower {base}/upper {base}/work {target}"),
                format!(
                    "mount -t overlay -o lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work,volatile \
                     iostone-TOKEN {target}"
                ),
                format!("umount {target}"),
                "umount /srv/iostone-TOKEN/mount".to_owned(),
            ]
        );
        let host = Contained { place: ContainerPlace::Host, ..Contained::default() };
        assert_eq!(steps_of(Container::Overlay(host))[0], format!("mkdir --parents {base}/host"));
    }

    #[test]
    fn an_engine_keeps_its_layers_on_the_stacks_filesystem_and_has_no_network() {
        let contained = Contained {
            driver: Some(StorageDriver::Vfs),
            place: ContainerPlace::Bind,
            ..Contained::default()
        };
        let docker = steps_of(Container::Docker(contained.clone()));
        let mount = "/srv/iostone-TOKEN/mount";
        assert!(docker[0].starts_with(&format!("dockerd --data-root {mount}/docker --storage-driver vfs ")));
        assert_eq!(docker[1], format!("mkdir {mount}/bind"));
        assert!(
            docker[3].contains(&format!(
                "--network none --security-opt seccomp=unconfined --mount type=bind,source={mount}/bind,"
            )),
            "{docker:?}"
        );
        assert!(docker[4].starts_with("stop that daemon"), "{docker:?}");
        let layer = Contained { place: ContainerPlace::Layer, volatile: true, ..contained };
        let podman = steps_of(Container::Podman(layer));
        assert_eq!(podman[0], format!("mkdir /run/iostone-HEX {mount}/podman"));
        assert!(podman[1].contains(&format!("--root {mount}/podman --runroot /run/iostone-HEX/run ")));
        assert!(podman[2].starts_with("podman import - localhost/iostone:trial"), "{podman:?}");
        assert!(podman[3].starts_with("podman run --detach --interactive --rm --network none"), "{podman:?}");
        assert!(podman[4].ends_with("and rm -r /run/iostone-HEX"), "{podman:?}");
    }
}
