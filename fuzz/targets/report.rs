//! Concluding and reporting runs whose records were tampered with: no panic, no markup or escape of theirs in a report.
#![no_main]

#[path = "../../crates/iostone-report/tests/support/scenes.rs"]
mod scenes;
#[path = "../../crates/iostone-report/tests/support/synthetic.rs"]
mod synthetic;

use std::sync::LazyLock;

use arbitrary::Unstructured;
use iostone_fuzz::edit_json;
use iostone_lab::conclude::conclude;
use iostone_lab::{BlockEnd, Entry, JournalEvent};
use iostone_model::run::RunRecord;
use iostone_report::{Extent, TextStyle, html, json, text, verdicts_text};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The made-up runs of the reports' own tests, as JSON.
static RUNS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let shorten = |mut run: RunRecord| {
        // A few blocks show everything and are drawn ten times as fast.
        run.trials.truncate(16);
        for trial in &mut run.trials {
            trial.workload.latency_histogram.truncate(12);
            trial.workload.sync_latency_histogram.truncate(12);
            trial.workload.operations_per_100ms.truncate(12);
        }
        run
    };
    let runs = scenes::ALL.iter().map(|(_, make)| shorten(make()));
    runs.map(|run| serde_json::to_value(run).expect("a run goes into JSON")).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(mut document) = input.choose(&RUNS).cloned() else { return };
    let edits = input.int_in_range(0..=12u8).unwrap_or_default();
    for _ in 0..edits {
        if edit_json(&mut document, &mut input).is_err() {
            break;
        }
    }
    let Ok(mut run) = serde_json::from_value::<RunRecord>(document) else { return };
    // What was concluded elsewhere, or what would be concluded here.
    if bytes.len().is_multiple_of(2) {
        let Ok(verdicts) = conclude(&run.plan, &run.trials, &journal(&run), &run.environment, false) else { return };
        run.verdicts = Some(verdicts);
    }
    report(&run);
});

fn report(run: &RunRecord) {
    let narrow = TextStyle { width: 40, colour: false };
    let wide = TextStyle { width: 120, colour: true };
    for (extent, style) in [(Extent::Full, narrow), (Extent::Full, wide), (Extent::Screen, narrow), (Extent::Brief, wide)]
    {
        let written = text(run, extent, style);
        let is_foreign =
            |letter: char| letter.is_control() && letter != '\n' && !(style.colour && letter == '\u{1b}');
        assert!(!written.chars().any(is_foreign), "{written:?}");
    }
    if let Some(verdicts) = &run.verdicts {
        verdicts_text(verdicts, Extent::Full, TextStyle::default());
        verdicts_text(verdicts, Extent::Screen, TextStyle::default());
    }
    let page = html(run).expect("a run goes onto a page");
    assert!(!page.contains("<fuzz"), "markup of a record stands in the page");
    let written = json(run).expect("a run goes into JSON");
    assert!(serde_json::from_str::<Value>(&written).is_ok());
}

/// What the journal of such a run would say.
fn journal(run: &RunRecord) -> Vec<Entry> {
    let events = run.blocks.iter().flat_map(|block| {
        let end = match &block.reason {
            Some(reason) if !block.counted => BlockEnd::Discarded {
                reason: reason.clone(),
                configurations: block.order.clone(),
                workload_failed: false,
            },
            _ => BlockEnd::Counted,
        };
        [
            JournalEvent::BlockBegun { block: block.number, order: block.order.clone() },
            JournalEvent::BlockEnded { block: block.number, end },
        ]
    });
    events.map(|event| Entry { at: String::new(), event }).collect()
}
