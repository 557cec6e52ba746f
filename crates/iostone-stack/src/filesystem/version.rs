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

/// The version of mkfs.f2fs in its own words: `1.15.0`; none where it tells none that can be read.
///
/// # Errors
/// As [`version_of`].
pub(super) fn words_version_of(mkfs: &Path) -> Result<Option<String>, StackError> {
    let said = tool::run(mkfs, &["-V"], None)?;
    Ok(second_word(&said.stdout).map(str::to_owned))
}

/// `mkfs.f2fs 1.15.0 (2022-05-13)`
fn second_word(text: &str) -> Option<&str> {
    let word = text.lines().next()?.split_whitespace().nth(1)?;
    word.starts_with(|first: char| first.is_ascii_digit()).then_some(word)
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
        assert_eq!(second_word("mkfs.f2fs 1.15.0 (2022-05-13)\n"), Some("1.15.0"));
        assert_eq!((second_word("mkfs.f2fs: invalid option"), second_word("")), (None, None));
    }
}
