//! Virtual machines: finding a kernel and its modules, packing what is carried in, starting QEMU and watching it.
//!
//! Nothing here knows of experiments or agents: [`find_kernel`] says what to boot, a [`Cargo`] what is carried in, a
//! [`Boot`] what to start, a [`Running`] is what came of it.

pub mod accelerator;
mod archive;
mod cache;
mod carry;
mod closure;
mod console;
mod debian;
mod error;
pub mod image;
mod kernel;
mod locate;
mod modules;
mod open;
mod process;
mod qemu;

pub use cache::{Cache, CachedKernel};
pub use carry::{
    Cargo, IOSTONE_LIBRARIES, IOSTONE_PROGRAM, MODULE_DIRECTORY, Needs, ProgramNeed, needs_of,
    needs_of_container,
};
pub use debian::{Flavour, ListedKernel, Listing, PackageSpec, fetch_kernel, list_kernels, remove_kernel};
pub use error::GuestError;
pub use kernel::{Kernel, KernelSpec, find_kernel};
pub use locate::program as find_program;
pub use modules::ModuleNeed;
pub use open::open_file;
pub use qemu::{
    AGENT_PORT, Boot, BootDrive, DriveInterface, DriveSource, Qemu, ROOT_SERIAL, Running, check_memory,
    least_memory_bytes,
};
