//! On which cloud a machine is, and what kind of instance: what the firmware and the provider's metadata told.
//!
//! Nothing here names one machine or one customer: no instance id, no account, subscription or project, no address. A run
//! directory is made to be handed round.

use serde::{Deserialize, Serialize};

/// Who rents the machine out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Amazon EC2.
    Aws,
    /// Google Compute Engine.
    Gcp,
    /// Microsoft Azure.
    Azure,
}

impl Provider {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Azure => "azure",
        }
    }

    /// For readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "Amazon EC2",
            Self::Gcp => "Google Compute Engine",
            Self::Azure => "Microsoft Azure",
        }
    }
}

/// What an instance of Amazon EC2 stands on; it decides whether volumes are NVMe devices with statistics of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Foundation {
    /// The Nitro system, bare metal included: volumes are NVMe devices.
    Nitro,
    /// Xen: volumes are `xvd` devices.
    Xen,
}

impl Foundation {
    /// For readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nitro => "Nitro",
            Self::Xen => "Xen",
        }
    }
}

/// The cloud that a machine is on. Whatever was not told is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Who rents it out.
    pub provider: Provider,
    /// What it stands on, where the provider has several and the machine tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foundation: Option<Foundation>,
    /// `c5.large`, `n2-standard-4`, `Standard_D4s_v5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// `ap-northeast-1`, `asia-northeast1`, `japaneast`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// `ap-northeast-1a`, `asia-northeast1-a`, `1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// What it was started from: `ami-...`, the name of an image, or `publisher:offer:sku:version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// `on-demand` or `spot`, or another word of the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    /// By what it was recognised, and what kept the rest from being known; each a clause.
    #[serde(default)]
    pub evidence: Vec<String>,
}

impl Platform {
    /// A platform of which nothing but the provider is known.
    pub fn of(provider: Provider) -> Self {
        Self {
            provider,
            foundation: None,
            instance_type: None,
            region: None,
            zone: None,
            image: None,
            lifecycle: None,
            evidence: Vec::new(),
        }
    }

    /// `Amazon EC2 c5.large (Nitro), ap-northeast-1a, spot, ami-0abc`; what is unknown is left out.
    pub fn in_words(&self) -> String {
        let mut words = self.provider.name().to_owned();
        if let Some(kind) = &self.instance_type {
            words.push(' ');
            words.push_str(kind);
        }
        if let Some(foundation) = self.foundation {
            words.push_str(" (");
            words.push_str(foundation.name());
            words.push(')');
        }
        for part in [self.place(), self.lifecycle.clone(), self.image.clone()].into_iter().flatten() {
            words.push_str(", ");
            words.push_str(&part);
        }
        words
    }

    /// The zone; the region alone where no zone is known, and both where the zone's name does not begin with the region's.
    fn place(&self) -> Option<String> {
        match (&self.region, &self.zone) {
            (Some(region), Some(zone)) if !zone.starts_with(region) => Some(format!("{region} zone {zone}")),
            (_, Some(zone)) => Some(zone.clone()),
            (region, None) => region.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_said_in_one_line() {
        let mut platform = Platform::of(Provider::Aws);
        assert_eq!(platform.in_words(), "Amazon EC2");
        platform.foundation = Some(Foundation::Nitro);
        platform.instance_type = Some("c5.large".to_owned());
        platform.region = Some("ap-northeast-1".to_owned());
        assert_eq!(platform.in_words(), "Amazon EC2 c5.large (Nitro), ap-northeast-1");
        platform.zone = Some("ap-northeast-1a".to_owned());
        platform.lifecycle = Some("spot".to_owned());
        assert_eq!(platform.in_words(), "Amazon EC2 c5.large (Nitro), ap-northeast-1a, spot");
        let azure = Platform {
            region: Some("japaneast".to_owned()),
            zone: Some("1".to_owned()),
            ..Platform::of(Provider::Azure)
        };
        assert_eq!(azure.in_words(), "Microsoft Azure, japaneast zone 1");
    }

    #[test]
    fn what_is_unknown_is_absent_in_json() {
        let text = serde_json::to_string(&Platform::of(Provider::Gcp)).unwrap();
        assert_eq!(text, r#"{"provider":"gcp","evidence":[]}"#);
        assert_eq!(serde_json::from_str::<Platform>(&text).unwrap(), Platform::of(Provider::Gcp));
    }
}
