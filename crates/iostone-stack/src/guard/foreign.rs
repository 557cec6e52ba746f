//! What util-linux knows of a device's content: belt and braces beside the guard's own table.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use iostone_probe::programs::find_program;

use crate::tool;

/// What the programs found.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// In words, one item each: "ext4, label `data`, UUID ...".
    pub(super) found: Vec<String>,
    /// The program that found it.
    pub(super) by: &'static str,
    /// Whether any of them is there and answered.
    pub(super) asked: bool,
}

#[derive(Deserialize)]
struct Listing {
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    #[serde(rename = "type")]
    kind: String,
    label: Option<String>,
    uuid: Option<String>,
}

/// Asks wipefs(8), which lists every signature, and blkid(8), which also knows when it is torn between several. Both
/// only read here. A program that fails says nothing.
pub(super) fn identify(device: &Path) -> Known {
    let mut known = Known::default();
    if let Some(found) = ask_wipefs(device) {
        known = Known { found, by: "wipefs", asked: true };
    }
    if known.found.is_empty()
        && let Some(found) = ask_blkid(device)
    {
        known = Known { found, by: "blkid", asked: true };
    }
    known
}

fn ask_wipefs(device: &Path) -> Option<Vec<String>> {
    let program = find_program("wipefs")?;
    let arguments = [OsString::from("--no-act"), "--json".into(), device.into()];
    let output = tool::run(&program, &arguments, None).ok().filter(|output| output.status == Some(0))?;
    parse_wipefs(&output.stdout)
}

pub(super) fn parse_wipefs(text: &str) -> Option<Vec<String>> {
    // It prints nothing at all where it finds nothing.
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let listing: Listing = serde_json::from_str(text).ok()?;
    let mut found: Vec<String> = listing
        .signatures
        .into_iter()
        .map(|signature| in_words(&signature.kind, signature.label.as_deref(), signature.uuid.as_deref()))
        .collect();
    found.dedup();
    Some(found)
}

fn ask_blkid(device: &Path) -> Option<Vec<String>> {
    let program = find_program("blkid")?;
    let arguments = [OsString::from("--probe"), "--output".into(), "export".into(), device.into()];
    let output = tool::run(&program, &arguments, None).ok()?;
    match output.status? {
        0 => Some(parse_blkid(&output.stdout)),
        2 => Some(Vec::new()),
        8 => Some(vec!["several signatures at once".to_owned()]),
        _ => None,
    }
}

pub(super) fn parse_blkid(text: &str) -> Vec<String> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value("TYPE")
        .or_else(|| value("PTTYPE"))
        .map(|kind| in_words(kind, value("LABEL"), value("UUID").or_else(|| value("PTUUID"))))
        .into_iter()
        .collect()
}

fn in_words(kind: &str, label: Option<&str>, uuid: Option<&str>) -> String {
    let mut words = kind.to_owned();
    for (name, value) in [("label", label), ("UUID", uuid)] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            words.extend([", ", name, " `"]);
            words.extend(value.escape_debug());
            words.push('`');
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wipefs_is_read() {
        let text = r#"{"signatures": [
            {"device":"loop0","offset":"0x438","type":"ext4","uuid":"u-1","label":null},
            {"device":"loop0","offset":"0x1fe","type":"dos","uuid":null,"label":null}]}"#;
        assert_eq!(parse_wipefs(text).unwrap(), ["ext4, UUID `u-1`", "dos"]);
        assert_eq!(parse_wipefs("\n").unwrap(), Vec::<String>::new());
        assert_eq!(parse_wipefs("wipefs: error"), None);
    }

    #[test]
    fn blkid_is_read() {
        assert_eq!(
            parse_blkid("DEVNAME=/dev/x\nLABEL=a\\ b\nUUID=1\nTYPE=xfs\n"),
            ["xfs, label `a\\\\ b`, UUID `1`"]
        );
        assert_eq!(parse_blkid("DEVNAME=/dev/x\nPTTYPE=gpt\n"), ["gpt"]);
        assert!(parse_blkid("DEVNAME=/dev/x\nUSAGE=other\n").is_empty());
    }
}
