//! Sources in both styles, and what is made of them.

use super::*;

const STANZAS: &str = "\
# the archive
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main

Types: deb
URIs: http://other.example/
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/other.gpg
";

#[test]
fn stanzas_are_read_with_their_keys() {
    let sources = from_stanzas(STANZAS);
    assert_eq!(sources.len(), 3);
    let archives = Archives::among(&sources, None).unwrap();
    assert_eq!(archives.name(), "http://mirror.example/debian");
    let text = archives.complete(&["bookworm", "trixie", "trixie-backports"].map(str::to_owned).into());
    assert_eq!(
        text,
        "Types: deb\nURIs: http://mirror.example/debian\n\
         Suites: stable oldstable oldoldstable stable-backports oldstable-backports\n\
         Components: main\nArchitectures: amd64\nTargets: Packages\n\
         Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\
         Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security trixie-security\n\
         Components: main\nArchitectures: amd64\nTargets: Packages\n\
         Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n\n"
    );
}

#[test]
fn lines_are_read_with_their_options() {
    let line = "deb [ arch=amd64 signed-by=/keys/debian.gpg ] http://mirror.example/debian sid main # note";
    let source = from_line(line).unwrap();
    assert_eq!(source.uris, ["http://mirror.example/debian"]);
    assert_eq!(source.signed_by.as_deref(), Some("/keys/debian.gpg"));
    assert!(source.is_debian(None));
    assert_eq!(from_line("deb-src http://mirror.example/debian sid main"), None);
    assert_eq!(from_line("# deb http://mirror.example/debian sid main"), None);
    let text = Archives::among(&[source], None).unwrap().complete(&BTreeSet::new());
    assert!(text.contains("Suites: sid\n"), "{text}");
}

#[test]
fn what_is_not_debian_s_is_passed_over() {
    for line in [
        "deb http://other.example/apt cloud-sdk-bookworm main",
        "deb http://other.example/debian bookworm stable",
        "deb http://other.example/ubuntu noble main",
        "deb http://other.example/pgdg bookworm-pgdg main",
        "deb cdrom:[Debian]/ bookworm main",
        "deb [signed-by=/keys/other.gpg] http://other.example bookworm main",
    ] {
        assert_eq!(Archives::among(&from_line(line).into_iter().collect::<Vec<_>>(), None), None, "{line}");
    }
}

#[test]
fn a_release_that_is_not_known_yet_is_taken_from_the_machine() {
    let os_release = "ID=debian\nVERSION_CODENAME=newest\n";
    assert_eq!(own_codename(os_release), Some("newest"));
    assert_eq!(own_codename("ID=ubuntu\nVERSION_CODENAME=noble\n"), None);
    let source = from_line("deb http://mirror.example/debian newest main").unwrap();
    assert!(source.is_debian(Some("newest")) && !source.is_debian(None));
}
