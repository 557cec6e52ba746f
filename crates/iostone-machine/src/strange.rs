//! Words behind `--destroy` that fit no device of the experiment: said beside whatever the preflight finds.

use iostone_model::experiment::Stack;
use iostone_stack::{Preflight, strange_words};

use crate::failure::{Failure, FailureKind};

/// The answer of a preflight with a sentence for each such word: a note where the run goes on, behind the reason where it
/// is refused.
///
/// # Errors
/// The preflight's own failure.
pub(crate) fn say_strange_words(
    checked: Result<Vec<Preflight>, Failure>,
    stacks: &[Stack],
    destroy: &[String],
) -> Result<Vec<Preflight>, Failure> {
    let strange = strange_words(stacks, destroy);
    match checked {
        Ok(mut found) => {
            if let Some(first) = found.first_mut() {
                first.notes.extend(strange);
            }
            Ok(found)
        }
        Err(mut failure) => {
            if failure.kind == FailureKind::Refused {
                for sentence in strange {
                    failure.message.push_str("; ");
                    failure.message.push_str(&sentence);
                }
            }
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{DirectoryVolume, Volume};

    use super::*;

    #[test]
    fn a_strange_word_is_a_note_or_stands_behind_the_refusal() {
        let stacks = [Stack::of(Volume::Directory(DirectoryVolume { path: None }))];
        let words = ["/dev/disk/by-id/gone".to_owned()];
        let sentence = "`--destroy /dev/disk/by-id/gone` matches none of the devices";
        let found = say_strange_words(Ok(vec![Preflight::default()]), &stacks, &words).unwrap();
        assert_eq!(found[0].notes, [sentence]);
        let refused = Failure::new(FailureKind::Refused, "`/dev/x` is refused");
        let refused = say_strange_words(Err(refused), &stacks, &words).unwrap_err();
        assert_eq!(refused.message, format!("`/dev/x` is refused; {sentence}"));
        let other = Failure::new(FailureKind::Usage, "wrong");
        assert_eq!(say_strange_words(Err(other.clone()), &stacks, &words).unwrap_err(), other);
        assert!(say_strange_words(Ok(vec![Preflight::default()]), &stacks, &[]).unwrap()[0].notes.is_empty());
    }
}
