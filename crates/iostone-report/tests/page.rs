//! The HTML page of made-up runs: escaping, self-containment, well-formed figures, size.

use crate::markup::{balanced, drawing};
use crate::scenes;
use iostone_report::html;

#[test]
fn every_page_is_well_formed_and_has_no_figure_of_nonsense() {
    for (name, make) in scenes::ALL {
        let page = html(&make()).unwrap();
        balanced(&page);
        for nonsense in ["NaN", "Infinity", "=\"inf", "=\"-inf"] {
            let drawn = page.split("<svg").skip(1).filter_map(|svg| svg.split_once("</svg>"));
            assert!(drawn.map(|(svg, _)| svg).all(|svg| !svg.contains(nonsense)), "{name}: {nonsense}");
        }
    }
}

#[test]
fn every_figure_says_what_it_is_to_those_who_do_not_see_it() {
    for (name, make) in scenes::ALL {
        let page = html(&make()).unwrap();
        let mut ids = std::collections::BTreeSet::new();
        for svg in page.split("<svg").skip(1).filter_map(|svg| svg.split_once("</svg>")).map(|(svg, _)| svg) {
            let labelled =
                svg.contains("role=\"img\"") && svg.contains("<title id=") && svg.contains("<desc id=");
            assert!(labelled || svg.contains("aria-hidden=\"true\""), "{name}");
        }
        for id in page.split(" id=\"").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(ids.insert(id.0.to_owned()), "{name}: the id {} occurs twice", id.0);
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = html(&scenes::hostile()).unwrap();
    let elements = balanced(&page);
    assert_eq!(elements.iter().filter(|element| *element == "script").count(), 1);
    assert!(!elements.iter().any(|element| element == "img"));
    assert!(!page.contains("<script>alert") && !page.contains("<svg onload"));
    assert!(
        page.contains("&lt;script&gt;alert(1)") || page.contains("&#60;script&#62;alert(1)"),
        "shown as text"
    );
    assert!(page.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn a_page_loads_nothing() {
    for (name, make) in scenes::ALL {
        let page = html(&make()).unwrap();
        // The namespace of SVG is a name, not an address that anything is fetched from.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("http:") && !page.contains("https:"), "{name}");
        // A part of the page itself.
        let page = page.replace("url(#", "");
        let attributes = [" src=\"", "url(", "@import", "<link", "<iframe", "fetch(", "XMLHttpRequest"];
        for attribute in attributes {
            assert!(!page.contains(attribute), "{name}: {attribute}");
        }
        for href in page.split("href=\"").skip(1) {
            assert!(href.starts_with('#'), "{name}");
        }
        assert!(page.contains("default-src 'none'") && page.contains("script-src 'sha256-"), "{name}");
        assert!(!page.contains(" onclick=") && !page.contains("javascript:"), "{name}");
    }
}

#[test]
fn links_within_the_page_lead_somewhere() {
    for (name, make) in scenes::ALL {
        let page = html(&make()).unwrap();
        for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(page.contains(&format!("id=\"{}\"", target.0)), "{name}: #{}", target.0);
        }
    }
}

#[test]
fn a_page_of_eighty_trials_is_small() {
    let run = scenes::five();
    assert_eq!(run.trials.len(), 80);
    let page = html(&run).unwrap();
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn a_rehearsal_shows_no_verdict() {
    let page = html(&scenes::quick()).unwrap();
    assert!(page.contains("It claims no verdict."));
    assert!(!page.contains("Faster than light") && !page.contains(">faster<"));
}

#[test]
fn a_page_tells_of_a_failed_and_of_a_damaged_run() {
    let page = html(&scenes::failed()).unwrap();
    balanced(&page);
    assert!(page.contains("Ended before its time: the workload failed under <code>on</code>"));
    assert!(page.contains("it has not come to its end") && !page.contains("every step"));
    let page = html(&scenes::unfit()).unwrap();
    assert!(page.contains("trial 17 is missing though the journal has it"));
    assert!(page.contains("stopped by <code>decide.time</code>"));
    let sparkline = page.split("class=\"series").nth(1).unwrap().split("points=\"").nth(1).unwrap();
    assert_eq!(sparkline.split('"').next().unwrap().split(' ').count(), 8, "one point a counted trial");
}

#[test]
fn ticks_are_free_of_the_noise_of_binary_fractions() {
    for (name, make) in scenes::ALL {
        let page = html(&make()).unwrap();
        for label in page.split("<text class=\"tick\"").skip(1).filter_map(|rest| rest.split_once("</text>"))
        {
            assert!(!label.0.contains("00000") && !label.0.contains("99999"), "{name}: {}", label.0);
        }
    }
}

#[test]
fn the_script_is_small_and_writes_no_markup() {
    let page = html(&scenes::empty()).unwrap();
    let script = page.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    for means in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("] {
        assert!(!script.contains(means), "{means}");
    }
    // Joined lines: each must end with what separates it from the next.
    assert!(!script.contains('\n') && !script.contains("//"));
    assert!(script.len() < 8_000, "{} bytes", script.len());
}

#[test]
fn figures_are_drawn_as_before() {
    let page = html(&scenes::undecided()).unwrap();
    insta::assert_snapshot!("forest", drawing(&page, "forest-figure"));
    insta::assert_snapshot!("ratios", drawing(&page, "ratio-figure"));
    insta::assert_snapshot!("run_order", drawing(&page, "order-figure"));
    insta::assert_snapshot!("latency", drawing(&page, "latency-figure"));
    let timeline = drawing(&page, "timeline-figure");
    assert_eq!(timeline.matches("<polyline").count(), 2, "one line a configuration");
}

#[test]
fn the_page_names_the_warm_up_and_trials_that_were_not_steady() {
    let page = html(&scenes::piloted()).unwrap();
    assert!(page.contains("the largest cut of 2 pilots (MSER-5), that of off"));
    assert!(page.contains("! 1 of 24 trials not steady"));
    let mut steady = scenes::piloted();
    steady.trials.remove(0);
    assert!(html(&steady).unwrap().contains("✓ rate steady in 23 trials"));
}

#[test]
fn intervals_are_called_by_the_confidence_that_was_declared() {
    use iostone_model::units::Fraction;
    let mut run = scenes::barrier();
    run.plan.experiment.decide.confidence = Fraction(0.99);
    run.verdicts.as_mut().unwrap().confidence = 0.99;
    let page = html(&run).unwrap().replace('\u{a0}', " ");
    for called in ["99 % order-statistic interval", ">99 % interval<", "99 % interval of the median"] {
        assert!(page.contains(called), "{called}");
    }
    assert!(!page.contains("95 %"));
}

#[test]
fn the_ratio_of_every_block_is_a_dot_beside_its_interval() {
    let run = scenes::barrier();
    let ratios = drawing(&html(&run).unwrap(), "ratio-figure");
    let counted = run.blocks.iter().filter(|block| block.counted).count();
    assert_eq!(ratios.matches("<circle class=\"c1 trial\"").count(), counted);
    // The fifth block was discarded, so that it has no dot.
    assert!(ratios.contains("off · block 4 · ") && !ratios.contains("off · block 5 · "));
    let mut wild = scenes::barrier();
    let comparison = &mut wild.verdicts.as_mut().unwrap().comparisons[0];
    comparison.log_ratios[3] = -500.0;
    comparison.log_ratios[4] = f64::NAN;
    comparison.log_ratios[5] = 5000.0;
    let ratios = drawing(&html(&wild).unwrap(), "ratio-figure");
    assert_eq!(ratios.matches("class=\"c1 trial hollow\"").count(), 2, "at the edges: {ratios}");
    assert_eq!(ratios.matches("class=\"c1 trial\"").count(), counted - 3);
}

#[test]
fn verdicts_stand_beside_the_heading_and_at_the_top_of_a_telephone() {
    let page = html(&scenes::five()).unwrap();
    let (header, main) = page.split_once("</header>").unwrap();
    let badge = "<span class=\"badge slower\"><b>overlay</b> <span aria-hidden=\"true\">▼</span> slower −1.8";
    let beside = main.split_once("</h1>").unwrap().1.split_once("lede").unwrap().0;
    assert!(header.contains(badge) && beside.contains(badge), "{beside}");
    assert_eq!(beside.matches("class=\"badge ").count(), 4);
    let sweep = html(&scenes::sweep()).unwrap();
    assert!(sweep.contains("</b> best</span>"));
    assert!(html(&scenes::empty()).unwrap().contains("<span class=\"badge none\">no verdict</span>"));
    assert!(html(&scenes::quick()).unwrap().contains("badge none\">rehearsal: no verdict</span>"));
}

#[test]
fn flags_lead_to_what_they_mean_and_unknown_ones_stay_words() {
    let mut run = scenes::barrier();
    let flag = |name: &str| iostone_model::verdict::Flag::new(name, "it is so");
    run.verdicts.as_mut().unwrap().comparisons[0].flags = vec![flag("tail"), flag("of-tomorrow")];
    let page = html(&run).unwrap();
    assert!(page.contains("<a href=\"#about-tail\">tail</a>"));
    assert!(page.contains("<dt id=\"about-tail\">tail</dt><dd>outliers favour one side"));
    assert!(page.contains("of-tomorrow") && !page.contains("about-of-tomorrow"));
    run.verdicts.as_mut().unwrap().flags.clear();
    run.verdicts.as_mut().unwrap().comparisons[0].flags.clear();
    assert!(!html(&run).unwrap().contains("What the flags mean"));
}

/// What stands in the page for a file: escaped in the markup, so that only text can come of it.
fn file(page: &str, kind: &str) -> String {
    let (_, from) = page.split_once(&format!("data-kind=\"{kind}\"><pre>")).expect(kind);
    let (text, _) = from.split_once("</pre>").expect(kind);
    assert!(!text.contains(['<', '>']), "{text}");
    let names = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

#[test]
fn trials_and_verdicts_can_be_taken_along() {
    let run = scenes::barrier();
    let page = html(&run).unwrap();
    let table = file(&page, "Trials, CSV");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), run.trials.len() + 1);
    assert!(
        lines[0].starts_with("trial,block,position,session,configuration,barrier,counted,valid,started_at,")
    );
    assert!(lines[0].contains("throughput_bytes_per_second"), "{}", lines[0]);
    assert_eq!(
        lines.iter().filter(|line| line.contains(",false,")).count(),
        2,
        "those of the discarded block"
    );
    let verdicts: iostone_model::verdict::Verdicts =
        serde_json::from_str(&file(&page, "Verdicts, JSON")).unwrap();
    assert_eq!(Some(&verdicts), run.verdicts.as_ref());
    assert_eq!(file(&page, "Experiment, TOML"), run.experiment_text);
    assert!(!html(&scenes::quick()).unwrap().contains("Verdicts, JSON"), "a rehearsal claims none");
}

#[test]
fn hostile_names_stay_text_in_what_is_taken_along() {
    let run = scenes::hostile();
    let page = html(&run).unwrap();
    let name = run.plan.experiment.configurations[1].name.clone();
    let table = file(&page, "Trials, CSV");
    let quoted = name.replace('"', "\"\"").replace(['\u{1b}', '\u{202e}'], "\u{fffd}");
    assert!(table.contains(&format!(",\"{quoted}\",")), "{table}");
    let verdicts: serde_json::Value = serde_json::from_str(&file(&page, "Verdicts, JSON")).unwrap();
    assert_eq!(verdicts["headline"], "</p><script>alert('headline')</script>");
    assert!(page.matches("badge").count() > 2 && !page.contains("<b><script>"));
}

#[test]
fn time_series_say_what_their_pixels_stand_for() {
    let page = html(&scenes::barrier()).unwrap();
    let timeline = drawing(&page, "timeline-figure");
    assert_eq!(timeline.matches("<g class=\"plot\" data-box=\"70 1080\" data-name=").count(), 2);
    let axis = timeline.split("class=\"ticks\" data-x=\"").nth(1).unwrap().split('"').next().unwrap();
    let (at_zero, a_pixel) = axis.split_once(' ').unwrap();
    let (at_zero, a_pixel): (f64, f64) = (at_zero.parse().unwrap(), a_pixel.parse().unwrap());
    assert!((at_zero + 70.0 * a_pixel).abs() < 1e-5, "the left edge is the start");
    for (name, make) in scenes::ALL {
        for svg in
            html(&make()).unwrap().split("<svg").skip(1).map(|rest| rest.split_once("</svg>").unwrap().0)
        {
            assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count(), "{name}");
            assert_eq!(svg.contains("class=\"plot\""), svg.contains("<clipPath id="), "{name}");
            assert_eq!(svg.contains("class=\"plot\""), svg.contains("class=\"ticks\""), "{name}");
        }
    }
}
