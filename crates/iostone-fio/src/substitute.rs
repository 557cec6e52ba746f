//! What is replaced in a line before it is read: `${NAME}` by the environment, `$pagesize` and its like by figures.

use crate::arithmetic::{Units, evaluate};
use crate::place::Place;
use crate::world::World;

/// What came of a line.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// Variables that are not set, for which nothing was put in.
    pub(crate) unset: Vec<String>,
}

/// The largest a line may become.
const LONGEST: usize = 1 << 20;

/// Replaces variables, then keywords. Where a keyword stood and what is behind the `=` is a sum, it is computed, as fio
/// does by calling bc(1): `size=5*$mb_memory`.
///
/// Arguments keep their variables: those are the shell's.
pub(crate) fn expand(line: &str, with_variables: bool, world: &World<'_>) -> Result<Expanded, String> {
    if !line.contains('$') {
        return Ok(Expanded { text: line.to_owned(), unset: Vec::new() });
    }
    let mut unset = Vec::new();
    let text = if with_variables { put_variables(line, world, &mut unset)? } else { line.to_owned() };
    let text = put_keywords(text, world);
    Ok(Expanded { text, unset })
}

fn put_variables(line: &str, world: &World<'_>, unset: &mut Vec<String>) -> Result<String, String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("${") {
        text.push_str(&rest[..at]);
        let Some(length) = rest[at..].find('}') else { break };
        let name = &rest[at + 2..at + length];
        match (world.variable)(name).map(std::ffi::OsString::into_string) {
            Some(Ok(value)) => text.push_str(&value),
            Some(Err(_)) => return Err(format!("the variable `{name}` is not text")),
            None => unset.push(name.to_owned()),
        }
        if text.len() > LONGEST {
            return Err("with its variables it passes 1 MiB".into());
        }
        rest = &rest[at + length + 1..];
    }
    // Without its `}` a `${` stands for itself; what is before it is there already.
    let done = rest.find("${").map_or(rest, |at| &rest[at..]);
    text.push_str(done);
    Ok(text)
}

fn put_keywords(text: String, world: &World<'_>) -> String {
    let machine = &world.machine;
    let words =
        [("$pagesize", machine.page_bytes), ("$mb_memory", machine.memory_mib), ("$ncpus", machine.cpus)];
    let replaced =
        words.iter().fold(text.clone(), |text, (word, value)| text.replace(word, &value.to_string()));
    if replaced == text {
        return text;
    }
    let Some((name, value)) = replaced.split_once('=') else { return replaced };
    let is_sum = value.contains(['+', '-', '*', '/']) && !value.contains('\'');
    match is_sum.then(|| evaluate(value, Units::Plain)) {
        Some(Ok(outcome)) => match outcome.number.whole() {
            Ok(number) => format!("{name}={number}"),
            Err(_) => replaced,
        },
        _ => replaced,
    }
}

/// Where the value of a line begins in the line as it was written.
pub(crate) fn value_place(place: &Place, line: &str) -> Place {
    match line.split_once('=') {
        Some((name, _)) => place.further(name.chars().count() + 1),
        None => place.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::world::{MachineFacts, OnDisk};
    use proptest::prelude::*;

    fn expand_here(line: &str) -> Result<(String, Vec<String>), String> {
        let variable = |name: &str| match name {
            "SIZE" => Some(OsString::from("64m")),
            "EMPTY" => Some(OsString::new()),
            _ => None,
        };
        let machine = MachineFacts { page_bytes: 4096, memory_mib: 1000, cpus: 8 };
        let world = World { files: &OnDisk, variable: &variable, machine };
        expand(line, true, &world).map(|expanded| (expanded.text, expanded.unset))
    }

    #[test]
    fn variables_and_keywords_are_replaced() {
        for (line, text) in [
            ("size=${SIZE}", "size=64m"),
            ("size=${SIZE}${SIZE}", "size=64m64m"),
            ("size=${EMPTY}", "size="),
            ("size=$SIZE", "size=$SIZE"),
            ("size=${SIZE", "size=${SIZE"),
            ("bs=$pagesize", "bs=4096"),
            ("numjobs=$ncpus", "numjobs=8"),
            ("size=8*$mb_memory", "size=8000"),
            ("size=5*1024*1024*$mb_memory/8", "size=655360000"),
            ("size=$mb_memorym", "size=1000m"),
            ("filename=/tmp/x-$ncpus", "filename=/tmp/x-8"),
            ("filename_format=$jobname.$jobnum", "filename_format=$jobname.$jobnum"),
        ] {
            assert_eq!(expand_here(line), Ok((text.to_owned(), Vec::new())), "{line}");
        }
    }

    #[test]
    fn an_unset_variable_leaves_nothing_and_is_told() {
        assert_eq!(expand_here("bs=${NOPE}"), Ok(("bs=".into(), vec!["NOPE".to_owned()])));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "[${}A-Za-z=*/+ é0-9]{0,60}") {
            let _ = expand_here(&line);
        }
    }
}
