//! Job files and arguments read to the end: the sections that are jobs, with their options by type.

use std::sync::Arc;

use crate::command_line::{Argument, to_sections};
use crate::ini::read_sections;
use crate::options::FioOptions;
use crate::place::Place;
use crate::problem::{Problem, Reason};
use crate::resolve::Resolver;
use crate::world::World;

/// What is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// Options of the command line; see [`crate::split_arguments`]. Those before the first `name` are defaults for the
    /// jobs of the command line and of the first file.
    pub arguments: &'a [Argument],
    /// Job files, in order; `-` is standard input. From the second on, a file waits for those before it.
    pub files: &'a [String],
    /// The sections to take, by name; empty takes all. fio's `--section`.
    pub only: &'a [String],
    /// Drops options that are not honoured into [`JobFile::dropped`] instead of refusing them.
    pub lenient: bool,
}

/// Everything that was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobFile {
    /// The jobs, in order.
    pub sections: Vec<Section>,
    /// Options of `[global]` sections, in order.
    pub global: Vec<Given>,
    /// Options that were dropped because the caller is lenient.
    pub dropped: Vec<Dropped>,
    /// What is legal and may still not be what was meant.
    pub remarks: Vec<Remark>,
}

/// One job.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The section's name, which file names are made of.
    pub name: String,
    /// Where the section begins.
    pub place: Place,
    /// Its options, those of `[global]` included.
    pub options: FioOptions,
    /// Its own options, in order.
    pub given: Vec<Given>,
    /// The options that it has from `[global]`.
    pub inherited: Arc<Vec<Given>>,
}

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its first name; see [`crate::find`].
    pub name: &'static str,
    /// The name as it was written.
    pub written: String,
    /// Its value after expansion; none where it stands alone.
    pub value: Option<String>,
    /// Where it is.
    pub place: Place,
}

/// An option that was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The option.
    pub option: Given,
    /// Why it is not honoured.
    pub why: String,
}

/// Something legal that deserves a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub place: Place,
    /// What.
    pub text: String,
}

impl Section {
    /// The name that reports show: the option `name`, or the section's.
    pub fn title(&self) -> &str {
        self.options.name.as_deref().unwrap_or(&self.name)
    }

    /// Where the value in effect of an option was given, by its first name.
    pub fn place_of(&self, name: &str) -> Option<&Place> {
        self.find_given(name).map(|given| &given.place)
    }

    /// The option in effect as it was given, by its first name.
    pub fn find_given(&self, name: &str) -> Option<&Given> {
        let named = |given: &&Given| given.name == name;
        self.given.iter().rev().find(named).or_else(|| self.inherited.iter().rev().find(named))
    }
}

/// Reads job files and arguments.
///
/// # Errors
/// Everything that is wrong, each with its place, in the order of the files.
pub fn read(request: &Request<'_>, world: &World<'_>) -> Result<JobFile, Vec<Problem>> {
    let mut resolver = Resolver::new(world, request.lenient, request.only);
    let mut problems = Vec::new();
    let typed = to_sections(request.arguments, &mut problems);
    resolver.problems.append(&mut problems);
    resolver.resolve(typed, false);
    for (index, file) in request.files.iter().enumerate() {
        let (sections, mut problems) = read_sections(file, world.files);
        resolver.problems.append(&mut problems);
        if index > 0 {
            resolver.forget_defaults();
        }
        resolver.resolve(sections, index > 0);
    }
    let (jobs, mut problems) = resolver.finish();
    if problems.is_empty() && jobs.sections.is_empty() {
        problems.push(nothing_to_do(request));
    }
    if problems.is_empty() { Ok(jobs) } else { Err(problems) }
}

fn nothing_to_do(request: &Request<'_>) -> Problem {
    let place = match request.files.first() {
        Some(file) => Place::in_file(&file.as_str().into(), 1, 1),
        None => {
            Place::Argument { position: request.arguments.first().map_or(1, |argument| argument.position) }
        }
    };
    let why = if request.only.is_empty() {
        "no job is defined: besides `[global]` a section, or `--name`, is missing".to_owned()
    } else {
        format!("no section is called {}", request.only.join(" or "))
    };
    Problem::new(&place, Reason::Contradiction { why })
}
