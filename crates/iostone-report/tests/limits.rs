//! Reports of made-up runs in which CPU time is limited, governed, or swept.

use crate::markup::{balanced, drawing};
use crate::scenes;
use iostone_report::{Extent, TextStyle, html, json, text};

#[test]
fn a_limited_and_governed_run_tells_where_the_cpu_went_and_by_which_law() {
    insta::assert_snapshot!(
        "cpu_limit_text",
        text(&scenes::cpu_limit(), Extent::Full, TextStyle { width: 100, colour: false })
    );
    let page = html(&scenes::cpu_limit()).unwrap();
    insta::assert_snapshot!("cpu_limit_bars", drawing(&page, "cpu-figure"));
    assert!(page.contains("Steal is not observable") && !page.contains("steal 0"));
    assert!(page.contains("law <code>penalty</code> (measured), 20 times faster"));
    assert!(page.contains("by law <code>bucket</code>") && page.contains("<code>penalty</code> (in force)"));
    let balance = drawing(&page, "balance-0");
    assert_eq!(balance.matches("<polyline").count(), 4, "one line a configuration");
    assert!(balance.contains("class=\"slow\""));
}

#[test]
fn a_sweep_tells_its_best_level_and_what_was_passed_over() {
    let run = scenes::sweep();
    insta::assert_snapshot!("sweep_text_80", text(&run, Extent::Full, TextStyle::default()));
    insta::assert_snapshot!(
        "sweep_text_120",
        text(&run, Extent::Full, TextStyle { width: 120, colour: false })
    );
    let page = html(&run).unwrap();
    insta::assert_snapshot!("sweep_curve", drawing(&page, "sweep-figure"));
    assert!(!page.contains("vs baseline") && !page.contains("Against the baseline"));
    assert!(page.contains("Taken for granted: ") && page.contains("Description only: "));
}

#[test]
fn a_sweep_that_was_not_judged_yet_has_no_columns_for_a_baseline() {
    let written = text(&scenes::sweep_begun(), Extent::Full, TextStyle::default());
    assert!(!written.contains("baseline") && !written.contains("verdict  "), "{written}");
    let page = html(&scenes::sweep_begun()).unwrap();
    assert!(!page.contains("vs baseline") && !page.contains(">baseline<"));
    let mut rehearsed = scenes::sweep();
    rehearsed.plan.quick = true;
    let page = html(&rehearsed).unwrap();
    assert!(!page.contains("sweep-figure") && !page.contains(">best<"));
}

#[test]
fn runs_without_an_account_or_a_law_have_no_section_for_them() {
    for (name, make) in scenes::ALL {
        let run = make();
        let page = html(&run).unwrap();
        let told = run.trials.iter().any(|trial| trial.signals.cpu.is_some());
        assert_eq!(page.contains("Where the CPU went"), told, "{name}");
        let governed = run.trials.iter().any(|trial| trial.governor.is_some());
        assert_eq!(page.contains("Emulated CPU allowance"), governed, "{name}");
    }
}

#[test]
fn parts_of_several_processors_are_held_against_all_of_them() {
    let written = text(&scenes::parallel(), Extent::Full, TextStyle { width: 400, colour: false });
    assert!(written.contains("is the wall time times the processors of the machine"), "{written}");
    assert!(written.contains("700\u{a0}ms"), "{written}");
    let page = html(&scenes::parallel()).unwrap();
    assert!(page.contains("Wall × processors") && !page.contains("<span>governed"));
}

#[test]
fn what_names_and_sources_hold_stays_text() {
    let page = html(&scenes::hostile_sweep()).unwrap();
    let elements = balanced(&page);
    assert_eq!(elements.iter().filter(|element| *element == "script").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(8)") || page.contains("&#60;script&#62;alert(8)"));
    let written = text(&scenes::hostile_sweep(), Extent::Full, TextStyle::default());
    assert!(!written.contains('\u{1b}'));
}

#[test]
fn the_document_has_the_split_the_account_and_the_law() {
    let text = json(&scenes::cpu_limit()).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let limited = &document["configurations"][2];
    assert_eq!(limited["name"], "30%");
    assert_eq!((&limited["cpu"]["whole"], &limited["cpu"]["of"]), (&"wall".into(), &"workload".into()));
    assert!(limited["cpu"]["steal_seconds"].is_null());
    let parts = ["user", "system", "throttled", "governed", "io_wait", "other"];
    let sum: f64 = parts.iter().filter_map(|part| limited["cpu"][format!("{part}_seconds")].as_f64()).sum();
    assert!((sum - limited["cpu"]["whole_seconds"].as_f64().unwrap()).abs() < 1e-6);
    let trial = &limited["trials"][0];
    assert_eq!(trial["governor"]["law"], "penalty");
    assert!(trial["cpu"]["machine_steal_seconds"].is_null() && trial["governor"]["balance"].is_null());
    assert!(document["configurations"][0]["cpu"]["throttled_seconds"].is_null());
}

#[test]
fn the_description_of_the_schema_names_the_fields_of_cpu_time() {
    let description = include_str!("../../../docs/reference/report-json.md");
    let text = json(&scenes::cpu_limit()).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let limited = &document["configurations"][2];
    let trial = &limited["trials"][0];
    for part in [&limited["cpu"], &trial["cpu"], &trial["governor"]] {
        for field in part.as_object().unwrap().keys() {
            assert!(description.contains(&format!("`{field}`")), "`{field}` is not described");
        }
    }
}
