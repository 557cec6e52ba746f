//! How a client is told where a volume is.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The volume behind a Unix socket as an NBD URI, which QEMU and libnbd read (`doc/uri.md` of the NBD project).
pub(super) fn nbd_uri(socket: &Path) -> String {
    let mut uri = "nbd+unix:///?socket=".to_owned();
    for byte in socket.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_uri_is_escaped() {
        assert_eq!(nbd_uri(Path::new("/run/a b&c.sock")), "nbd+unix:///?socket=/run/a%20b%26c.sock");
    }
}
