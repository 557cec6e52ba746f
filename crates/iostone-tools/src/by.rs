//! Conditions in file names: a pattern such as `{condition}-{run}.log` says which part of a name is what.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path};
use std::str::FromStr;

use regex::Regex;

/// A pattern for file names: text that stands there as it is, and fields.
///
/// `{name}` is one character or more, as few as possible; `{run}`, `{block}` and `{order}` set those fields of an
/// observation, every other name is a label. `{_}` is skipped, as is `*`, which may also be nothing. `{{` and `}}` are
/// braces. With a `/` in it, a pattern is for as many trailing parts of the path.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    fields: Vec<Field>,
    /// For each part of the path, from the last one back: with `{run}` as digits, and with it as anything.
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    strict: Regex,
    loose: Regex,
    /// The fields of this part by their places in [`Pattern::fields`], in the order of the groups.
    fields: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    Run,
    Block,
    Order,
    Label(String),
}

/// What a name says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Named {
    /// Labels, which are factors.
    pub labels: BTreeMap<String, String>,
    /// Which repetition it is.
    pub run: Option<String>,
    /// Which block it belongs to.
    pub block: Option<u64>,
    /// Where it stands in time.
    pub order: Option<f64>,
}

/// What is wrong with a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A brace is left open, or one closes nothing.
    #[error(
        "pattern `{pattern}`: `{{` and `}}` must pair up, as in `{{condition}}-{{run}}.log`; a brace itself is written twice"
    )]
    Unpaired {
        /// The pattern.
        pattern: String,
    },
    /// A field's name is empty or has other characters than letters, digits, `_`, `-` and `.`.
    #[error("pattern `{pattern}`: `{{{name}}}` is no field; its name needs letters, digits, `_`, `-` or `.`")]
    Name {
        /// The pattern.
        pattern: String,
        /// What stands between the braces.
        name: String,
    },
    /// The same name twice.
    #[error("pattern `{pattern}`: `{{{name}}}` stands twice; a part to be skipped is `{{_}}` or `*`")]
    Twice {
        /// The pattern.
        pattern: String,
        /// The field's name.
        name: String,
    },
    /// Nothing parts two fields.
    #[error(
        "pattern `{pattern}`: between `{first}` and `{second}` text must stand, so that it is clear where one ends"
    )]
    Adjacent {
        /// The pattern.
        pattern: String,
        /// The first of the two.
        first: String,
        /// The second.
        second: String,
    },
    /// Not one field with a name.
    #[error("pattern `{pattern}` names no field; expected one as in `{{condition}}-{{run}}.log`")]
    Fieldless {
        /// The pattern.
        pattern: String,
    },
    /// Parts that no file's path has.
    #[error("pattern `{pattern}`: every part between `/` must be the name of a folder or file")]
    Parts {
        /// The pattern.
        pattern: String,
    },
}

/// Why a file's name says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is not as the pattern says.
    #[error("its name `{name}` does not match the pattern `{pattern}`")]
    Unlike {
        /// As much of the path as the pattern is for.
        name: String,
        /// The pattern.
        pattern: String,
    },
    /// A block or an order that is no number.
    #[error(
        "its name `{name}` has `{found}` for `{{{field}}}` of the pattern `{pattern}`, which must be a number"
    )]
    Number {
        /// As much of the path as the pattern is for.
        name: String,
        /// The pattern.
        pattern: String,
        /// `block` or `order`.
        field: &'static str,
        /// What stands there.
        found: String,
    },
}

/// A piece of a part of a pattern.
enum Piece {
    Text(char),
    Field(Field),
    Skip { may_be_nothing: bool },
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let pattern = || text.to_owned();
        let mut fields: Vec<Field> = Vec::new();
        let mut parts = Vec::new();
        for part in split_parts(text) {
            if part.is_empty() || part == "." || part == ".." {
                return Err(PatternError::Parts { pattern: pattern() });
            }
            let pieces = read_pieces(text, part)?;
            let mut places = Vec::new();
            for piece in &pieces {
                let Piece::Field(field) = piece else { continue };
                if fields.contains(field) {
                    return Err(PatternError::Twice { pattern: pattern(), name: field.name().to_owned() });
                }
                places.push(fields.len());
                fields.push(field.clone());
            }
            let compile = |strict| {
                // Too large a pattern is the only thing that could be wrong with text that was escaped.
                Regex::new(&expression(&pieces, strict))
                    .map_err(|_| PatternError::Parts { pattern: pattern() })
            };
            parts.push(Part { strict: compile(true)?, loose: compile(false)?, fields: places });
        }
        if fields.is_empty() {
            return Err(PatternError::Fieldless { pattern: pattern() });
        }
        parts.reverse();
        Ok(Self { text: pattern(), fields, parts })
    }
}

/// Parts are separated by `/` outside braces: in a field's name it is an error that the name explains.
fn split_parts(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|symbol| {
        inside = symbol == '{' || (inside && symbol != '}');
        symbol == '/' && !inside
    })
    .collect()
}

fn read_pieces(pattern: &str, part: &str) -> Result<Vec<Piece>, PatternError> {
    let unpaired = || PatternError::Unpaired { pattern: pattern.to_owned() };
    let mut pieces: Vec<Piece> = Vec::new();
    // The field or skipped stretch that the next one would touch.
    let mut touching: Option<String> = None;
    let mut rest = part;
    while let Some(symbol) = rest.chars().next() {
        let (length, piece) = if rest.starts_with("{{") || rest.starts_with("}}") {
            (2, Piece::Text(symbol))
        } else if symbol == '{' {
            let end = rest.find('}').ok_or_else(unpaired)?;
            let name = rest.get(1..end).unwrap_or_default();
            (end + 1, named_piece(pattern, name)?)
        } else if symbol == '}' {
            return Err(unpaired());
        } else if symbol == '*' {
            (1, Piece::Skip { may_be_nothing: true })
        } else {
            (symbol.len_utf8(), Piece::Text(symbol))
        };
        let (written, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = left;
        if matches!(piece, Piece::Text(_)) {
            touching = None;
        } else if let Some(first) = touching.replace(written.to_owned()) {
            let second = written.to_owned();
            return Err(PatternError::Adjacent { pattern: pattern.to_owned(), first, second });
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// What stands between braces.
fn named_piece(pattern: &str, name: &str) -> Result<Piece, PatternError> {
    if name.contains('{') {
        return Err(PatternError::Unpaired { pattern: pattern.to_owned() });
    }
    let known = |symbol: char| symbol.is_alphanumeric() || "_-.".contains(symbol);
    if name.is_empty() || !name.chars().all(known) {
        return Err(PatternError::Name { pattern: pattern.to_owned(), name: name.to_owned() });
    }
    Ok(if name == "_" { Piece::Skip { may_be_nothing: false } } else { Piece::Field(Field::of(name)) })
}

/// A part as a regular expression: text as it is, fields as short as possible. Strictly, what should be a number is
/// digits, so that `{condition}-{run}` parts `barrier-off-3` where it is meant to.
fn expression(pieces: &[Piece], strict: bool) -> String {
    let mut expression = r"(?s)\A".to_owned();
    for piece in pieces {
        match piece {
            Piece::Text(symbol) => expression.push_str(&regex::escape(symbol.encode_utf8(&mut [0; 4]))),
            Piece::Skip { may_be_nothing: true } => expression.push_str(".*?"),
            Piece::Skip { may_be_nothing: false } => expression.push_str(".+?"),
            Piece::Field(Field::Run | Field::Block) if strict => expression.push_str("([0-9]+?)"),
            Piece::Field(Field::Order) if strict => expression.push_str(r"([0-9]+?(?:\.[0-9]+?)?)"),
            Piece::Field(_) => expression.push_str("(.+?)"),
        }
    }
    expression.push_str(r"\z");
    expression
}

impl Field {
    fn of(name: &str) -> Self {
        match name {
            "run" => Self::Run,
            "block" => Self::Block,
            "order" => Self::Order,
            label => Self::Label(label.to_owned()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Run => "run",
            Self::Block => "block",
            Self::Order => "order",
            Self::Label(label) => label,
        }
    }
}

impl Pattern {
    /// The labels that it names, which are varied on purpose.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter_map(|field| match field {
            Field::Label(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// What the name of a file says: the last part of its path, or as many as the pattern has.
    ///
    /// # Errors
    /// A name that does not match, or that has no number where one must be.
    pub fn read(&self, path: &Path) -> Result<Named, NameError> {
        let parts: Vec<String> = path
            .components()
            .rev()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(OsStr::to_string_lossy(name).into_owned()),
                _ => None,
            })
            .take(self.parts.len())
            .collect();
        let name = parts.iter().rev().map(String::as_str).collect::<Vec<_>>().join("/");
        let unlike = || NameError::Unlike { name: name.clone(), pattern: self.text.clone() };
        if parts.len() < self.parts.len() {
            return Err(unlike());
        }
        let mut named = Named::default();
        for (part, text) in self.parts.iter().zip(&parts) {
            let captures =
                part.strict.captures(text).or_else(|| part.loose.captures(text)).ok_or_else(unlike)?;
            for (group, field) in part.fields.iter().enumerate() {
                let value = captures.get(group + 1).map_or("", |found| found.as_str());
                self.set(&mut named, *field, value, &name)?;
            }
        }
        Ok(named)
    }

    fn set(&self, named: &mut Named, field: usize, value: &str, name: &str) -> Result<(), NameError> {
        let no_number = |field| NameError::Number {
            name: name.to_owned(),
            pattern: self.text.clone(),
            field,
            found: value.to_owned(),
        };
        match self.fields.get(field) {
            Some(Field::Run) => named.run = Some(value.to_owned()),
            Some(Field::Block) => named.block = Some(value.parse().map_err(|_| no_number("block"))?),
            Some(Field::Order) => {
                let order = value.parse::<f64>().ok().filter(|order| order.is_finite());
                named.order = Some(order.ok_or_else(|| no_number("order"))?);
            }
            Some(Field::Label(label)) => {
                named.labels.insert(label.clone(), value.to_owned());
            }
            None => {}
        }
        Ok(())
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
