//! The terminal report of made-up runs.

use crate::scenes;
use iostone_report::{Extent, TextStyle, text, verdicts_text};

/// Figures from elsewhere, measured without blocks.
fn unblocked() -> iostone_model::verdict::Verdicts {
    let mut verdicts = scenes::undecided().verdicts.expect("it was judged");
    verdicts.source = String::from("barrier-dbench.csv");
    verdicts.headline = String::from("The figures were not measured in blocks, so there is no verdict.");
    verdicts.blocks = iostone_model::verdict::BlockCount::default();
    verdicts.scope = String::new();
    for comparison in &mut verdicts.comparisons {
        comparison.verdict = None;
        comparison.ratio = None;
        comparison.ratio_interval = [None, None];
        comparison.forecast = None;
        comparison.unpaired = Some(iostone_model::verdict::UnpairedTest {
            p_value: 0.0317,
            exact: true,
            sizes: [5, 4],
            ratio: 1.21,
            ratio_interval: [None, None],
        });
        comparison.flags = vec![iostone_model::verdict::Flag::new(
            "unblocked",
            "the order of the figures is unknown, so drift cannot be told from the effect",
        )];
    }
    verdicts
}

#[test]
fn the_answer_comes_first_and_the_lines_to_copy_last() {
    insta::assert_snapshot!(text(&scenes::barrier(), Extent::Full, TextStyle::default()));
}

#[test]
fn where_the_warm_up_comes_from_and_how_steady_the_trials_were_is_said() {
    let written = text(&scenes::piloted(), Extent::Full, TextStyle { width: 400, colour: false });
    let line = written.lines().find(|line| line.trim_start().starts_with("warm-up")).expect("a line");
    assert_eq!(
        line.trim(),
        "warm-up   4s not counted in every trial: the largest cut of 2 pilots (MSER-5), that of off, declared before block \
         1 · 23 of 24 trials steady"
    );
    let mut disturbed = scenes::piloted();
    disturbed.pilots[1].gates[0].passed = false;
    let written = text(&disturbed, Extent::Full, TextStyle { width: 400, colour: false });
    assert!(written.contains("declared before block 1; 1 of 2 pilots failed a gate · 23 of 24"), "{written}");
    let mut undeclared = scenes::piloted();
    undeclared.declared_ramp = None;
    assert!(
        text(&undeclared, Extent::Full, TextStyle::default())
            .contains("left to pilots, and not declared yet")
    );
    assert!(!text(&scenes::barrier(), Extent::Full, TextStyle::default()).contains("warm-up"));
}

#[test]
fn five_configurations_share_a_table() {
    insta::assert_snapshot!(text(&scenes::five(), Extent::Full, TextStyle { width: 120, colour: false }));
}

#[test]
fn an_undecided_run_says_what_is_ruled_out_and_what_more_would_bring() {
    insta::assert_snapshot!(text(&scenes::undecided(), Extent::Full, TextStyle::default()));
}

#[test]
fn a_rehearsal_claims_no_verdict() {
    let written = text(&scenes::quick(), Extent::Full, TextStyle::default());
    assert!(!written.contains("faster") && !written.contains("Faster"), "{written}");
    insta::assert_snapshot!(written);
}

#[test]
fn a_run_without_verdicts_says_why() {
    insta::assert_snapshot!(text(&scenes::no_verdict(), Extent::Full, TextStyle::default()));
    insta::assert_snapshot!(text(&scenes::empty(), Extent::Full, TextStyle::default()));
}

#[test]
fn a_run_that_failed_says_so_below_its_headline() {
    insta::assert_snapshot!(text(&scenes::failed(), Extent::Full, TextStyle::default()));
    let mut unbegun = scenes::empty();
    unbegun.ended = Some("the workload failed under `on`: `sh` ended with status 3".to_owned());
    for quick in [false, true] {
        unbegun.plan.quick = quick;
        let written = text(&unbegun, Extent::Full, TextStyle::default());
        assert!(written.contains("ended before its first trial"), "{written}");
        assert!(written.contains("Ended before its time: the workload failed under `on`"), "{written}");
        assert!(!written.contains("has run yet"), "{written}");
    }
}

#[test]
fn what_is_damaged_what_stopped_it_and_every_trial_kept_are_shown() {
    let written = text(&scenes::unfit(), Extent::Full, TextStyle::default());
    let bars = |line: &str| line.chars().filter(|c| ('▁'..='▇').contains(c)).count();
    assert_eq!(written.lines().map(bars).filter(|bars| *bars > 0).collect::<Vec<_>>(), [8, 8], "{written}");
    insta::assert_snapshot!(written);
}

#[test]
fn what_stopped_a_run_is_said_with_its_blocks() {
    let mut run = scenes::undecided();
    for (reason, clause) in [
        ("budget of time spent", "8 blocks (16 trials), stopped by `decide.time`;"),
        ("budget of blocks spent", "8 blocks (16 trials), stopped by `decide.blocks.max`;"),
        ("futile", "8 blocks (16 trials), stopped because more would"),
        ("decided", "8 blocks (16 trials);"),
    ] {
        run.ended = Some(reason.to_owned());
        let written = text(&run, Extent::Full, TextStyle { width: 200, colour: false });
        assert!(written.contains(clause), "{reason}:\n{written}");
    }
}

#[test]
fn a_small_margin_is_written_exactly() {
    let mut run = scenes::undecided();
    run.plan.experiment.decide.margin.0 = 0.000_01;
    let written = text(&run, Extent::Full, TextStyle::default());
    assert!(written.contains("margin 0.001\u{a0}%"), "{written}");
}

#[test]
fn identical_levels_tell_the_noise_of_the_machine() {
    insta::assert_snapshot!(text(&scenes::identical(), Extent::Full, TextStyle::default()));
}

#[test]
fn figures_from_elsewhere_are_judged_without_a_run() {
    insta::assert_snapshot!(verdicts_text(&unblocked(), Extent::Full, TextStyle::default()));
}

#[test]
fn each_stratum_has_its_own_baseline() {
    let run = scenes::strata();
    insta::assert_snapshot!(text(&run, Extent::Full, TextStyle::default()));
    let alone = verdicts_text(&run.verdicts.unwrap(), Extent::Full, TextStyle::default());
    let rows = alone.lines().filter(|line| line.contains("baseline") && !line.contains("vs baseline"));
    assert_eq!(rows.count(), 2, "{alone}");
    assert!(alone.contains("×4.26") && alone.contains("+4.0\u{a0}%"), "each with its own: {alone}");
}

#[test]
fn hostile_text_cannot_steer_the_terminal() {
    let written = text(&scenes::hostile(), Extent::Full, TextStyle::default());
    assert!(written.chars().all(|c| c == '\n' || !c.is_control()), "{written:?}");
    assert!(!written.contains('\u{202e}'));
    insta::assert_snapshot!(written);
}

#[test]
fn every_report_fits_its_width() {
    for (name, make) in scenes::ALL {
        for width in [60, 80, 100, 132] {
            // Lines to be copied are exempt: they must not be broken.
            let mut run = make();
            if let Some(verdicts) = &mut run.verdicts {
                verdicts.permanent.clear();
            }
            let written = text(&run, Extent::Full, TextStyle { width, colour: false });
            // With seven columns of figures a table cannot shrink below what they take.
            let room = width.max(if name == "hostile" { 92 } else { 80 });
            let widest = written.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= room, "{name} at {width}: {widest}\n{written}");
        }
    }
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    for (name, make) in scenes::ALL {
        let run = make();
        let plain = text(&run, Extent::Full, TextStyle { width: 80, colour: false });
        let coloured = text(&run, Extent::Full, TextStyle { width: 80, colour: true });
        let mut stripped = String::new();
        let mut pieces = coloured.split('\u{1b}');
        stripped.push_str(pieces.next().unwrap());
        for piece in pieces {
            stripped.push_str(piece.split_once('m').unwrap().1);
        }
        assert_eq!(stripped, plain, "{name}");
        assert!(!plain.contains('\u{1b}'));
    }
}

#[test]
fn guests_prices_and_ceilings_stand_in_the_report() {
    use iostone_model::experiment::{Guest, MachineSpec, Price};
    use iostone_model::trial::GuestFacts;
    let mut run = scenes::barrier();
    for (index, configuration) in run.plan.experiment.configurations.iter_mut().enumerate() {
        let mut guest = Guest::new("debian:6.1");
        guest.instance = Some(String::from("m1.large"));
        configuration.machine = MachineSpec::Guest(guest);
        configuration.price = (index == 0).then(|| Price {
            usd_per_hour: 0.175,
            source: String::from("on demand in us-east-1 on 2025-05-28"),
        });
    }
    for trial in &mut run.trials {
        let release = if trial.configuration == "on" { "6.1.0" } else { "6.12.0" };
        trial.guest = Some(Box::new(GuestFacts {
            uname: format!("Linux {release} x86_64"),
            cpus: 1,
            memory_bytes: 500 << 20,
            accelerator: String::from("tcg"),
            accelerator_note: String::from("there is no /dev/kvm"),
            boot_seconds: 3.5,
            ..GuestFacts::default()
        }));
    }
    let written = text(&run, Extent::Full, TextStyle { width: 400, colour: false });
    for line in [
        "uname on: Linux 6.1.0 x86_64\n off: Linux 6.12.0 x86_64\n",
        "guest     1 processor · 512MiB of memory · the agent alone, no operating system · booted in 3.50 s",
        "executed by  tcg: there is no /dev/kvm",
        "on   m1.large, 0.175 USD an hour (on demand in us-east-1 on 2025-05-28): ",
        "off  m1.large, price unknown",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&written).contains(&squeezed(line)), "{line}\n{written}");
    }
    let document: serde_json::Value = serde_json::from_str(&iostone_report::json(&run).unwrap()).unwrap();
    let [on, off] = document["configurations"].as_array().unwrap().as_slice() else { panic!("two rows") };
    assert_eq!(on["price_usd_per_hour"], 0.175);
    assert!(on["bytes_per_usd"].as_f64().unwrap() > 1e9, "{on}");
    assert_eq!(on["guest"]["uname"], "Linux 6.1.0 x86_64");
    assert!(off.get("price_usd_per_hour").is_none());
    assert!(iostone_report::html(&run).unwrap().contains("What it costs"));
    // What costs nothing has no figure for a dollar.
    let price = run.plan.experiment.configurations[0].price.as_mut().unwrap();
    price.usd_per_hour = 0.0;
    // A level on the host has no guest to tell of, so the others are named.
    for trial in run.trials.iter_mut().filter(|trial| trial.configuration == "off") {
        trial.guest = None;
    }
    let written = text(&run, Extent::Full, TextStyle { width: 400, colour: false });
    assert!(written.contains("m1.large, costs nothing (on demand in us-east-1 on 2025-05-28)"), "{written}");
    assert!(written.contains("on: tcg: there is no /dev/kvm"), "{written}");
}
