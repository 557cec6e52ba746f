//! Volumes of a cloud in a word: `gp2:220GiB`, `4xgp3:500GiB:6000iops:250MiB/s`, `azure/premium-ssd:1TiB`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::{ByteRate, Bytes};

/// One volume of a cloud, or several alike: `[COUNTx][PROVIDER/]TYPE:SIZE[:IOPSiops][:RATE]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeSpec {
    /// How many; more than one are striped (RAID0) unless something else is said beside.
    pub count: u32,
    /// The provider, `aws` unless said: `aws`, `gcp`, `azure`, `sakura`.
    pub provider: String,
    /// The type: `gp2`, `pd-ssd`.
    pub volume_type: String,
    /// The size of each.
    pub size: Bytes,
    /// Provisioned I/Os a second of each, where the type has them.
    pub iops: Option<u32>,
    /// Provisioned throughput of each, where the type has it.
    pub throughput: Option<ByteRate>,
}

/// Why a piece of text names no volume.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a volume: {reason}; expected TYPE:SIZE[:IOPSiops][:RATE], as in gp2:220GiB or \
     4xgp3:500GiB:6000iops:250MiB/s"
)]
pub struct VolumeSpecError {
    /// The text as it was given.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl FromStr for VolumeSpec {
    type Err = VolumeSpecError;

    fn from_str(text: &str) -> Result<Self, VolumeSpecError> {
        let wrong =
            |reason: &dyn fmt::Display| VolumeSpecError { text: text.to_owned(), reason: reason.to_string() };
        let trimmed = text.trim();
        let (count, rest) = match trimmed.split_once('x') {
            Some((digits, rest))
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let count: u32 = digits.parse().map_err(|_| wrong(&"too many volumes"))?;
                (count, rest)
            }
            _ => (1, trimmed),
        };
        if count == 0 {
            return Err(wrong(&"no volume"));
        }
        let mut parts = rest.split(':');
        let name = parts.next().unwrap_or_default();
        let (provider, volume_type) = name.split_once('/').unwrap_or(("aws", name));
        let is_word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !is_word(volume_type) || !is_word(provider) {
            return Err(wrong(&"its type is missing"));
        }
        let size = parts.next().ok_or_else(|| wrong(&"its size is missing"))?;
        let size: Bytes = size.parse().map_err(|error| wrong(&error))?;
        let mut spec = Self {
            count,
            provider: provider.to_owned(),
            volume_type: volume_type.to_owned(),
            size,
            iops: None,
            throughput: None,
        };
        for part in parts {
            if let Some(digits) = part.strip_suffix("iops").or_else(|| part.strip_suffix("IOPS")) {
                let iops =
                    digits.trim().parse().map_err(|_| wrong(&format!("`{part}` is not a number of IOPS")))?;
                if spec.iops.replace(iops).is_some() {
                    return Err(wrong(&"its IOPS are given twice"));
                }
            } else {
                let rate = part.parse().map_err(|error| wrong(&error))?;
                if spec.throughput.replace(rate).is_some() {
                    return Err(wrong(&"its throughput is given twice"));
                }
            }
        }
        if spec.size.0 == 0 {
            return Err(wrong(&"it has no size"));
        }
        Ok(spec)
    }
}

impl fmt::Display for VolumeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count != 1 {
            write!(f, "{}x", self.count)?;
        }
        if self.provider != "aws" {
            write!(f, "{}/", self.provider)?;
        }
        write!(f, "{}:{}", self.volume_type, self.size)?;
        if let Some(iops) = self.iops {
            write!(f, ":{iops}iops")?;
        }
        if let Some(rate) = self.throughput {
            write!(f, ":{rate}")?;
        }
        Ok(())
    }
}

impl Serialize for VolumeSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VolumeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for VolumeSpec {
    fn schema_name() -> Cow<'static, str> {
        "VolumeSpec".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in
            ["gp2:220GiB", "4xgp3:500GiB:6000iops:250MiB/s", "azure/premium-ssd:1TiB", "io1:300GiB:1000iops"]
        {
            let spec: VolumeSpec = text.parse().expect(text);
            assert_eq!(spec.to_string(), text);
        }
        let spec: VolumeSpec = "io1:300GiB:1000iops".parse().expect("a volume");
        assert_eq!((spec.count, spec.iops, spec.provider.as_str()), (1, Some(1000), "aws"));
    }

    #[test]
    fn what_is_missing_or_said_twice_is_told() {
        for (text, reason) in [
            ("gp2", "its size is missing"),
            (":220GiB", "its type is missing"),
            ("gp2:220", "`220`"),
            ("0xgp2:1GiB", "no volume"),
            ("gp2:0GiB", "it has no size"),
            ("gp3:1GiB:1iops:2iops", "its IOPS are given twice"),
            ("gp3:1GiB:fast", "`fast`"),
        ] {
            let error = text.parse::<VolumeSpec>().expect_err(text);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
