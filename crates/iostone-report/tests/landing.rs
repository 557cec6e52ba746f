//! Reports of made-up runs in containers: where the bytes landed and what that took.

use crate::markup::{balanced, drawing};
use crate::scenes;
use iostone_model::run::RunRecord;
use iostone_report::{Extent, TextStyle, html, json, text};

#[test]
fn a_run_in_containers_tells_where_the_bytes_landed() {
    let run = scenes::containers();
    insta::assert_snapshot!(
        "landing_text_120",
        text(&run, Extent::Full, TextStyle { width: 120, colour: false })
    );
    insta::assert_snapshot!(
        "landing_text_60",
        text(&run, Extent::Full, TextStyle { width: 60, colour: false })
    );
    let page = html(&run).unwrap();
    balanced(&page);
    assert!(page.contains("Where the bytes landed") && page.contains("href=\"#landing\""));
    assert!(page.contains("overlay at / (rw, relatime, fsync=volatile)"));
    assert!(page.contains(">dropped<") && page.contains("docker, bind") && page.contains("overlay2 on ext4"));
    assert!(page.contains("16.9\u{a0}µs"));
    assert!(!drawing(&page, "forest-figure").contains("cell"), "the section's bars are its own");
}

const TITLE: &str = "Where the bytes landed";

/// One filesystem, no container, one setting for all.
fn plain() -> RunRecord {
    let mut run = scenes::containers();
    for trial in &mut run.trials {
        trial.container = None;
    }
    for configuration in &mut run.plan.experiment.configurations {
        configuration.stack.mount.options.clear();
    }
    run
}

#[test]
fn a_run_to_which_it_does_not_matter_has_no_such_section() {
    for (name, make) in scenes::ALL {
        let run = make();
        let page = html(&run).unwrap();
        let told = run.trials.iter().any(|trial| trial.container.is_some());
        assert_eq!(page.contains(TITLE), told, "{name}");
        assert_eq!(page.contains("#landing"), told, "{name}");
    }
    assert!(!text(&plain(), Extent::Full, TextStyle::default()).contains(TITLE));
    let mut run = plain();
    for trial in run.trials.iter_mut().filter(|trial| trial.configuration == "bind") {
        if let Some(space) = &mut trial.space {
            "btrfs".clone_into(&mut space.filesystem);
        }
    }
    let told = text(&run, Extent::Full, TextStyle::default());
    assert!(told.contains(TITLE) && told.contains("btrfs"), "{told}");
    assert!(!told.contains("fsync dropped"), "{told}");
}

#[test]
fn mount_options_and_figures_of_room_ask_where_bytes_landed() {
    let everywhere = |run: &RunRecord| {
        let document: serde_json::Value = serde_json::from_str(&json(run).unwrap()).unwrap();
        let told = [
            text(run, Extent::Full, TextStyle::default()).contains(TITLE),
            html(run).unwrap().contains(TITLE),
            document["configurations"][0]["landing"].is_object(),
        ];
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
        told[0]
    };
    assert!(!everywhere(&plain()));
    let mut run = plain();
    run.plan.experiment.configurations[1].stack.mount.options = vec!["nodatacow".to_owned()];
    assert!(everywhere(&run));
    assert!(text(&run, Extent::Full, TextStyle::default()).contains("ext4, nodatacow"));
    for trial in &mut run.trials {
        trial.space = None;
    }
    assert!(!everywhere(&run), "nobody told of the room");
    let mut run = plain();
    "space_per_file_byte".clone_into(&mut run.plan.experiment.decide.metric);
    assert!(everywhere(&run));
}

#[test]
fn in_memory_there_is_no_filesystem_and_nothing_to_sync() {
    let mut run = scenes::containers();
    for trial in run.trials.iter_mut().filter(|trial| trial.configuration == "bind") {
        if let Some(container) = &mut trial.container {
            "tmpfs".clone_into(&mut container.place);
            container.device = None;
        }
        trial.space = None;
        trial.metrics.remove("space_per_file_byte");
    }
    let told = text(&run, Extent::Full, TextStyle { width: 120, colour: false });
    let line = told.lines().find(|line| line.contains("docker, tmpfs")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["bind", "docker,", "tmpfs", "memory", "–", "memory"], "{told}");
    assert!(told.replace('\n', " ").contains("Not told of bind: files in memory take no room"), "{told}");
}

#[test]
fn what_engines_and_mounts_say_stays_text() {
    let page = html(&scenes::hostile_containers()).unwrap();
    let elements = balanced(&page);
    assert_eq!(elements.iter().filter(|element| *element == "script").count(), 1);
    assert!(!text(&scenes::hostile_containers(), Extent::Full, TextStyle::default()).contains('\u{1b}'));
}

#[test]
fn the_document_has_the_place_and_its_description_names_every_field() {
    let document: serde_json::Value = serde_json::from_str(&json(&scenes::containers()).unwrap()).unwrap();
    let layer = &document["configurations"][3];
    assert_eq!(layer["landing"]["container"]["volatile"], true);
    assert!(document["configurations"][0]["landing"]["container"].is_null());
    let description = include_str!("../../../docs/reference/report-json.md");
    let trial = &layer["trials"][0];
    for part in [&layer["landing"], &trial["container"], &trial["space"]] {
        for field in part.as_object().unwrap().keys() {
            assert!(description.contains(&format!("`{field}`")), "`{field}` is not described");
        }
    }
}
