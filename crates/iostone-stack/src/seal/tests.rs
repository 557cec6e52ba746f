//! Tests of the seal: the published vectors, the key's file, lines out of their place.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn hex(bytes: &[u8; CODE_BYTES]) -> String {
    String::from_utf8(hexadecimal(bytes)).unwrap()
}

/// RFC 4231, test cases 1 to 4: those with keys that fit into ours.
#[test]
fn the_codes_are_those_of_rfc_4231() {
    let counted: Vec<u8> = (1..=25).collect();
    let cases: [(&[u8], &[u8], &str); 4] = [
        (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        (&counted, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    ];
    for (short, data, code) in cases {
        let mut key = Key([0; KEY_BYTES]);
        key.0[..short.len()].copy_from_slice(short);
        assert_eq!(hex(&key.code_of(&[data])), code);
        let (front, back) = data.split_at(data.len() / 2);
        assert_eq!(hex(&key.code_of(&[front, back])), code);
    }
}

#[test]
fn a_key_is_made_once_and_open_to_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let keys: Vec<Key> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Key::of(place.path()).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [KEY_NAME]);
    assert_eq!(fs::metadata(place.path().join(KEY_NAME)).unwrap().mode() & 0o777, 0o600);
    assert!(Key::of(tempfile::tempdir().unwrap().path()).unwrap() != keys[0]);
}

#[test]
fn what_cannot_be_a_key_of_this_users_is_not_taken_for_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(KEY_NAME);
    let taken = || {
        assert_eq!(Key::check(place.path()).is_err(), Key::of(place.path()).is_err());
        Key::of(place.path()).map_err(|error| error.to_string())
    };
    let write = |mode: u32, bytes: usize| {
        let _ = fs::remove_file(&path);
        fs::write(&path, vec![1; bytes]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for (mode, bytes) in [(0o600, 31), (0o600, 33), (0o640, 32), (0o604, 32), (0o620, 32)] {
        write(mode, bytes);
        assert!(taken().unwrap_err().contains("rm "), "{mode:o} {bytes}");
    }
    write(0o600, 32);
    assert_eq!(taken(), Ok(Key([1; 32])));
    fs::hard_link(&path, place.path().join("other")).unwrap();
    assert!(taken().is_err(), "two names");
    fs::remove_file(&path).unwrap();
    symlink("other", &path).unwrap();
    assert!(taken().is_err(), "a symbolic link");
}

#[test]
fn lines_verify_in_their_place_only() {
    let key = Key::for_tests();
    let start = Chain::new(&key, "a.jsonl");
    let (one, after) = start.seal(b"{}");
    let (two, _) = after.seal(b"{}");
    let whole = |line: &[u8]| line[..line.len() - 1].to_vec();
    let (one, two) = (whole(&one), whole(&two));
    assert!(one != two, "the same line twice has two codes");
    let reads = |start: &Chain, lines: &[&[u8]]| {
        let mut chain = start.clone();
        lines.iter().all(|line| chain.open(line).is_some())
    };
    assert!(reads(&start, &[&one, &two]) && reads(&start, &[&one]));
    assert!(!reads(&start, &[&two]) && !reads(&start, &[&two, &one]) && !reads(&start, &[&one, &one]));
    assert!(!reads(&Chain::new(&key, "b.jsonl"), &[&one]), "another journal");
    assert!(!reads(&Chain::new(&Key([8; 32]), "a.jsonl"), &[&one]), "another key");
    for bit in 0..one.len() * 8 {
        let mut flipped = one.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(!reads(&start, &[&flipped]), "bit {bit}");
    }
    for length in 0..one.len() {
        assert!(!reads(&start, &[&one[..length]]), "{length} bytes");
    }
}
