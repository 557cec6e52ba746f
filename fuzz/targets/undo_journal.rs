//! Undo journals: a crash may cut one anywhere, and what is whole of it must be the steps begun before.
#![no_main]

use iostone_stack::fuzzing::read_journal;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((steps, whole_bytes)) = read_journal(bytes) else { return };
    assert!(bytes[..whole_bytes].ends_with(b"\n") && !bytes[whole_bytes..].contains(&b'\n'));
    assert_eq!(read_journal(&bytes[..whole_bytes]), Ok((steps.clone(), whole_bytes)));
    let first_line = bytes.iter().take_while(|byte| **byte == b'\n').count();
    let Some(end) = bytes[first_line..].iter().position(|byte| *byte == b'\n') else { return };
    let after_owner = first_line + end + 1;
    // A directory that was found elsewhere gives the steps in it new words; their number and order stay.
    let moved = bytes.windows(b"moved".len()).any(|window| window == b"moved");
    for cut in [after_owner, after_owner.midpoint(bytes.len()), bytes.len() - 1] {
        if cut < after_owner {
            continue;
        }
        let (begun, _) = read_journal(&bytes[..cut]).expect("its beginning is as good as the whole");
        assert!(begun.len() <= steps.len() && (moved || steps.starts_with(&begun)));
    }
});
