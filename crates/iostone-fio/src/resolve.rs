//! Sections as they were written, made into jobs: expansion, inheritance, the table, checks across options.
//!
//! Inheritance is fio's: options of a `[global]` add to those before them and hold for the sections behind it; each file
//! begins anew, but for the first, which has those of the command line. Within a section the order is that of the
//! lines, except that `kb_base` and a few others come first and `filename` last.

mod check;

use std::sync::Arc;

use crate::ini::{RawLine, RawSection};
use crate::job_file::{Dropped, Given, JobFile, Remark, Section};
use crate::options::FioOptions;
use crate::place::Place;
use crate::problem::{Problem, Reason};
use crate::raw::Raw;
use crate::substitute::{expand, value_place};
use crate::table::{FioOption, Treatment, find, suggest};
use crate::values::{Engine, find_engine};
use crate::world::World;

/// Behind this many problems no more names are suggested.
const MOST_SUGGESTIONS: usize = 20;

/// What sections inherit.
#[derive(Clone, Default)]
struct Defaults {
    options: FioOptions,
    given: Arc<Vec<Given>>,
    /// An engine that is refused was chosen; complaints about its own options would only repeat that.
    foreign_engine: bool,
}

/// An option that was recognised.
struct Recognised {
    option: &'static FioOption,
    given: Given,
    /// Where its value begins.
    value_place: Place,
}

pub(crate) struct Resolver<'a> {
    world: &'a World<'a>,
    lenient: bool,
    only: &'a [String],
    defaults: Defaults,
    jobs: JobFile,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(world: &'a World<'a>, lenient: bool, only: &'a [String]) -> Self {
        let (defaults, jobs) = (Defaults::default(), JobFile::default());
        Self { world, lenient, only, defaults, jobs, problems: Vec::new() }
    }

    /// Each file begins without the defaults of the one before it.
    pub(crate) fn forget_defaults(&mut self) {
        self.defaults = Defaults::default();
    }

    /// Takes in the sections of one file, the first job of which may have to wait for what is before it.
    pub(crate) fn resolve(&mut self, sections: Vec<RawSection>, mut stonewall: bool) {
        for section in sections {
            if section.is_global() {
                self.resolve_global(&section);
            } else if self.only.is_empty() || self.only.contains(&section.name) {
                self.resolve_job(section, std::mem::take(&mut stonewall));
            }
        }
    }

    pub(crate) fn finish(mut self) -> (JobFile, Vec<Problem>) {
        check::check_waits(&self.jobs.sections, &mut self.problems);
        (self.jobs, self.problems)
    }

    fn resolve_global(&mut self, section: &RawSection) {
        let lines = self.recognise(&section.lines);
        let mut options = std::mem::take(&mut self.defaults.options);
        self.apply(&lines, &mut options);
        self.defaults.foreign_engine = chooses_foreign(&lines).unwrap_or(self.defaults.foreign_engine);
        if !self.defaults.foreign_engine {
            self.check_owners(&lines, options.engine());
        }
        self.defaults.options = options;
        let given: Vec<Given> = lines.into_iter().map(|line| line.given).collect();
        self.jobs.global.extend(given.iter().cloned());
        Arc::make_mut(&mut self.defaults.given).extend(given);
    }

    fn resolve_job(&mut self, section: RawSection, stonewall: bool) {
        let lines = self.recognise(&section.lines);
        let mut options = self.defaults.options.clone();
        let engine = chosen_engine(&lines).unwrap_or(options.engine());
        if engine != self.defaults.options.engine() {
            options = self.inherit_under(engine);
        }
        self.apply(&lines, &mut options);
        if !chooses_foreign(&lines).unwrap_or(self.defaults.foreign_engine) {
            self.check_owners(&lines, engine);
        }
        if stonewall {
            options.stonewall = Some(true);
        }
        let section = Section {
            name: section.name,
            place: section.place,
            options,
            given: lines.into_iter().map(|line| line.given).collect(),
            inherited: Arc::clone(&self.defaults.given),
        };
        check::check_section(&section, &mut self.problems, &mut self.jobs.remarks);
        self.jobs.sections.push(section);
    }

    /// Looks up the options of a section, in the order in which they are read.
    fn recognise(&mut self, lines: &[RawLine]) -> Vec<Recognised> {
        let mut known: Vec<Recognised> = Vec::with_capacity(lines.len());
        for line in lines {
            let from_file = matches!(line.place, Place::File { .. });
            let expanded = match expand(&line.text, from_file, self.world) {
                Ok(expanded) => expanded,
                Err(why) => {
                    self.problems.push(Problem::new(&line.place, Reason::NotText { why }));
                    continue;
                }
            };
            for name in expanded.unset {
                let text = format!("the variable `{name}` is not set; nothing is put in its place");
                self.jobs.remarks.push(Remark { place: line.place.clone(), text });
            }
            let (name, value) = match expanded.text.split_once('=') {
                Some((name, value)) => (name.trim_end(), Some(value.to_owned())),
                None => (expanded.text.trim_end(), None),
            };
            let Some(option) = find(name) else {
                // A file of something else altogether has no mistyped options.
                let nearest = if self.problems.len() < MOST_SUGGESTIONS { suggest(name) } else { None };
                let reason = Reason::UnknownOption { name: shorten(name), nearest };
                self.problems.push(Problem::new(&line.place, reason));
                continue;
            };
            let given =
                Given { name: option.name, written: name.to_owned(), value, place: line.place.clone() };
            known.push(Recognised { option, given, value_place: value_place(&line.place, &line.text) });
        }
        known.sort_by_key(|line| -line.option.priority);
        known
    }

    /// Reads the values into their fields.
    fn apply(&mut self, lines: &[Recognised], options: &mut FioOptions) {
        for line in lines {
            let raw = Raw { text: line.given.value.as_deref(), kb_base: options.kb_base.unwrap_or_default() };
            match line.option.treatment {
                Treatment::Refused { why, harmless } => self.refuse(line, why, harmless),
                Treatment::Honoured | Treatment::NoEffect { .. } => {
                    let Some(Err(why)) = line.option.set.map(|set| set(options, raw)) else { continue };
                    let (name, value) = (line.given.written.clone(), line.given.value.clone());
                    self.problems
                        .push(Problem::new(&line.value_place, Reason::BadValue { name, value, why }));
                }
            }
        }
    }

    fn refuse(&mut self, line: &Recognised, why: &'static str, harmless: &[&str]) {
        let given = &line.given;
        let is_harmless = given.value.as_deref().is_some_and(|value| harmless.contains(&value.trim()));
        // Under its own engine, that is the complaint; under another, that it has no business there.
        let is_foreign = !line.option.engines.is_empty()
            && line.option.engines.iter().all(|name| find_engine(name).is_err());
        if is_harmless || is_foreign {
            return;
        }
        if self.lenient {
            self.jobs.dropped.push(Dropped { option: given.clone(), why: why.into() });
        } else {
            let reason = Reason::NotHonoured {
                name: given.written.clone(),
                value: given.value.clone(),
                why: why.into(),
            };
            self.problems.push(Problem::new(&given.place, reason));
        }
    }

    /// fio knows the options of an engine only where that engine is chosen, by the section itself or above it.
    fn check_owners(&mut self, lines: &[Recognised], engine: Engine) {
        for line in lines {
            let owners = line.option.engines;
            if !owners.is_empty() && !owners.contains(&engine.name()) {
                let reason = Reason::OtherEngine {
                    name: line.given.written.clone(),
                    owners: name_engines(owners),
                    engine: engine.name().into(),
                };
                self.problems.push(Problem::new(&line.given.place, reason));
            }
        }
    }

    /// The defaults without options of other engines than this one: fio leaves those behind.
    fn inherit_under(&self, engine: Engine) -> FioOptions {
        let mut options = FioOptions::default();
        for given in self.defaults.given.iter() {
            let Some(option) = find(given.name) else { continue };
            if (option.engines.is_empty() || option.engines.contains(&engine.name()))
                && let (Treatment::Honoured, Some(set)) = (option.treatment, option.set)
            {
                let raw = Raw { text: given.value.as_deref(), kb_base: options.kb_base.unwrap_or_default() };
                // What is wrong with it was said when it was read the first time.
                let _ = set(&mut options, raw);
            }
        }
        options
    }
}

/// The engine that these lines choose, if they choose one whose work is done.
fn chosen_engine(lines: &[Recognised]) -> Option<Engine> {
    last_engine(lines).and_then(|name| find_engine(name.trim()).ok())
}

/// Whether they choose one whose work is not done; none where they choose none.
fn chooses_foreign(lines: &[Recognised]) -> Option<bool> {
    last_engine(lines).map(|name| find_engine(name.trim()).is_err())
}

fn last_engine(lines: &[Recognised]) -> Option<&str> {
    let line = lines.iter().rev().find(|line| line.option.name == "ioengine")?;
    Some(line.given.value.as_deref().unwrap_or_default())
}

fn name_engines(engines: &[&str]) -> String {
    let plural = if engines.len() == 1 { "the engine" } else { "the engines" };
    format!("{plural} `{}`", engines.join("`, `"))
}

fn shorten(name: &str) -> String {
    const LONGEST: usize = 60;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST).chain("...".chars()).collect()
}
