//! Edits of a JSON document that mostly keep its shape, so that a mutated record is often still a record.

use arbitrary::{Result, Unstructured};
use serde_json::{Number, Value};

/// Figures at the edges of their types.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "-0.0",
    "1e-320",
    "2.2250738585072014e-308",
    "1e-9",
    "1e9",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
];

/// Texts that break layouts, terminals and pages. `<fuzz` is what no page may contain.
const TEXTS: &[&str] = &[
    "",
    " ",
    "<fuzz>",
    "\"><fuzz x='",
    "</script><fuzz>",
    "]]><fuzz>",
    "&lt;fuzz>",
    "\u{1b}[31m\u{7}",
    "a\nb\r\n\tc\0",
    "\u{202e}\u{200b}e\u{301}",
    "日本語の長い名前",
    "👩‍👩‍👧‍👦",
    "a-very-long-name-without-any-place-to-break-it-a-very-long-name-without-any-place-to-break-it",
];

/// Changes one node of the document, chosen by the input.
///
/// # Errors
/// The input has run out.
pub fn edit_json(document: &mut Value, input: &mut Unstructured<'_>) -> Result<()> {
    let mut node = document;
    loop {
        let stop = input.ratio(1u8, 12)?;
        let length = match &*node {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if stop || length == 0 {
            return change(node, input);
        }
        let index = input.choose_index(length)?;
        let inner = match node {
            Value::Array(items) => items.get_mut(index),
            Value::Object(fields) => fields.values_mut().nth(index),
            _ => None,
        };
        node = inner.expect("the index is below the length");
    }
}

fn change(node: &mut Value, input: &mut Unstructured<'_>) -> Result<()> {
    if input.ratio(1u8, 16)? {
        *node = Value::Null;
        return Ok(());
    }
    match node {
        Value::Null => *node = if input.arbitrary()? { number(input)? } else { text(input)? },
        Value::Bool(value) => *value = !*value,
        Value::Number(_) => *node = number(input)?,
        Value::String(_) => *node = text(input)?,
        Value::Array(items) => change_list(items, input)?,
        Value::Object(fields) => {
            let name = fields.keys().nth(input.choose_index(fields.len().max(1))?).cloned();
            if let Some(value) = name.and_then(|name| fields.remove(&name))
                && input.arbitrary()?
                && let Value::String(name) = text(input)?
            {
                fields.insert(name, value);
            }
        }
    }
    Ok(())
}

fn change_list(items: &mut Vec<Value>, input: &mut Unstructured<'_>) -> Result<()> {
    if items.is_empty() {
        let item = number(input)?;
        items.push(item);
        return Ok(());
    }
    let (one, other) = (input.choose_index(items.len())?, input.choose_index(items.len())?);
    match input.int_in_range(0..=4u8)? {
        0 => items.clear(),
        1 => items.truncate(one),
        2 => items.swap(one, other),
        3 => {
            items.remove(one);
        }
        _ => items.insert(other, items[one].clone()),
    }
    Ok(())
}

fn number(input: &mut Unstructured<'_>) -> Result<Value> {
    if input.arbitrary()? {
        let known: Number = serde_json::from_str(input.choose(NUMBERS)?).expect("each is a number");
        return Ok(Value::Number(known));
    }
    // JSON has no number that is not finite.
    Ok(Number::from_f64(input.arbitrary()?).map_or_else(|| Value::from(7), Value::Number))
}

fn text(input: &mut Unstructured<'_>) -> Result<Value> {
    if input.ratio(3u8, 4)? {
        return Ok(Value::from(*input.choose(TEXTS)?));
    }
    let length = input.int_in_range(0..=24usize)?;
    Ok(Value::String(String::from_utf8_lossy(input.bytes(length.min(input.len()))?).into_owned()))
}
