//! A plain overlay: lower and upper directory on the stack's filesystem, and no engine; beside it the other places that a
//! container's workload may work in, made by nothing but mount(2).
//!
//! Documentation/filesystems/overlayfs.rst tells what the kernel does, and what `volatile` leaves out.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Contained, ContainerPlace, Filesystem, Stack, StorageDriver};
use iostone_model::trial::{Check, ContainerFacts};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};

use super::{InsideView, StandingContainer, engine, image};
use crate::error::StackError;
use crate::filesystem::{kernel_has, kernel_release};
use crate::layer::Layer;
use crate::mountinfo;
use crate::site::Site;
use crate::step::{Scope, Step};

/// The directory on the stack's filesystem that everything of the container lies in.
pub(crate) const BASE: &str = "container";
/// mount(2) takes one page of options, and cuts off what is beyond it without a word.
const OPTIONS_MAX_BYTES: usize = 4095;
/// The first kernel with `volatile`: Documentation/filesystems/overlayfs.rst, "Volatile mount".
const VOLATILE_SINCE: (u32, u32) = (5, 10);
const ENGINE: &str = "overlay";

/// The layer.
#[derive(Debug)]
pub(crate) struct OverlayLayer {
    contained: Contained,
    target: PathBuf,
}

impl OverlayLayer {
    /// # Errors
    /// [`StackError::Usage`] for what it cannot be asked.
    pub(crate) fn new(contained: &Contained) -> Result<Self, StackError> {
        if contained.effective_driver() != StorageDriver::Overlay2 {
            return Err(StackError::usage(
                "container.driver",
                "a plain overlay only has the driver `overlay2`; leave it out, or use `kind = \"docker\"`",
            ));
        }
        if contained.place == ContainerPlace::Volume {
            return Err(no_volumes());
        }
        if contained.volatile && contained.place != ContainerPlace::Layer {
            return Err(StackError::usage(
                "container.volatile",
                format!(
                    "only a writable layer can ignore fsync, and `place = \"{}\"` has none; leave it out, or use `place = \
                     \"layer\"`",
                    contained.place.word()
                ),
            ));
        }
        Ok(Self { contained: contained.clone(), target: PathBuf::new() })
    }

    /// Lower, upper and work directory on the stack's filesystem, and the overlay over them; gives the upper directory.
    fn mount_overlay(&self, site: &mut Site, base: &Path) -> Result<PathBuf, StackError> {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| base.join(name));
        for directory in [&lower, &upper, &work] {
            make_within(directory)?;
        }
        if let Some(files) = site.provision.lower {
            image::lay_lower(files, &lower, site.seed, site.interrupt())?;
        }
        let mut options = option("lowerdir", &lower);
        for (name, path) in [("upperdir", &upper), ("workdir", &work)] {
            options.push(b',');
            options.extend(option(name, path));
        }
        if self.contained.volatile {
            options.extend(b",volatile");
        }
        if options.len() > OPTIONS_MAX_BYTES {
            return Err(StackError::unexpected(
                base,
                "its path is too long for the options of an overlay; keep the runs elsewhere with `--runs`",
            ));
        }
        let data = CString::new(options)
            .map_err(|_| StackError::unexpected(base, "its path contains a NUL byte"))?;
        self.mount_in_place(site, None, |source, target| {
            mount(source, target, "overlay", MountFlags::empty(), Some(data.as_c_str()))
        })?;
        Ok(upper)
    }

    /// Mounts on the target, with the journal told before.
    fn mount_in_place(
        &self,
        site: &mut Site,
        number: Option<(u32, u32)>,
        mount: impl FnOnce(&str, &Path) -> Result<(), Errno>,
    ) -> Result<(), StackError> {
        let source = site.directory_name();
        site.make_directory(&self.target, Scope::Trial, true)?;
        let step = Step::LayerMount { target: self.target.clone(), number };
        let entry = site.journal.begin(Scope::Trial, step)?;
        mount(&source, &self.target)
            .map_err(|errno| match errno {
                Errno::INVAL => StackError::NotApplied {
                    layer: "container",
                    asked: self.words(),
                    read_back: "Invalid argument: the kernel does not accept this overlay on this filesystem (`dmesg` may say \
                                more)"
                        .to_owned(),
                    from: "mount(2)".to_owned(),
                },
                other => StackError::io("mount", &self.target, other),
            })
            .inspect_err(|_| site.journal.mark_undone(entry))
    }

    fn words(&self) -> String {
        let volatile = if self.contained.volatile { ", volatile" } else { "" };
        format!("{ENGINE}, place {}{volatile}", self.contained.place.word())
    }
}

impl Layer for OverlayLayer {
    fn apply(&mut self, site: &mut Site) -> Result<(), StackError> {
        let filesystem = site
            .mount
            .clone()
            .ok_or_else(|| StackError::unexpected("container", "the stack has no filesystem mounted"))?;
        // What lies on the filesystem goes with it, so that only the mounts are steps of the journal.
        let base = filesystem.join(BASE);
        make_within(&base)?;
        let work_directory = site.work_directory.clone();
        self.target = site.own_directory(&work_directory)?.join(BASE);
        let (directory, backing) = match self.contained.place {
            ContainerPlace::Layer => {
                let upper = self.mount_overlay(site, &base)?;
                (self.target.clone(), Some(upper))
            }
            ContainerPlace::Host => {
                let directory = base.join("host");
                make_within(&directory)?;
                (directory.clone(), Some(directory))
            }
            ContainerPlace::Bind => {
                let bound = base.join("bind");
                make_within(&bound)?;
                let device = site.device.as_ref().or_else(|| site.members.first());
                let number = device.map(|device| device.number);
                self.mount_in_place(site, number, |_, target| mount_bind(&bound, target))?;
                (self.target.clone(), Some(bound))
            }
            ContainerPlace::Tmpfs => {
                self.mount_in_place(site, None, |source, target| {
                    mount(source, target, "tmpfs", MountFlags::empty(), Some(c"mode=755"))
                })?;
                (self.target.clone(), None)
            }
            ContainerPlace::Volume => return Err(no_volumes()),
        };
        site.directory = Some(directory.clone());
        site.container = Some(StandingContainer {
            agent: Vec::new(),
            directory: directory.clone(),
            backing,
            mark: String::new(),
            facts: ContainerFacts {
                kind: ENGINE.to_owned(),
                driver: StorageDriver::Overlay2.docker_name().to_owned(),
                backing_filesystem: site.filesystem_kind.unwrap_or_default().to_owned(),
                place: self.contained.place.word().to_owned(),
                directory: directory.display().to_string(),
                volatile: self.contained.volatile,
                ..ContainerFacts::default()
            },
        });
        let facts = engine::recognise(site, &InsideView::of(&directory)?)?.0;
        if self.contained.place == ContainerPlace::Layer {
            site.notes.push(settings_note(&facts.mount_line));
        }
        if let Some(standing) = &mut site.container {
            standing.facts = facts;
        }
        Ok(())
    }

    fn verify(&self, site: &Site) -> Result<Vec<Check>, StackError> {
        let standing = site
            .container
            .as_ref()
            .ok_or_else(|| StackError::unexpected("container", "there is none to read back"))?;
        let view = InsideView::of(&standing.directory)?;
        let mut checks = engine::recognise(site, &view)?.1;
        if self.contained.place == ContainerPlace::Bind
            && let Some(bound) = &standing.backing
        {
            checks.push(bound_directory(site, bound, &view)?);
        }
        Ok(checks)
    }
}

/// That a bind mount shows the directory it was made of: its root, counted from that of the filesystem's own mount.
fn bound_directory(site: &Site, bound: &Path, view: &InsideView) -> Result<Check, StackError> {
    let mount = site.mount.as_deref().unwrap_or(Path::new("/"));
    let below = bound.strip_prefix(mount).unwrap_or(bound);
    let mounts = mountinfo::own_mounts()?;
    let root = mounts.iter().rev().find(|mounted| mounted.target == mount).map(|mounted| &mounted.root);
    let expected = root.map_or_else(|| below.to_owned(), |root| root.join(below));
    let found = view.mounted()?.root;
    let asked = format!("bind mount of {}", expected.display());
    let read_back = format!("bind mount of {}", found.display());
    let from = super::inside::MOUNTINFO.to_owned();
    if found != expected {
        return Err(StackError::NotApplied { layer: "container", asked, read_back, from });
    }
    Ok(Check { layer: "container".to_owned(), asked, read_back, from })
}

/// A directory on the stack's own filesystem.
fn make_within(directory: &Path) -> Result<(), StackError> {
    fs::create_dir(directory).map_err(|error| StackError::io("mkdir", directory, error))
}

/// `name=path`, with a backslash before what would end the path.
fn option(name: &str, path: &Path) -> Vec<u8> {
    let mut option = format!("{name}=").into_bytes();
    for &byte in path.as_os_str().as_bytes() {
        // A colon parts lower directories; in the others it is a byte like any other.
        if matches!(byte, b'\\' | b',') || (byte == b':' && name == "lowerdir") {
            option.push(b'\\');
        }
        option.push(byte);
    }
    option
}

/// How the overlay stands to what nobody asked for: the line shows what differs from the module's parameters.
fn settings_note(mount_line: &str) -> String {
    let shown = mountinfo::parse(mount_line.as_bytes()).pop();
    let settings = ["redirect_dir", "index", "metacopy"].map(|name| {
        let on_the_line = shown.as_ref().and_then(|mounted| mounted.super_option(name));
        let value = on_the_line.map(|value| value.display().to_string()).or_else(|| {
            let parameter = fs::read_to_string(format!("/sys/module/overlay/parameters/{name}")).ok()?;
            Some(match parameter.trim() {
                "Y" => "on".to_owned(),
                "N" => "off".to_owned(),
                other => other.to_owned(),
            })
        });
        format!("{name}={}", value.as_deref().unwrap_or("unknown"))
    });
    format!("the overlay works with {}", settings.join(","))
}

fn no_volumes() -> StackError {
    StackError::usage(
        "container.place",
        "a plain overlay has no volumes; use `place = \"bind\"`, or `kind = \"docker\"`",
    )
}

/// What this machine lacks for it.
///
/// # Errors
/// As [`super::examine`].
pub(super) fn examine(stack: &Stack) -> Result<(), StackError> {
    if !rustix::process::geteuid().is_root() {
        return Err(StackError::NeedsRoot { what: "mounting an overlay".to_owned() });
    }
    let Some(contained) = stack.container.contained().filter(|one| one.place == ContainerPlace::Layer) else {
        return Ok(());
    };
    let release = kernel_release();
    if !kernel_has("overlay")? {
        return Err(StackError::unexpected(
            "/proc/filesystems",
            format!(
                "this kernel ({release}) has neither overlayfs nor a module for it; use another `container.place`, or a guest \
                 whose kernel has it: `machine = {{ kind = \"guest\", kernel = \"debian:6.1\" }}`"
            ),
        ));
    }
    if contained.volatile && version_of(&release).is_some_and(|version| version < VOLATILE_SINCE) {
        return Err(StackError::unexpected(
            "/proc/version",
            format!("`volatile` needs Linux 5.10, and this kernel is {release}; leave it out"),
        ));
    }
    check_upper(&stack.filesystem)
}

/// Whether a filesystem can hold an upper directory: it has to tell the type of a directory's entries, which an XFS without
/// `ftype=1` does not (Documentation/filesystems/overlayfs.rst, "Upper and Lower").
///
/// # Errors
/// [`StackError::Usage`] where it cannot.
pub(super) fn check_upper(filesystem: &Filesystem) -> Result<(), StackError> {
    if let Filesystem::Xfs(xfs) = filesystem
        && xfs.mkfs.iter().any(|word| word.split(',').any(|part| part.trim() == "ftype=0"))
    {
        return Err(StackError::usage(
            "filesystem.mkfs",
            "an XFS with `ftype=0` cannot hold the upper directory of an overlay; leave `ftype` out",
        ));
    }
    Ok(())
}

/// The first two numbers of a release: `6.1.0-18-amd64`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Xfs;

    use super::*;

    fn contained(place: ContainerPlace) -> Contained {
        Contained { place, ..Contained::default() }
    }

    #[test]
    fn what_only_an_engine_has_is_refused_with_what_to_take_instead() {
        let refused = |contained: &Contained| OverlayLayer::new(contained).unwrap_err().to_string();
        let volume = refused(&contained(ContainerPlace::Volume));
        assert!(volume.contains("`stack.container.place`") && volume.contains("\"bind\""), "{volume}");
        let btrfs = Contained { driver: Some(StorageDriver::Btrfs), ..Contained::default() };
        assert!(refused(&btrfs).contains("`overlay2`"));
        let volatile = Contained { volatile: true, ..contained(ContainerPlace::Bind) };
        assert!(refused(&volatile).contains("place = \"layer\""));
        for place in
            [ContainerPlace::Host, ContainerPlace::Bind, ContainerPlace::Layer, ContainerPlace::Tmpfs]
        {
            assert!(OverlayLayer::new(&contained(place)).is_ok());
        }
    }

    #[test]
    fn what_would_end_a_path_is_escaped() {
        let path = Path::new("/a b,c:d\\e");
        assert_eq!(option("upperdir", path), br"upperdir=/a b\,c:d\\e");
        assert_eq!(option("lowerdir", path), br"lowerdir=/a b\,c\:d\\e");
    }

    #[test]
    fn an_xfs_without_entry_types_is_no_place_for_it() {
        let xfs =
            |words: &[&str]| Filesystem::Xfs(Xfs { mkfs: words.iter().map(|w| (*w).to_owned()).collect() });
        assert!(check_upper(&xfs(&["-m", "crc=0", "-n", "size=4096,ftype=0"])).is_err());
        assert!(check_upper(&xfs(&["-n", "ftype=1"])).is_ok());
    }

    #[test]
    fn a_release_is_read_up_to_its_second_number() {
        assert_eq!(version_of("6.1.0-18-amd64"), Some((6, 1)));
        assert!(version_of("5.4.0").unwrap() < VOLATILE_SINCE);
        assert_eq!(version_of("next"), None);
    }
}
