//! UUIDs of a session's filesystems and arrays: half random, half told by that half and the session's token, so that no
//! journal can claim somebody else's.

use sha2::{Digest, Sha256};

use crate::error::StackError;
use crate::filesystem::format_uuid;
use crate::journal::random_bytes;

const HEAD_BYTES: usize = 8;

/// A new UUID of the session with that token, of version 4 in form (RFC 9562).
pub(crate) fn new_uuid(token: &str) -> Result<String, StackError> {
    let mut head = random_bytes::<HEAD_BYTES>()?;
    head[6] = head[6] & 0x0f | 0x40;
    Ok(with_tail(head, token))
}

/// Whether a UUID is one that the session with that token has made. That another is taken for one has a chance of 1 in
/// 2^62.
pub(crate) fn is_of_session(uuid: &str, token: &str) -> bool {
    let digits: Vec<u8> = uuid.bytes().filter(u8::is_ascii_hexdigit).take(2 * HEAD_BYTES).collect();
    let mut head = [0; HEAD_BYTES];
    for (byte, pair) in head.iter_mut().zip(digits.chunks_exact(2)) {
        let Some(value) = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
        else {
            return false;
        };
        *byte = value;
    }
    uuid == with_tail(head, token)
}

fn with_tail(head: [u8; HEAD_BYTES], token: &str) -> String {
    let digest = Sha256::new_with_prefix(b"iostone uuid 1").chain_update(head).chain_update(token).finalize();
    let mut bytes = [0; 16];
    bytes[..HEAD_BYTES].copy_from_slice(&head);
    bytes[HEAD_BYTES..].copy_from_slice(&digest[..HEAD_BYTES]);
    bytes[8] = bytes[8] & 0x3f | 0x80;
    format_uuid(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_random_well_formed_and_known_by_its_session_alone() {
        let (one, two) =
            (new_uuid("run-0123456789abcdef").unwrap(), new_uuid("run-0123456789abcdef").unwrap());
        assert_ne!(one, two);
        assert_eq!((one.len(), one.as_bytes()[14]), (36, b'4'));
        assert!(matches!(one.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{one}");
        assert!(is_of_session(&one, "run-0123456789abcdef") && is_of_session(&two, "run-0123456789abcdef"));
        assert!(!is_of_session(&one, "run-0123456789abcdee"));
        for foreign in [&one.to_uppercase(), &one.replace('-', ""), &format!("{one}0"), "", "x"] {
            assert!(!is_of_session(foreign, "run-0123456789abcdef"), "{foreign}");
        }
    }
}
