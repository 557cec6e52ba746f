//! Wrong experiment files: each with everything that is said of it. A wrong file never touches anything.

mod form;
mod sense;
mod shapes;
mod volumes;

use std::fmt::Write;

use crate::support::{BARRIER, Bench, FLUSH_PRICE};

/// What is wrong, in a few words; the file; further arguments.
struct Case {
    name: &'static str,
    text: Vec<u8>,
    arguments: Vec<&'static str>,
}

impl Case {
    /// The same with lines before it.
    fn with(mut self, lines: &str) -> Self {
        self.text.splice(0..0, lines.bytes());
        self
    }
}

fn whole(name: &'static str, text: impl AsRef<[u8]>) -> Case {
    Case { name, text: text.as_ref().to_vec(), arguments: Vec::new() }
}

#[track_caller]
fn edited(name: &'static str, text: &str, old: &str, new: &str) -> Case {
    assert_eq!(text.matches(old).count(), 1, "`{old}` is not there once");
    whole(name, text.replace(old, new))
}

#[track_caller]
fn barrier(name: &'static str, old: &str, new: &str) -> Case {
    edited(name, BARRIER, old, new)
}

#[track_caller]
fn flush_price(name: &'static str, old: &str, new: &str) -> Case {
    edited(name, FLUSH_PRICE, old, new)
}

/// The barrier experiment without one of its sections.
fn without(section: &str) -> String {
    let (before, rest) = BARRIER.split_once(&format!("[{section}]\n")).unwrap();
    let after = rest.split_once("\n[").map_or(String::new(), |(_, after)| format!("[{after}"));
    format!("{before}{after}")
}

fn set(name: &'static str, settings: &[&'static str]) -> Case {
    let arguments = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    Case { arguments, ..whole(name, BARRIER) }
}

/// Tries each file, first without and then with the intent to run, and returns what was said.
fn complaints(cases: Vec<Case>) -> String {
    let mut all = String::new();
    for Case { name, text, arguments } in cases {
        let bench = Bench::new();
        bench.write("wrong.toml", &text);
        let with = |flag: &[&'static str]| {
            let arguments = [&["run", "wrong.toml"], flag, &arguments[..]].concat();
            bench.iostone(&arguments)
        };
        let said = with(&["--dry-run"]);
        assert_eq!(said.code, Some(2), "{name}:\n{}\n{}", said.stdout, said.stderr);
        assert_eq!(said.stdout, "", "{name}");
        assert!(!said.stderr.contains("panicked"), "{name}:\n{}", said.stderr);
        let again = with(&[]);
        assert_eq!((again.code, again.stderr), (Some(2), said.stderr.clone()), "{name}");
        assert_eq!(bench.names(), ["wrong.toml"], "{name} touched something");
        writeln!(all, "{:─<100}\n{}", format!("── {name} "), said.stderr.trim_end()).unwrap();
    }
    all
}
