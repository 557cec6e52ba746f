//! What apt prints of packages: records with fields, and its table of versions.

use std::collections::BTreeMap;

/// A version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) package: String,
    pub(super) version: String,
    /// What it takes when installed, in KiB; a package that only names others has nearly nothing.
    pub(super) installed_kib: u64,
    /// What is downloaded.
    pub(super) size_bytes: u64,
    pub(super) sha256: String,
}

/// Reads `apt-cache show`: stanzas of fields. One without a checksum is of no use and passed over.
pub(super) fn parse_show(text: &str) -> Vec<Record> {
    text.split("\n\n").filter_map(parse_stanza).collect()
}

fn parse_stanza(stanza: &str) -> Option<Record> {
    let field = |name: &str| {
        stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    Some(Record {
        package: field("Package")?.to_owned(),
        version: field("Version")?.to_owned(),
        installed_kib: field("Installed-Size").and_then(|size| size.parse().ok()).unwrap_or(0),
        size_bytes: field("Size")?.parse().ok()?,
        sha256: field("SHA256")?.to_owned(),
    })
}

/// Reads `apt-cache madison`: where each version of a package is, `("linux-image-…", "6.1.176-1")` to `stable`.
/// The first place is kept: it is the one that apt prefers.
pub(super) fn parse_madison(text: &str) -> BTreeMap<(String, String), String> {
    let mut places = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('|').map(str::trim);
        let (Some(package), Some(version), Some(place)) = (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let suite =
            place.split_whitespace().nth(1).and_then(|word| word.split('/').next()).unwrap_or_default();
        places.entry((package.to_owned(), version.to_owned())).or_insert_with(|| suite.to_owned());
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read() {
        let text = "Package: linux-image-6.1.0-50-cloud-amd64\nVersion: 6.1.176-1\nInstalled-Size: 105110\n\
                    Depends: kmod\nSize: 26484304\nSHA256: efe1\nDescription: Linux\n more: of it\n\n\
                    Package: linux-image-virtual\nVersion: 1\n\n";
        let records = parse_show(text);
        assert_eq!(records.len(), 1);
        assert_eq!((records[0].installed_kib, records[0].size_bytes), (105_110, 26_484_304));
        assert_eq!(records[0].sha256, "efe1");
    }

    #[test]
    fn the_table_of_versions_is_read() {
        let text = "linux-image-a |  6.1.176-1 | http://mirror.example/debian oldstable/main amd64 Packages\n\
                    linux-image-a |  6.1.176-1 | http://mirror.example/s oldstable-security/main amd64 Packages\nnoise\n";
        let places = parse_madison(text);
        assert_eq!(places.len(), 1);
        assert_eq!(places[&("linux-image-a".to_owned(), "6.1.176-1".to_owned())], "oldstable");
    }
}
