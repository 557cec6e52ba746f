//! What an image's header names outside its own file: read here, before any program that would open it.
//!
//! An image from outside may name any file as the one below it, `/etc/shadow` say, and whoever converts it then writes
//! that file's content into the result.

use super::format::{Header, ImageFormat};

/// A name in a header: as much of it as is shown.
const NAME_SHOWN: usize = 200;
/// The incompatible feature of qcow2 that says that the data lies in another file (docs/interop/qcow2.txt, bit 2).
const EXTERNAL_DATA: u64 = 1 << 2;
/// The extensions of qcow2's header with that file's name, and with the format of the backing file.
const DATA_FILE_NAME: u32 = 0x4441_5441;
const BACKING_FORMAT: u32 = 0xE279_2ACA;
/// A sector of `VMware`'s headers.
const SECTOR: u64 = 512;
/// How much of a descriptor QEMU reads to find the parent (`DESC_SIZE` of block/vmdk.c), and the word before its name.
const DESCRIPTOR_BYTES: usize = 20 * 512;
const PARENT: &str = "parentFileNameHint";
/// Of the name of an extent, QEMU reads so much.
const EXTENT_NAME_BYTES: usize = 511;

/// Other files that an image needs, in words: "the backing file `base.qcow2`". Empty where it stands by itself.
pub(super) fn other_files(format: ImageFormat, header: &Header) -> Vec<String> {
    match format {
        ImageFormat::Qcow2 => of_qcow2(header),
        ImageFormat::Vmdk => of_vmdk(header),
        ImageFormat::Raw | ImageFormat::Vhd | ImageFormat::Vhdx => Vec::new(),
    }
}

/// Why an image cannot be read at all, whatever the user allows: it is encrypted, holds differences to another, or QEMU
/// would read another disk.
pub(super) fn unreadable(format: ImageFormat, header: &Header) -> Option<String> {
    match format {
        ImageFormat::Qcow2 if header.u32_at(32).unwrap_or(0) != 0 => {
            Some("it is encrypted; next: decrypt it with `qemu-img convert` and its secret".to_owned())
        }
        ImageFormat::Vhd => (header.vhd_kind() == Some(4)).then(|| {
            "it is a differencing disk, which QEMU does not read; next: merge it where it was created".to_owned()
        }),
        ImageFormat::Vmdk => Descriptor::of(header).left_out().map(|line| {
            format!(
                "QEMU skips its extent `{}`, which would shift everything after it; next: merge it into one file with \
                 `vmware-vdiskmanager -r SOURCE -t 0 TARGET`",
                shown(line.trim().as_bytes())
            )
        }),
        _ => None,
    }
}

/// Files that an image needs, by the names in its header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The image below, and the format that the header states for it.
    pub(super) backing: Option<(String, Option<String>)>,
    /// The external data file of a qcow2.
    pub(super) data: Option<String>,
    /// The extents of a vmdk.
    pub(super) extents: Vec<String>,
}

/// The names of the files that [`other_files`] tells, as QEMU would follow them.
///
/// # Errors
/// Why they are not followed: a name that is no file's, one that is not certain.
pub(super) fn named(format: ImageFormat, header: &Header) -> Result<Named, String> {
    match format {
        ImageFormat::Qcow2 => named_by_qcow2(header),
        ImageFormat::Vmdk => named_by_vmdk(header),
        ImageFormat::Raw | ImageFormat::Vhd | ImageFormat::Vhdx => Ok(Named::default()),
    }
}

fn of_qcow2(header: &Header) -> Vec<String> {
    let mut found = Vec::new();
    if has_backing(header) {
        let name = backing_name(header).map(shown);
        found.push(
            name.map_or_else(|| "a backing file".to_owned(), |name| format!("the backing file `{name}`")),
        );
    }
    if has_data_file(header) {
        let name = extension(header, DATA_FILE_NAME).map(shown);
        found.push(name.map_or_else(|| "a data file".to_owned(), |name| format!("the data file `{name}`")));
    }
    found
}

fn named_by_qcow2(header: &Header) -> Result<Named, String> {
    let mut named = Named::default();
    if has_backing(header) {
        let name = backing_name(header).ok_or("the name of its backing file is outside its header")?;
        let format = match extension(header, BACKING_FORMAT) {
            Some(format) => Some(text_of(format, "the format of its backing file")?),
            None => None,
        };
        named.backing = Some((file_name(name, "backing file")?, format));
    }
    if has_data_file(header) {
        let name = extension(header, DATA_FILE_NAME).ok_or("it does not say the name of its data file")?;
        named.data = Some(file_name(name, "data file")?);
    }
    Ok(named)
}

fn has_backing(header: &Header) -> bool {
    header.u64_at(8).is_some_and(|offset| offset != 0)
}

fn backing_name(header: &Header) -> Option<&[u8]> {
    let start = usize::try_from(header.u64_at(8)?).ok()?;
    let length = usize::try_from(header.u32_at(16)?).ok()?;
    header.head.get(start..start.checked_add(length)?)
}

fn is_version_3(header: &Header) -> bool {
    header.u32_at(4).is_some_and(|version| version >= 3)
}

fn has_data_file(header: &Header) -> bool {
    is_version_3(header) && header.u64_at(72).unwrap_or(0) & EXTERNAL_DATA != 0
}

/// An extension behind the header: type, length, data padded to 8 bytes. The header of version 2 has 72 bytes, that of
/// version 3 says its length.
fn extension(header: &Header, wanted: u32) -> Option<&[u8]> {
    let length = if is_version_3(header) { header.u32_at(100)? } else { 72 };
    let mut at = usize::try_from(length).ok()?;
    loop {
        let (kind, length) = (header.u32_at(at)?, usize::try_from(header.u32_at(at.checked_add(4)?)?).ok()?);
        let data = at.checked_add(8)?;
        match kind {
            0 => return None,
            kind if kind == wanted => return header.head.get(data..data.checked_add(length)?),
            _ => at = data.checked_add(length.checked_next_multiple_of(8)?)?,
        }
    }
}

/// A name as it stands in a header, if it is a file's. QEMU takes `nbd:...` and `json:...` for a protocol: a colon
/// before any slash (`path_has_protocol` of its block.c).
fn file_name(name: &[u8], what: &str) -> Result<String, String> {
    let name = text_of(name, &format!("the name of its {what}"))?;
    let first = name.find([':', '/']).and_then(|at| name.as_bytes().get(at));
    // What was no UTF-8 in a text is that character here, and another name to QEMU.
    if name.contains(char::REPLACEMENT_CHARACTER) {
        return Err(format!("the name of its {what} is not UTF-8"));
    }
    if name.is_empty() || first == Some(&b':') {
        return Err(format!("`{}` is not a file; protocols are not followed", shown(name.as_bytes())));
    }
    Ok(name)
}

fn text_of(bytes: &[u8], what: &str) -> Result<String, String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(bytes.get(..end).unwrap_or_default());
    text.map(str::to_owned).map_err(|_| format!("{what} is not UTF-8"))
}

/// What a vmdk says of other files, wherever it may say so.
struct Descriptor {
    /// All texts that QEMU or the header take for the descriptor.
    all: String,
    /// The one at the fixed place where QEMU looks for the parent, whatever the header says (block/vmdk.c).
    fixed: String,
    /// Whether it is only a cover for files that it names: it has no capacity of its own.
    is_cover: bool,
}

impl Descriptor {
    fn of(header: &Header) -> Self {
        let sparse = header.head.starts_with(b"KDMV");
        // A sparse file holds its descriptor within: offset and size in sectors stand behind capacity and grain size.
        let descriptor = if sparse {
            let place = |at| header.u64_le_at(at).and_then(|sectors| sectors.checked_mul(SECTOR));
            let (start, length) = (place(28).unwrap_or(0), place(36).unwrap_or(0));
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            let end =
                start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(header.head.len());
            header.head.get(start..end).unwrap_or_default()
        } else {
            header.head.as_slice()
        };
        let start = if sparse { 512 } else { 0 };
        let end = (start + DESCRIPTOR_BYTES).min(header.head.len());
        let fixed = String::from_utf8_lossy(header.head.get(start..end).unwrap_or_default()).into_owned();
        let text = String::from_utf8_lossy(descriptor);
        Self {
            // That of a text file is its beginning, cut off in the middle of a line: it says nothing more, and may say less.
            all: if sparse { format!("{text}\n{fixed}") } else { text.into_owned() },
            fixed,
            is_cover: !sparse || header.u64_le_at(12) == Some(0),
        }
    }

    /// What stands behind each `parentFileNameHint`, wherever on a line: QEMU looks for the word alone.
    fn parents(&self) -> Vec<&str> {
        let behind = self.all.match_indices(PARENT).filter_map(|(at, word)| self.all.get(at + word.len()..));
        let mut found: Vec<&str> = behind
            .map(|text| {
                let line = text.lines().next().unwrap_or_default().trim_start_matches([' ', '\t', '=', '"']);
                line.split('"').next().unwrap_or_default().trim_end()
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a number of a parent is stated: all but ffffffff, which says that there is none.
    fn has_parent_number(&self) -> bool {
        let lower = self.all.to_ascii_lowercase();
        lower.match_indices("parentcid").any(|(at, word)| {
            let text = lower.get(at + word.len()..).unwrap_or_default();
            let text = text.trim_start_matches([' ', '\t', '=']);
            let end = text.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(text.len());
            text.get(..end) != Some("ffffffff")
        })
    }

    /// Its extents: the name on each line that QEMU may take for one, none where it may read another name than is read
    /// here.
    fn extents(&self) -> Vec<Option<&str>> {
        let mut found = Vec::new();
        for line in self.extent_lines() {
            let name = extent_name(line);
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    }

    /// The first extent that QEMU reads nothing of, not even zeros: the next one takes its place on the disk.
    fn left_out(&self) -> Option<&str> {
        self.extent_lines().find(|line| is_left_out(line))
    }

    fn extent_lines(&self) -> impl Iterator<Item = &str> {
        self.all.split('\n').filter(|line| self.is_cover && is_extent(line))
    }
}

/// White space as sscanf(3) skips it.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// Whether a line states an extent: QEMU takes `RW` alone for its access, at the beginning of a line (block/vmdk.c).
fn is_extent(line: &str) -> bool {
    let first = line.split(is_space).find(|word| !word.is_empty());
    first.is_some_and(|word| ["RW", "RDONLY", "NOACCESS"].contains(&word))
}

/// Whether QEMU passes over such a line: it takes extents that may be written alone, and none of zeros, which name no file.
fn is_left_out(line: &str) -> bool {
    let mut words = line.split(is_space).filter(|word| !word.is_empty());
    words.next() != Some("RW") || words.nth(1) == Some("ZERO")
}

/// The name on such a line: access, sectors, type, name in quotes, perhaps a number. sscanf(3) reads lines of other shapes as
/// well (`8VMFS`, over the end of a line, names cut off); these are not guessed at.
fn extent_name(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once('"')?;
    let (name, behind) = rest.split_once('"')?;
    let words: Vec<&str> = before.split(is_space).filter(|word| !word.is_empty()).collect();
    let &[_, sectors, kind] = words.as_slice() else { return None };
    let is_plain = before.ends_with(is_space)
        && sectors.bytes().all(|byte| byte.is_ascii_digit())
        && kind.bytes().all(|byte| byte.is_ascii_uppercase())
        && (1..=EXTENT_NAME_BYTES).contains(&name.len())
        && !name.contains(char::is_control)
        && !behind.contains('"');
    is_plain.then_some(name)
}

fn of_vmdk(header: &Header) -> Vec<String> {
    let descriptor = Descriptor::of(header);
    let names = |word: &str, names: Vec<&str>| -> Vec<String> {
        names.iter().map(|name| format!("the {word} `{}`", shown(name.as_bytes()))).collect()
    };
    let mut found = names("parent", descriptor.parents());
    if found.is_empty() && descriptor.has_parent_number() {
        found.push("a parent, by its number only".to_owned());
    }
    let extents = descriptor.extents();
    if descriptor.is_cover && (extents.is_empty() || extents.contains(&None) || !is_wholly_read(header)) {
        found.push("extents in other files".to_owned());
    }
    found.extend(names("extent", extents.into_iter().flatten().collect()));
    found
}

/// Whether all that QEMU takes for the text of a cover is in what was read. That of a file with a sparse header begins where
/// this says and ends nowhere but with the file.
fn is_wholly_read(header: &Header) -> bool {
    !header.head.starts_with(b"KDMV") && header.size_bytes <= header.head.len() as u64
}

fn named_by_vmdk(header: &Header) -> Result<Named, String> {
    let descriptor = Descriptor::of(header);
    if descriptor.is_cover && !is_wholly_read(header) {
        return Err(if header.head.starts_with(b"KDMV") {
            "its capacity is nothing, so that QEMU would take the names of its extents from anywhere in it"
                .to_owned()
        } else {
            format!(
                "its descriptor has {} bytes, and of the names in it only those in the first {} would be known",
                header.size_bytes,
                header.head.len()
            )
        });
    }
    let mut named = Named::default();
    match descriptor.parents().as_slice() {
        [] if descriptor.has_parent_number() => {
            return Err("it holds differences to a parent that it names by a number only".to_owned());
        }
        [] => {}
        [_] => {
            // As QEMU reads it: the first one before a zero byte, two bytes behind the word, up to the next quote.
            let text = descriptor.fixed.split('\0').next().unwrap_or_default();
            let behind = text.split_once(PARENT).map(|(_, behind)| behind);
            let name = behind.and_then(|text| text.strip_prefix("=\"")).and_then(|text| text.split_once('"'));
            let Some((name, _)) = name else {
                return Err("the name of its parent is not where QEMU reads it".to_owned());
            };
            named.backing = Some((file_name(name.as_bytes(), "parent")?, None));
        }
        _ => return Err("it names more than one parent".to_owned()),
    }
    for extent in descriptor.extents() {
        let name = extent.ok_or("an extent of it is not written as VMware writes them")?;
        named.extents.push(file_name(name.as_bytes(), "extent")?);
    }
    if descriptor.is_cover && named.extents.is_empty() {
        return Err("the names of its extents cannot be read".to_owned());
    }
    Ok(named)
}

fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.trim_end_matches('\0').chars().take(NAME_SHOWN).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;
