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
fn the_script_is_small() {
    let page = html(&scenes::empty()).unwrap();
    let script = page.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(script.len() < 5_000, "{} bytes", script.len());
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
