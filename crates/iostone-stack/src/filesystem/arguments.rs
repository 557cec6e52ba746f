//! The user's arguments to mkfs, looked at one by one: only options that are known, and nothing that stands alone.
//!
//! Every mkfs takes the device as a bare word, so a word that is neither a known option nor the value of one is
//! refused: it could name a device that nobody guarded.

use crate::error::StackError;

/// An option that is passed on to mkfs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// As in `-b`; empty if it has only a long form.
    pub(super) short: &'static str,
    /// As in `--data`; empty if it has only a short form.
    pub(super) long: &'static str,
    /// Whether a value follows.
    pub(super) takes_value: bool,
}

impl Known {
    pub(super) const fn short(short: &'static str, takes_value: bool) -> Self {
        Self { short, long: "", takes_value }
    }

    pub(super) const fn both(short: &'static str, long: &'static str, takes_value: bool) -> Self {
        Self { short, long, takes_value }
    }

    /// The one name by which it is spoken of: the long form, if it has one.
    fn name(&self) -> &'static str {
        if self.long.is_empty() { self.short } else { self.long }
    }
}

/// An option as it was given, under its one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
}

impl Given {
    /// The parts of a value that is a list with commas.
    pub(super) fn items(&self) -> impl Iterator<Item = &str> {
        self.value.as_deref().unwrap_or_default().split(',').filter(|item| !item.is_empty())
    }

    /// As it goes to mkfs.
    pub(super) fn words(&self) -> impl Iterator<Item = String> + use<> {
        std::iter::once(self.name.to_owned()).chain(self.value.clone())
    }
}

/// An error about the arguments.
pub(super) fn wrong(reason: impl Into<String>) -> StackError {
    StackError::usage("filesystem.mkfs", reason)
}

/// Takes the user's words apart.
///
/// # Errors
/// [`StackError::Usage`] for a word that is no known option, and for a value that is missing or not wanted.
pub(super) fn split(mkfs: &str, known: &[Known], user: &[String]) -> Result<Vec<Given>, StackError> {
    let mut given = Vec::new();
    let mut words = user.iter();
    while let Some(word) = words.next() {
        let (option, glued) = take_apart(word);
        let found = known
            .iter()
            .find(|known| !option.is_empty() && (known.short == option || known.long == option))
            .filter(|known| known.takes_value || glued.is_none());
        let Some(found) = found else {
            let names: Vec<&str> = known.iter().map(Known::name).collect();
            return Err(wrong(format!("`{word}` is not allowed for {mkfs}; allowed: {}", names.join(" "))));
        };
        let value = if found.takes_value {
            let value = glued.or_else(|| words.next().cloned());
            Some(value.ok_or_else(|| wrong(format!("`{option}` needs a value")))?)
        } else {
            None
        };
        given.push(Given { name: found.name(), value });
    }
    Ok(given)
}

/// An option and what is glued to it: `-b4096`, `--data=raid0`.
fn take_apart(word: &str) -> (&str, Option<String>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word, None),
        };
    }
    match word.char_indices().nth(2) {
        Some((end, _)) if word.starts_with('-') => (&word[..end], Some(word[end..].to_owned())),
        _ => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: [Known; 3] =
        [Known::short("-b", true), Known::both("-d", "--data", true), Known::both("-q", "--quiet", false)];

    fn split_words(words: &[&str]) -> Result<Vec<String>, StackError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Ok(split("mkfs.x", &KNOWN, &words)?.iter().flat_map(Given::words).collect())
    }

    #[test]
    fn short_long_and_glued_forms_are_one() {
        for words in [&["-draid0"][..], &["-d", "raid0"], &["--data", "raid0"], &["--data=raid0"]] {
            assert_eq!(split_words(words).unwrap(), ["--data", "raid0"]);
        }
        assert_eq!(split_words(&["-b4096", "-q"]).unwrap(), ["-b", "4096", "--quiet"]);
    }

    #[test]
    fn a_word_that_is_no_option_is_refused() {
        for words in
            [&["/dev/sda"][..], &["--", "/dev/sda"], &["-b"], &["-q/dev/sda"], &["--quiet=x"], &[""], &["-é"]]
        {
            assert!(split_words(words).is_err(), "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_passed_on_is_a_known_option_or_its_value(words in prop::collection::vec("[-a-z/=0-9é]{0,6}", 0..6)) {
            let Ok(given) = split("mkfs.x", &KNOWN, &words) else { return Ok(()) };
            for one in given {
                let known = KNOWN.iter().find(|known| known.name() == one.name);
                prop_assert_eq!(known.map(|known| known.takes_value), Some(one.value.is_some()));
            }
        }
    }
}
