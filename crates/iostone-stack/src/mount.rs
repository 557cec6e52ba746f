//! Mounting the filesystem, and reading back from the kernel that every option took.

mod options;
mod read_back;

use std::fs;
use std::path::PathBuf;

use iostone_model::experiment::Mount;
use iostone_model::trial::Check;
use rustix::mount::MountFlags;

use crate::error::StackError;
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};

pub(crate) use options::MountOptions;
use read_back::Reported;

/// The layer of a mount.
#[derive(Debug)]
pub(crate) struct MountLayer {
    options: MountOptions,
    target: PathBuf,
}

impl MountLayer {
    /// # Errors
    /// [`StackError::Usage`] for options that contradict each other or that mean nothing to the kernel.
    pub(crate) fn new(mount: &Mount) -> Result<Self, StackError> {
        Ok(Self { options: MountOptions::parse(&mount.options)?, target: PathBuf::new() })
    }
}

impl Layer for MountLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let device = site.require_device("mount")?.clone();
        let filesystem = site.filesystem_kind.unwrap_or("ext4");
        let work_directory = site.work_directory.clone();
        let target = site.own_directory(&work_directory)?.join("mount");
        site.make_directory(&target, Scope::Trial, true)?;
        let entry = site
            .journal
            .begin(Scope::Trial, Step::Mount { target: target.clone(), number: device.number })?;
        self.target.clone_from(&target);
        let data = std::ffi::CString::new(self.options.data())
            .map_err(|_| StackError::usage("mount.options", "an option holds a zero byte"))?;
        rustix::mount::mount(&device.path, &target, filesystem, self.options.flags(), Some(data.as_c_str()))
            .map_err(|errno| match errno {
                rustix::io::Errno::INVAL => StackError::NotApplied {
                    layer: "mount",
                    asked: self.options.words().join(","),
                    read_back:
                        "Invalid argument: the kernel takes no such options (its log, `dmesg`, may say more)"
                            .to_owned(),
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
        let Some(mounted) = top.filter(|mounted| mounted.is_of(device.number)) else {
            return Err(StackError::NotApplied {
                layer: "mount",
                asked: format!("{} on {}", device.path.display(), self.target.display()),
                read_back: top.map_or("nothing mounted there".to_owned(), |mounted| {
                    format!("{} there", mounted.source.display())
                }),
                from: read_back::MOUNTINFO.to_owned(),
            });
        };
        let options_path = format!("/proc/fs/{}/{}/options", mounted.filesystem, device.name);
        let reported = Reported::new(mounted, fs::read_to_string(&options_path).ok(), options_path);
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

impl MountOptions {
    /// The options that are flags of mount(2).
    fn flags(&self) -> MountFlags {
        self.options()
            .iter()
            .filter_map(options::MountOption::flag)
            .fold(MountFlags::empty(), |flags, flag| flags | flag)
    }
}
