//! Words of the catalogue: whether a type can be had, its instruction set, its link to EBS.

use serde::{Deserialize, Serialize};

/// Whether an instance type can still be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Of the current generation.
    Current,
    /// Of a previous generation.
    Previous,
    /// Retired, or in few regions.
    Retired,
    /// Known by name alone.
    Named,
}

impl Status {
    /// Every one of them.
    pub const ALL: [Self; 4] = [Self::Current, Self::Previous, Self::Retired, Self::Named];

    /// The word itself, as in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Previous => "previous",
            Self::Retired => "retired",
            Self::Named => "named",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Current => "of the current generation",
            Self::Previous => "of a previous generation",
            Self::Retired => "retired, or in few regions",
            Self::Named => "known by name alone",
        }
    }
}

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Architecture {
    /// 32-bit x86.
    #[serde(rename = "i386")]
    I386,
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM.
    #[serde(rename = "arm64")]
    Arm64,
    /// macOS on either.
    #[serde(rename = "mac", alias = "arm64_mac", alias = "x86_64_mac")]
    Mac,
}

impl Architecture {
    /// The word itself, as in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::I386 => "i386",
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
            Self::Mac => "mac",
        }
    }

    /// The instruction set of a word of ours or of EC2's.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "i386" => Some(Self::I386),
            "x86_64" => Some(Self::X86_64),
            "arm64" => Some(Self::Arm64),
            "mac" | "arm64_mac" | "x86_64_mac" => Some(Self::Mac),
            _ => None,
        }
    }
}

/// Whether an instance has a link to EBS of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EbsSupport {
    /// Always.
    Default,
    /// Where asked for.
    OnRequest,
    /// Never: EBS shares its network.
    None,
}
