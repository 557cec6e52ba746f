//! A command as a user types it: its words where they are plain, a shell's line where they are not.

use anyhow::{Result, anyhow, bail};

/// Who reads a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shell {
    /// `sh -c` where the line holds something that only a shell understands, none elsewhere.
    WhereNeeded,
    /// Always this one, with its arguments.
    Always(Vec<String>),
    /// None: the line is split into words.
    Never,
}

impl Shell {
    /// `none`, or a shell with its arguments.
    pub(crate) fn named(text: &str) -> Result<Self> {
        match split(text)? {
            words if words.is_empty() => bail!("`--shell` names no shell; write `bash`, or `none`"),
            words if words == ["none"] => Ok(Self::Never),
            words => Ok(Self::Always(words)),
        }
    }
}

/// What only a shell understands outside quotes (POSIX.1-2017, Shell Command Language, 2.2 and 2.10). A `=` in the first word
/// sets a variable there.
const FOR_A_SHELL: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '\n', '{', '}', '!', '~'];

/// The program and its arguments.
///
/// # Errors
/// No word at all, or a quote that is not closed.
pub(crate) fn argv_of(line: &str, shell: &Shell) -> Result<Vec<String>> {
    let words = split(line)?;
    let Some(first) = words.first() else { bail!("a command is empty") };
    let needs_shell = || {
        outside_quotes(line).contains(FOR_A_SHELL)
            || first.contains('=')
            || OF_A_SHELL.contains(&first.as_str())
    };
    let through =
        |shell: &[String]| shell.iter().cloned().chain(["-c".to_owned(), line.to_owned()]).collect();
    Ok(match shell {
        Shell::Always(shell) => through(shell),
        Shell::WhereNeeded if needs_shell() => through(&["sh".to_owned()]),
        Shell::WhereNeeded | Shell::Never => words,
    })
}

/// Words that a shell takes itself: its special built-ins, and how its compound commands begin (POSIX.1-2017, 2.14 and 2.9.4).
const OF_A_SHELL: &[&str] = &[
    ".", ":", "break", "case", "cd", "continue", "eval", "exec", "exit", "export", "for", "if", "read",
    "readonly", "return", "set", "shift", "source", "times", "trap", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

/// The line with what is in quotes left out, but for the `$` and the backquotes that double quotes keep.
fn outside_quotes(line: &str) -> String {
    let mut kept = String::new();
    let (mut quote, mut is_escaped) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (Some('\''), _) => {}
            (Some(_), '$' | '`') | (None, _) => kept.push(c),
            (Some(_), _) => {}
        }
    }
    kept
}

/// The words of a line, quotes and backslashes as a shell takes them.
fn split(line: &str) -> Result<Vec<String>> {
    shell_words::split(line).map_err(|_| anyhow!("`{line}` has a quote that is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(line: &str) -> Vec<String> {
        argv_of(line, &Shell::WhereNeeded).unwrap()
    }

    #[test]
    fn plain_words_need_no_shell() {
        assert_eq!(argv("sh old.sh 'a b' c\\ d \"e f\""), ["sh", "old.sh", "a b", "c d", "e f"]);
        assert_eq!(argv("grep '$HOME|x' \"\""), ["grep", "$HOME|x", ""]);
    }

    #[test]
    fn what_only_a_shell_understands_gets_one() {
        for line in [
            "a | b",
            "ls *.c",
            "echo \"$HOME\"",
            "A=1 make",
            "cd x",
            "cat <f",
            "ls ~/x",
            "for i in 1; do a; done",
        ] {
            assert_eq!(argv(line), ["sh", "-c", line]);
        }
    }

    #[test]
    fn a_shell_can_be_chosen_or_refused() {
        assert_eq!(argv_of("ls", &Shell::named("bash -e").unwrap()).unwrap(), ["bash", "-e", "-c", "ls"]);
        assert_eq!(argv_of("echo $x", &Shell::named("none").unwrap()).unwrap(), ["echo", "$x"]);
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        for line in ["", "  ", "a 'b"] {
            argv_of(line, &Shell::WhereNeeded).unwrap_err();
        }
    }
}
