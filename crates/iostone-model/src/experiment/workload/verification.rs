//! The checksum that verified blocks carry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With what each block that is written is sealed, so that one that is read can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verification {
    /// Nothing is checked.
    #[default]
    None,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

impl Verification {
    /// The word used in the experiment file.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc32c => "crc32c",
            Self::Sha256 => "sha256",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file() {
        for word in ["none", "crc32c", "sha256"] {
            assert_eq!(serde_json::from_value::<Verification>(word.into()).unwrap().word(), word);
        }
    }
}
