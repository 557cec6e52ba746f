//! Mounting the filesystem, and reading back from the kernel that every option took.

mod accepted;
mod options;
mod read_back;

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Container, Stack};
use iostone_model::trial::Check;
use rustix::mount::MountFlags;

use crate::error::StackError;
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};

pub(crate) use accepted::examine;
pub(crate) use options::MountOptions;
use read_back::Reported;

/// The layer of a mount.
#[derive(Debug)]
pub(crate) struct MountLayer {
    options: MountOptions,
    /// Whether what stands above passes paths on as words of mount(8).
    needs_plain_path: bool,
    target: PathBuf,
}

impl MountLayer {
    /// # Errors
    /// [`StackError::Usage`] for options that contradict each other or that mean nothing to the kernel.
    pub(crate) fn new(stack: &Stack) -> Result<Self, StackError> {
        Ok(Self {
            options: MountOptions::parse(&stack.mount.options)?,
            needs_plain_path: matches!(stack.container, Container::Docker(_) | Container::Podman(_)),
            target: PathBuf::new(),
        })
    }
}

impl Layer for MountLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let device = site.require_device("mount")?.clone();
        let filesystem = site.filesystem_kind.unwrap_or("ext4");
        let work_directory = site.work_directory.clone();
        let own = site.own_directory(&work_directory)?;
        let target = if self.needs_plain_path && has_meaning_in_options(&own) {
            site.short_directory()?.join("mount")
        } else {
            own.join("mount")
        };
        site.make_directory(&target, Scope::Trial, true)?;
        let entry = site
            .journal
            .begin(Scope::Trial, Step::Mount { target: target.clone(), number: device.number })?;
        self.target.clone_from(&target);
        let data = std::ffi::CString::new(self.options.data())
            .map_err(|_| StackError::usage("mount.options", "an option contains a NUL byte"))?;
        rustix::mount::mount(&device.path, &target, filesystem, self.options.flags(), Some(data.as_c_str()))
            .map_err(|errno| match errno {
                rustix::io::Errno::INVAL => StackError::NotApplied {
                    layer: "mount",
                    asked: self.options.words().join(","),
                    read_back:
                        "Invalid argument: the kernel does not accept these options (`dmesg` may say more)"
                            .to_owned(),
                    from: "mount(2)".to_owned(),
                },
                // Device and directory are there: what is missing is something that an option names.
                rustix::io::Errno::NOENT if !data.is_empty() => StackError::NotApplied {
                    layer: "mount",
                    asked: self.options.words().join(","),
                    read_back: format!(
                        "No such file or directory: a new {filesystem} has nothing of that name; leave `{}` out",
                        data.to_string_lossy()
                    ),
                    from: "mount(2)".to_owned(),
                },
                other => StackError::io("mount", &target, other),
            })
            .inspect_err(|_| site.journal.mark_undone(entry))?;
        site.directory = Some(target.clone());
        site.mount = Some(target);
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let device = site.require_device("mount")?;
        let mounts = mountinfo::own_mounts()?;
        // The last one is on top where several lie on one another.
        let top = mounts.iter().rev().find(|mounted| mounted.target == self.target);
        let Some(mounted) = top.filter(|mounted| mountinfo::is_of(mounted, device.number)) else {
            return Err(StackError::NotApplied {
                layer: "mount",
                asked: format!("{} on {}", device.path.display(), self.target.display()),
                read_back: top.map_or("nothing mounted there".to_owned(), |mounted| {
                    format!("{} there", mounted.source.display())
                }),
                from: read_back::MOUNTINFO.to_owned(),
            });
        };
        // ext2 is mostly served by the driver of ext4, which keeps the list under its own name.
        let drivers =
            if mounted.filesystem == "ext2" { &["ext2", "ext4"][..] } else { &[&*mounted.filesystem] };
        let mut lists = drivers.iter().map(|driver| format!("/proc/fs/{driver}/{}/options", device.name));
        let all = lists.find_map(|path| Some((fs::read_to_string(&path).ok()?, path)));
        let reported = Reported::new(mounted, all);
        let mut checks = vec![Check {
            layer: "mount".to_owned(),
            asked: format!("{} on {}", device.path.display(), self.target.display()),
            read_back: format!("{} on {}", mounted.source.display(), mounted.target.display()),
            from: read_back::MOUNTINFO.to_owned(),
        }];
        for option in self.options.options() {
            checks.push(reported.check(option)?);
        }
        Ok(checks)
    }
}

/// Whether overlayfs would not take a path as it is: a colon stands between its lower directories, a comma between the
/// options of mount(2), and a backslash before either. Docker's drivers pass paths on as they are.
pub(crate) fn has_meaning_in_options(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b',' | b'\\'))
}

impl MountOptions {
    /// The options that are flags of mount(2).
    fn flags(&self) -> MountFlags {
        self.options()
            .iter()
            .filter_map(options::MountOption::flag)
            .fold(MountFlags::empty(), |flags, flag| flags | flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_plain_without_what_separates_options() {
        assert!(!has_meaning_in_options(Path::new("/srv/a b'c\"d%e/iostone")));
        for path in ["/srv/10:30", "/srv/a,b", "/srv/a\\b"] {
            assert!(has_meaning_in_options(Path::new(path)), "{path}");
        }
    }
}
