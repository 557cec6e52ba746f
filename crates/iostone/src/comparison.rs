//! An experiment that was asked for in one line: what is varied, on which volume, under which load, as the text of a file.
//!
//! It becomes text first and is then read as any experiment file is, so that one line can do what a file can and
//! `--save` writes what runs.

mod command_line;
mod load;
mod varied;
mod volume;

use iostone_model::units::{Fraction, Span};

pub(crate) use command_line::{Shell, argv_of};
pub(crate) use load::{DEFAULT_LOAD, Load, NAMED_LOADS, SMALL_FILES};
pub(crate) use varied::Varied;
pub(crate) use volume::VolumeChoice;

/// What a comparison in one line comes to.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The line that asked for it, as one would type it.
    pub(crate) asked: String,
    /// What is varied; the first level of the first is the baseline unless another is named.
    pub(crate) varied: Vec<Varied>,
    /// Where the load works.
    pub(crate) volume: VolumeChoice,
    /// What is measured.
    pub(crate) load: Load,
    /// What decides, where it is not the load's own metric.
    pub(crate) metric: Option<String>,
    /// The level that the others are compared with.
    pub(crate) baseline: Option<String>,
    /// The difference that does not matter.
    pub(crate) margin: Fraction,
    /// How certain all verdicts together are, where the load's own choice is not wanted.
    pub(crate) confidence: Option<Fraction>,
    /// How long the run may take.
    pub(crate) time: Option<Span>,
    /// Unrecorded trials of each level first.
    pub(crate) warmups: Option<u32>,
}

/// Trials of commands follow each other as closely as they can, as a user would type them.
const SETTLE_OF_COMMANDS: &str = "20ms";

impl Comparison {
    /// The experiment file that it is.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut line = |words: &str| {
            text.push_str(words);
            text.push('\n');
        };
        line(&format!("# {}", iostone_report::clean(&self.asked)));
        line("#");
        line(
            "# Run it with `iostone run FILE`, see its steps with `iostone run --dry-run FILE`. All keys and their defaults",
        );
        line("# are in docs/reference/experiment-file.md.");
        line("");
        line(&format!("name = {}", quoted(&self.name())));
        line(&format!("question = {}", quoted(&self.question())));
        line("");
        line("[stack]");
        self.volume.lines(self.needs_filesystem()).iter().for_each(|one| line(one));
        for varied in &self.varied {
            line("");
            varied.lines().iter().for_each(|one| line(one));
        }
        line("");
        line("[workload]");
        self.load.lines.iter().for_each(|one| line(one));
        if let Some(time) = self.time.filter(|_| self.load.is_command) {
            line("# A trial that takes longer is ended.");
            line(&format!("timeout = {}", quoted(&time.to_string())));
        }
        line("");
        line("[decide]");
        line(&format!("metric = {}", quoted(self.metric.as_deref().unwrap_or(self.load.metric))));
        line("# What the others are compared with.");
        line(&format!("baseline = {}", quoted(&self.baseline())));
        line("# Differences within the margin do not matter: levels that close are called equivalent.");
        line(&format!("margin = {}", quoted(&self.margin.to_string())));
        let confidence =
            self.confidence.map_or_else(|| self.load.confidence.to_owned(), |one| one.to_string());
        line(&format!("confidence = {}", quoted(&confidence)));
        line(
            "# Every block is one trial of each level, in random order. The run ends as soon as the answer is certain.",
        );
        line(&format!("blocks = {{ min = 6, max = {} }}", self.load.most_blocks));
        if let Some(time) = self.time {
            line(&format!("time = {}", quoted(&time.to_string())));
        }
        if self.load.is_command || self.warmups.is_some() {
            line("");
            line("[trials]");
            if self.load.is_command {
                line(&format!("settle = {}", quoted(SETTLE_OF_COMMANDS)));
            }
            if let Some(warmups) = self.warmups {
                line(&format!("warmups = {warmups}"));
            }
        }
        text
    }

    /// Names the run's directory.
    fn name(&self) -> String {
        let names: Vec<&str> = self.varied.iter().map(|varied| varied.name.as_str()).collect();
        let plain: String = format!("compare-{}", names.join("-"))
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        plain.trim_end_matches('-').to_owned()
    }

    /// The report's heading.
    fn question(&self) -> String {
        let mut question = String::new();
        for (index, varied) in self.varied.iter().enumerate() {
            let (last, first) = match varied.levels.as_slice() {
                [first @ .., last] => (last.name.as_str(), first),
                [] => continue,
            };
            let first: Vec<&str> = first.iter().map(|level| level.name.as_str()).collect();
            let levels = format!("{} or {last}", first.join(", "));
            let faster = if first.len() > 1 { "fastest" } else { "faster" };
            let name = if varied.is_named_by_its_levels() { "" } else { varied.name.as_str() };
            let part = match (index, name) {
                (0, "") => format!("Which is {faster}: {levels}"),
                (0, name) => format!("Which {name} is {faster}: {levels}"),
                (_, _) => format!(", with each {}: {levels}", varied.name),
            };
            question.push_str(&part);
        }
        match &self.load.summary {
            Some(summary) => format!("{question}; under {summary}?"),
            None => question + "?",
        }
    }

    fn baseline(&self) -> String {
        let first = || {
            let varied = self.varied.first()?;
            let level = &varied.levels.first()?.name;
            let is_elsewhere = |other: &&Varied| other.levels.iter().any(|one| one.name == *level);
            let is_shared = self.varied.iter().skip(1).any(|other| is_elsewhere(&other));
            Some(if is_shared { format!("{}={level}", varied.name) } else { level.clone() })
        };
        self.baseline.clone().or_else(first).unwrap_or_default()
    }

    /// Whether the levels leave it open which filesystem is made.
    fn needs_filesystem(&self) -> bool {
        !self.varied.iter().any(Varied::is_of_filesystems)
    }
}

/// A text as TOML writes it, on one line: a basic string, which takes JSON's escapes (TOML 1.0, "String"; RFC 8259, 7).
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A key as TOML writes it: bare where that is possible.
pub(crate) fn key(text: &str) -> String {
    let is_bare = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { text.to_owned() } else { quoted(text) }
}
