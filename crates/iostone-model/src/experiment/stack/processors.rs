//! Sets of processors as cpuset(7) writes them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// No kernel has more processors (`NR_CPUS`, arch/x86/Kconfig).
pub(super) const MOST: u32 = 8192;

/// Processors by number, written `0`, `0-1` or `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessorSet(pub BTreeSet<u32>);

impl FromStr for ProcessorSet {
    type Err = String;

    /// Reads numbers and ranges with commas between them; nothing at all is the empty set.
    ///
    /// # Errors
    /// In words: the part that is none.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut processors = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim) {
            if part.is_empty() && text.trim().is_empty() {
                break;
            }
            let number = |word: &str| {
                if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(format!("`{part}` is neither a processor number nor a range"));
                }
                let number = word.parse().ok().filter(|&number: &u32| number < MOST);
                number.ok_or_else(|| {
                    format!("there is no processor {word}: the kernel's highest number is {}", MOST - 1)
                })
            };
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the range `{part}` ends before it begins"));
            }
            processors.extend(first..=last);
        }
        Ok(Self(processors))
    }
}

impl fmt::Display for ProcessorSet {
    /// As the kernel lists them: `0-1,3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if(|&next| next == last + 1) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_and_what_is_no_list_is_named() {
        let read = |text: &str| text.parse::<ProcessorSet>().map(|set| set.to_string());
        assert_eq!(read("0,2-3,1\n").unwrap(), "0-3");
        assert_eq!(read(" 4 , 0-0").unwrap(), "0,4");
        assert_eq!(read("").unwrap(), "");
        for wrong in ["0,", "a", "-1", "1-", "0--2", "+1", "9999999", "8192", "0 1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let beyond = read("0-99999999").unwrap_err();
        assert!(beyond.contains("there is no processor 99999999"), "{beyond}");
        assert!(read("3-1").unwrap_err().contains("ends before it begins"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(numbers in prop::collection::btree_set(0u32..80, 0..20)) {
            let set = ProcessorSet(numbers);
            prop_assert_eq!(set.to_string().parse::<ProcessorSet>().unwrap(), set);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[-0-9, a]{0,20}") {
            let _ = text.parse::<ProcessorSet>();
        }
    }
}
