//! Clients that do not do as the protocol has it: they are refused or hung up on, and the others go on.

use crate::served::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

/// A connection on which anything can be said.
fn raw(served: &Served) -> UnixStream {
    let stream = UnixStream::connect(served.socket(0)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Says something and reads until the server hangs up.
fn is_hung_up_on(mut stream: UnixStream, words: &[u8]) -> bool {
    // The server may hang up before all is said.
    let _ = stream.write_all(words);
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &length.to_be_bytes(), data].concat()
}

#[test]
fn a_client_that_misbehaves_is_hung_up_on_and_the_others_go_on() {
    let served = Served::new(&[volume(MIB)], None);
    let mut good = served.client(0);
    let enter = [3_u32.to_be_bytes().as_slice(), &option(1, b"")].concat();
    let no_request = [enter.as_slice(), &[7; 28]].concat();
    let request = |command: u16, length: u32| {
        let head = [0x2560_9513_u32.to_be_bytes().as_slice(), &[0, 0], &command.to_be_bytes()].concat();
        [enter.as_slice(), &head, &[0; 16], &length.to_be_bytes()].concat()
    };
    let cases: [(&str, Vec<u8>); 7] = [
        ("unknown flags", 0xffff_u32.to_be_bytes().to_vec()),
        ("no option", [3_u32.to_be_bytes().as_slice(), &[9; 16]].concat()),
        (
            "an endless option",
            [3_u32.to_be_bytes().as_slice(), b"IHAVEOPT", &7_u32.to_be_bytes(), &[0xff; 4]].concat(),
        ),
        ("another export", [3_u32.to_be_bytes().as_slice(), &option(1, b"other")].concat()),
        ("abort", [3_u32.to_be_bytes().as_slice(), &option(2, b"")].concat()),
        ("no request", no_request),
        ("a payload beyond all measure", request(1, 33 << 20)),
    ];
    for (name, words) in cases {
        assert!(is_hung_up_on(raw(&served), &words), "{name}");
        good.write(0, &[1; 512], false).unwrap();
    }
    // Gone in the middle of a word, of a payload, and with answers unread.
    for words in [enter.clone(), request(1, 1 << 20), request(0, 1 << 20)] {
        let mut stream = raw(&served);
        stream.write_all(&words).unwrap();
        drop(stream);
        good.write(0, &[1; 512], false).unwrap();
    }
    assert!(is_hung_up_on(raw(&served), &request(2, 0)), "a good-bye");
}

#[test]
fn requests_that_cannot_be_carried_out_are_answered_with_why() {
    let served = Served::new(&[volume(MIB)], None);
    let mut client = served.client(0);
    let cases = [
        (Command::Read, 0, MIB - 10, 11, EINVAL),
        (Command::Read, 0, u64::MAX - 1, 10, EINVAL),
        (Command::Read, 0, 0, 0, EINVAL),
        (Command::Read, 0, 0, 40 << 20, EINVAL),
        (Command::Read, 1 << 9, 0, 512, EINVAL),
        (Command::Write, 0, MIB - 10, 11, ENOSPC),
        (Command::Trim, 0, MIB, 1, EINVAL),
        (Command::WriteZeroes, 0, MIB, 1, ENOSPC),
        (Command::WriteZeroes, 1 << 4, 0, 512, EINVAL),
        (Command::Unknown(5), 0, 0, 1, EINVAL),
        (Command::Unknown(7), 0, 0, 1, EINVAL),
        (Command::WriteZeroes, 1 << 1, 0, 512, 0),
        (Command::Write, 1, 0, 512, 0),
    ];
    for (command, flags, offset, length, error) in cases {
        let payload = vec![0; if command == Command::Write { length as usize } else { 0 }];
        client.submit(command, flags, offset, length, &payload);
        client.send().unwrap();
        let answer = client.receive(&mut [0; 512]).unwrap();
        assert_eq!(answer.error, error, "{command:?} {flags:#x} {offset} {length}");
    }
    client.read(0, &mut [0; 512]).unwrap();
}

#[test]
fn options_are_answered_one_by_one() {
    let served = Served::new(&[volume(MIB)], None);
    let mut stream = raw(&served);
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    let mut words = 3_u32.to_be_bytes().to_vec();
    // Structured replies, TLS, a list, a list with data, information of another export and of ours.
    let asked = [
        option(8, b""),
        option(5, b""),
        option(3, b""),
        option(3, b"x"),
        option(6, b"\0\0\0\x01x\0\0"),
        option(6, b"\0\0\0\0\0\x01\0\x03"),
        option(6, b"\0\0\0\x09\0\0"),
        option(7, b"\0\0\0\x02v0\0\0"),
    ];
    for option in asked {
        words.extend(option);
    }
    // Byte by byte: nothing depends on where a read ends.
    for byte in words {
        stream.write_all(&[byte]).unwrap();
    }
    let mut kinds = Vec::new();
    while kinds.len() < 13 {
        let mut head = [0; 20];
        stream.read_exact(&mut head).unwrap();
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let mut data = vec![0; number(16) as usize];
        stream.read_exact(&mut data).unwrap();
        kinds.push((number(8), number(12)));
        if kinds.last() == Some(&(3, 2)) {
            assert_eq!(data, b"\0\0\0\x02v0");
        }
    }
    let error = 1 << 31;
    let expected = [
        (8, error | 1),
        (5, error | 1),
        (3, 2),
        (3, 1),
        (3, error | 3),
        (6, error | 6),
        (6, 3),
        (6, 3),
        (6, 1),
        (6, error | 3),
        (7, 3),
        (7, 3),
        (7, 1),
    ];
    assert_eq!(kinds, expected);
}
