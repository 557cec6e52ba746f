//! Compares what a page shows with what a command said: words must be equal, measurements need not.

/// Fails unless the lines said are those shown; `...` stands for any number of lines.
pub(crate) fn assert_same(place: &str, shown: &[&str], said: &str) {
    let shown: Vec<String> = shown.iter().map(|line| mask(line)).collect();
    let masked: Vec<String> = said.trim_end().lines().map(mask).collect();
    let mut place_in_said = 0;
    let mut free = false;
    for (index, line) in shown.iter().enumerate() {
        if line == "..." {
            free = true;
            continue;
        }
        let rest = masked.get(place_in_said..).unwrap_or_default();
        let found = if free {
            rest.iter().position(|other| other == line)
        } else {
            (rest.first() == Some(line)).then_some(0)
        };
        let Some(found) = found else {
            panic!("{place}: line {} of the output, `{line}`, was not said; said was\n{said}", index + 1);
        };
        place_in_said += found + 1;
        free = false;
    }
    let rest = masked.get(place_in_said..).unwrap_or_default();
    assert!(free || rest.is_empty(), "{place}: more was said than is shown:\n{}", rest.join("\n"));
}

/// A line with `#` for what may differ.
pub(crate) fn mask(line: &str) -> String {
    join_units(&mask_numbers(&mask_ids(line)))
}

/// The id at the end of a run directory's name.
fn mask_ids(line: &str) -> String {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut masked = String::new();
    for piece in line.split_inclusive(|c| !of_name(c)) {
        let name = piece.trim_end_matches(|c| !of_name(c));
        let dated =
            name.len() > 20 && name.as_bytes()[..10].iter().filter(|byte| byte.is_ascii_digit()).count() == 8;
        match name.rsplit_once('-') {
            Some((before, id)) if dated && id.len() == 8 => {
                masked.push_str(before);
                masked.push_str("-ID");
                masked.push_str(&piece[name.len()..]);
            }
            _ => masked.push_str(piece),
        }
    }
    masked
}

/// Numbers become `#`, their sign and spaces between thousands included; so do lines and sparklines. What follows a
/// letter is part of a word.
fn mask_numbers(line: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or(' ');
    let drawn = |c: char| matches!(c, '─' | '▁'..='█');
    let mut masked = String::new();
    let mut index = 0;
    while index < characters.len() {
        let (c, before) = (at(index), if index == 0 { ' ' } else { at(index - 1) });
        let signed =
            matches!(c, '+' | '-' | '−') && !before.is_alphanumeric() && at(index + 1).is_ascii_digit();
        index += 1;
        if signed || (c.is_ascii_digit() && !before.is_alphabetic()) {
            let separates = |c: char| matches!(c, '.' | '\u{a0}' | '\u{202f}');
            while at(index).is_ascii_digit() || (separates(at(index)) && at(index + 1).is_ascii_digit()) {
                index += 1;
            }
            masked.push('#');
        } else if c.is_ascii_digit() {
            masked.push(c);
            while at(index).is_ascii_digit() {
                masked.push(at(index));
                index += 1;
            }
        } else if drawn(c) {
            while drawn(at(index)) {
                index += 1;
            }
            masked.push('─');
        } else {
            masked.push(c);
        }
    }
    masked
}

/// `# MiB` and `# GiB` become `# B`, `#ms` becomes `# s`, `# min # s` becomes `# s`.
fn join_units(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match word.strip_prefix('#').filter(|unit| !unit.is_empty() && plain_unit(unit).is_some()) {
            Some(unit) => words.extend(["#".to_owned(), unit.to_owned()]),
            None => words.push(word.to_owned()),
        }
    }
    let mut joined: Vec<String> = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        let after_number = joined.last().is_some_and(|last| last.ends_with('#'));
        let another = words.get(index).is_some_and(|next| next == "#")
            && words.get(index + 1).is_some_and(|unit| plain_unit(unit).is_some());
        match plain_unit(word).filter(|_| after_number) {
            // The hours or minutes of a longer span: its last part stands for all.
            Some(_) if another && matches!(word.as_str(), "h" | "min") => index += 1,
            Some(unit) => joined.push(unit),
            None => joined.push(word.clone()),
        }
    }
    joined.join(" ")
}

/// A unit without its prefix, punctuation kept: `KiB,` is `B,`. None for what is no unit.
fn plain_unit(word: &str) -> Option<String> {
    let end = word.find(|c: char| !c.is_alphabetic() && c != '/').unwrap_or(word.len());
    let (unit, rest) = word.split_at(end);
    let prefixes = ["", "n", "µ", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    let plain = match unit {
        "min" | "h" => "s",
        _ => *["B/s", "/s", "B", "s"]
            .iter()
            .find(|plain| unit.strip_suffix(**plain).is_some_and(|prefix| prefixes.contains(&prefix)))?,
    };
    Some(format!("{plain}{rest}"))
}

#[test]
fn measurements_are_equal_and_words_are_not() {
    let same = [
        ("block 1   on        4366 /s", "block 12  on        13.8 k/s"),
        ("block 2   off      12.8 k/s  at most 2 min 15 s left", "block 2 off 9.1 k/s at most 55 s left"),
        ("laid out 64.0 MiB with data", "laid out 1.00 GiB with data"),
        ("a file of 16MiB, 2s counted", "a file of 1GiB, 500ms counted"),
        ("19\u{a0}727 flushes a trial", "3 flushes a trial"),
        ("interval −1.2 to +3.4 %).", "interval 0.1 to 2 %)."),
        (
            "report: runs/2026-11-21-a-b-vpa7xbaj/report.html",
            "report: runs/2027-01-02-a-b-23456789/report.html",
        ),
        ("──────", "────"),
        ("cv  ▄▂▃▁", "cv ▇▇▁"),
    ];
    for (left, right) in same {
        assert_eq!(mask(left), mask(right));
    }
    let different = [
        ("barrier on", "barrier off"),
        ("io0002", "io0003"),
        ("ext4", "ext3"),
        ("6 blocks", "blocks"),
        ("1 s", "1 B"),
    ];
    for (left, right) in different {
        assert_ne!(mask(left), mask(right));
    }
}

#[test]
fn dots_stand_for_any_lines() {
    assert_same("here", &["a", "...", "b"], "a\nx\ny\nb\n");
    assert_same("here", &["a", "..."], "a\n");
    assert!(std::panic::catch_unwind(|| assert_same("here", &["a"], "a\nb\n")).is_err());
    assert!(std::panic::catch_unwind(|| assert_same("here", &["...", "c"], "a\nb\n")).is_err());
}
