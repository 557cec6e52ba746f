//! What guests are made of, found and packed once for a session: QEMU, kernels, archives, root filesystems.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use iostone_guest::{Cache, Cargo, Kernel, ModuleNeed, Needs, Qemu, find_kernel};
use iostone_model::experiment::Guest;

use super::root::RootImage;
use crate::failure::{Failure, FailureKind};
use crate::packed::Packed;
use crate::{StopFlag, first_process};

/// What is carried into a guest.
#[derive(Debug, Clone)]
pub(super) struct Freight {
    /// What the stack and the workload need, and every guest.
    pub(super) needs: Needs,
    /// Further programs and files.
    pub(super) carry: Vec<PathBuf>,
    /// Whether the guest waits for a root filesystem.
    pub(super) with_root: bool,
}

impl Freight {
    /// What those needs and the guest's own wishes come to.
    ///
    /// # Errors
    /// A root filesystem that is none.
    pub(super) fn of(mut needs: Needs, guest: &Guest) -> Result<Self, Failure> {
        if let Some(root) = &guest.rootfs {
            let kind = RootImage::kind_of(root)?;
            for name in ["overlay", kind] {
                needs.modules.push(ModuleNeed::new(name, "the root filesystem"));
            }
        }
        Ok(Self { needs, carry: guest.carry.clone(), with_root: guest.rootfs.is_some() })
    }

    /// Gathers it for a kernel; nothing is written yet.
    ///
    /// # Errors
    /// A program or a module that is not there, with who needs it.
    pub(super) fn load(&self, kernel: &Kernel) -> Result<Cargo, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::new(FailureKind::Failed, format!("the path of the iostone binary: {error}"))
        })?;
        let mut cargo = Cargo::new();
        cargo.iostone(&program)?.needs(&self.needs, kernel)?;
        for path in &self.carry {
            cargo.carry(path).map_err(|error| error.of_key("machine.carry"))?;
        }
        if self.with_root {
            cargo.bytes(first_process::ROOT_MARK, 0o644, Vec::new());
        }
        Ok(cargo)
    }

    /// The names of the modules asked for, without those that they need.
    pub(super) fn module_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for module in &self.needs.modules {
            if !names.contains(&module.name) {
                names.push(module.name.clone());
            }
        }
        names
    }
}

/// Everything that was found so far.
pub(super) struct Supplies {
    stop: StopFlag,
    qemu: Option<Qemu>,
    kernels: BTreeMap<(String, Option<PathBuf>), Kernel>,
    archives: BTreeMap<String, Rc<Packed>>,
    roots: BTreeMap<PathBuf, Rc<RootImage>>,
}

impl Supplies {
    pub(super) fn new(stop: StopFlag) -> Self {
        Self { stop, qemu: None, kernels: BTreeMap::new(), archives: BTreeMap::new(), roots: BTreeMap::new() }
    }

    /// QEMU, looked for once.
    ///
    /// # Errors
    /// It is missing.
    pub(super) fn qemu(&mut self) -> Result<Qemu, Failure> {
        if self.qemu.is_none() {
            self.qemu = Some(Qemu::find()?);
        }
        self.qemu.clone().ok_or_else(|| Failure::lost("QEMU was not found"))
    }

    /// The guest's kernel; one of Debian's is fetched unless it is kept already.
    ///
    /// # Errors
    /// It is none, or cannot be had.
    pub(super) fn kernel(
        &mut self,
        guest: &Guest,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Kernel, Failure> {
        let key = (guest.kernel.clone(), guest.modules.clone());
        if let Some(kernel) = self.kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let cache = Cache::of_user()?;
        let kernel = find_kernel(&guest.kernel, guest.modules.as_deref(), &cache, progress, &self.stop)?;
        self.kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Where answers of the probe for KVM are kept.
    ///
    /// # Errors
    /// There is no place for a cache.
    pub(super) fn answers() -> Result<PathBuf, Failure> {
        Ok(Cache::of_user()?.root().join("accelerators"))
    }

    /// The archive for a kernel, packed once a session.
    ///
    /// # Errors
    /// Something that goes in is missing or cannot be read.
    pub(super) fn archive(&mut self, kernel: &Kernel, freight: &Freight) -> Result<Rc<Packed>, Failure> {
        let key = format!("{} {freight:?}", kernel.sha256);
        if let Some(packed) = self.archives.get(&key) {
            return Ok(Rc::clone(packed));
        }
        let packed = Rc::new(Packed::for_kernel(&freight.load(kernel)?)?);
        self.archives.insert(key, Rc::clone(&packed));
        Ok(packed)
    }

    /// The image of a root filesystem, made once a session; scratch files go to `place`.
    ///
    /// # Errors
    /// It cannot be read, or an image of a directory cannot be made.
    pub(super) fn root(&mut self, root: &Path, place: &Path) -> Result<Rc<RootImage>, Failure> {
        if let Some(image) = self.roots.get(root) {
            return Ok(Rc::clone(image));
        }
        let image = Rc::new(RootImage::of(root, place, &self.stop)?);
        self.roots.insert(root.to_owned(), Rc::clone(&image));
        Ok(image)
    }

    /// Gives back the memory and the room.
    pub(super) fn forget_archives(&mut self) {
        self.archives.clear();
        self.roots.clear();
    }
}
