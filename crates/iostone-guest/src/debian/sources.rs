//! Where this machine's apt gets Debian from: `sources.list(5)`, both in lines and in stanzas.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::release::ARCHITECTURE;
use crate::error::GuestError;

#[cfg(test)]
mod tests;

/// Names of releases that stay while releases come and go.
const ALIASES: [&str; 7] =
    ["stable", "oldstable", "oldoldstable", "testing", "unstable", "sid", "experimental"];
/// Releases by their own names; a machine's own is known beside them.
const CODENAMES: [&str; 6] = ["buster", "bullseye", "bookworm", "trixie", "forky", "duke"];
/// What is asked for at every archive, beside what the machine's own sources name.
const RELEASES: [&str; 3] = ["stable", "oldstable", "oldoldstable"];
/// Backports of the release before the old one have left the archive.
const WITH_BACKPORTS: [&str; 2] = ["stable", "oldstable"];

/// One source of packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) uris: Vec<String>,
    pub(super) suites: Vec<String>,
    components: Vec<String>,
    /// A path, or a key; with its further lines as they stand.
    signed_by: Option<String>,
    trusted: bool,
}

/// Debian's archive, and its security archive, as this machine reaches them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Archives {
    main: Source,
    security: Option<Source>,
}

impl Archives {
    /// Those of this machine.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when none of its sources is Debian's.
    pub(super) fn of_machine() -> Result<Self, GuestError> {
        let apt = Path::new("/etc/apt");
        let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        Self::among(&read_sources(apt), own_codename(&os_release)).ok_or_else(|| {
            GuestError::Missing(
                "none of the sources in `/etc/apt` is Debian's archive, so no kernel can be fetched from it; next: name \
                 a kernel by its path (`/boot/vmlinuz-…`)"
                    .to_owned(),
            )
        })
    }

    fn among(sources: &[Source], own: Option<&str>) -> Option<Self> {
        let mut debian = sources.iter().filter(|source| source.is_debian(own));
        let main = debian.clone().find(|source| !source.is_security())?.clone();
        let security = debian.find(|source| source.is_security()).cloned();
        Some(Self { main, security })
    }

    /// Where the archive is, for messages.
    pub(super) fn name(&self) -> &str {
        self.main.uris.first().map_or("", String::as_str)
    }

    /// A file of sources with the releases of the archive by their lasting names.
    pub(super) fn by_alias(&self) -> String {
        let backports = WITH_BACKPORTS.map(|release| format!("{release}-backports"));
        self.main.stanza(RELEASES.iter().map(|release| (*release).to_owned()).chain(backports))
    }

    /// The same with the security archive of those releases, whose own names are known by now, and what this machine's
    /// sources name beside them.
    pub(super) fn complete(&self, codenames: &BTreeSet<String>) -> String {
        let is_new = |suite: &&String| !codenames.contains(*suite) && !ALIASES[..3].contains(&suite.as_str());
        let uninteresting = |suite: &str| suite.ends_with("-updates") || suite.ends_with("-proposed-updates");
        let own = self.main.suites.iter().filter(is_new).filter(|suite| !uninteresting(suite));
        let mut text = self.by_alias();
        let own: Vec<String> = own.cloned().collect();
        if !own.is_empty() {
            text.push_str(&self.main.stanza(own.into_iter()));
        }
        if let Some(security) = &self.security {
            let releases = codenames.iter().filter(|name| !name.contains('-'));
            text.push_str(&security.stanza(releases.map(|release| format!("{release}-security"))));
        }
        text
    }
}

impl Source {
    /// Whether it is Debian's: other archives have their own keys, other releases, or no component `main`.
    fn is_debian(&self, own: Option<&str>) -> bool {
        let known = |suite: &String| {
            let base = suite.split(['-', '/']).next().unwrap_or_default();
            let rest = suite.get(base.len()..).unwrap_or_default();
            let plain = ["", "-updates", "-backports", "-security", "/updates", "-proposed-updates"];
            (ALIASES.contains(&base) || CODENAMES.contains(&base) || own == Some(base))
                && plain.contains(&rest)
        };
        let foreign_key =
            self.signed_by.as_ref().is_some_and(|key| key.starts_with('/') && !key.contains("debian"));
        let reachable = self.uris.iter().any(|uri| !uri.starts_with("cdrom:"));
        reachable
            && !foreign_key
            && self.suites.iter().any(known)
            && self.components.iter().any(|name| name == "main")
    }

    fn is_security(&self) -> bool {
        self.suites.iter().all(|suite| suite.ends_with("-security") || suite.ends_with("/updates"))
    }

    /// A stanza with other releases of the same archive, of kernels' component and processor only.
    fn stanza(&self, suites: impl Iterator<Item = String>) -> String {
        let uris: Vec<&str> =
            self.uris.iter().map(String::as_str).filter(|uri| !uri.starts_with("cdrom:")).collect();
        let suites: Vec<String> = suites.collect();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "Types: deb\nURIs: {}\nSuites: {}", uris.join(" "), suites.join(" "));
        let _ = writeln!(text, "Components: main\nArchitectures: {ARCHITECTURE}\nTargets: Packages");
        if let Some(key) = &self.signed_by {
            let _ = writeln!(text, "Signed-By: {key}");
        }
        if self.trusted {
            text.push_str("Trusted: yes\n");
        }
        text.push('\n');
        text
    }
}

/// All sources below `/etc/apt`, those of the machine's own file first.
fn read_sources(apt: &Path) -> Vec<Source> {
    let mut parts: Vec<PathBuf> = std::fs::read_dir(apt.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    parts.insert(0, apt.join("sources.list"));
    let mut sources = Vec::new();
    for path in parts {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(from_line)),
            Some("sources") => sources.extend(from_stanzas(&text)),
            _ => {}
        }
    }
    sources
}

/// `deb [signed-by=/path arch=amd64] URI suite component...`
fn from_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let option = |name: &str| {
        let of_name = |word: &str| {
            word.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        options.split_whitespace().find_map(of_name)
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Source {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: option("signed-by"),
        trusted: option("trusted").as_deref() == Some("yes"),
    })
}

/// The deb822 style: fields, further lines indented, stanzas apart by an empty line.
fn from_stanzas(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#')).chain([""]);
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line.trim().is_empty() {
            sources.extend(from_fields(&std::mem::take(&mut fields)));
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    sources
}

fn from_fields(fields: &[(String, String)]) -> Option<Source> {
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let words = |name: &str| -> Vec<String> {
        field(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let enabled = !field("enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
    (enabled && words("types").iter().any(|kind| kind == "deb")).then(|| Source {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        signed_by: field("signed-by").map(str::to_owned),
        trusted: field("trusted") == Some("yes"),
    })
}

/// `VERSION_CODENAME` of os-release(5), if this machine is Debian.
fn own_codename(os_release: &str) -> Option<&str> {
    let value = |name: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"'))
    };
    value("VERSION_CODENAME").filter(|_| value("ID") == Some("debian"))
}
