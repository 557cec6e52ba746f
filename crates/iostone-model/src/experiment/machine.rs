//! Where trials run: this host, with or without an emulated CPU allowance, a guest that iostone boots, a host behind an agent.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Link;
use crate::units::Bytes;

mod emulated;
mod governed;

pub use emulated::{EmulatedInstance, FASTEST_EMULATION};
pub use governed::{Allowance, AllowanceStart, Basis, FASTEST_SPEED, Governed, Governor, Law};

/// Where the trials run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(transform = let_local_be_unsaid)]
pub enum MachineSpec {
    /// This host, in this process.
    Local(LocalMachine),
    /// A virtual machine that is booted for each trial, with a kernel of its own.
    Guest(Guest),
    /// This host with the CPU allowance of an instance, emulated.
    Governed(Governed),
    /// This host standing for an instance: the link to its volumes and its processors, emulated.
    Emulate(EmulatedInstance),
    /// A host behind a command that starts `iostone agent` there and joins its standard input and output.
    Agent(AgentCommand),
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self::Local(LocalMachine::default())
    }
}

/// A kernel and words of its command line that a level asks of a real host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boot<'a> {
    /// Its release.
    pub kernel: Option<&'a str>,
    /// Words of its command line.
    pub arguments: &'a [String],
}

impl MachineSpec {
    /// What caps all emulated volumes together.
    pub fn link(&self) -> Option<Link> {
        match self {
            Self::Local(local) => local.link,
            Self::Guest(guest) => guest.link,
            Self::Governed(governed) => governed.link,
            Self::Emulate(emulated) => emulated.link,
            Self::Agent(_) => None,
        }
    }

    /// The instance type that it stands for.
    pub fn instance(&self) -> Option<&str> {
        match self {
            Self::Local(local) => local.instance.as_deref(),
            Self::Guest(guest) => guest.instance.as_deref(),
            Self::Governed(governed) => Some(&governed.cpu),
            Self::Emulate(emulated) => Some(&emulated.emulate),
            Self::Agent(_) => None,
        }
    }

    /// What the file says that an hour of it costs, in US dollars.
    pub fn usd_per_hour(&self) -> Option<f64> {
        match self {
            Self::Local(local) => local.usd_per_hour,
            Self::Guest(guest) => guest.usd_per_hour,
            Self::Governed(governed) => governed.usd_per_hour,
            Self::Emulate(emulated) => emulated.usd_per_hour,
            Self::Agent(_) => None,
        }
    }

    /// What it asks of the kernel that this host was booted with; nothing where a configuration runs in a guest of its own, or
    /// behind an agent.
    pub fn boot(&self) -> Option<Boot<'_>> {
        match self {
            Self::Local(local) => {
                Some(Boot { kernel: local.kernel.as_deref(), arguments: &local.kernel_arguments })
            }
            Self::Guest(_) | Self::Governed(_) | Self::Emulate(_) | Self::Agent(_) => None,
        }
    }

    /// The guest, if it is one.
    pub fn guest(&self) -> Option<&Guest> {
        match self {
            Self::Guest(guest) => Some(guest),
            Self::Local(_) | Self::Governed(_) | Self::Emulate(_) | Self::Agent(_) => None,
        }
    }

    /// The instance that this host stands for, if it is one of the catalogue's.
    pub fn emulated(&self) -> Option<&EmulatedInstance> {
        match self {
            Self::Emulate(emulated) => Some(emulated),
            Self::Local(_) | Self::Guest(_) | Self::Governed(_) | Self::Agent(_) => None,
        }
    }

    /// How many times faster time goes by for what is emulated; 1 for what is not.
    pub fn speed(&self) -> f64 {
        match self {
            Self::Governed(governed) => governed.speed,
            Self::Emulate(emulated) => emulated.speed,
            Self::Local(_) | Self::Guest(_) | Self::Agent(_) => 1.0,
        }
    }

    /// The emulated CPU allowance, if there is one.
    pub fn governed(&self) -> Option<&Governed> {
        match self {
            Self::Governed(governed) => Some(governed),
            Self::Local(_) | Self::Guest(_) | Self::Emulate(_) | Self::Agent(_) => None,
        }
    }
}

/// This host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMachine {
    /// Bytes a second of all emulated volumes together, as an instance's link to its storage has: `500Mbps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The kernel's release that has to run, as `uname -r` tells it. Where another runs, the run stops for a reboot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Words that have to stand in the kernel's command line: `["mitigations=off"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<String>,
    /// The instance type that it stands for: its price is looked up, and named in the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The price of an hour in US dollars, in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
}

/// A virtual machine of QEMU's with iostone's agent as its first process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// Its kernel: a file (`/boot/vmlinuz-6.1.0-56-amd64`), `host`, or a package of Debian's (`debian:6.1`,
    /// `debian:6.1.0-56-cloud-amd64`).
    pub kernel: String,
    /// Words added to the kernel's command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<String>,
    /// The directory with the kernel's modules, where it is not found beside the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<PathBuf>,
    /// Processors.
    #[serde(default = "one")]
    pub cpus: u32,
    /// Memory.
    #[serde(default = "default_memory")]
    pub memory: Bytes,
    /// A root filesystem to run in: a directory, or an image of one. Left out, there is nothing but the agent and the
    /// programs that the experiment needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<PathBuf>,
    /// Further programs and files of this host that the workload needs inside, with the libraries they load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carry: Vec<PathBuf>,
    /// How instructions are executed; found out if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<Accelerator>,
    /// Bytes a second of all emulated volumes together, as an instance's link to its storage has: `500Mbps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The instance type that it stands for: its price is looked up, and named in the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The price of an hour in US dollars, in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
}

impl Guest {
    /// A guest with that kernel and nothing else said.
    pub fn new(kernel: impl Into<String>) -> Self {
        Self {
            kernel: kernel.into(),
            kernel_arguments: Vec::new(),
            modules: None,
            cpus: 1,
            memory: default_memory(),
            rootfs: None,
            carry: Vec::new(),
            accelerator: None,
            link: None,
            instance: None,
            usd_per_hour: None,
        }
    }
}

/// How a guest's instructions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// By the processor, through /dev/kvm.
    Kvm,
    /// By translation in QEMU: caps and counts are right, what the CPU bounds is many times slower.
    Tcg,
}

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCommand {
    /// The program and its arguments: `["ssh", "host", "iostone", "agent"]`.
    pub argv: Vec<String>,
}

/// A file need not say `kind = "local"`; what is kept of a run always does.
fn let_local_be_unsaid(schema: &mut schemars::Schema) {
    let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut());
    let is_local = |kind: &&mut serde_json::Value| {
        kind.pointer("/properties/kind/const").is_some_and(|word| word == "local")
    };
    let local = kinds.and_then(|kinds| kinds.iter_mut().find(is_local));
    if let Some(required) = local.and_then(|local| local.get_mut("required")?.as_array_mut()) {
        required.retain(|key| key != "kind");
    }
}

fn one() -> u32 {
    1
}

fn default_memory() -> Bytes {
    Bytes(512 << 20)
}
