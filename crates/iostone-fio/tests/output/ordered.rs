//! A JSON document with the order of its keys, and its shape.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value that keeps the order of its keys and tells integers from reals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ordered {
    Text(String),
    Integer(i64),
    Real(f64),
    Truth(bool),
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
}

impl Ordered {
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// The value at a path of keys and indices.
    pub(crate) fn at(&self, path: &str) -> &Self {
        path.split('/').fold(self, |node, step| match node {
            Self::Object(pairs) => {
                &pairs.iter().find(|(key, _)| key == step).unwrap_or_else(|| panic!("no {step} of {path}")).1
            }
            Self::Array(nodes) => &nodes[step.parse::<usize>().unwrap()],
            other => panic!("{other:?} has no {step} of {path}"),
        })
    }

    pub(crate) fn number(&self) -> f64 {
        match self {
            Self::Integer(integer) => *integer as f64,
            Self::Real(real) => *real,
            other => panic!("{other:?} is no number"),
        }
    }

    pub(crate) fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Object(pairs) => pairs.iter().map(|(_, value)| value.number()).collect(),
            Self::Array(nodes) => nodes.iter().map(Self::number).collect(),
            other => panic!("{other:?} has no numbers"),
        }
    }

    /// Every path in order with the type that is there. Of `bins`, whose keys are what was measured, and of the
    /// options, which are the caller's, only that they are there; of `iostone`, which is no key of fio's, nothing.
    pub(crate) fn shape(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.add_shape("", &mut lines);
        lines
    }

    fn add_shape(&self, path: &str, lines: &mut Vec<String>) {
        match self {
            Self::Text(_) => lines.push(format!("{path}: text")),
            Self::Integer(_) => lines.push(format!("{path}: integer")),
            Self::Real(_) => lines.push(format!("{path}: real")),
            Self::Truth(_) => lines.push(format!("{path}: truth")),
            Self::Array(nodes) => {
                lines.push(format!("{path}: array"));
                for (index, node) in nodes.iter().enumerate() {
                    node.add_shape(&format!("{path}/{index}"), lines);
                }
            }
            Self::Object(pairs) => {
                lines.push(format!("{path}: object"));
                for (key, value) in pairs {
                    match key.as_str() {
                        "iostone" => {}
                        "bins" | "job options" | "global options" => {
                            lines.push(format!("{path}/{key}: object"));
                        }
                        _ => value.add_shape(&format!("{path}/{key}"), lines),
                    }
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Ordered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Ordered, E> {
        Ok(Ordered::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Ordered, E> {
        Ok(Ordered::Truth(truth))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Ordered, E> {
        Ok(Ordered::Integer(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Ordered, E> {
        Ok(Ordered::Integer(i64::try_from(integer).unwrap()))
    }

    fn visit_f64<E>(self, real: f64) -> Result<Ordered, E> {
        Ok(Ordered::Real(real))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Ordered::Object(pairs))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Ordered, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = sequence.next_element()? {
            nodes.push(node);
        }
        Ok(Ordered::Array(nodes))
    }
}
