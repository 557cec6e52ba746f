//! Says of a unit whether it is what was written, and if not, what is wrong with it.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

use super::content::{self, Place, SECTOR_BYTES, Sector};
use super::header::{FIELD_BYTES, HEADER_BYTES, HeaderError, UnitChecksum, UnitContent, UnitHeader};

/// A header whose fields have more wrong bits than this is another header, not a damaged one.
const MOST_FIELD_FLIPS: u32 = 8;
/// Two unrelated CRCs differ in this few bits once in eight million times.
const MOST_SUM_FLIPS: u32 = 2;

/// What is wrong with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MismatchKind {
    /// It is what was written but for a few bits.
    Flipped,
    /// Some of its sectors are of another write than the others.
    Torn,
    /// It is whole, and of a write before the last one.
    Stale,
    /// It is whole, and of a write that was never submitted.
    Future,
    /// It is whole, and belongs elsewhere.
    Misplaced,
    /// It is zeros.
    Zeros,
    /// It holds something that this job did not write.
    Foreign,
    /// Its checksum is wrong, and it cannot be told why.
    Corrupt,
    /// It differs from the pattern.
    Pattern,
    /// The target ends before it does.
    Missing,
}

impl MismatchKind {
    /// Whether it may be what was there before this job wrote anything.
    pub(crate) fn is_of_nobody(self) -> bool {
        matches!(self, Self::Zeros | Self::Foreign | Self::Pattern)
    }
}

impl fmt::Display for MismatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flipped => "flipped bits",
            Self::Torn => "a torn write",
            Self::Stale => "a stale write",
            Self::Future => "a write that never was",
            Self::Misplaced => "a misplaced write",
            Self::Zeros => "zeros",
            Self::Foreign => "foreign data",
            Self::Corrupt => "corrupt data",
            Self::Pattern => "another pattern",
            Self::Missing => "the end of the target",
        })
    }
}

/// What a unit ought to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedUnit {
    /// How the job sums up its units; a unit summed up in another way is as good.
    pub checksum: UnitChecksum,
    /// What the job's units hold beside their headers.
    pub content: UnitContent,
    /// Which job, see [`identify_job`](super::identify_job).
    pub job: u32,
    /// Which of its targets.
    pub target: u32,
    /// Where in the target.
    pub offset_bytes: u64,
    /// The generations that are right.
    pub generations: RangeInclusive<u32>,
}

/// What is wrong with a unit, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// In one word.
    pub kind: MismatchKind,
    /// The first wrong byte, counted from the start of the unit; 0 where it cannot be told.
    pub at: usize,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// Checks one unit: the generation that it holds, if that is one of those expected.
///
/// # Errors
/// A [`Finding`] if it is not what it ought to be.
#[inline]
pub fn check_unit(unit: &[u8], expected: &ExpectedUnit) -> Result<u32, Box<Finding>> {
    match UnitHeader::parse(unit) {
        Ok(header)
            if expected.generations.contains(&header.generation)
                && header.offset_bytes == expected.offset_bytes
                && (header.job, header.target) == (expected.job, expected.target)
                && header.is_sound(unit) =>
        {
            Ok(header.generation)
        }
        parsed => Err(Box::new(diagnose(unit, expected, parsed))),
    }
}

impl ExpectedUnit {
    /// The header that this unit would have as this generation.
    fn header(&self, generation: u32, unit_bytes: usize) -> UnitHeader {
        UnitHeader {
            checksum: self.checksum,
            content: self.content,
            unit_bytes: u32::try_from(unit_bytes).unwrap_or(u32::MAX),
            generation,
            offset_bytes: self.offset_bytes,
            target: self.target,
            job: self.job,
        }
    }

    fn show_generations(&self) -> String {
        let (oldest, newest) = (*self.generations.start(), *self.generations.end());
        match (oldest, newest) {
            (0 | 1, u32::MAX) => "a unit of this job".into(),
            (0, newest) => format!("generation {newest} at most"),
            _ if oldest == newest => format!("generation {newest}"),
            _ => format!("generation {oldest} to {newest}"),
        }
    }
}

#[cold]
#[inline(never)]
fn diagnose(unit: &[u8], expected: &ExpectedUnit, parsed: Result<UnitHeader, HeaderError>) -> Finding {
    let whole = |kind, found: String| Finding { kind, at: 0, expected: expected.show_generations(), found };
    if unit.iter().all(|byte| *byte == 0) {
        return whole(MismatchKind::Zeros, "nothing but zeros".into());
    }
    if let Ok(header) = parsed
        && header.is_sound(unit)
    {
        let (kind, found) = judge_sound(&header, expected);
        return whole(kind, found);
    }
    // The unit may be summed up in another way than this job does it.
    let checksum = parsed.map_or(expected.checksum, |header| header.checksum);
    let expected = &ExpectedUnit { checksum, ..expected.clone() };
    if let Some(finding) = find_damaged_header(unit, expected, parsed.ok()) {
        return finding;
    }
    let content = parsed.map_or(expected.content, |header| header.content);
    if let Ok(header) = parsed
        && header.unit_bytes as usize != unit.len()
    {
        let found = format!("the header of a unit of {} bytes", header.unit_bytes);
        return whole(MismatchKind::Foreign, found);
    }
    if content == UnitContent::Noise
        && let Some(finding) = judge_noise(unit, expected, parsed)
    {
        return finding;
    }
    match parsed {
        Err(error) => whole(MismatchKind::Foreign, format!("{error}; it begins with {}", show_bytes(unit))),
        Ok(header) => {
            let (stored, summed) = header.show_sums(unit).unwrap_or_default();
            let claim = show_claim(&header, expected);
            whole(MismatchKind::Corrupt, format!("{claim} with checksum {stored}, whose bytes have {summed}"))
        }
    }
}

/// A unit whose checksum is right is what it says it is, which is not what was expected.
fn judge_sound(header: &UnitHeader, expected: &ExpectedUnit) -> (MismatchKind, String) {
    let claim = show_claim(header, expected);
    let kind = if header.job != expected.job {
        MismatchKind::Foreign
    } else if (header.target, header.offset_bytes) != (expected.target, expected.offset_bytes) {
        MismatchKind::Misplaced
    } else if header.generation > *expected.generations.end() {
        MismatchKind::Future
    } else {
        MismatchKind::Stale
    };
    (kind, claim)
}

/// What a header says, as far as it is not what was expected anyway.
fn show_claim(header: &UnitHeader, expected: &ExpectedUnit) -> String {
    let is_elsewhere = (header.target, header.offset_bytes) != (expected.target, expected.offset_bytes);
    let offset = if is_elsewhere { format!(" of offset {}", header.offset_bytes) } else { String::new() };
    let target = if header.target == expected.target {
        String::new()
    } else {
        format!(" of target number {}", u64::from(header.target) + 1)
    };
    let job = if header.job == expected.job { "" } else { " of a job with another seed" };
    format!("generation {}{offset}{target}{job}", header.generation)
}

/// A unit whose header alone is damaged: with the right one in its place all is well.
fn find_damaged_header(unit: &[u8], expected: &ExpectedUnit, parsed: Option<UnitHeader>) -> Option<Finding> {
    let mut repaired = unit.to_vec();
    let claimed = parsed.map(|header| header.generation);
    let generations = [claimed, Some(*expected.generations.end()), Some(*expected.generations.start())];
    for generation in generations.into_iter().flatten().filter(|generation| *generation > 0) {
        for content in [UnitContent::Any, UnitContent::Noise] {
            let header = UnitHeader { content, ..expected.header(generation, unit.len()) };
            header.write_over(&mut repaired);
            if is_damaged_header(unit, &repaired)? {
                return Some(show_flips(unit, &repaired, generation));
            }
        }
    }
    None
}

/// Whether the header of one unit is that of the other but for a few bits; None when there is none.
fn is_damaged_header(unit: &[u8], repaired: &[u8]) -> Option<bool> {
    let (found_fields, found_sum) = unit.get(..HEADER_BYTES)?.split_at_checked(FIELD_BYTES)?;
    let (fields, sum) = repaired.get(..HEADER_BYTES)?.split_at_checked(FIELD_BYTES)?;
    Some(
        content::count_wrong_bits(found_fields, fields) <= MOST_FIELD_FLIPS
            && content::count_wrong_bits(found_sum, sum) <= MOST_SUM_FLIPS,
    )
}

/// Compares with what was written, which can be made again; None when nothing of it is there.
fn judge_noise(
    unit: &[u8],
    expected: &ExpectedUnit,
    parsed: Result<UnitHeader, HeaderError>,
) -> Option<Finding> {
    let place = Place { job: expected.job, target: expected.target, offset_bytes: expected.offset_bytes };
    let sectors = content::classify(place, unit);
    let known = sectors.iter().find_map(|sector| match sector {
        Sector::Generation { generation, .. } => Some(*generation),
        _ => None,
    })?;
    let is_known =
        |sector: &Sector| matches!(sector, Sector::Generation { generation, .. } if *generation == known);
    if !sectors.iter().all(is_known) {
        let starts = (0..).step_by(SECTOR_BYTES);
        return Some(show_runs(starts.zip(sectors), expected));
    }
    let mut written = unit.to_vec();
    UnitHeader { content: UnitContent::Noise, ..expected.header(known, unit.len()) }.seal(&mut written);
    if is_damaged_header(unit, &written)? {
        return Some(show_flips(unit, &written, known));
    }
    // All of the noise is right, and the header is not.
    let header = describe_header(parsed, place);
    if is_known(&header) {
        return Some(Finding { kind: MismatchKind::Corrupt, ..show_flips(unit, &written, known) });
    }
    let noise = Sector::Generation { generation: known, wrong_bits: 0 };
    Some(show_runs([(0, header), (HEADER_BYTES, noise)].into_iter(), expected))
}

/// What a header that does not fit its noise counts as.
fn describe_header(parsed: Result<UnitHeader, HeaderError>, place: Place) -> Sector {
    match parsed {
        Ok(header) if header.offset_bytes == place.offset_bytes && header.target == place.target => {
            Sector::Generation { generation: header.generation, wrong_bits: 0 }
        }
        _ => Sector::Foreign,
    }
}

/// Bits that differ from what was written.
fn show_flips(unit: &[u8], written: &[u8], generation: u32) -> Finding {
    let wrong_bits = content::count_wrong_bits(unit, written);
    let (at, found, wanted) = unit
        .iter()
        .zip(written)
        .enumerate()
        .find_map(|(at, (found, wanted))| (found != wanted).then_some((at, *found, *wanted)))
        .unwrap_or_default();
    let bit = (found ^ wanted).trailing_zeros();
    let others = match wrong_bits {
        0 | 1 => String::new(),
        more => format!(", and {} more wrong bits", more - 1),
    };
    Finding {
        kind: MismatchKind::Flipped,
        at,
        expected: format!("0x{wanted:02x} of generation {generation}"),
        found: format!("0x{found:02x} (bit {bit} is wrong{others})"),
    }
}

/// Sectors that are not all of one write: where what begins.
fn show_runs(sectors: impl Iterator<Item = (usize, Sector)>, expected: &ExpectedUnit) -> Finding {
    let kind_of = |sector: &Sector| match sector {
        Sector::Generation { generation, .. } => (1, *generation),
        Sector::Zeros => (2, 0),
        Sector::Foreign => (3, 0),
    };
    let mut runs: Vec<(usize, Sector)> = Vec::new();
    for (at, sector) in sectors {
        if runs.last().is_none_or(|(_, last)| kind_of(last) != kind_of(&sector)) {
            runs.push((at, sector));
        }
    }
    // Something else in the middle of one write is damage; what a power cut tears has one side and another.
    let is_torn = runs.len() == 2 || runs.iter().all(|(_, sector)| *sector != Sector::Foreign);
    let at = runs.get(1).map_or(0, |(at, _)| *at);
    let shown: Vec<String> = runs
        .iter()
        .take(6)
        .map(|(at, sector)| match sector {
            Sector::Generation { generation, .. } => format!("generation {generation} from byte {at}"),
            Sector::Zeros => format!("zeros from byte {at}"),
            Sector::Foreign => format!("something else from byte {at}"),
        })
        .collect();
    let more = if runs.len() > 6 { ", and so on" } else { "" };
    Finding {
        kind: if is_torn { MismatchKind::Torn } else { MismatchKind::Corrupt },
        at,
        expected: format!("all of it of {}", expected.show_generations()),
        found: format!("{}{more}", shown.join(", ")),
    }
}

/// The first bytes, for people.
fn show_bytes(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Checks one unit against a pattern that repeats from its start, as fio's `verify=pattern` does.
///
/// # Errors
/// A [`Finding`] if any byte differs.
pub fn check_pattern(unit: &[u8], pattern: &[u8]) -> Result<(), Box<Finding>> {
    // It begins with the pattern, and every byte is the one that lies a pattern's length before it.
    let (head, behind) =
        (unit.get(..pattern.len()).unwrap_or(unit), unit.get(pattern.len()..).unwrap_or_default());
    if pattern.starts_with(head) && unit.starts_with(behind) {
        return Ok(());
    }
    let wrong =
        unit.iter().zip(pattern.iter().cycle()).enumerate().find(|(_, (found, wanted))| found != wanted);
    let (at, found, wanted) = wrong.map_or((0, 0, 0), |(at, (found, wanted))| (at, *found, *wanted));
    let kind = if unit.iter().all(|byte| *byte == 0) { MismatchKind::Zeros } else { MismatchKind::Pattern };
    Err(Box::new(Finding {
        kind,
        at,
        expected: format!("0x{wanted:02x} of the pattern"),
        found: format!("0x{found:02x}"),
    }))
}

#[cfg(test)]
mod tests;
