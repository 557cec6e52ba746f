//! What the workload's directory is held against, from inside: the driver's filesystem, the place, and above all the device
//! that its bytes end on.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::trial::{Check, ContainerFacts};

use super::InsideView;
use super::StandingContainer;
use super::inside::{MOUNTINFO, in_words};
use crate::below::mount_of;
use crate::device::DeviceNumber;
use crate::error::StackError;
use crate::mountinfo::{self, Mount};
use crate::site::Site;

/// As [`super::recognise`].
///
/// # Errors
/// As there.
pub(super) fn recognise(site: &Site, view: &InsideView) -> Result<(ContainerFacts, Vec<Check>), StackError> {
    let standing = site
        .container
        .as_ref()
        .ok_or_else(|| StackError::unexpected("container", "there is no container to inspect"))?;
    let own = OwnFilesystem::of(site)?;
    let seen = view.mounted()?;
    let is_layer = standing.facts.place == "layer";
    let is_overlay = is_layer && matches!(standing.facts.driver.as_str(), "overlay" | "overlay2");
    let mut checks = vec![if standing.facts.place == "tmpfs" {
        in_memory(&seen)?
    } else if is_overlay {
        own.holds_upper(&seen, standing)?
    } else {
        own.is_seen(&seen, standing)?
    }];
    let volatile = is_volatile(&seen);
    if is_overlay {
        checks.push(durability(is_layer && standing.facts.volatile, volatile)?);
    }
    if let Some(backing) = &standing.backing {
        checks.push(own.holds(backing)?);
    }
    let facts = ContainerFacts {
        mount_line: view.mount_line.clone(),
        volatile,
        device: (standing.facts.place != "tmpfs").then(|| own.device_name.clone()),
        ..standing.facts.clone()
    };
    Ok((facts, checks))
}

/// Whether an overlay drops every fsync: `volatile` on kernels from 5.10, `fsync=volatile` as later ones write it.
fn is_volatile(seen: &Mount) -> bool {
    let said = |option: &String| option == "volatile" || option == "fsync=volatile";
    seen.filesystem == "overlay" && seen.super_options.iter().any(said)
}

fn durability(asked: bool, found: bool) -> Result<Check, StackError> {
    let words = |volatile| if volatile { "fsync dropped (volatile)" } else { "fsync kept (not volatile)" };
    if asked != found {
        return Err(not_applied(words(asked).to_owned(), words(found).to_owned()));
    }
    Ok(check(words(asked).to_owned(), words(found).to_owned()))
}

fn in_memory(seen: &Mount) -> Result<Check, StackError> {
    let asked = "place tmpfs".to_owned();
    if seen.filesystem != "tmpfs" {
        return Err(not_applied(asked, describe(seen)));
    }
    Ok(check(asked, describe(seen)))
}

/// The stack's filesystem, as this process sees it mounted.
struct OwnFilesystem {
    mounted: Mount,
    device_name: String,
    device_number: DeviceNumber,
}

impl OwnFilesystem {
    fn of(site: &Site) -> Result<Self, StackError> {
        let target = site
            .mount
            .as_deref()
            .ok_or_else(|| StackError::unexpected("container", "the stack has no filesystem mounted"))?;
        let mounted = mountinfo::own_mounts()?
            .into_iter()
            .rev()
            .find(|mounted| mounted.target == target)
            .ok_or_else(|| StackError::unexpected(target, "nothing is mounted there now"))?;
        let device = site.device.as_ref().or_else(|| site.members.first());
        let device = device.ok_or_else(|| StackError::unexpected(target, "it is on no device"))?;
        Ok(Self { mounted, device_name: device.name.clone(), device_number: device.number })
    }

    /// "ext4 on loop0 (device 7:0)".
    fn words(&self) -> String {
        format!("{} on {} ({})", self.mounted.filesystem, self.device_name, in_words(self.device_number))
    }

    /// Whether a mount, in whichever mount namespace, is of this filesystem. The numbers that mount tables show tell
    /// filesystems apart also where they have none on a device, as btrfs does.
    fn is(&self, other: &Mount) -> bool {
        let same_number = other.number == self.mounted.number;
        // Some distributions' kernels show each subvolume of a btrfs with a number of its own.
        other.filesystem == self.mounted.filesystem
            && (same_number || (other.filesystem == "btrfs" && mountinfo::is_of(other, self.device_number)))
    }

    /// The directory lies on this filesystem itself.
    fn is_seen(&self, seen: &Mount, standing: &StandingContainer) -> Result<Check, StackError> {
        let place = &standing.facts.place;
        let driver = &standing.facts.driver;
        let what = if place == "layer" { format!("driver {driver}, ") } else { String::new() };
        let asked = format!("place {place}, {what}{}", self.words());
        if !self.is(seen) {
            return Err(not_applied(asked, describe(seen)));
        }
        Ok(check(asked, describe(seen)))
    }

    /// The directory lies on an overlay whose upper directory is on this filesystem, and is the container's.
    fn holds_upper(&self, seen: &Mount, standing: &StandingContainer) -> Result<Check, StackError> {
        let asked =
            format!("place layer, driver {}, upper directory on {}", standing.facts.driver, self.words());
        if seen.filesystem != "overlay" {
            return Err(not_applied(asked, describe(seen)));
        }
        let Some(upper) = upper_of(seen) else {
            return Err(not_applied(asked, format!("{} without an upper directory", describe(seen))));
        };
        // An engine with many layers writes relative names, which only its working directory explains.
        let is_the_containers = standing.backing.as_deref().is_none_or(|backing| {
            if upper.is_absolute() {
                real(backing).starts_with(real(&upper))
            } else {
                backing.ancestors().any(|above| above.ends_with(&upper))
            }
        });
        if !is_the_containers {
            return Err(not_applied(asked, format!("upper directory {}", upper.display())));
        }
        if upper.is_absolute() {
            let below = mount_of(&upper)?.filter(|below| !self.is(below));
            if let Some(below) = below {
                return Err(not_applied(
                    asked,
                    format!("upper directory {} on {}", upper.display(), describe(&below)),
                ));
            }
        }
        Ok(check(asked, format!("overlay, upper directory {}", upper.display())))
    }

    /// A directory of this host lies on this filesystem, and nothing else is mounted in between.
    fn holds(&self, backing: &Path) -> Result<Check, StackError> {
        let asked = format!("{} on {}", backing.display(), self.words());
        let from = format!("{MOUNTINFO} and statx(2)");
        match mount_of(backing)? {
            Some(mounted) if self.is(&mounted) => Ok(Check {
                layer: "container".to_owned(),
                asked,
                read_back: format!("{} on {}", backing.display(), describe(&mounted)),
                from,
            }),
            other => Err(StackError::NotApplied {
                layer: "container",
                asked,
                read_back: other.map_or_else(|| "no mount".to_owned(), |mounted| describe(&mounted)),
                from,
            }),
        }
    }
}

/// The upper directory of an overlay. Kernels before 6.5 show it as it was given to mount(2), with backslashes before what
/// has a meaning there; such a name exists only without them.
fn upper_of(seen: &Mount) -> Option<PathBuf> {
    let upper = seen.super_option("upperdir")?;
    if upper.is_relative() || upper.exists() {
        return Some(upper);
    }
    let given = mountinfo::without_backslashes(&upper);
    Some(if given.exists() { given } else { upper })
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// "ext4 on /dev/loop0 (device 7:0)".
fn describe(mounted: &Mount) -> String {
    format!("{} on {} ({})", mounted.filesystem, mounted.source.display(), in_words(mounted.number))
}

fn check(asked: String, read_back: String) -> Check {
    Check { layer: "container".to_owned(), asked, read_back, from: seen_from() }
}

fn not_applied(asked: String, read_back: String) -> StackError {
    StackError::NotApplied { layer: "container", asked, read_back, from: seen_from() }
}

fn seen_from() -> String {
    format!("{MOUNTINFO}, from where the workload stands,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Mount {
        mountinfo::parse(text.as_bytes()).pop().unwrap()
    }

    fn own() -> OwnFilesystem {
        OwnFilesystem {
            mounted: line("60 1 7:3 / / rw - ext4 /dev/loop3 rw"),
            device_name: "loop3".to_owned(),
            device_number: (7, 3),
        }
    }

    fn standing(place: &str, driver: &str) -> StandingContainer {
        StandingContainer {
            agent: Vec::new(),
            directory: PathBuf::from("/iostone/work"),
            backing: None,
            mark: String::new(),
            facts: ContainerFacts {
                place: place.to_owned(),
                driver: driver.to_owned(),
                ..ContainerFacts::default()
            },
        }
    }

    #[test]
    fn both_words_for_dropped_flushes_are_known() {
        let overlay = |options: &str| line(&format!("61 42 0:52 / /m rw - overlay o rw,{options}"));
        assert!(is_volatile(&overlay("upperdir=/u,volatile")));
        assert!(is_volatile(&overlay("upperdir=/u,uuid=on,fsync=volatile")));
        assert!(!is_volatile(&overlay("upperdir=/volatile,fsync=strict")));
        let kept = durability(true, false).unwrap_err().to_string();
        assert!(kept.contains("asked for `fsync dropped") && kept.contains("`fsync kept"), "{kept}");
        let dropped = durability(false, true).unwrap_err().to_string();
        assert!(dropped.contains("asked for `fsync kept"), "{dropped}");
    }

    #[test]
    fn bytes_that_would_land_on_another_device_are_refused_with_both_named() {
        let seen = line("61 42 254:0 /var/lib/x /iostone/bind rw - ext4 /dev/vda rw");
        let error = own().is_seen(&seen, &standing("bind", "overlay2")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("loop3 (device 7:3)") && text.contains("/dev/vda (device 254:0)"), "{text}");
        assert!(own().is_seen(&own().mounted, &standing("bind", "overlay2")).is_ok());
        // An anonymous number of another filesystem is no match.
        let other = line("61 42 7:3 / /iostone/bind rw - xfs /dev/loop3 rw");
        assert!(own().is_seen(&other, &standing("layer", "vfs")).is_err());
    }

    #[test]
    fn another_filesystem_than_an_overlay_and_a_foreign_upper_directory_are_refused() {
        let fuse = line("61 42 0:52 / / rw - fuse.fuse-overlayfs f rw");
        assert!(own().holds_upper(&fuse, &standing("layer", "overlay")).is_err());
        let mut layer = standing("layer", "overlay2");
        layer.backing = Some(PathBuf::from("/data/one/diff/iostone/work"));
        let foreign = line("61 42 0:52 / / rw - overlay o rw,lowerdir=/l,upperdir=/data/two/diff,workdir=/w");
        let error = own().holds_upper(&foreign, &layer).unwrap_err().to_string();
        assert!(error.contains("/data/two/diff"), "{error}");
        let read_only = line("61 42 0:52 / / ro - overlay o ro,lowerdir=/l:/m");
        assert!(own().holds_upper(&read_only, &layer).is_err());
        let relative = line("61 42 0:52 / / rw - overlay o rw,lowerdir=l,upperdir=one/diff,workdir=one/work");
        assert!(own().holds_upper(&relative, &layer).is_ok());
    }

    #[test]
    fn memory_has_to_be_memory() {
        assert!(in_memory(&line("61 42 0:52 / /iostone/tmpfs rw - tmpfs tmpfs rw")).is_ok());
        assert!(in_memory(&own().mounted).is_err());
    }
}
