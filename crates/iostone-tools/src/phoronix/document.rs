//! The parts of a result file, read from its XML without resolving anything outside of it.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

use crate::error::Malformed;

/// Its schema is five elements deep.
const DEEPEST: usize = 32;

const ROOT: &str = "PhoronixTestSuite";

/// A result file.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) systems: Vec<System>,
    pub(super) results: Vec<TestResult>,
}

/// What tests ran on.
#[derive(Debug, Default)]
pub(super) struct System {
    pub(super) identifier: String,
    /// `Processor: ..., Motherboard: ...`
    pub(super) hardware: String,
    /// `OS: ..., Kernel: ...`
    pub(super) software: String,
    pub(super) timestamp: String,
    pub(super) client_version: String,
}

/// One test with one set of options.
#[derive(Debug, Default)]
pub(super) struct TestResult {
    pub(super) identifier: String,
    pub(super) title: String,
    pub(super) app_version: String,
    pub(super) arguments: String,
    pub(super) description: String,
    pub(super) scale: String,
    /// `HIB` or `LIB`: higher or lower is better.
    pub(super) proportion: String,
    pub(super) display_format: String,
    pub(super) entries: Vec<Entry>,
}

/// The result of one system.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) line: u64,
    /// A system's.
    pub(super) identifier: String,
    pub(super) value: String,
    /// The value of each run, with colons in between.
    pub(super) raw: String,
}

impl TestResult {
    /// Courses over time, images and passes have another form of value and are no figures.
    pub(super) fn is_a_figure(&self) -> bool {
        matches!(self.display_format.as_str(), "" | "BAR_GRAPH" | "BAR_ANALYZE_GRAPH")
    }
}

impl Document {
    pub(super) fn read(text: &str) -> Result<Self, Malformed> {
        let mut document = Self::default();
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut path: Vec<String> = Vec::new();
        let mut content = String::new();
        let mut lines = Lines { text, counted: 0, line: 1 };
        loop {
            let event = reader.read_event();
            let line = lines.at(reader.buffer_position());
            match event.map_err(|error| Malformed::new(line, "well-formed XML", &error.to_string()))? {
                Event::Start(tag) => {
                    path.push(String::from_utf8_lossy(tag.name().as_ref()).into_owned());
                    content.clear();
                    if path.len() > DEEPEST {
                        return Err(Malformed::new(line, "elements at most 32 deep", path.last_name()));
                    }
                    if path.first().is_some_and(|root| root != ROOT) {
                        return Err(Malformed::new(line, "`<PhoronixTestSuite>`", path.last_name()));
                    }
                    document.begin(&path, line);
                }
                Event::End(_) => {
                    document.end(&path, content.trim());
                    path.pop();
                    content.clear();
                }
                Event::Text(text) => content.push_str(&decoded(text.decode(), line)?),
                Event::CData(text) => content.push_str(&decoded(text.decode(), line)?),
                Event::GeneralRef(reference) => content.push_str(&resolve(&reference, line)?),
                Event::Eof if path.is_empty() => return Ok(document),
                Event::Eof => return Err(Malformed::at_end(line, format!("`</{}>`", path.last_name()))),
                // Nothing in a document type is read, so that its entities are unknown.
                Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Empty(_) => {}
            }
        }
    }

    fn begin(&mut self, path: &[String], line: u64) {
        match names(path).as_slice() {
            [ROOT, "System"] => self.systems.push(System::default()),
            [ROOT, "Result"] => self.results.push(TestResult::default()),
            [ROOT, "Result", "Data", "Entry"] => {
                if let Some(result) = self.results.last_mut() {
                    result.entries.push(Entry { line, ..Entry::default() });
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, path: &[String], content: &str) {
        let slot = match names(path).as_slice() {
            [ROOT, "System", name] => self.systems.last_mut().and_then(|system| match *name {
                "Identifier" => Some(&mut system.identifier),
                "Hardware" => Some(&mut system.hardware),
                "Software" => Some(&mut system.software),
                "TimeStamp" => Some(&mut system.timestamp),
                "TestClientVersion" => Some(&mut system.client_version),
                _ => None,
            }),
            [ROOT, "Result", name] => self.results.last_mut().and_then(|result| match *name {
                "Identifier" => Some(&mut result.identifier),
                "Title" => Some(&mut result.title),
                "AppVersion" => Some(&mut result.app_version),
                "Arguments" => Some(&mut result.arguments),
                "Description" => Some(&mut result.description),
                "Scale" => Some(&mut result.scale),
                "Proportion" => Some(&mut result.proportion),
                "DisplayFormat" => Some(&mut result.display_format),
                _ => None,
            }),
            [ROOT, "Result", "Data", "Entry", name] => {
                let entry = self.results.last_mut().and_then(|result| result.entries.last_mut());
                entry.and_then(|entry| match *name {
                    "Identifier" => Some(&mut entry.identifier),
                    "Value" => Some(&mut entry.value),
                    "RawString" => Some(&mut entry.raw),
                    _ => None,
                })
            }
            _ => None,
        };
        if let Some(slot) = slot {
            content.clone_into(slot);
        }
    }
}

fn names(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// The name of the innermost element.
trait LastName {
    fn last_name(&self) -> &str;
}

impl LastName for Vec<String> {
    fn last_name(&self) -> &str {
        self.last().map_or("", String::as_str)
    }
}

fn decoded<T, E: std::fmt::Display>(text: Result<T, E>, line: u64) -> Result<T, Malformed> {
    text.map_err(|error| Malformed::new(line, "UTF-8 text", &error.to_string()))
}

/// A character by its number, or one of the five that XML has names of.
fn resolve(reference: &BytesRef<'_>, line: u64) -> Result<String, Malformed> {
    let name = decoded(reference.decode(), line)?;
    let refused = || Malformed::new(line, "an entity of XML itself", &format!("&{name};"));
    if let Some(character) = reference.resolve_char_ref().map_err(|_| refused())? {
        return Ok(character.to_string());
    }
    resolve_predefined_entity(&name).map(str::to_owned).ok_or_else(refused)
}

/// Counts lines up to a position that only goes forward.
struct Lines<'a> {
    text: &'a str,
    counted: usize,
    line: u64,
}

impl Lines<'_> {
    fn at(&mut self, position: u64) -> u64 {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        let passed = self.text.get(self.counted..position).unwrap_or_default();
        self.line += passed.matches('\n').count() as u64;
        self.counted = self.counted.max(position);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Document::read(text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_but_the_entities_of_xml_is_resolved() {
        let text =
            "<PhoronixTestSuite>\n<Result><Title>a &lt; b &#38; c</Title></Result></PhoronixTestSuite>";
        assert_eq!(Document::read(text).unwrap().results[0].title, "a < b & c");
        let text = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/hostname\">]>\n<PhoronixTestSuite>\n<Result><Title>&x;</Title></Result></PhoronixTestSuite>";
        assert_eq!(error(text), "line 3: expected an entity of XML itself, found `&x;`");
    }

    #[test]
    fn what_is_not_well_formed_is_told_with_its_line() {
        assert_eq!(
            error("<PhoronixTestSuite>\n<Result>\n"),
            "line 3: expected `</Result>`, found the end of the file"
        );
        assert!(
            error("<PhoronixTestSuite>\n<Result></Entry>").starts_with("line 2: expected well-formed XML")
        );
        assert_eq!(error("<html>"), "line 1: expected `<PhoronixTestSuite>`, found `html`");
        let deep = format!("<PhoronixTestSuite>{}", "<a>".repeat(40));
        assert_eq!(error(&deep), "line 1: expected elements at most 32 deep, found `a`");
    }
}
