//! How names from outside are shown in messages.

use std::borrow::Cow;

/// Longer names are shortened.
const LONGEST_SHOWN: usize = 200;
/// So many characters of both ends of a longer one are shown.
const SHOWN_OF_EITHER_END: usize = 40;

/// A name as a message shows it: the middle of a very long one is left out, for nobody finds anything in it.
pub fn shortened(name: &str) -> Cow<'_, str> {
    let length = name.chars().count();
    if length <= LONGEST_SHOWN {
        return Cow::Borrowed(name);
    }
    let begin: String = name.chars().take(SHOWN_OF_EITHER_END).collect();
    let end: String = name.chars().skip(length - SHOWN_OF_EITHER_END).collect();
    Cow::Owned(format!("{begin}...{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_very_long_names_are_shortened() {
        assert_eq!(shortened("/dev/sdb"), "/dev/sdb");
        let long = shortened(&"\u{e9}".repeat(5_000)).into_owned();
        assert_eq!(long.chars().count(), 83);
    }
}
