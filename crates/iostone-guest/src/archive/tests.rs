//! The archive read back by a reader of its own, and by the real one where it is installed.

use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

/// A member as read: path, mode, device numbers, content.
type Read = (String, u32, (u32, u32), Vec<u8>);

/// Reads `newc`; panics at whatever is not as it should be.
fn read(mut archive: &[u8]) -> Vec<Read> {
    let mut members = Vec::new();
    loop {
        let (header, rest) = archive.split_at(110);
        assert_eq!(&header[..6], MAGIC.as_bytes());
        let field = |index: usize| {
            let at = 6 + 8 * index;
            u32::from_str_radix(std::str::from_utf8(&header[at..at + 8]).unwrap(), 16).unwrap()
        };
        let padded = |length: usize| length.next_multiple_of(4);
        let name_size = field(11) as usize;
        let name = std::str::from_utf8(&rest[..name_size - 1]).unwrap().to_owned();
        let content_at = padded(110 + name_size) - 110;
        let size = field(6) as usize;
        let content = rest[content_at..content_at + size].to_vec();
        archive = &rest[content_at + padded(size)..];
        if name == TRAILER {
            assert!(archive.is_empty());
            return members;
        }
        assert_eq!(field(5), 0, "no time");
        members.push((name, field(1), (field(9), field(10)), content));
    }
}

fn bytes_of(archive: &Archive) -> Vec<u8> {
    let mut out = Counted { inner: Vec::new(), written_bytes: 0 };
    archive.write(&mut out).unwrap();
    assert_eq!(out.written_bytes, out.inner.len() as u64);
    out.inner
}

fn member() -> impl Strategy<Value = Member> {
    prop_oneof![
        Just(Member::Directory),
        "[a-z./]{1,20}".prop_map(Member::Symlink),
        (0..4096u32, 0..256u32).prop_map(|(major, minor)| Member::CharacterDevice { major, minor }),
        (0..0o1000u32, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(mode, content)| Member::Bytes { mode, content }),
    ]
}

proptest! {
    #[test]
    fn what_is_read_back_is_what_went_in(
        members in prop::collection::vec(("[a-z]{1,3}(/[a-z]{1,9}){0,3}", member()), 0..12),
    ) {
        let mut archive = Archive::default();
        for (path, member) in &members {
            archive.add(path, member.clone());
        }
        let bytes = bytes_of(&archive);
        prop_assert_eq!(&bytes, &bytes_of(&archive.clone()));
        let found = read(&bytes);
        prop_assert_eq!(found.len(), archive.members.len());
        for ((path, mode, device, content), (expected_path, expected)) in found.iter().zip(&archive.members) {
            prop_assert_eq!(path, expected_path);
            match expected {
                Member::Directory => prop_assert_eq!(*mode, DIRECTORY | 0o755),
                Member::Symlink(target) => prop_assert_eq!(content, target.as_bytes()),
                Member::CharacterDevice { major, minor } => prop_assert_eq!(*device, (*major, *minor)),
                Member::Bytes { mode: permissions, content: expected } => {
                    prop_assert_eq!(*mode, REGULAR | permissions);
                    prop_assert_eq!(content, expected);
                }
                Member::HostFile { .. } => unreachable!(),
            }
        }
    }
}

#[test]
fn directories_come_before_what_lies_in_them() {
    let mut archive = Archive::default();
    archive.add("/a/b/c", Member::Bytes { mode: 0o644, content: b"x".to_vec() });
    archive.add("a-b", Member::Directory);
    let paths: Vec<&str> = archive.paths().collect();
    assert_eq!(paths, ["a", "a-b", "a/b", "a/b/c"]);
}

#[test]
fn the_first_of_a_path_stays() {
    let mut archive = Archive::default();
    archive.add("bin", Member::Symlink("usr/bin".to_owned()));
    archive.add("bin", Member::Directory);
    assert_eq!(archive.get("/bin"), Some(&Member::Symlink("usr/bin".to_owned())));
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error_and_one_that_grows_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let host = directory.path().join("host");
    let reads = |grown: &str| {
        std::fs::write(&host, "four").unwrap();
        let mut content = HostContent::open(&host, Part::All).unwrap();
        std::fs::write(&host, grown).unwrap();
        let mut read = String::new();
        io::Read::read_to_string(&mut content, &mut read).map(|_| read)
    };
    assert_eq!(reads("four and more").unwrap(), "four");
    let error = reads("f").unwrap_err().to_string();
    assert_eq!(error, "it shrank by 3 bytes while it was read");
}

#[test]
fn a_real_cpio_reads_it() {
    let reader = [("cpio", ["-t", "--quiet"]), ("bsdtar", ["-t", "-f-"])].into_iter().find_map(
        |(program, arguments)| {
            let path = crate::locate::program(program).ok()?;
            Some((path, arguments))
        },
    );
    let Some((program, arguments)) = reader else {
        eprintln!("skipped: needs cpio or bsdtar");
        return;
    };
    let mut archive = Archive::default();
    archive.add("dev/console", Member::CharacterDevice { major: 5, minor: 1 });
    archive.add("etc/one", Member::Bytes { mode: 0o644, content: b"1\n".to_vec() });
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes_of(&archive)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["dev", "dev/console", "etc", "etc/one"]);
}
