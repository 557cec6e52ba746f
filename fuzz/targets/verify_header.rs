//! Verified units: what stands on a disk is right or refused with a place and a reason, and damage is found.
#![no_main]

use iostone_engine::{
    ExpectedUnit, Finding, MismatchKind, UnitChecksum, UnitContent, UnitHeader, check_ledger_head,
    check_pattern, check_unit, identify_job,
};
use libfuzzer_sys::fuzz_target;

/// Length of the unit that is damaged.
const UNIT_BYTES: usize = 1500;

fuzz_target!(|bytes: &[u8]| {
    for content in [UnitContent::Any, UnitContent::Noise] {
        for generations in [0..=0, 1..=3, 2..=2, 1..=u32::MAX] {
            check(bytes, &ExpectedUnit { generations, ..expected(content, UnitChecksum::Crc32c) });
        }
    }
    let pattern = bytes.get(..bytes.len().min(5)).unwrap_or_default();
    if !pattern.is_empty() {
        inspect(check_pattern(bytes, pattern).err().as_deref(), bytes.len());
    }
    if let Err(reason) = check_ledger_head(bytes) {
        assert!(!reason.is_empty());
    }
    for checksum in [UnitChecksum::Crc32c, UnitChecksum::Sha256] {
        damage(bytes, &expected(UnitContent::Noise, checksum));
        damage(bytes, &expected(UnitContent::Any, checksum));
    }
});

fn expected(content: UnitContent, checksum: UnitChecksum) -> ExpectedUnit {
    ExpectedUnit {
        checksum,
        content,
        job: identify_job(0),
        target: 0,
        offset_bytes: 1 << 20,
        generations: 1..=3,
    }
}

fn check(unit: &[u8], expected: &ExpectedUnit) {
    match check_unit(unit, expected) {
        Ok(generation) => {
            let header = UnitHeader::parse(unit).expect("it passed");
            assert!(header.is_sound(unit) && header.generation == generation);
            assert!(expected.generations.contains(&generation));
        }
        Err(finding) => inspect(Some(&finding), unit.len()),
    }
}

fn inspect(finding: Option<&Finding>, length: usize) {
    let Some(finding) = finding else { return };
    assert!(finding.at < length.max(1), "{finding:?}");
    for text in [&finding.expected, &finding.found] {
        assert!(!text.is_empty() && !text.contains(char::is_control), "{finding:?}");
    }
}

/// The input is laid over a right unit: each bit that is set in it flips one there.
fn damage(bytes: &[u8], expected: &ExpectedUnit) {
    let header = UnitHeader {
        checksum: expected.checksum,
        content: expected.content,
        unit_bytes: UNIT_BYTES as u32,
        generation: 2,
        offset_bytes: expected.offset_bytes,
        target: expected.target,
        job: expected.job,
    };
    let mut unit = vec![0x33; UNIT_BYTES];
    header.seal(&mut unit);
    let mut flipped = 0;
    let mut first = None;
    for (at, (byte, mask)) in unit.iter_mut().zip(bytes).enumerate() {
        *byte ^= mask;
        flipped += mask.count_ones();
        first = first.or((*mask != 0).then_some(at));
    }
    match check_unit(&unit, expected) {
        // Any three flipped bits change a CRC-32C; more of them may happen to leave it as it is.
        Ok(_) => assert!(flipped == 0 || (flipped > 3 && expected.checksum == UnitChecksum::Crc32c)),
        Err(finding) => {
            inspect(Some(&finding), UNIT_BYTES);
            assert!(flipped > 0, "{finding:?}");
            if flipped == 1 && expected.content == UnitContent::Noise {
                assert_eq!((finding.kind, Some(finding.at)), (MismatchKind::Flipped, first), "{finding:?}");
            }
        }
    }
}
