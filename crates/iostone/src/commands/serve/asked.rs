//! What the query of an address asks for: read like options of a command line, by the same parser.

use clap::Parser;
use iostone_report::site::{Field, address_part};

use crate::cli::{Cli, Command};

/// More than any form here has.
const MOST_PARTS: usize = 64;

/// The parameters of an address, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked(Vec<(String, String)>);

impl Asked {
    /// Reads the query of an address as forms write it (application/x-www-form-urlencoded).
    pub(super) fn of(query: Option<&str>) -> Self {
        let parts = query.unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(name), decoded(value))
        };
        Self(parts.take(MOST_PARTS).map(pair).collect())
    }

    /// The first value of that name, without spaces around it; empty if there is none.
    pub(super) fn first<'a>(&'a self, name: &str) -> &'a str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// Every value of that name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A field with what was typed into it.
    pub(super) fn field(&self, name: &'static str, label: &'static str, hint: &'static str) -> Field {
        Field { name, label, value: self.first(name).to_owned(), hint }
    }

    /// The address of the same with another value, which an empty one leaves out.
    pub(super) fn address_with(&self, path: &str, name: &str, value: &str) -> String {
        let kept = self.0.iter().filter(|(known, typed)| known != name && !typed.is_empty());
        let parts = kept.map(|(known, typed)| (known.as_str(), typed.as_str())).chain([(name, value)]);
        let parts: Vec<String> = parts
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{}={}", address_part(name), address_part(value)))
            .collect();
        if parts.is_empty() { path.to_owned() } else { format!("{path}?{}", parts.join("&")) }
    }

    /// The options that were typed into, as words of a command line. A value is within its option's word, so that it can be no
    /// other option.
    pub(super) fn options(&self, names: &[&str], several: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        for name in names {
            let typed = self.first(name);
            let values: Vec<&str> =
                if several.contains(name) { typed.split_whitespace().collect() } else { vec![typed] };
            words.extend(
                values.iter().filter(|value| !value.is_empty()).map(|value| format!("--{name}={value}")),
            );
        }
        words
    }
}

/// A command with such options, or what is wrong with them in a sentence.
pub(super) fn command(name: &str, options: &[String]) -> Result<Command, String> {
    let words = ["iostone", name].into_iter().map(str::to_owned).chain(options.iter().cloned());
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Some(command), .. }) => Ok(command),
        Ok(_) => Err("nothing was asked".to_owned()),
        Err(error) => {
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            Err(first.strip_prefix("error: ").unwrap_or(first).trim().to_owned())
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        // `from_str_radix` takes a sign, which is no digit.
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_forms_write_it() {
        let asked = Asked::of(Some("q=a+b%2Bc%26&run=%C3%A4&run=%zz%+1&empty=&alone"));
        assert_eq!((asked.first("q"), asked.first("empty"), asked.first("alone")), ("a b+c&", "", ""));
        assert_eq!(asked.all("run").collect::<Vec<_>>(), ["ä", "%zz% 1"]);
        assert_eq!(
            asked.address_with("/", "page", "2"),
            "/?q=a%20b%2Bc%26&run=%C3%A4&run=%25zz%25%201&page=2"
        );
    }

    #[test]
    fn a_value_is_no_option() {
        let asked = Asked::of(Some("experiment=--runs%3D/etc&tag=a+b"));
        let options = asked.options(&["experiment", "tag"], &["tag"]);
        assert_eq!(options, ["--experiment=--runs=/etc", "--tag=a", "--tag=b"]);
        assert!(command("list", &options).is_ok());
        let wrong = command("list", &["--since=yesterday".to_owned()]).unwrap_err();
        assert!(wrong.starts_with("invalid value 'yesterday'"), "{wrong}");
    }
}
