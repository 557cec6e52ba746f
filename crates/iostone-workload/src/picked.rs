//! Figures picked from what a program prints: by a regular expression, or by a JSON pointer.

use iostone_model::experiment::{OutputStream, PickedMetric};
use regex::Regex;
use serde_json::Value;

use crate::capture::is_cut;
use crate::program::Finished;

/// So much of the output is repeated where nothing was found in it.
const SHOWN_CHARACTERS: usize = 80;

/// One stream of a program.
struct Stream<'a> {
    name: &'static str,
    text: &'a str,
}

/// Picks a figure, in the base unit of its kind.
///
/// # Errors
/// A sentence: what was looked for and where, and how that stream begins.
pub(crate) fn pick(name: &str, metric: &PickedMetric, finished: &Finished) -> Result<f64, String> {
    let stream = match metric.from {
        OutputStream::Stdout => Stream { name: "standard output", text: &finished.stdout },
        OutputStream::Stderr => Stream { name: "standard error", text: &finished.stderr },
    };
    if is_cut(stream.text) {
        // What counts is the last match, and the end is what was not kept.
        return Err(format!(
            "`{name}` cannot be picked: the program printed more than 16 MiB to its {}",
            stream.name
        ));
    }
    let number = match (&metric.regex, &metric.pointer) {
        (Some(pattern), None) => by_expression(name, pattern, &stream)?,
        (None, Some(pointer)) => by_pointer(name, pointer, &stream)?,
        _ => return Err(format!("`{name}` is picked by either a `regex` or a `pointer`")),
    };
    let value = number * metric.unit.factor();
    if value.is_finite() { Ok(value) } else { Err(format!("`{name}` is {number}, which is no figure")) }
}

fn by_expression(name: &str, pattern: &str, stream: &Stream<'_>) -> Result<f64, String> {
    let expression = Regex::new(pattern).map_err(|error| format!("`{name}`: {error}"))?;
    let Some(captures) = expression.captures_iter(stream.text).last() else {
        return Err(format!("`{name}`: `{pattern}` matches nothing on {}", stream.beginning()));
    };
    let group = captures.get(1).map(|group| group.as_str()).unwrap_or_default();
    // Whether a comma groups thousands or begins the decimals is not for us to guess.
    group.trim().parse().map_err(|_| {
        format!(
            "`{name}`: the group of `{pattern}` holds `{}`, which is no number; let it hold digits, one point and an \
             exponent only",
            shortened(group)
        )
    })
}

fn by_pointer(name: &str, pointer: &str, stream: &Stream<'_>) -> Result<f64, String> {
    let document: Value = serde_json::from_str(stream.text)
        .map_err(|error| format!("`{name}`: no JSON ({error}) on {}", stream.beginning()))?;
    match document.pointer(pointer) {
        None => Err(format!("`{name}`: nothing stands at `{pointer}` in the JSON on {}", stream.beginning())),
        Some(Value::Number(number)) => {
            number.as_f64().ok_or_else(|| format!("`{name}`: {number} is too large to be kept"))
        }
        Some(other) => Err(format!(
            "`{name}`: at `{pointer}` stands `{}`, which is no number",
            shortened(&other.to_string())
        )),
    }
}

impl Stream<'_> {
    /// Its name and first characters.
    fn beginning(&self) -> String {
        if self.text.trim().is_empty() {
            return format!("{}, which is empty", self.name);
        }
        format!("{}, which begins `{}`", self.name, shortened(self.text.trim_start()))
    }
}

fn shortened(text: &str) -> String {
    let shown: String =
        text.chars().take(SHOWN_CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() < text.len() { format!("{}…", shown.trim_end()) } else { shown.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::experiment::{Workload, read};
    use std::time::Duration;

    use crate::CpuUse;

    fn finished(stdout: &str, stderr: &str) -> Finished {
        Finished {
            error: None,
            status: String::new(),
            wall: Duration::ZERO,
            cpu: CpuUse::default(),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            interrupted: false,
        }
    }

    /// The metric `x` of a command, as an experiment file declares it.
    fn metric(text: &str) -> PickedMetric {
        let file = format!(
            "name = \"t\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"f\"\n\
             levels = {{ a = {{ workload.argv = [\"a\"] }}, b = {{ workload.argv = [\"b\"] }} }}\n\
             [workload]\nkind = \"command\"\nargv = [\"a\"]\nmetrics = {{ x = {{ {text}, better = \"higher\" }} }}\n\
             [decide]\nmetric = \"x\"\nbaseline = \"a\"\n"
        );
        let experiment = read(&file, &[]).unwrap();
        let Workload::Command(command) = &experiment.configurations[0].workload else { panic!("a command") };
        command.metrics["x"].clone()
    }

    #[test]
    fn the_last_match_counts_in_base_units() {
        let rate = metric(r"regex = '(?m)^rate ([0-9.e+]+) MiB/s$', unit = 'MiB/s'");
        let printed = "rate 1.5 MiB/s\nrate 2 MiB/s\nrate 9 MB/s\n";
        assert_eq!(pick("x", &rate, &finished(printed, "")), Ok(2.0 * 1_048_576.0));
        let time = metric(r"regex = 'took ([0-9.]+) ms', unit = 'ms', from = 'stderr'");
        assert!((pick("x", &time, &finished("", "took 250 ms")).unwrap() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_pointer_leads_to_a_number() {
        let mean = metric("pointer = '/results/0/mean'");
        let document = r#"{ "results": [ { "mean": 1.25, "name": "a" } ] }"#;
        assert_eq!(pick("x", &mean, &finished(document, "")), Ok(1.25));
        let name = pick("x", &metric("pointer = '/results/0/name'"), &finished(document, "")).unwrap_err();
        assert_eq!(name, "`x`: at `/results/0/name` stands `\"a\"`, which is no number");
        let none = pick("x", &metric("pointer = '/nowhere'"), &finished(document, "")).unwrap_err();
        assert!(
            none.starts_with(
                "`x`: nothing stands at `/nowhere` in the JSON on standard output, which begins"
            )
        );
        let no_json = pick("x", &mean, &finished("hello", "")).unwrap_err();
        assert!(no_json.contains("no JSON") && no_json.ends_with("begins `hello`"), "{no_json}");
    }

    #[test]
    fn what_is_missing_or_no_number_is_said_and_not_guessed() {
        let rate = metric(r"regex = 'rate (\S+)'");
        let said = pick("x", &rate, &finished("", "rate 5")).unwrap_err();
        assert_eq!(said, r"`x`: `rate (\S+)` matches nothing on standard output, which is empty");
        let said = pick("x", &rate, &finished("rate 1,234.5", "")).unwrap_err();
        assert!(said.contains("holds `1,234.5`, which is no number"), "{said}");
        assert!(pick("x", &rate, &finished("rate inf", "")).unwrap_err().contains("no figure"));
    }

    #[test]
    fn output_that_was_not_kept_to_its_end_yields_no_figure() {
        let cut = finished("rate 1\n[7 more bytes were not kept]\n", "");
        let said = pick("x", &metric("regex = 'rate (.)'"), &cut).unwrap_err();
        assert!(said.contains("more than 16 MiB"), "{said}");
    }
}
