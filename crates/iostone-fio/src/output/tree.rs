//! A JSON document whose keys keep their order, written in fio's layout.

use std::fmt::{self, Write as _};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Integer(u64),
    /// Six digits after the point, as C's `%f`; what is not finite is 0.
    Real(f64),
    Truth(bool),
    Object(Object),
    Array(Vec<Node>),
}

/// Keys and values in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Object(Vec<(String, Node)>);

impl Object {
    pub(super) fn put(&mut self, key: impl Into<String>, value: impl Into<Node>) {
        self.0.push((key.into(), value.into()));
    }
}

impl<K: Into<String>, V: Into<Node>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Node {
    fn from(integer: u64) -> Self {
        Self::Integer(integer)
    }
}

impl From<u32> for Node {
    fn from(integer: u32) -> Self {
        Self::Integer(integer.into())
    }
}

impl From<f64> for Node {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<bool> for Node {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Self>> for Node {
    fn from(array: Vec<Self>) -> Self {
        Self::Array(array)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_object(f, self, 0)
    }
}

fn indent(f: &mut fmt::Formatter<'_>, level: usize) -> fmt::Result {
    write!(f, "{:width$}", "", width = 2 * level)
}

fn write_object(f: &mut fmt::Formatter<'_>, object: &Object, level: usize) -> fmt::Result {
    f.write_str("{\n")?;
    for (index, (key, value)) in object.0.iter().enumerate() {
        if index > 0 {
            f.write_str(",\n")?;
        }
        indent(f, level + 1)?;
        write_text(f, key)?;
        f.write_str(" : ")?;
        write_node(f, value, level + 1)?;
    }
    f.write_char('\n')?;
    indent(f, level)?;
    f.write_char('}')
}

fn write_array(f: &mut fmt::Formatter<'_>, nodes: &[Node], level: usize) -> fmt::Result {
    f.write_str("[\n")?;
    for (index, node) in nodes.iter().enumerate() {
        if index > 0 {
            f.write_str(",\n")?;
        }
        indent(f, level + 1)?;
        write_node(f, node, level + 1)?;
    }
    f.write_char('\n')?;
    indent(f, level)?;
    f.write_char(']')
}

fn write_node(f: &mut fmt::Formatter<'_>, node: &Node, level: usize) -> fmt::Result {
    match node {
        Node::Text(text) => write_text(f, text),
        Node::Integer(integer) => write!(f, "{integer}"),
        Node::Real(real) if real.is_finite() => write!(f, "{real:.6}"),
        Node::Real(_) => f.write_str("0.000000"),
        Node::Truth(truth) => write!(f, "{truth}"),
        Node::Object(object) => write_object(f, object, level),
        Node::Array(nodes) => write_array(f, nodes, level),
    }
}

/// A string by RFC 8259, section 7.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            control if control.is_ascii_control() => write!(f, "\\u{:04x}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_fio() {
        let mut inner = Object::default();
        inner.put("min", 3u64);
        inner.put("mean", 1.5);
        let mut object = Object::default();
        object.put("fio version", "fio-3.33");
        object.put("jobs", vec![Node::Object(inner)]);
        let expected = "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : [\n    {\n      \"min\" : 3,\n      \
                        \"mean\" : 1.500000\n    }\n  ]\n}";
        assert_eq!(object.to_string(), expected);
    }

    #[test]
    fn any_text_reads_back_and_no_number_is_beyond_json() {
        let mut object = Object::default();
        object.put("a\"b", "c\\d\n\u{1}é");
        object.put("nan", f64::NAN);
        let read: serde_json::Value = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(read, serde_json::json!({"a\"b": "c\\d\n\u{1}é", "nan": 0.0}));
    }
}
