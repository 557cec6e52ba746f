//! fio's options as arguments: `--name=x --rw=randread --bs 4k`.

use crate::ini::{RawLine, RawSection};
use crate::place::Place;
use crate::problem::{Problem, Reason};
use crate::table::{find, suggest};

/// One option of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name without dashes.
    pub name: String,
    /// What is behind the `=`, or the next argument; none for an option that stands alone.
    pub value: Option<String>,
    /// Which argument it is, from 1; for error messages.
    pub position: u32,
}

/// Parts options of jobs from names of job files. `--name=value`, `--name value` and the same with one dash are options;
/// an option that can stand alone takes its value behind `=` only. `-` is a job file (standard input), and `--` makes
/// everything behind it one.
///
/// # Errors
/// An option that fio does not know, and one whose value is missing, by its position. Options of fio itself (`--output`,
/// `--section`, ...) are the caller's to take out first.
pub fn split_arguments(arguments: &[String]) -> Result<(Vec<Argument>, Vec<String>), Vec<Problem>> {
    let mut options = Vec::new();
    let mut files = Vec::new();
    let mut problems = Vec::new();
    let mut rest = (1_u32..).zip(arguments);
    while let Some((position, argument)) = rest.next() {
        if argument == "--" {
            files.extend(rest.by_ref().map(|(_, file)| file.clone()));
            break;
        }
        let dashless = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
        let Some(typed) = dashless.filter(|typed| !typed.is_empty()) else {
            files.push(argument.clone());
            continue;
        };
        let (name, value) =
            typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value.to_owned())));
        let Some(option) = find(name) else {
            let reason = Reason::UnknownOption { name: format!("--{name}"), nearest: suggest(name) };
            problems.push(Problem::new(&Place::Argument { position }, reason));
            continue;
        };
        let value = match value {
            None if !option.kind.may_stand_alone() => rest.next().map(|(_, value)| value.clone()),
            value => value,
        };
        options.push(Argument { name: name.to_owned(), value, position });
    }
    if problems.is_empty() { Ok((options, files)) } else { Err(problems) }
}

/// Arranges arguments as the sections of a job file: `--name` begins one, what is before the first is global.
pub(crate) fn to_sections(arguments: &[Argument], problems: &mut Vec<Problem>) -> Vec<RawSection> {
    let mut sections: Vec<RawSection> = Vec::new();
    for argument in arguments {
        let place = Place::Argument { position: argument.position };
        if argument.name == "name" {
            let name = argument.value.as_deref().map(str::trim).filter(|name| !name.is_empty());
            if let Some(name) = name {
                sections.push(RawSection { name: name.to_owned(), place, lines: Vec::new() });
            } else {
                let why = "a job needs a name".into();
                problems
                    .push(Problem::new(&place, Reason::BadValue { name: "name".into(), value: None, why }));
            }
            continue;
        }
        let text = match &argument.value {
            Some(value) => format!("{}={value}", argument.name),
            None => argument.name.clone(),
        };
        if sections.is_empty() {
            sections.push(RawSection { name: "global".into(), place: place.clone(), lines: Vec::new() });
        }
        if let Some(section) = sections.last_mut() {
            section.lines.push(RawLine { text, place });
        }
    }
    sections
}
