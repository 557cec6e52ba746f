//! Experiment files with overrides: every diagnostic points into the text, every experiment can be planned and kept.
#![no_main]

use std::path::Path;

use iostone_fuzz::assert_survives_json;
use iostone_lab::{PlanOptions, estimate, make_plan};
use iostone_model::diagnostic::Diagnostic;
use iostone_model::experiment::{Experiment, Override, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // The text, and after each NUL what `--set` would lay over it.
    let mut parts = input.split('\0');
    let text = parts.next().unwrap_or_default();
    let overrides: Vec<Override> = parts
        .take(4)
        .map(|typed| {
            let (path, value) = typed.split_once('=').unwrap_or((typed, ""));
            Override { path: path.to_owned(), value: value.to_owned() }
        })
        .collect();
    match read(text, &overrides) {
        Ok(experiment) => use_experiment(&experiment),
        Err(diagnostics) => check_diagnostics(text, &diagnostics),
    }
});

fn use_experiment(experiment: &Experiment) {
    assert_survives_json(experiment);
    for configuration in &experiment.configurations {
        iostone_stack::plan_steps(&configuration.stack, Path::new("/var/tmp"));
    }
    for (quick, identical_levels) in [(false, false), (true, false), (false, true)] {
        let options = PlanOptions { quick, identical_levels, ..PlanOptions::default() };
        if let Ok(plan) = make_plan(experiment.clone(), options) {
            plan.comparisons();
            estimate(&plan);
            assert_survives_json(&plan);
        }
    }
}

fn check_diagnostics(text: &str, diagnostics: &[Diagnostic]) {
    assert!(!diagnostics.is_empty(), "refused without a reason");
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty() && diagnostic.code.starts_with("io"), "{diagnostic:?}");
        for label in &diagnostic.labels {
            // `get` is none beyond the end and between the bytes of a letter.
            assert!(text.get(label.span.clone()).is_some(), "{diagnostic:?}");
        }
    }
}
