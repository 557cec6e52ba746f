//! What is carried into a guest or a container: programs with all that they load, files, kernel modules, iostone itself.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::archive::{Archive, Member, Part};
use crate::closure::{Kind, kind_of, libraries};
use crate::error::GuestError;
use crate::kernel::Kernel;
use crate::locate;
use crate::modules::{ModuleNeed, Modules};

mod needs;
#[cfg(test)]
mod tests;

pub use needs::{Needs, ProgramNeed, needs_of, needs_of_container};

/// Where iostone lies inside.
pub const IOSTONE_PROGRAM: &str = "/iostone/bin/iostone";
/// Where iostone's libraries and the program that loads them lie inside once more, so that it can be started from another
/// root: `/iostone/lib/ld-linux-x86-64.so.2 --library-path /iostone/lib /iostone/bin/iostone`.
pub const IOSTONE_LIBRARIES: &str = "/iostone/lib";
/// Where the modules lie inside, as `NNN-name.ko`, with a file `list` of these names in the order of loading, one a line.
pub const MODULE_DIRECTORY: &str = "/iostone/modules";

/// Interpreters that scripts name by way of another program.
const ENVIRONMENT: &str = "/usr/bin/env";
/// Symbolic links that may follow each other; the kernel's own limit (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// What goes into a guest's first root filesystem.
#[derive(Debug, Clone, Default)]
pub struct Cargo {
    archive: Archive,
    programs: BTreeSet<PathBuf>,
    modules: Vec<ModuleNeed>,
    interpreter: Option<String>,
    notes: Vec<String>,
}

impl Cargo {
    /// Nothing but the places where kernel filesystems are mounted, and a console.
    pub fn new() -> Self {
        let mut cargo = Self::default();
        for directory in ["dev", "proc", "sys", "run", "tmp", "etc", "mnt", "var/tmp", "root"] {
            cargo.archive.add(directory, Member::Directory);
        }
        // The kernel opens it for the first process before devtmpfs is mounted.
        cargo.archive.add("dev/console", Member::CharacterDevice { major: 5, minor: 1 });
        cargo
    }

    /// iostone's own program, at [`IOSTONE_PROGRAM`], without its debug information.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when a library is not there.
    pub fn iostone(&mut self, program: &Path) -> Result<&mut Self, GuestError> {
        self.add_file(program, IOSTONE_PROGRAM, Part::Running)?;
        if let Kind::Dynamic(interpreter) = kind_of(program)? {
            let found = libraries(&interpreter, program)?;
            for path in found.iter().chain([&interpreter]) {
                self.host_path(path, Part::Running)?;
                let Some(name) = path.file_name() else { continue };
                let inside = format!("{IOSTONE_LIBRARIES}/{}", name.to_string_lossy());
                self.add_file(path, &inside, Part::Running)?;
                if path == &interpreter {
                    self.interpreter = Some(inside);
                }
            }
        }
        Ok(self)
    }

    /// The program under [`IOSTONE_LIBRARIES`] that starts iostone from another root, if iostone is linked dynamically.
    pub fn interpreter(&self) -> Option<&str> {
        self.interpreter.as_deref()
    }

    /// A program by its name or path, at the same path inside, with its interpreter and libraries. A name without a
    /// slash is looked for in PATH and the system's directories.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when it, or a library, is not there; [`GuestError::Unsuitable`] when it is no program.
    pub fn program(&mut self, name: &str) -> Result<&mut Self, GuestError> {
        let path = locate::program(name)?;
        self.executable(&path)?;
        Ok(self)
    }

    fn executable(&mut self, path: &Path) -> Result<(), GuestError> {
        let resolved = self.host_path(path, Part::Running)?;
        if !self.programs.insert(resolved.clone()) {
            return Ok(());
        }
        match kind_of(&resolved)? {
            Kind::Static => Ok(()),
            Kind::Dynamic(interpreter) => {
                for library in libraries(&interpreter, &resolved)? {
                    self.host_path(&library, Part::Running)?;
                }
                self.host_path(&interpreter, Part::Running)?;
                Ok(())
            }
            Kind::Script(words) => {
                let mut words = words.into_iter();
                let first = words.next().unwrap_or_default();
                self.executable(&locate::program(&first)?)?;
                // `env -S` and settings of variables stand before the name.
                let named = (first == ENVIRONMENT)
                    .then(|| words.find(|word| !word.starts_with('-') && !word.contains('=')))
                    .flatten();
                named.map_or(Ok(()), |name| self.executable(&locate::program(&name)?))
            }
        }
    }

    /// A file of this host at a path inside, byte for byte.
    ///
    /// # Errors
    /// [`GuestError::Io`] when it cannot be looked at, [`GuestError::Unsuitable`] when it is no file.
    pub fn file(&mut self, host: &Path, inside: &str) -> Result<&mut Self, GuestError> {
        self.add_file(host, inside, Part::All)?;
        Ok(self)
    }

    fn add_file(&mut self, host: &Path, inside: &str, part: Part) -> Result<(), GuestError> {
        let metadata = std::fs::metadata(host).map_err(|error| GuestError::io("look at", host, error))?;
        if !metadata.is_file() {
            return Err(GuestError::Unsuitable(format!("`{}` is not a file", host.display())));
        }
        let host = std::path::absolute(host).map_err(|error| GuestError::io("look at", host, error))?;
        let mode = metadata.permissions().mode() & 0o777;
        self.archive.add(inside, Member::HostFile { mode, path: host, part });
        Ok(())
    }

    /// A file inside of these bytes.
    pub fn bytes(&mut self, inside: &str, mode: u32, content: impl Into<Vec<u8>>) -> &mut Self {
        self.archive.add(inside, Member::Bytes { mode, content: content.into() });
        self
    }

    /// A directory of this host with all below it, at the same path inside; sockets, pipes and devices are passed over.
    ///
    /// # Errors
    /// [`GuestError::Io`] when something of it cannot be read.
    pub fn tree(&mut self, directory: &Path) -> Result<&mut Self, GuestError> {
        let top = self.host_path(directory, Part::All)?;
        let mut left = vec![top];
        while let Some(directory) = left.pop() {
            self.archive.add(&text(&directory)?, Member::Directory);
            let failed = |error| GuestError::io("list", &directory, error);
            for entry in std::fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_symlink() {
                    let target = std::fs::read_link(&path)
                        .map_err(|error| GuestError::io("read the link", &path, error))?;
                    self.archive.add(&text(&path)?, Member::Symlink(text(&target)?));
                } else if kind.is_file() {
                    self.file(&path, &text(&path)?)?;
                }
            }
        }
        Ok(self)
    }

    /// What the user names with `carry`: a program with its libraries, a file, or a directory; at the same path inside. A
    /// program comes without what it does not need for running.
    ///
    /// # Errors
    /// As [`Cargo::program`], [`Cargo::file`] and [`Cargo::tree`].
    pub fn carry(&mut self, path: &Path) -> Result<&mut Self, GuestError> {
        self.named(path, Part::Running)
    }

    /// What somebody names by its path, and that part of it if it is a program: its libraries need only be loaded.
    fn named(&mut self, path: &Path, part_of_program: Part) -> Result<&mut Self, GuestError> {
        let name = text(path)?;
        if !name.contains('/') && !path.exists() {
            return self.program(&name);
        }
        let path = std::path::absolute(path).map_err(|error| GuestError::io("find", path, error))?;
        let metadata = std::fs::metadata(&path).map_err(|error| GuestError::io("carry", &path, error))?;
        if metadata.is_dir() {
            return self.tree(&path);
        }
        let mut part = Part::All;
        if metadata.permissions().mode() & 0o111 != 0 && kind_of(&path).is_ok() {
            self.executable(&path)?;
            part = part_of_program;
        }
        self.host_path(&path, part)?;
        Ok(self)
    }

    /// Modules of the kernel by name, with those that they need; see [`MODULE_DIRECTORY`]. What is built in is fine. Each
    /// call adds to those before.
    ///
    /// # Errors
    /// [`GuestError::Unsuitable`] with the module that the kernel lacks.
    pub fn modules(&mut self, kernel: &Kernel, names: &[&str]) -> Result<&mut Self, GuestError> {
        let needs: Vec<ModuleNeed> =
            names.iter().map(|name| ModuleNeed::new(name, "what was asked for")).collect();
        self.needed_modules(kernel, &needs)
    }

    fn needed_modules(&mut self, kernel: &Kernel, needs: &[ModuleNeed]) -> Result<&mut Self, GuestError> {
        let Some(directory) = &kernel.modules else {
            if self.notes.is_empty() {
                self.notes.push(format!(
                    "no modules found for the kernel {}: only built-in drivers work in the guest",
                    kernel.release
                ));
            }
            return Ok(self);
        };
        self.modules.extend(needs.iter().cloned());
        let files = Modules::open(directory, &kernel.release)
            .and_then(|modules| modules.load_order(&self.modules))
            .map_err(|error| match error {
                GuestError::Io { .. } => error.of_key("machine.modules"),
                other => other,
            })?;
        self.archive.remove_below(MODULE_DIRECTORY);
        let mut list = String::new();
        for (number, module) in (0..).zip(files) {
            let name = format!("{number:03}-{}.ko", module.name);
            self.bytes(&format!("{MODULE_DIRECTORY}/{name}"), 0o644, module.content);
            list.push_str(&name);
            list.push('\n');
        }
        Ok(self.bytes(&format!("{MODULE_DIRECTORY}/list"), 0o644, list))
    }

    /// Everything that a stack and a workload need: programs, files, modules.
    ///
    /// # Errors
    /// As [`Cargo::program`] and [`Cargo::modules`]; a missing program is named with who needs it.
    pub fn needs(&mut self, needs: &Needs, kernel: &Kernel) -> Result<&mut Self, GuestError> {
        self.supplies(needs)?;
        self.needed_modules(kernel, &needs.modules)
    }

    /// Everything of that but the modules: what shares this host's kernel needs no other.
    ///
    /// # Errors
    /// As [`Cargo::program`]; a missing program is named with who needs it.
    pub fn supplies(&mut self, needs: &Needs) -> Result<&mut Self, GuestError> {
        for program in &needs.programs {
            self.program(&program.name).map_err(|error| match error {
                GuestError::Missing(reason) => GuestError::Missing(format!("{} needs {reason}", program.by)),
                other => other,
            })?;
        }
        for program in &needs.welcome_programs {
            if let Ok(path) = locate::program(program) {
                self.executable(&path)?;
            }
        }
        for path in needs.files.iter().filter(|path| path.exists()) {
            // A workload may read it as data, on the host all of it.
            self.named(path, Part::All)?;
        }
        for (inside, content) in &needs.contents {
            self.bytes(inside, 0o644, content.as_bytes());
        }
        Ok(self)
    }

    /// What is worth repeating in a report.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Writes one archive, `newc` and uncompressed, to a new file; returns its length in bytes. Equal cargo makes equal
    /// files.
    ///
    /// # Errors
    /// [`GuestError::Io`] when it cannot be written, or something that goes in cannot be read.
    pub fn write(&self, path: &Path) -> Result<u64, GuestError> {
        self.archive.write_file(path)
    }

    /// Writes the same as one tar archive, the root directory of a container's image, without the device nodes, which engines
    /// make themselves; returns its length in bytes. Equal cargo makes equal files.
    ///
    /// # Errors
    /// As [`Cargo::write`].
    pub fn write_tar(&self, path: &Path) -> Result<u64, GuestError> {
        self.archive.write_tar_file(path)
    }

    /// Adds that part of what lies at a path of this host, with the symbolic links on the way as links; returns where it really lies.
    fn host_path(&mut self, path: &Path, part: Part) -> Result<PathBuf, GuestError> {
        let path = std::path::absolute(path).map_err(|error| GuestError::io("find", path, error))?;
        let mut links = 0;
        let mut left: Vec<PathBuf> = parts(&path);
        let mut at = PathBuf::from("/");
        while let Some(part) = left.pop() {
            if part.as_os_str() == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let failed = |error| GuestError::io("look at", &next, error);
            let metadata = std::fs::symlink_metadata(&next).map_err(failed)?;
            if !metadata.is_symlink() {
                at = next;
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(failed(rustix::io::Errno::LOOP.into()));
            }
            let target = std::fs::read_link(&next).map_err(failed)?;
            self.archive.add(&text(&next)?, Member::Symlink(text(&target)?));
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&target));
        }
        let metadata = std::fs::metadata(&at).map_err(|error| GuestError::io("look at", &at, error))?;
        if metadata.is_dir() {
            self.archive.add(&text(&at)?, Member::Directory);
        } else {
            self.add_file(&at, &text(&at)?, part)?;
        }
        Ok(at)
    }
}

/// The parts of a path, the last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

fn text(path: &Path) -> Result<String, GuestError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| GuestError::Unsuitable(format!("the path `{}` is not UTF-8", path.display())))
}
