//! Finds the command lines of a tool in a log of a shell session: after a prompt, or as `set -x` prints them.

/// The command of that name on a line, from its name to the end of the line; None where the line has none.
///
/// A command stands at the line's beginning, or after a prompt's last sign (`$`, `#`, `%`, `>`, `+`), after `;`, `&`,
/// `|`, `(` or a word that runs another one (`sudo`, `time`, `do`).
pub(crate) fn command<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = line.get(from..)?.find(name) {
        let start = from + found;
        let end = start + name.len();
        let (before, after) = (&line[..start], &line[end..]);
        if after.starts_with([' ', '\t']) && begins_a_command(before) {
            return Some(line[start..].trim_end());
        }
        from = end;
    }
    None
}

/// Whether a command may stand after that part of a line.
fn begins_a_command(before: &str) -> bool {
    // `/usr/bin/vmstat` is the same as `vmstat`.
    let folder = before.rfind(|sign: char| sign.is_whitespace() || sign == '(').map_or(0, |at| at + 1);
    let before = if before.ends_with('/') { &before[..folder] } else { before };
    let trimmed = before.trim_end();
    if trimmed.is_empty() {
        return true;
    }
    if trimmed.ends_with([';', '&', '|', '(', '$', '#', '%', '>', '+', '`']) {
        return true;
    }
    let word = trimmed.rsplit([' ', '\t']).next().unwrap_or_default();
    trimmed.len() < before.len()
        && matches!(word, "sudo" | "time" | "do" | "then" | "nohup" | "-p" | "exec" | "&&" | "||")
}

/// The words of a command up to the end of it or to a redirection, with quotes taken off.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for sign in command.chars() {
        match quote {
            Some(end) if sign == end => quote = None,
            None if matches!(sign, '\'' | '"') => quote = Some(sign),
            None if matches!(sign, '<' | '>') => {
                // The number of what is redirected, as in `2>`, is no word.
                word.retain(|sign| !sign.is_ascii_digit());
                break;
            }
            None if matches!(sign, ';' | '|' | '&' | ')') => break,
            None if sign.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(sign),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The interval in seconds of a sampler's command: its first operand that is a number (`vmstat -n 5 100`).
pub(crate) fn interval_seconds(command: &str) -> Option<f64> {
    let mut numbers = words(command).into_iter().skip(1).filter_map(|word| word.parse::<f64>().ok());
    numbers.find(|seconds| seconds.is_finite() && *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_after_prompts_and_words_that_run_it() {
        for line in [
            "dd if=a of=b",
            "$ dd if=a of=b",
            "root@db1:~# dd if=a of=b",
            "[root@db1 ~]# dd if=a of=b",
            "+ dd if=a of=b",
            "$ sync; sudo dd if=a of=b",
            "$ time dd if=a of=b",
            "$ for i in 1 2 3; do dd if=a of=b",
            "$ /bin/dd if=a of=b",
        ] {
            assert_eq!(command(line, "dd"), Some("dd if=a of=b"), "{line}");
        }
    }

    #[test]
    fn a_word_within_text_is_no_command() {
        for line in ["dd: failed to open", "we then ran dd if=a", "add if=a", "$ oddd if=a", "$ echo dd"] {
            assert_eq!(command(line, "dd"), None, "{line}");
        }
    }

    #[test]
    fn words_end_with_the_command() {
        assert_eq!(words("dd if='a b' of=c 2>&1 | tail"), ["dd", "if=a b", "of=c"]);
        assert_eq!(interval_seconds("vmstat -n 5 100"), Some(5.0));
        assert_eq!(interval_seconds("vmstat -w"), None);
    }
}
