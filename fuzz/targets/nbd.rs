//! What clients of the emulated disk say: the handshake, and requests with their payloads.
#![no_main]

use iostone_disk::fuzzing::{handshake, requests};
use libfuzzer_sys::fuzz_target;

const VOLUME_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    // What is understood does not depend on where reads cut the stream.
    let whole = requests(bytes, usize::MAX, VOLUME_BYTES);
    assert_eq!(requests(bytes, 7, VOLUME_BYTES), whole);
    let (taken, answers) = handshake(bytes, usize::MAX);
    assert!(taken <= bytes.len());
    // An option is answered once, with a bounded answer.
    assert!(answers.len() <= 200 * (bytes.len() + 1));
});
