//! Covariates: what others took of a machine during a trial, and what that is worth in the trial's figure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trial::DeviceActivity;

/// Something that others take of a machine, for which verdicts can be adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Covariate {
    /// The share of CPU time that the hypervisor gave to others.
    Steal,
    /// The share of the disk below the volume that other programs used.
    ForeignIo,
}

impl Covariate {
    /// All of them, in the order of [`Exposure`].
    pub const ALL: [Self; 2] = [Self::Steal, Self::ForeignIo];

    /// Its name in `decide.covariates`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::ForeignIo => "foreign-io",
        }
    }
}

impl fmt::Display for Covariate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steal => "steal",
            Self::ForeignIo => "foreign I/O",
        })
    }
}

/// For each covariate the logarithm of what others left, ln (1 - share): 0 where they took nothing. None where it is not known.
pub type Exposure = [Option<f64>; Covariate::ALL.len()];

/// Others never leave less than that: beyond it a share of time says little of a rate.
const LEAST_LEFT: f64 = 0.05;

/// ln (1 - share) of a share from 0 to 1.
pub fn log_left(share: f64) -> f64 {
    (1.0 - share).clamp(LEAST_LEFT, 1.0).ln()
}

/// What a covariate is worth, declared from the pilots before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredCovariate {
    /// Which.
    pub covariate: Covariate,
    /// Seconds of pilots that it was looked for in.
    pub seconds: u32,
    /// For foreign I/O: the bytes a second that stand for the whole disk, the most that it served in a second of a pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// What came of it.
    #[serde(flatten)]
    pub worth: Worth,
}

/// What the pilots showed of a covariate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// Where others leave the share L of the machine, the rate is L to that power.
    Slope(f64),
    /// Why verdicts are not adjusted for it: "the pilots saw steal in 2 seconds only".
    NotAdjusted(String),
}

impl DeclaredCovariate {
    /// The slope that verdicts are adjusted by.
    pub fn slope(&self) -> Option<f64> {
        match self.worth {
            Worth::Slope(slope) => Some(slope),
            Worth::NotAdjusted(_) => None,
        }
    }

    /// ln (1 - share) of it in what others took; none where it was not seen.
    pub fn exposure(&self, taken: &Taken) -> Option<f64> {
        taken.exposure(self.covariate, self.whole)
    }
}

/// What others took of the machine in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Taken {
    /// How long it is.
    pub seconds: f64,
    /// Share of CPU time that was stolen; none where the kernel cannot see that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Bytes that the disk below the volume served for it and for others; none without such a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<SplitBytes>,
}

impl Taken {
    /// ln (1 - share) of a covariate, of foreign I/O against the bytes a second of the whole disk.
    pub fn exposure(&self, covariate: Covariate, whole: Option<f64>) -> Option<f64> {
        let share = match covariate {
            Covariate::Steal => self.steal?,
            Covariate::ForeignIo => self.disk_bytes?.foreign / self.seconds / whole?,
        };
        Some(log_left(share)).filter(|left| left.is_finite())
    }
}

impl fmt::Display for DeclaredCovariate {
    /// "steal: slope 1.02, from 50 s of pilots".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.covariate)?;
        match &self.worth {
            Worth::Slope(slope) => write!(f, "slope {slope:.2}, from {} s of pilots", self.seconds),
            Worth::NotAdjusted(reason) => write!(f, "not adjusted, {reason}"),
        }
    }
}

/// What verdicts are adjusted for, in the order of [`Exposure`]: the slope of each, 0 for none.
pub fn slopes(declared: &[DeclaredCovariate]) -> [f64; Covariate::ALL.len()] {
    Covariate::ALL.map(|covariate| {
        let own = declared.iter().find(|one| one.covariate == covariate);
        own.and_then(DeclaredCovariate::slope).unwrap_or(0.0)
    })
}

/// What a trial was exposed to, of the covariates that are declared.
pub fn exposure(declared: &[DeclaredCovariate], taken: &Taken) -> Exposure {
    Covariate::ALL.map(|covariate| declared.iter().find(|one| one.covariate == covariate)?.exposure(taken))
}

/// Bytes of the disk below a volume, apart by whom they were for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SplitBytes {
    /// For the volume.
    pub own: f64,
    /// For others: what the disk served beyond the volume's own bytes.
    pub foreign: f64,
}

impl SplitBytes {
    /// Those of a volume that has a device of its own with a disk below; none of others.
    pub fn of(devices: &[DeviceActivity]) -> Option<Self> {
        let bytes = |device: &DeviceActivity| {
            device.served.read_bytes.saturating_add(device.served.written_bytes) as f64
        };
        let of = |role: &str| devices.iter().find(|device| device.role == role).map(bytes);
        let (own, below) = of("stack").zip(of("below"))?;
        Some(Self { own: own.min(below), foreign: (below - own).max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::DiskCounters;

    fn device(role: &str, read_bytes: u64) -> DeviceActivity {
        let served = DiskCounters { read_bytes, ..DiskCounters::default() };
        DeviceActivity { role: role.to_owned(), served, ..DeviceActivity::default() }
    }

    #[test]
    fn a_trial_is_exposed_to_what_others_took() {
        let declared =
            |covariate, whole| DeclaredCovariate { covariate, seconds: 30, whole, worth: Worth::Slope(1.1) };
        let declared = [declared(Covariate::ForeignIo, Some(1000.0)), declared(Covariate::Steal, None)];
        let disk_bytes = SplitBytes::of(&[device("stack", 500), device("below", 1500)]);
        let taken = Taken { seconds: 2.0, steal: Some(0.25), disk_bytes };
        assert_eq!(exposure(&declared, &taken), [Some(0.75_f64.ln()), Some(0.5_f64.ln())]);
        assert_eq!(exposure(&declared, &Taken::default()), [None, None]);
        let all = Taken { steal: Some(1.0), ..taken };
        assert_eq!(exposure(&declared, &all)[0], Some(LEAST_LEFT.ln()));
        assert!(slopes(&declared).into_iter().all(|slope| slope > 1.0));
    }

    #[test]
    fn what_was_declared_reads_back() {
        for worth in [Worth::Slope(0.9), Worth::NotAdjusted("no steal".to_owned())] {
            let one = DeclaredCovariate { covariate: Covariate::Steal, seconds: 12, whole: None, worth };
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<DeclaredCovariate>(&text).unwrap(), one, "{text}");
        }
    }
}
