//! Figures and lists for people: thousands, counts with their noun, percent, "a, b and c".

/// Between groups of three digits, and nowhere a line may break (U+202F, ISO 80000-1).
const GROUP: char = '\u{202f}';

/// A count with its digits in groups of three: `18 342`.
pub fn count(value: u64) -> String {
    group_digits(&value.to_string())
}

/// `1 block`, `11 blocks`.
pub fn counted(value: impl TryInto<u64>, noun: &str) -> String {
    let value = value.try_into().unwrap_or(u64::MAX);
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Groups the whole digits of the number that a text begins with, from four on.
pub fn group_digits(number: &str) -> String {
    let start = number.find(|c: char| c.is_ascii_digit()).unwrap_or(number.len());
    let (sign, rest) = number.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (whole, tail) = rest.split_at(end);
    let mut grouped = String::with_capacity(number.len() + 8);
    grouped.push_str(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(GROUP);
        }
        grouped.push(digit);
    }
    grouped + tail
}

/// A number with at most so many decimals, and no zeros that tell nothing: `0.15`, never `0.150` or `-0`.
pub fn without_zeros(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A share in percent with one decimal: `2.5 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    join(words, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub fn choice<S: AsRef<str>>(words: &[S]) -> String {
    join(words, "or")
}

fn join<S: AsRef<str>>(words: &[S], before_last: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} {before_last} {last}", most.join(", ")),
    }
}

/// Words as they are typed, each in backquotes.
pub fn quoted<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{}`", word.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_four_on() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1234), "1\u{202f}234");
        assert_eq!(count(1_000_000), "1\u{202f}000\u{202f}000");
        assert_eq!(group_digits("-12345.6789 MB/s"), "-12\u{202f}345.6789 MB/s");
        assert_eq!(group_digits("1.00e18"), "1.00e18");
        assert_eq!(group_digits("none"), "none");
    }

    #[test]
    fn a_noun_stands_in_the_number_of_its_count() {
        assert_eq!([0, 1, 2].map(|value| counted(value, "block")), ["0 blocks", "1 block", "2 blocks"]);
    }

    #[test]
    fn zeros_that_tell_nothing_are_left_out() {
        assert_eq!(without_zeros(3.0 * 0.05, 6), "0.15");
        assert_eq!(without_zeros(-1e-17, 4), "0");
        assert_eq!(without_zeros(1200.0, 0), "1200");
        assert_eq!(percent(0.025), "2.5 %");
    }

    #[test]
    fn a_list_reads_as_it_is_spoken() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&quoted(["a", "b"])), "`a` and `b`");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(choice(&["a", "b", "c"]), "a, b or c");
    }
}
