//! The outer form of a job file: sections, lines, comments, `include`.
//!
//! As fio reads it: a comment begins at the first `;` or `#` of a line, wherever that is; blanks and control characters
//! around a line go; a section's name starting with `global` sets defaults; an included file may hold options only, and
//! is looked for as written, then beside the file that includes it.

use std::sync::Arc;

use crate::place::Place;
use crate::problem::{Problem, Reason};
use crate::world::{Files, LARGEST_FILE_BYTES};

/// A section as it was written.
#[derive(Debug, Clone)]
pub struct RawSection {
    /// What stands between the brackets.
    pub name: String,
    /// Where that stands.
    pub place: Place,
    /// Its options, those of included files among them.
    pub lines: Vec<RawLine>,
}

/// One option as it was written.
#[derive(Debug, Clone)]
pub struct RawLine {
    /// `name=value`, without comment and blanks around it.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

impl RawSection {
    /// Whether it sets defaults for the sections behind it.
    pub fn is_global(&self) -> bool {
        is_global(&self.name)
    }
}

impl RawLine {
    /// The option's first name, whatever alias it was written by, and its value; no value where there is no `=`.
    pub fn option(&self) -> (&str, Option<&str>) {
        let (name, value) = match self.text.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim())),
            None => (self.text.trim_end(), None),
        };
        (crate::table::find(name).map_or(name, |option| option.name), value)
    }
}

/// fio looks at the first six letters.
pub(crate) fn is_global(name: &str) -> bool {
    name.starts_with("global")
}

/// How deep files may include each other.
const DEEPEST: usize = 32;
/// How many files and options one job file may draw in, so that files that include each other twice come to an end.
const MOST_FILES: usize = 1_000;
const MOST_LINES: usize = 200_000;
/// The most sections; fio runs as many jobs at most.
const MOST_SECTIONS: usize = 4_096;
/// The longest name that fio keeps.
const LONGEST_NAME: usize = 255;

/// Reads one job file, whatever its options mean: sections in order, with included files in their places, and what
/// fio would not accept of its outer form.
pub fn read_sections(path: &str, files: &dyn Files) -> (Vec<RawSection>, Vec<Problem>) {
    let mut reader =
        Reader { files, sections: Vec::new(), problems: Vec::new(), open: Vec::new(), seen: 0, lines: 0 };
    let name: Arc<str> = path.into();
    match reader.load(path, &name) {
        Ok(lines) => {
            reader.open.push(path.to_owned());
            reader.read_file(&lines);
        }
        Err(reason) => reader.problems.push(Problem::new(&Place::in_file(&name, 1, 1), reason)),
    }
    (reader.sections, reader.problems)
}

struct Reader<'a> {
    files: &'a dyn Files,
    sections: Vec<RawSection>,
    problems: Vec<Problem>,
    /// The files that are being read, the outermost first.
    open: Vec<String>,
    seen: usize,
    lines: usize,
}

/// A line without comment and blanks, never empty.
struct Line {
    text: Result<String, String>,
    place: Place,
}

impl Reader<'_> {
    fn load(&mut self, path: &str, name: &Arc<str>) -> Result<Vec<Line>, Reason> {
        let bytes = self
            .files
            .read(path)
            .map_err(|error| Reason::CannotRead { path: path.to_owned(), why: error.to_string() })?;
        self.seen += 1;
        if bytes.len() as u64 > LARGEST_FILE_BYTES {
            return Err(Reason::TooLarge { why: "it passes 16 MiB".into() });
        }
        if self.seen > MOST_FILES {
            return Err(Reason::TooLarge { why: format!("more than {MOST_FILES} files are drawn in") });
        }
        Ok(split_lines(&bytes, name))
    }

    fn read_file(&mut self, lines: &[Line]) {
        // Lines under a section that could not be read belong to nothing, and are not complained about again.
        let mut inside = false;
        let mut complained = false;
        for line in lines {
            if self.is_full(&line.place) {
                return;
            }
            match &line.text {
                Err(why) => self.refuse(&line.place, Reason::NotText { why: why.clone() }),
                Ok(text) if text.starts_with('[') => {
                    inside = self.open_section(text, &line.place);
                    complained |= !inside;
                }
                Ok(text) if inside => self.read_line(text, &line.place),
                Ok(_) if complained => {}
                Ok(text) => {
                    self.refuse(&line.place, Reason::OutsideSection { text: shorten(text) });
                    complained = true;
                }
            }
        }
    }

    fn is_full(&mut self, place: &Place) -> bool {
        let why = if self.sections.len() > MOST_SECTIONS {
            format!("it has more than {MOST_SECTIONS} sections")
        } else if self.lines > MOST_LINES {
            format!("it has more than {MOST_LINES} options")
        } else {
            return false;
        };
        if !matches!(self.problems.last(), Some(Problem { reason: Reason::TooLarge { .. }, .. })) {
            self.refuse(place, Reason::TooLarge { why });
        }
        true
    }

    fn open_section(&mut self, text: &str, place: &Place) -> bool {
        let name = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let why = match name {
            None if text.contains(']') => "nothing may stand behind the `]`",
            None => "the `]` is missing",
            Some("") => "the name is missing",
            Some(name) if name.len() > LONGEST_NAME => "the name is longer than 255 bytes",
            Some(name) => {
                self.sections.push(RawSection {
                    name: name.to_owned(),
                    place: place.clone(),
                    lines: Vec::new(),
                });
                return true;
            }
        };
        self.refuse(place, Reason::BadSection { text: shorten(text), why: why.into() });
        false
    }

    fn read_line(&mut self, text: &str, place: &Place) {
        self.lines += 1;
        if let Some(behind) = text.strip_prefix("include")
            && (behind.is_empty() || behind.starts_with(['=', ' ', '\t']))
        {
            let path = behind.strip_prefix('=').unwrap_or(behind).trim();
            if let Err(reason) = self.include(path) {
                self.refuse(place, reason);
            }
        } else if let Some(section) = self.sections.last_mut() {
            section.lines.push(RawLine { text: text.to_owned(), place: place.clone() });
        }
    }

    fn include(&mut self, path: &str) -> Result<(), Reason> {
        let bad = |why: String| Reason::BadInclude { why };
        if path.is_empty() {
            return Err(bad("the name of a file is missing".into()));
        }
        let path = self.find(path);
        if self.open.contains(&path) {
            return Err(bad(format!("`{path}` would include itself")));
        }
        if self.open.len() >= DEEPEST {
            return Err(bad(format!("files include each other more than {DEEPEST} deep")));
        }
        let name: Arc<str> = path.as_str().into();
        let lines = self.load(&path, &name)?;
        self.open.push(path);
        for line in &lines {
            if self.is_full(&line.place) {
                break;
            }
            match &line.text {
                Err(why) => self.refuse(&line.place, Reason::NotText { why: why.clone() }),
                Ok(text) if text.starts_with('[') => {
                    let why = "a file that is included holds options only";
                    self.refuse(&line.place, Reason::BadSection { text: shorten(text), why: why.into() });
                    break;
                }
                Ok(text) => self.read_line(text, &line.place),
            }
        }
        self.open.pop();
        Ok(())
    }

    fn find(&self, path: &str) -> String {
        let beside = self
            .open
            .last()
            .and_then(|file| file.rsplit_once('/'))
            .map(|(folder, _)| format!("{folder}/{path}"));
        match beside {
            Some(beside) if !self.files.exists(path) => beside,
            _ => path.to_owned(),
        }
    }

    fn refuse(&mut self, place: &Place, reason: Reason) {
        self.problems.push(Problem::new(place, reason));
    }
}

fn split_lines(bytes: &[u8], name: &Arc<str>) -> Vec<Line> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Vec::new();
    for (number, line) in (1_u32..).zip(bytes.split(|byte| *byte == b'\n')) {
        // What is behind a comment's sign may be anything.
        let end = line.iter().position(|byte| matches!(byte, b';' | b'#')).unwrap_or(line.len());
        let line = &line[..end];
        let start = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
        if start == end {
            continue;
        }
        let column = |at: usize| {
            u32::try_from(String::from_utf8_lossy(&line[..at]).chars().count() + 1).unwrap_or(u32::MAX)
        };
        let kept = &line[start..end];
        let (text, at) = match std::str::from_utf8(kept) {
            Ok(text) => match text.find('\0') {
                None => (Ok(text.to_owned()), start),
                Some(at) => (Err("it holds a zero byte".to_owned()), start + at),
            },
            Err(error) => (Err("it holds bytes that are not UTF-8".to_owned()), start + error.valid_up_to()),
        };
        lines.push(Line { text, place: Place::in_file(name, number, column(at)) });
    }
    lines
}

/// What fio strips: blanks and control characters.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b || (byte.is_ascii_control() && byte != 0)
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}
