//! What of a program need not travel: sections, symbols and debug information, which lie behind the last segment.
//!
//! The kernel and the loader look at segments only (`elf(5)`). A debug build is nine tenths debug information, which
//! would have to be read by QEMU and unpacked by the guest at each boot.

use object::LittleEndian;
use object::elf::{ET_DYN, ET_EXEC, FileHeader64, SHT_NOBITS};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

/// Where `e_shoff`, `e_shnum` and `e_shstrndx` stand in a 64-bit header (`elf(5)`).
const SECTION_OFFSET: std::ops::Range<usize> = 0x28..0x30;
const SECTION_COUNT_AND_NAMES: std::ops::Range<usize> = 0x3c..0x40;

/// The file without what lies behind its last segment. It stays as it is if it is no 64-bit ELF executable or library,
/// or if something lies behind its sections: a payload that the program reads by itself.
pub(crate) fn without_sections(mut content: Vec<u8>) -> Vec<u8> {
    let Some(end) = end_of_segments(&content).filter(|end| *end < content.len()) else { return content };
    content.truncate(end);
    for range in [SECTION_OFFSET, SECTION_COUNT_AND_NAMES] {
        if let Some(bytes) = content.get_mut(range) {
            bytes.fill(0);
        }
    }
    content
}

/// Where the last segment ends, if the rest is sections and nothing else.
fn end_of_segments(content: &[u8]) -> Option<usize> {
    let endian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(content).ok()?;
    if !matches!(header.e_type(endian), ET_EXEC | ET_DYN) || header.e_shoff(endian) == 0 {
        return None;
    }
    let segments = header.program_headers(endian, content).ok()?;
    let sections = header.section_headers(endian, content).ok()?;
    let table = |offset: u64, size: u16, count: u64| offset.checked_add(u64::from(size).checked_mul(count)?);
    let mut end = table(header.e_phoff(endian), header.e_phentsize(endian), segments.len() as u64)?;
    for segment in segments {
        end = end.max(segment.p_offset(endian).checked_add(segment.p_filesz(endian))?);
    }
    let mut end_of_sections =
        table(header.e_shoff(endian), header.e_shentsize(endian), sections.len() as u64)?;
    for section in sections {
        if section.sh_type(endian) != SHT_NOBITS {
            let last = section.sh_offset(endian).checked_add(section.sh_size(endian))?;
            end_of_sections = end_of_sections.max(last);
        }
    }
    if segments.is_empty() || (content.len() as u64) > end_of_sections.max(end) {
        return None;
    }
    usize::try_from(end.max(SECTION_COUNT_AND_NAMES.end as u64)).ok()
}
