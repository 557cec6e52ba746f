//! Tests of the protocol: what is written is read again, and only what fits a volume passes.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_request_is_read_as_it_was_written(flags: u16, number: u16, cookie: u64, offset: u64, length: u32) {
        let request = Request { flags, command: Command::from_number(number), cookie, offset, length };
        prop_assert_eq!(Request::parse(&request.encode()), Some(request));
        prop_assert_eq!(request.command.number(), number);
    }

    #[test]
    fn a_reply_is_read_as_it_was_written(error: u32, cookie: u64) {
        prop_assert_eq!(parse_reply(&encode_reply(error, cookie)), Some((error, cookie)));
    }

    #[test]
    fn what_passes_lies_within_the_volume(number in 0_u16..8, offset: u64, length: u32, size: u64) {
        let command = Command::from_number(number);
        let request = Request { flags: 0, command, cookie: 0, offset, length };
        if request.check(size).is_ok() && !matches!(command, Command::Flush | Command::Disconnect) {
            prop_assert!(u128::from(offset) + u128::from(length) <= u128::from(size));
            prop_assert!(length > 0);
        }
    }
}

#[test]
fn what_does_not_begin_as_a_request_is_none() {
    assert_eq!(Request::parse(&[0; REQUEST_BYTES]), None);
    assert_eq!(parse_reply(&[0; REPLY_BYTES]), None);
}

#[test]
fn errors_of_the_system_have_numbers_of_the_protocol() {
    assert_eq!(error_number(libc::EIO), EIO);
    assert_eq!(error_number(libc::EDQUOT), ENOSPC);
    assert_eq!(error_number(libc::EBADF), EIO);
    assert_eq!(error_number(libc::EROFS), 1);
}
