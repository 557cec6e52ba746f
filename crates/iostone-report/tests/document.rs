//! The JSON report of made-up runs.

use crate::scenes;
use iostone_report::{REPORT_SCHEMA, json};
use serde_json::Value;

fn read(run: &iostone_model::run::RunRecord) -> Value {
    let text = json(run).expect("it is written");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn every_run_becomes_a_document_of_the_schema() {
    for (name, make) in scenes::ALL {
        let document = read(&make());
        assert_eq!(document["schema"], REPORT_SCHEMA, "{name}");
        assert!(document["configurations"].is_array(), "{name}");
    }
}

#[test]
fn numbers_carry_their_unit_in_their_name() {
    let document = read(&scenes::barrier());
    let off = &document["configurations"][1];
    assert_eq!(off["name"], "off");
    assert_eq!(off["levels"]["barrier"], "off");
    assert!(off["median_bytes_per_second"].as_f64().unwrap() > 50e6);
    assert!(off["latency_seconds"]["p99"].as_f64().unwrap() < 0.1);
    let trial = &off["trials"][0];
    assert!(trial["value_bytes_per_second"].is_number());
    assert_eq!(trial["devices"][0]["flushes"], 0);
    let seconds = read(&scenes::command());
    assert!(seconds["configurations"][0]["median_seconds"].as_f64().unwrap() > 200.0);
}

#[test]
fn a_discarded_block_says_why() {
    let document = read(&scenes::barrier());
    let block = &document["blocks"][4];
    assert_eq!(block["counted"], false);
    assert_eq!(block["reason"], "steal 7.1 % of CPU time, limit 5 %");
}

#[test]
fn how_a_run_ended_and_what_is_damaged_are_told() {
    let document = read(&scenes::unfit());
    assert_eq!(document["run"]["ended"], "budget of time spent");
    assert_eq!(
        document["run"]["defects"],
        serde_json::json!(["trial 17 is missing though the journal has it"])
    );
    let trials = document["configurations"][0]["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| trial["counted"] == true));
    assert!(trials.iter().any(|trial| trial["valid"] == false));
    let document = read(&scenes::empty());
    assert_eq!(
        (&document["run"]["ended"], &document["run"]["defects"]),
        (&Value::Null, &serde_json::json!([]))
    );
}

#[test]
fn figures_that_are_none_become_null() {
    let document = read(&scenes::hostile());
    let trials =
        document["configurations"].as_array().unwrap().iter().flat_map(|c| c["trials"].as_array().unwrap());
    assert!(trials.filter(|trial| trial["value_bytes_per_second"].is_null()).count() >= 2);
    assert!(document["verdicts"]["comparisons"][0]["ratio"].is_null());
}

#[test]
fn the_description_of_the_schema_names_every_field() {
    let description = include_str!("../../../docs/reference/report-json.md");
    let document = read(&scenes::piloted());
    let parts = [
        &document,
        &document["run"],
        &document["metric"],
        &document["configurations"][0],
        &document["configurations"][0]["trials"][0],
        &document["configurations"][0]["trials"][0]["devices"][0],
        &document["blocks"][0],
        &document["run"]["warm_up"],
        &document["run"]["warm_up"]["pilots"][0],
        &document["configurations"][0]["trials"][0]["steady_state"],
    ];
    for part in parts {
        for field in part.as_object().unwrap().keys() {
            let generic = field.replace("_bytes_per_second", "_UNIT");
            assert!(description.contains(&format!("`{generic}`")), "`{generic}` is not described");
        }
    }
}
