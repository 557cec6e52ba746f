//! Modules of a kernel: which there are, what each needs, and the order in which to load them.
//!
//! What a module needs stands in the module itself (`depends=` in its section `.modinfo`), so that a package that was
//! only unpacked, without `modules.dep`, is as good as an installed one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::GuestError;
use crate::open::open_file;

mod information;
#[cfg(test)]
mod tests;
mod unpack;

use information::Information;

/// Modules below each other: more than any kernel has, fewer than the thread's stack holds.
const DEEPEST: usize = 64;

/// What a `softdep` names by what it does, and the modules of that kind that every processor can load. Without them
/// ext4, xfs, btrfs and F2FS cannot be mounted on kernels that have no checksum built in (Debian's other than cloud).
const BY_WHAT_THEY_DO: &[(&str, &[&str])] = &[
    ("crc32c", &["crc32c_generic", "crc32c"]),
    ("crypto_crc32c", &["crc32c_generic", "crc32c"]),
    ("crc32", &["crc32_generic"]),
    ("crypto_crc32", &["crc32_generic"]),
    ("xxhash64", &["xxhash_generic"]),
    ("crypto_xxhash64", &["xxhash_generic"]),
    ("sha256", &["sha256_generic"]),
    ("crypto_sha256", &["sha256_generic"]),
    ("blake2b_256", &["blake2b_generic"]),
    ("crypto_blake2b_256", &["blake2b_generic"]),
];

/// A module and who needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleNeed {
    /// Its name; `-` and `_` are the same.
    pub name: String,
    /// Who needs it: `the raid0 array`.
    pub by: String,
}

impl ModuleNeed {
    /// A need.
    pub fn new(name: &str, by: &str) -> Self {
        Self { name: name.to_owned(), by: by.to_owned() }
    }
}

/// A module, ready to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) name: String,
    /// Not compressed.
    pub(crate) content: Vec<u8>,
}

/// The modules of a kernel.
#[derive(Debug)]
pub(crate) struct Modules {
    release: String,
    directory: PathBuf,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    /// Why what is built in may not be known.
    doubt: &'static str,
}

impl Modules {
    /// The modules in a directory like `/lib/modules/RELEASE`.
    ///
    /// # Errors
    /// [`GuestError::Io`] when it cannot be read.
    pub(crate) fn open(directory: &Path, release: &str) -> Result<Self, GuestError> {
        let mut modules = Self {
            release: release.to_owned(),
            directory: directory.to_owned(),
            files: BTreeMap::new(),
            built_in: BTreeSet::new(),
            doubt: "",
        };
        modules.walk(directory)?;
        // One path a line; not there where nothing is built in that could be a module (kbuild.txt).
        let list = open_file(&directory.join("modules.builtin")).and_then(std::io::read_to_string);
        if list.is_err() {
            modules.doubt = " (built-in modules are unknown: `modules.builtin` is missing)";
        }
        let list = list.unwrap_or_default();
        modules.built_in.extend(list.lines().filter_map(|line| name_of(Path::new(line.trim()))));
        Ok(modules)
    }

    fn walk(&mut self, directory: &Path) -> Result<(), GuestError> {
        let mut left = vec![directory.to_owned()];
        while let Some(directory) = left.pop() {
            let failed = |error| GuestError::io("list", &directory, error);
            for entry in std::fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                // `build` and `source` are links into other trees.
                let kind = entry.file_type().map_err(failed)?;
                let path = entry.path();
                if kind.is_dir() {
                    left.push(path);
                } else if let Some(name) = name_of(&path) {
                    self.insert(name, path);
                }
            }
        }
        Ok(())
    }

    /// `updates` stands before the kernel's own (`depmod.d(5)`).
    fn insert(&mut self, name: String, path: PathBuf) {
        let is_update = |path: &Path| path.components().any(|part| part.as_os_str() == "updates");
        if self.files.get(&name).is_none_or(|known| is_update(&path) && !is_update(known)) {
            self.files.insert(name, path);
        }
    }

    /// The modules that are needed, each after those that it needs itself.
    ///
    /// # Errors
    /// [`GuestError::Unsuitable`] with the module that the kernel lacks and who needs it.
    pub(crate) fn load_order(&self, needs: &[ModuleNeed]) -> Result<Vec<Module>, GuestError> {
        let mut order = Order { modules: self, seen: BTreeSet::new(), sorted: Vec::new() };
        for need in needs {
            order.add(&plain(&need.name), &need.by, 0)?;
        }
        Ok(order.sorted)
    }

    fn lacks(&self, name: &str, by: &str) -> GuestError {
        if self.files.is_empty() && self.built_in.is_empty() {
            return GuestError::Unsuitable(format!(
                "there are no modules in `{}`, and {by} needs `{name}`; next: name the module directory of {} \
                 (`machine.modules`)",
                self.directory.display(),
                self.release
            ));
        }
        GuestError::Unsuitable(format!(
            "`{name}`, needed by {by}, is not among the modules of {}{}; next: choose another kernel \
             (`iostone guest kernels`)",
            self.release, self.doubt
        ))
    }
}

/// A walk from what is needed down to what that needs.
struct Order<'a> {
    modules: &'a Modules,
    seen: BTreeSet<String>,
    sorted: Vec<Module>,
}

impl Order<'_> {
    fn add(&mut self, name: &str, by: &str, depth: usize) -> Result<(), GuestError> {
        if self.modules.built_in.contains(name) || !self.seen.insert(name.to_owned()) {
            return Ok(());
        }
        let path = self.modules.files.get(name).ok_or_else(|| self.modules.lacks(name, by))?;
        if depth > DEEPEST {
            return Err(GuestError::Unsuitable(format!(
                "the modules of {} have dependencies more than {DEEPEST} deep",
                self.modules.release
            )));
        }
        let content = unpack::read(path)?;
        let information = Information::of(&content, path)?;
        if let Some(other) = information.release.as_deref().filter(|other| *other != self.modules.release) {
            return Err(GuestError::Unsuitable(format!(
                "the module `{}` is for kernel {other}, but the guest's is {1}; next: name the module directory of {1} \
                 (`machine.modules`)",
                path.display(),
                self.modules.release
            )));
        }
        let by = format!("`{name}`");
        for needed in &information.depends {
            self.add(needed, &by, depth + 1)?;
        }
        for wished in &information.soft_depends {
            self.add_if_there(wished, depth + 1)?;
        }
        self.sorted.push(Module { name: name.to_owned(), content });
        Ok(())
    }

    /// A soft dependency is a wish: what is not there is done without, or built in under another name.
    fn add_if_there(&mut self, wished: &str, depth: usize) -> Result<(), GuestError> {
        let kind = BY_WHAT_THEY_DO.iter().find(|(what, _)| *what == wished).map(|(_, modules)| *modules);
        for name in kind.unwrap_or(&[wished]) {
            if self.modules.files.contains_key(*name) {
                self.add(name, wished, depth)?;
            }
        }
        Ok(())
    }
}

/// The name of the module in a file: `virtio_blk` of `kernel/drivers/block/virtio-blk.ko.xz`; none for other files.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, compression) = name.rsplit_once(".ko")?;
    matches!(compression, "" | ".xz" | ".zst" | ".gz").then(|| plain(stem))
}

/// A module's name as the kernel has it: `-` and `_` are the same (`modprobe(8)`).
fn plain(name: &str) -> String {
    name.trim().replace('-', "_")
}
