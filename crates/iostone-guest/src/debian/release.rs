//! Releases of Debian's kernels, `6.1.0-50-cloud-amd64`, and how one is asked for.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::GuestError;

/// The only processors that guests have.
pub(super) const ARCHITECTURE: &str = "amd64";

/// Which build of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// For virtual machines: fewer drivers, a third of the size, the quickest to boot.
    Cloud,
    /// For every machine.
    Generic,
    /// With `PREEMPT_RT`.
    Rt,
}

impl Flavour {
    /// The word by which it is asked for.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Generic => "generic",
            Self::Rt => "rt",
        }
    }
}

/// What stands after `debian:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSpec {
    /// A series (`6.1`) or more of a version (`6.12.95`, `6.1.0-50`), without the flavour.
    version: String,
    flavour: Flavour,
}

impl FromStr for PackageSpec {
    type Err = GuestError;

    /// Reads `SERIES-OR-VERSION[-FLAVOUR]`, with or without `debian:` in front. A whole release as `uname -r` says it,
    /// with `-amd64` at its end, is one too; else the flavour is `cloud` if none is named.
    fn from_str(text: &str) -> Result<Self, GuestError> {
        let spec = text.strip_prefix("debian:").unwrap_or(text);
        let whole = Release::parse(spec);
        let split = |flavour: Flavour| Some((spec.strip_suffix(&format!("-{}", flavour.as_str()))?, flavour));
        let named = [Flavour::Cloud, Flavour::Generic, Flavour::Rt].into_iter().find_map(split);
        let (version, flavour) = match (&whole, named) {
            (Some(release), _) => (release.version.as_str(), release.flavour),
            (None, Some(named)) => named,
            (None, None) => (spec, Flavour::Cloud),
        };
        let usual = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
        if version.starts_with(|c: char| c.is_ascii_digit())
            && version.contains('.')
            && version.chars().all(usual)
        {
            Ok(Self { version: version.to_owned(), flavour })
        } else {
            Err(GuestError::Unsuitable(format!(
                "`{text}` does not name a Debian kernel: give a series (`debian:6.1`) or a version \
                 (`debian:6.1.0-50-cloud-amd64`), with `-generic` or `-rt` appended for another flavour than cloud"
            )))
        }
    }
}

impl fmt::Display for PackageSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "debian:{}-{}", self.version, self.flavour.as_str())
    }
}

impl PackageSpec {
    /// Whether a release is one of those meant: `6.1` means `6.1.0-50`, and not `6.12`.
    pub(super) fn matches(&self, release: &Release) -> bool {
        let rest = release.version.strip_prefix(&self.version);
        self.flavour == release.flavour
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+', '~']))
    }

    /// Whether exactly this release is meant.
    pub(super) fn names(&self, release: &str) -> bool {
        Release::parse(release).is_some_and(|it| it.flavour == self.flavour && it.version == self.version)
    }

    pub(super) fn flavour(&self) -> Flavour {
        self.flavour
    }
}

/// A release, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    /// `6.1.0-50`, or `6.12.95+deb13`.
    pub(super) version: String,
    pub(super) flavour: Flavour,
}

impl Release {
    /// Reads `VERSION[-cloud|-rt]-amd64`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_suffix(ARCHITECTURE)?.strip_suffix('-')?;
        let (version, flavour) = match rest.rsplit_once('-') {
            Some((version, "cloud")) => (version, Flavour::Cloud),
            Some((version, "rt")) => (version, Flavour::Rt),
            _ => (rest, Flavour::Generic),
        };
        let plain = version.starts_with(|c: char| c.is_ascii_digit())
            && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+~-".contains(c));
        plain.then(|| Self { version: version.to_owned(), flavour })
    }

    /// The first two numbers: `6.1`.
    pub(super) fn series(&self) -> String {
        let end = |c: char| !c.is_ascii_digit();
        let mut numbers = self.version.split(end);
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        format!("{major}.{minor}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> PackageSpec {
        text.parse().unwrap()
    }

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn a_release_is_taken_apart() {
        let cloud = release("6.1.0-50-cloud-amd64");
        assert_eq!((cloud.version.as_str(), cloud.flavour), ("6.1.0-50", Flavour::Cloud));
        assert_eq!(cloud.series(), "6.1");
        let generic = release("6.12.95+deb13-amd64");
        assert_eq!((generic.version.as_str(), generic.flavour), ("6.12.95+deb13", Flavour::Generic));
        assert_eq!(release("5.10.0-30-rt-amd64").flavour, Flavour::Rt);
        assert_eq!(Release::parse("amd64-signed-template"), None);
        assert_eq!(Release::parse("cloud-amd64"), None);
    }

    #[test]
    fn a_series_means_its_releases_and_no_other_series() {
        assert!(spec("6.1").matches(&release("6.1.0-50-cloud-amd64")));
        assert!(!spec("6.1").matches(&release("6.12.95+deb13-cloud-amd64")));
        assert!(!spec("6.1").matches(&release("6.1.0-50-amd64")));
        assert!(spec("debian:6.1-generic").matches(&release("6.1.0-50-amd64")));
        assert!(spec("6.1-rt").matches(&release("6.1.0-50-rt-amd64")));
        assert!(spec("6.12.95").matches(&release("6.12.95+deb13-cloud-amd64")));
    }

    #[test]
    fn a_whole_release_names_itself() {
        for text in ["6.1.0-50-cloud-amd64", "6.1.0-50-amd64", "6.12.95+deb13-rt-amd64"] {
            assert!(spec(text).names(text), "{text}");
            assert!(spec(text).matches(&release(text)));
        }
        assert!(spec("6.1.0-50").names("6.1.0-50-cloud-amd64"));
        assert!(!spec("6.1").names("6.1.0-50-cloud-amd64"));
    }

    #[test]
    fn what_names_no_kernel_is_refused() {
        for text in ["", "bookworm", "6", "6.1 rm", "../6.1", "-6.1"] {
            assert!(text.parse::<PackageSpec>().is_err(), "{text}");
        }
    }
}
