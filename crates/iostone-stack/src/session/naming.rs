//! Names of a session: its token, and the paths that its journal takes.

use std::path::{Component, Path, PathBuf};

use crate::error::StackError;
use crate::journal::random_hex;
use crate::site::has_random_bits;

/// As much of the run's token goes into names; the kernel keeps 63 bytes of a loop device's.
const RUN_TOKEN_MAX: usize = 32;

/// Whether a word is the token of a session.
pub(crate) fn is_token(word: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain && word.len() <= RUN_TOKEN_MAX + 1 + 16 && has_random_bits(word)
}

/// A path without `..`, which a journal does not take: what is behind one may change.
pub(super) fn without_parents(path: PathBuf) -> Result<PathBuf, StackError> {
    if !path.components().any(|part| part == Component::ParentDir) {
        return Ok(path);
    }
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let found = existing.canonicalize().map_err(|source| StackError::io("find", existing, source))?;
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    if rest.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(rest.components().fold(found, |path, part| path.join(part)));
    }
    Err(StackError::setting(&path, "it leads through `..` behind a directory that does not exist"))
}

/// The token of a session: what is readable of the run's, and 64 random bits.
pub(super) fn token_of(run_token: &str) -> Result<String, StackError> {
    let word: String = run_token
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '-')
        .take(RUN_TOKEN_MAX)
        .collect();
    let random = random_hex()?;
    Ok(if word.is_empty() { random } else { format!("{word}-{random}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_no_parent() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("a")).unwrap();
        let settled = |path: &str| without_parents(real.join(path)).ok();
        assert_eq!(settled("a/../b/c"), Some(real.join("b/c")));
        assert_eq!(settled("a/.."), Some(real.clone()));
        assert_eq!(settled("missing"), Some(real.join("missing")));
        assert_eq!(settled("missing/../b"), None);
    }

    #[test]
    fn a_token_is_readable_random_and_short_enough_for_the_kernel() {
        let one = token_of("20261121-ext4/barrier ../x").unwrap();
        assert!(one.starts_with("20261121-ext4barrierx-"), "{one}");
        assert_ne!(one, token_of("20261121-ext4/barrier ../x").unwrap());
        assert!(
            is_token(&one)
                && is_token(&token_of("").unwrap())
                && is_token(&token_of(&"x".repeat(100)).unwrap())
        );
        for other in [
            "",
            "token-1",
            "../x-0123456789abcdef",
            "a b-0123456789abcdef",
            &format!("x{}", token_of(&"x".repeat(32)).unwrap()),
        ] {
            assert!(!is_token(other), "{other}");
        }
        assert!(crate::site::own_directory_name(&token_of(&"x".repeat(100)).unwrap()).len() <= 63);
    }
}
