//! The version of a mkfs, on which depends what it takes.

use std::path::Path;

use crate::error::StackError;
use crate::tool;

/// The version that a mkfs tells of itself; none where it tells none that can be read.
///
/// # Errors
/// [`StackError::Io`] when it cannot be executed.
pub(super) fn version_of(mkfs: &Path) -> Result<Option<(u32, u32)>, StackError> {
    let said = tool::run(mkfs, &["-V"], None)?;
    Ok(parse_version(&said.stdout))
}

/// `mkfs.xfs version 6.1.0`, `mkfs.btrfs, part of btrfs-progs v6.2`
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.lines().next()?.split_whitespace().last()?.trim_start_matches('v').split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_last_word() {
        assert_eq!(parse_version("mkfs.xfs version 6.1.0\n"), Some((6, 1)));
        assert_eq!(parse_version("mkfs.xfs version 5.19.0-rc1"), Some((5, 19)));
        assert_eq!(parse_version("mkfs.btrfs, part of btrfs-progs v6.2 \n"), Some((6, 2)));
        assert_eq!(parse_version("?"), None);
        assert_eq!(parse_version(""), None);
    }
}
