//! What holds for all commands: help, the schema, the doctor, pipes and colours.

use serde_json::Value;

use crate::support::{BARRIER, Bench, FLUSH_PRICE, OPEN_LOOP, Said, assert_text};

const COMMANDS: &[&str] = &[
    "run",
    "compare",
    "gate",
    "new",
    "demo",
    "report",
    "list",
    "show",
    "diff",
    "history",
    "serve",
    "judge",
    "io",
    "fleet",
    "doctor",
    "cleanup",
    "schema",
    "completions",
    "man",
];

#[test]
fn help_names_every_command_and_exit_code() {
    let bench = Bench::new();
    let help = bench.iostone(&["--help"]).ended_with(0);
    assert_text("help", &help.stdout);
    for command in COMMANDS {
        let said = bench.iostone(&[command, "--help"]).ended_with(0);
        assert!(said.stdout.contains(&format!("Usage: iostone {command}")), "{}", said.stdout);
    }
    assert!(bench.iostone(&["--version"]).ended_with(0).stdout.starts_with("iostone "));
    bench.iostone(&["judgement"]).ended_with(2).complains_of("a similar subcommand exists: 'judge'");
    bench.iostone(&["run"]).ended_with(2).complains_of("<FILE | RECIPE>");
    bench.iostone(&["run", "a.toml", "--resume", "latest"]).ended_with(2).complains_of("cannot be used with");
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn the_schema_fits_the_shipped_experiments_and_no_mistyped_one() {
    let schema = Bench::new().iostone(&["schema"]).ended_with(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for (name, text) in [
        ("barrier", BARRIER),
        ("flush-price", FLUSH_PRICE),
        ("open-loop", OPEN_LOOP),
        ("cpu-limit", include_str!("../../../../experiments/cpu-limit.toml")),
        ("cpu-limit-sweep", include_str!("../../../../experiments/cpu-limit-sweep.toml")),
        ("build-by-instance", include_str!("../../../../experiments/build-by-instance.toml")),
        ("program", crate::runs::PROGRAM),
    ] {
        assert_eq!(misfits(text, &schema), Vec::<String>::new(), "{name}");
    }
    for (old, new) in [
        ("[decide]", "[decied]"),
        ("fdatasync = 1", "fdatasink = 1"),
        ("fdatasync = 1", "fdatasync = \"one\""),
        ("rw = \"randwrite\"", "rw = \"randomwrite\""),
        ("rw = \"randwrite\"", "rw = \"randwrite\"\nrate_iops = true"),
        ("kind = \"loop\"", "kind = \"lop\""),
        ("metric = \"iops\"\n", ""),
    ] {
        assert_ne!(misfits(&BARRIER.replace(old, new), &schema), Vec::<String>::new(), "{new}");
    }
}

fn misfits(experiment: &str, schema: &Value) -> Vec<String> {
    let file: Value = toml::from_str(experiment).unwrap();
    let mut found = Vec::new();
    fit(&file, schema, schema, "", &mut found);
    found
}

/// As much of JSON Schema as the types of experiment files need.
fn fit(value: &Value, schema: &Value, root: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(pointer) = schema["$ref"].as_str() {
        let target = root.pointer(pointer.trim_start_matches('#')).expect("a reference that leads somewhere");
        fit(value, target, root, path, found);
    }
    for alternatives in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema[alternatives].as_array() {
            let fits = alternatives.iter().any(|one| {
                let mut inner = Vec::new();
                fit(value, one, root, path, &mut inner);
                inner.is_empty()
            });
            if !fits {
                found.push(format!("{path} fits no alternative"));
            }
        }
    }
    let kind = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Null => "null",
    };
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![kind],
    };
    // A whole number is a number too.
    let fits = kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"));
    if !fits {
        found.push(format!("{path} is {kind}, not {kinds:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value)
        || schema["enum"].as_array().is_some_and(|values| !values.contains(value))
    {
        found.push(format!("{path} has another value"));
    }
    if let Some(members) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(key) {
                found.push(format!("{path} has no {key}"));
            }
        }
        for (key, member) in members {
            let path = format!("{path}.{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (None, Some(Value::Bool(false))) => found.push(format!("{path} is unknown")),
                (Some(inner), _) | (None, Some(inner @ Value::Object(_))) => {
                    fit(member, inner, root, &path, found);
                }
                (None, _) => {}
            }
        }
    }
    if let (Some(items), Some(inner)) = (value.as_array(), schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            fit(item, inner, root, &format!("{path}[{index}]"), found);
        }
    }
}

#[test]
fn the_doctor_names_what_is_there_and_what_is_missing() {
    let bench = Bench::new();
    let said = bench.iostone(&["doctor"]).ended_with(0);
    for name in ["Kernel", "root", "loop devices", "mkfs.ext4", "io_uring"] {
        assert!(said.stdout.contains(name), "`{name}` is not in:\n{}", said.stdout);
    }
    let diagnosis = bench.iostone(&["doctor", "--json"]).ended_with(0).json();
    assert_eq!(diagnosis["schema"], "iostone/doctor/1");
    for finding in diagnosis["findings"].as_array().unwrap() {
        let state = finding["state"].as_str().unwrap();
        assert!(["ready", "limited", "missing"].contains(&state), "{finding}");
        assert!(state != "missing" || finding["help"].is_string(), "nothing helps: {finding}");
    }
    assert_eq!(bench.names(), Vec::<String>::new(), "the doctor left something");
}

#[test]
fn a_clean_machine_has_nothing_to_undo() {
    let bench = Bench::new();
    assert_eq!(bench.iostone(&["cleanup"]).ended_with(0).stdout, "nothing to undo\n");
    assert_eq!(bench.iostone(&["cleanup", "--json"]).ended_with(0).json()["journals"], serde_json::json!([]));
}

/// A few commands of each sort of output.
fn outputs(bench: &Bench) -> Vec<Vec<&'static str>> {
    bench.write("wrong.toml", BARRIER.replace("[decide]", "[decied]"));
    bench.write("barrier.toml", BARRIER);
    bench.write("table.csv", "level,figure\na,1\nb,2\n");
    vec![
        vec!["--help"],
        vec!["run", "wrong.toml"],
        vec!["run", "barrier.toml", "--dry-run"],
        vec![
            "judge",
            "table.csv",
            "--by",
            "level",
            "--metric",
            "figure",
            "--better",
            "lower",
            "--baseline",
            "a",
        ],
        vec!["judge", "missing.csv", "--by", "level", "--metric", "figure", "--baseline", "a"],
        vec!["list"],
        vec!["doctor"],
        vec!["schema"],
        vec!["frobnicate"],
    ]
}

#[test]
fn pipes_get_no_escapes() {
    let bench = Bench::new();
    for arguments in outputs(&bench) {
        for no_colour in [false, true] {
            let mut command = bench.command(&arguments);
            if no_colour {
                command.env("NO_COLOR", "1").env("TERM", "xterm-256color");
            }
            let said = Said::from(command.output().unwrap());
            assert!(!(said.stdout + &said.stderr).contains('\u{1b}'), "{arguments:?}");
        }
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let bench = Bench::new();
    bench.write("experiment.toml", crate::runs::PROGRAM);
    let written = [vec!["run", "experiment.toml"], vec!["run", "experiment.toml", "--json"], vec!["list"]];
    for arguments in written.into_iter().chain(outputs(&bench)).chain([vec!["run", "--help"]]) {
        let expected = bench.iostone(&arguments);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let said = Said::from(bench.command(&arguments).stdout(full).output().unwrap());
        if expected.stdout.is_empty() {
            assert_eq!(said.code, expected.code, "{arguments:?}");
        } else {
            assert_eq!((expected.code, said.code), (Some(0), Some(1)), "{arguments:?}");
            let last = said.stderr.lines().last().unwrap();
            assert_eq!(last, "error: writing to standard output: No space left on device (os error 28)");
        }
    }
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let bench = Bench::new();
    for arguments in outputs(&bench) {
        let expected = bench.iostone(&arguments).code;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = Said::from(bench.command(&arguments).stdout(writer).output().unwrap());
        assert_eq!(said.code, expected, "{arguments:?}: {}", said.stderr);
        assert!(!said.stderr.contains("panicked"), "{arguments:?}: {}", said.stderr);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = Said::from(bench.command(&arguments).stderr(writer).output().unwrap());
        assert_eq!(said.code, expected, "{arguments:?} without stderr");
    }
}
