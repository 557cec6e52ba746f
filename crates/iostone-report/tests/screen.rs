//! The terminal report on one screen: what it must hold, and how long it may be.

use crate::{curve_scenes, scenes};
use iostone_model::audit::Severity;
use iostone_report::{Extent, TextStyle, text, verdicts_text};
use unicode_width::UnicodeWidthStr;

/// A screen of two levels, the empty line and the path of the report that the command adds included.
const SCREEN: usize = 30;

fn screen(run: &iostone_model::run::RunRecord) -> String {
    text(run, Extent::Screen, TextStyle::default())
}

#[test]
fn two_levels_fit_a_screen() {
    for (name, make) in scenes::ALL {
        let run = make();
        let written = screen(&run);
        if run.plan.experiment.configurations.len() <= 2 {
            assert!(written.lines().count() + 2 <= SCREEN, "{name}: {}\n{written}", written.lines().count());
        }
        assert!(
            written.lines().count() <= text(&run, Extent::Full, TextStyle::default()).lines().count(),
            "{name}"
        );
    }
}

#[test]
fn a_screen_says_the_answer_what_was_verified_and_what_more_there_is() {
    insta::assert_snapshot!(screen(&scenes::barrier()));
    insta::assert_snapshot!(screen(&scenes::undecided()));
    insta::assert_snapshot!(screen(&scenes::unfit()));
}

#[test]
fn many_levels_take_a_line_each() {
    insta::assert_snapshot!(screen(&scenes::five()));
    insta::assert_snapshot!(screen(&scenes::sweep()));
}

#[test]
fn curves_and_several_factors_are_told_shortly() {
    insta::assert_snapshot!(screen(&curve_scenes::crossing()));
    insta::assert_snapshot!(screen(&curve_scenes::flat_writes()));
    insta::assert_snapshot!(screen(&scenes::strata()));
    insta::assert_snapshot!(screen(&scenes::identical()));
}

#[test]
fn the_answer_and_its_table_stand_alone_where_no_more_is_asked() {
    insta::assert_snapshot!(text(&scenes::barrier(), Extent::Brief, TextStyle::default()));
}

#[test]
fn whatever_bears_on_a_decision_stays() {
    for (name, make) in scenes::ALL {
        let run = make();
        let written = screen(&run);
        let has = |word: &str| written.contains(word);
        if !run.defects.is_empty() {
            assert!(has("damaged: "), "{name}\n{written}");
        }
        let audit = run.audit.iter().flat_map(|audit| &audit.findings);
        for finding in audit.filter(|finding| finding.severity != Severity::Note) {
            assert!(has(&finding.rule), "{name}: {}\n{written}", finding.rule);
        }
        let verdicts = run.verdicts.iter();
        let flags = verdicts.flat_map(|verdicts| {
            verdicts.flags.iter().chain(verdicts.comparisons.iter().flat_map(|comparison| &comparison.flags))
        });
        for flag in flags.filter(|flag| flag.severity.is_none() && name != "hostile") {
            assert!(has(&flag.name), "{name}: {}\n{written}", flag.name);
        }
    }
}

#[test]
fn failed_gates_of_a_rehearsal_are_said() {
    let mut run = scenes::quick();
    let trial = run.trials.first_mut().unwrap();
    let gate = trial.gates.first_mut().unwrap();
    (gate.passed, gate.message) = (false, "steal 7.1 % of CPU time, limit 5 %".to_owned());
    let name = gate.gate.clone();
    let written = screen(&run);
    assert!(written.contains(&format!("! gate {name} failed in 1 of")), "{written}");
    assert!(written.contains("steal 7.1"), "{written}");
}

#[test]
fn screens_fit_their_width_with_and_without_colour() {
    for (name, make) in scenes::ALL {
        let run = make();
        for width in [60, 80, 100, 132] {
            let style = TextStyle { width, colour: false };
            let written = text(&run, Extent::Screen, style);
            let room = width.max(if name == "hostile" { 92 } else { 80 });
            let widest = written.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= room, "{name} at {width}: {widest}\n{written}");
            assert!(written.chars().all(|c| c == '\n' || !c.is_control()), "{name}");
            let coloured = text(&run, Extent::Screen, TextStyle { width, colour: true });
            assert_eq!(coloured.lines().count(), written.lines().count(), "{name}");
        }
        if let Some(verdicts) = &run.verdicts {
            let alone = verdicts_text(verdicts, Extent::Screen, TextStyle::default());
            assert!(alone.lines().count() <= 60, "{name}\n{alone}");
        }
    }
}
