//! Each kind of damage is told by its name and its place.

use super::*;
use proptest::prelude::*;

const UNIT: usize = 4096;

fn expected(generations: RangeInclusive<u32>) -> ExpectedUnit {
    ExpectedUnit {
        checksum: UnitChecksum::Crc32c,
        content: UnitContent::Noise,
        job: 5,
        target: 0,
        offset_bytes: 1 << 16,
        generations,
    }
}

fn sealed(expected: &ExpectedUnit, generation: u32, unit_bytes: usize) -> Vec<u8> {
    let mut unit = vec![0x77; unit_bytes];
    expected.header(generation, unit_bytes).seal(&mut unit);
    unit
}

fn finding(unit: &[u8], expected: &ExpectedUnit) -> Finding {
    *check_unit(unit, expected).unwrap_err()
}

#[test]
fn a_right_unit_is_right_in_every_form() {
    for checksum in [UnitChecksum::Crc32c, UnitChecksum::Sha256] {
        for content in [UnitContent::Any, UnitContent::Noise] {
            let written = ExpectedUnit { checksum, content, ..expected(3..=3) };
            // Whatever the checking job does itself.
            assert_eq!(check_unit(&sealed(&written, 3, UNIT), &expected(2..=4)), Ok(3));
        }
    }
}

#[test]
fn generations_before_and_after_are_stale_and_future() {
    let wanted = expected(4..=5);
    for (generation, kind) in [(3, MismatchKind::Stale), (6, MismatchKind::Future)] {
        let found = finding(&sealed(&wanted, generation, UNIT), &wanted);
        assert_eq!((found.kind, found.at), (kind, 0));
        assert_eq!(found.expected, "generation 4 to 5");
        assert_eq!(found.found, format!("generation {generation}"));
    }
}

#[test]
fn a_unit_from_elsewhere_is_misplaced_and_one_of_another_job_foreign() {
    let wanted = expected(4..=4);
    let elsewhere = ExpectedUnit { offset_bytes: 4096, ..wanted.clone() };
    let found = finding(&sealed(&elsewhere, 4, UNIT), &wanted);
    assert_eq!((found.kind, found.found.as_str()), (MismatchKind::Misplaced, "generation 4 of offset 4096"));
    let elsewhere = ExpectedUnit { target: 2, ..wanted.clone() };
    let found = finding(&sealed(&elsewhere, 4, UNIT), &wanted);
    assert_eq!(
        (found.kind, found.found.as_str()),
        (MismatchKind::Misplaced, "generation 4 of offset 65536 of target number 3")
    );
    let other = ExpectedUnit { job: 6, ..wanted.clone() };
    assert_eq!(finding(&sealed(&other, 4, UNIT), &wanted).kind, MismatchKind::Foreign);
}

#[test]
fn zeros_noise_and_other_units_are_told_apart() {
    let wanted = expected(1..=1);
    assert_eq!(finding(&[0; UNIT], &wanted).kind, MismatchKind::Zeros);
    let text = finding(&[b'x'; UNIT], &wanted);
    assert_eq!(text.kind, MismatchKind::Foreign);
    assert_eq!(text.found, "there is no header; it begins with 78 78 78 78 78 78 78 78");
    let larger = sealed(&wanted, 1, 2 * UNIT);
    let found = finding(&larger[..UNIT], &wanted);
    assert_eq!(
        (found.kind, found.found.as_str()),
        (MismatchKind::Foreign, "the header of a unit of 8192 bytes")
    );
}

#[test]
fn a_torn_unit_names_where_it_is_torn_and_what_it_is_made_of() {
    let wanted = expected(7..=7);
    let (old, new) = (sealed(&wanted, 6, UNIT), sealed(&wanted, 7, UNIT));
    for at in (512..UNIT).step_by(512) {
        let found = finding(&[&new[..at], &old[at..]].concat(), &wanted);
        assert_eq!((found.kind, found.at), (MismatchKind::Torn, at));
        assert_eq!(found.found, format!("generation 7 from byte 0, generation 6 from byte {at}"));
        let found = finding(&[&old[..at], &new[at..]].concat(), &wanted);
        assert_eq!((found.kind, found.at), (MismatchKind::Torn, at));
        let found = finding(&[&new[..at], &vec![0; UNIT - at]].concat(), &wanted);
        assert_eq!((found.kind, found.at), (MismatchKind::Torn, at));
        let found = finding(&[&new[..at], &vec![0xab; UNIT - at]].concat(), &wanted);
        assert_eq!((found.kind, found.at), (MismatchKind::Torn, at));
        assert_eq!(found.found, format!("generation 7 from byte 0, something else from byte {at}"));
    }
}

#[test]
fn damage_in_the_middle_is_no_tear() {
    let wanted = expected(7..=7);
    let mut unit = sealed(&wanted, 7, UNIT);
    unit[1024..1536].fill(0xee);
    let found = finding(&unit, &wanted);
    assert_eq!((found.kind, found.at), (MismatchKind::Corrupt, 1024));
}

#[test]
fn data_that_cannot_be_made_again_has_only_its_checksum() {
    let wanted = ExpectedUnit { content: UnitContent::Any, ..expected(2..=2) };
    let mut unit = sealed(&wanted, 2, UNIT);
    unit[3000] ^= 1;
    let found = finding(&unit, &wanted);
    assert_eq!(found.kind, MismatchKind::Corrupt);
    assert!(found.found.starts_with("generation 2 with checksum "), "{}", found.found);
}

#[test]
fn a_pattern_is_checked_to_its_last_byte() {
    let pattern = [1, 2, 3];
    let mut unit: Vec<u8> = pattern.iter().copied().cycle().take(1000).collect();
    assert_eq!(check_pattern(&unit, &pattern), Ok(()));
    assert_eq!(check_pattern(&unit[..2], &pattern), Ok(()));
    unit[999] = 9;
    let found = check_pattern(&unit, &pattern).unwrap_err();
    assert_eq!((found.kind, found.at), (MismatchKind::Pattern, 999));
    assert_eq!((found.expected.as_str(), found.found.as_str()), ("0x01 of the pattern", "0x09"));
    assert_eq!(check_pattern(&[0; 9], &pattern).unwrap_err().kind, MismatchKind::Zeros);
}

proptest! {
    #[test]
    fn any_flipped_bit_is_found_where_it_is(
        at in any::<prop::sample::Index>(),
        bit in 0u32..8,
        noise in any::<bool>(),
        sha in any::<bool>(),
        unit_bytes in 128usize..5000,
    ) {
        let wanted = ExpectedUnit {
            content: if noise { UnitContent::Noise } else { UnitContent::Any },
            checksum: if sha { UnitChecksum::Sha256 } else { UnitChecksum::Crc32c },
            ..expected(3..=3)
        };
        let mut unit = sealed(&wanted, 3, unit_bytes);
        let at = at.index(unit_bytes);
        let right = unit[at];
        unit[at] ^= 1 << bit;
        let found = finding(&unit, &wanted);
        if noise || at < HEADER_BYTES {
            prop_assert_eq!((found.kind, found.at), (MismatchKind::Flipped, at));
            prop_assert_eq!(found.expected, format!("0x{right:02x} of generation 3"));
            prop_assert_eq!(found.found, format!("0x{:02x} (bit {bit} is wrong)", unit[at]));
        } else {
            prop_assert_eq!(found.kind, MismatchKind::Corrupt);
        }
    }

    #[test]
    fn no_bytes_make_it_fail(unit in prop::collection::vec(any::<u8>(), 0..1200), newest in any::<u32>()) {
        let wanted = expected(0..=newest);
        prop_assert!(check_unit(&unit, &wanted).is_err());
        // Whatever is behind a right header.
        let mut headed = sealed(&wanted, 1, 64);
        headed.extend_from_slice(&unit);
        let _ = check_unit(&headed, &wanted);
    }
}
