//! Whether the running kernel can build arrays: software RAID and its levels, the device mapper; else which guest can.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::MdLevel;
use iostone_probe::programs::find_program;

use crate::device::read_attribute;
use crate::error::StackError;
use crate::tool;

/// Where md tells its personalities and arrays; absent without md.
const MDSTAT: &str = "/proc/mdstat";

/// A part of the kernel that an array needs.
struct Part {
    /// "software RAID".
    what: &'static str,
    /// `CONFIG_BLK_DEV_MD`.
    option: &'static str,
    /// As modprobe(8) names it.
    module: &'static str,
    is_there: fn() -> bool,
}

const MD: Part = Part {
    what: "software RAID",
    option: "CONFIG_BLK_DEV_MD",
    module: "md_mod",
    is_there: || Path::new(MDSTAT).exists(),
};

const MAPPER: Part = Part {
    what: "device mapper, which LVM needs",
    option: "CONFIG_BLK_DEV_DM",
    module: "dm_mod",
    is_there: || {
        fs::read_to_string("/proc/devices")
            .is_ok_and(|text| text.lines().any(|line| line.trim().ends_with(" device-mapper")))
    },
};

/// The module and the kernel option of each level (drivers/md/Kconfig).
fn personality(level: MdLevel) -> Part {
    let (what, option, module, is_there): (_, _, _, fn() -> bool) = match level {
        MdLevel::Raid0 => ("RAID0", "CONFIG_MD_RAID0", "raid0", || has_personality("raid0")),
        MdLevel::Raid1 => ("RAID1", "CONFIG_MD_RAID1", "raid1", || has_personality("raid1")),
        MdLevel::Raid10 => ("RAID10", "CONFIG_MD_RAID10", "raid10", || has_personality("raid10")),
        MdLevel::Raid5 => ("RAID5", "CONFIG_MD_RAID456", "raid456", || has_personality("raid5")),
    };
    Part { what, option, module, is_there }
}

fn has_personality(level: &str) -> bool {
    fs::read_to_string(MDSTAT).is_ok_and(|text| personalities(&text).any(|word| word == level))
}

/// The words of the first line of /proc/mdstat: `Personalities : [raid0] [raid1]`.
fn personalities(mdstat: &str) -> impl Iterator<Item = &str> {
    let line = mdstat.lines().find_map(|line| line.strip_prefix("Personalities :")).unwrap_or_default();
    line.split_whitespace().map(|word| word.trim_matches(['[', ']']))
}

/// Looks whether the kernel has md and a level, or modules of them that can be loaded. Nothing is loaded.
///
/// # Errors
/// [`StackError::Usage`] with the missing part and a guest that has it.
pub(super) fn examine_md(level: MdLevel) -> Result<(), StackError> {
    examine(&MD)?;
    examine(&personality(level))
}

/// Looks whether the kernel has the device mapper, or a module of it that can be loaded. Nothing is loaded.
///
/// # Errors
/// As [`examine_md`].
pub(super) fn examine_mapper() -> Result<(), StackError> {
    examine(&MAPPER)
}

/// Loads md and a level where they are modules; gives the modules that were loaded. They stay loaded.
///
/// # Errors
/// [`StackError::Usage`] when a part is still missing then.
pub(super) fn load_md(
    level: MdLevel,
    interrupt: Option<&AtomicBool>,
) -> Result<Vec<&'static str>, StackError> {
    load([MD, personality(level)], interrupt)
}

/// Loads the device mapper where it is a module.
///
/// # Errors
/// As [`load_md`].
pub(super) fn load_mapper(interrupt: Option<&AtomicBool>) -> Result<Vec<&'static str>, StackError> {
    load([MAPPER], interrupt)
}

fn examine(part: &Part) -> Result<(), StackError> {
    if (part.is_there)() {
        return Ok(());
    }
    probe(part, &["--dry-run", "--quiet", part.module], None)
}

fn load<const COUNT: usize>(
    parts: [Part; COUNT],
    interrupt: Option<&AtomicBool>,
) -> Result<Vec<&'static str>, StackError> {
    let mut loaded = Vec::new();
    for part in parts {
        if (part.is_there)() {
            continue;
        }
        probe(&part, &[part.module], interrupt)?;
        if !(part.is_there)() {
            return Err(missing(&part, "is loaded, but the kernel does not list it"));
        }
        loaded.push(part.module);
    }
    Ok(loaded)
}

fn probe(part: &Part, arguments: &[&str], interrupt: Option<&AtomicBool>) -> Result<(), StackError> {
    let Some(modprobe) = find_program("modprobe") else {
        return Err(missing(part, "cannot be loaded: there is no `modprobe` (package kmod)"));
    };
    match tool::run(&modprobe, arguments, interrupt) {
        Ok(output) if output.status == Some(0) => Ok(()),
        Ok(_) => Err(missing(part, "is not among its modules")),
        Err(StackError::Interrupted) => Err(StackError::Interrupted),
        Err(error) => Err(missing(part, &format!("cannot be loaded: {error}"))),
    }
}

fn missing(part: &Part, why: &str) -> StackError {
    let release = read_attribute(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    StackError::usage("array", in_words(part, &release, why))
}

fn in_words(part: &Part, release: &str, why: &str) -> String {
    format!(
        "this kernel ({release}) has no {} (`{}`), and the module `{}` {why}; use a guest: `machine = {{ kind = \"guest\", \
         kernel = \"debian:6.1\" }}`",
        part.what, part.option, part.module
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personalities_are_read_from_the_first_line() {
        let text = "Personalities : [raid0] [raid6] [raid5] [raid4] \nunused devices: <none>\n";
        assert_eq!(personalities(text).collect::<Vec<_>>(), ["raid0", "raid6", "raid5", "raid4"]);
        assert_eq!(personalities("Personalities : \n").count(), 0);
        assert_eq!(personalities("").count(), 0);
    }

    #[test]
    fn a_missing_part_is_named_with_the_guest_that_has_it() {
        assert_eq!(
            in_words(&personality(MdLevel::Raid5), "6.18", "is not among its modules"),
            "this kernel (6.18) has no RAID5 (`CONFIG_MD_RAID456`), and the module `raid456` is not among its \
             modules; use a guest: `machine = { kind = \"guest\", kernel = \"debian:6.1\" }`"
        );
    }
}
