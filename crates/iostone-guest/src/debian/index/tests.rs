//! Kernels from records: what is complete, what is only a name, what is newest.

use super::*;

fn record(package: &str, version: &str, installed_kib: u64) -> Record {
    Record {
        package: package.to_owned(),
        version: version.to_owned(),
        installed_kib,
        size_bytes: 1000,
        sha256: "00".to_owned(),
    }
}

fn index() -> Index {
    let records = [
        record("linux-image-6.1.0-49-cloud-amd64", "6.1.174-1", 105_110),
        record("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1", 105_110),
        record("linux-image-6.1.0-50-cloud-amd64", "6.1.175-1", 105_110),
        record("linux-image-6.12-cloud-amd64", "6.12.113-1", 13),
        record("linux-image-7.1.3+deb13-cloud-amd64", "7.1.3-1", 15),
        record("linux-image-7.2.6+deb13-cloud-amd64", "7.2.6-1", 15),
        record("linux-binary-7.2.6+deb13-cloud-amd64", "7.2.6-1", 11_000),
        record("linux-modules-7.2.6+deb13-cloud-amd64", "7.2.6-1", 90_000),
        record("linux-base-7.2.6+deb13-cloud-amd64", "7.2.6-1", 700),
    ];
    let places =
        [(("linux-image-6.1.0-50-cloud-amd64".to_owned(), "6.1.176-1".to_owned()), "oldstable".to_owned())];
    let codenames = [("oldstable".to_owned(), "bookworm".to_owned())];
    let kernels = assemble(&records, &places.into(), &codenames.into());
    Index { sources: String::new(), kernels, just_made: true }
}

#[test]
fn packages_without_binaries_are_passed_over() {
    let releases: Vec<String> = index().kernels.into_iter().map(|kernel| kernel.release).collect();
    assert_eq!(releases, ["6.1.0-49-cloud-amd64", "6.1.0-50-cloud-amd64", "7.2.6+deb13-cloud-amd64"]);
}

#[test]
fn the_newest_of_a_series_is_chosen() {
    let index = index();
    let kernel = index.newest(&"6.1".parse().unwrap()).unwrap();
    assert_eq!((kernel.release.as_str(), kernel.version.as_str()), ("6.1.0-50-cloud-amd64", "6.1.176-1"));
    assert_eq!(kernel.suite, "bookworm");
    let parts: Vec<&str> =
        index.newest(&"7.2".parse().unwrap()).unwrap().packages.iter().map(|it| it.name.as_str()).collect();
    let expected =
        ["linux-binary", "linux-modules", "linux-base"].map(|it| format!("{it}-7.2.6+deb13-cloud-amd64"));
    assert_eq!(parts, expected);
}

#[test]
fn a_series_that_is_not_there_is_answered_with_those_that_are() {
    let message = index().newest(&"6.12".parse().unwrap()).unwrap_err().to_string();
    assert!(message.contains("no `debian:6.12-cloud`; it has the series 6.1, 7.2"), "{message}");
}
