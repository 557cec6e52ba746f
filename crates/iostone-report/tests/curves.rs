//! Whole curves in the report of an experiment: shown first, point by point, and never as one figure.

use crate::curve_scenes;
use crate::markup::{balanced, drawing};
use iostone_report::{Extent, TextStyle, html, text};

#[test]
fn every_page_is_well_formed_and_its_ids_are_its_own() {
    for (name, make) in curve_scenes::ALL {
        let page = html(&make()).unwrap();
        balanced(&page);
        let mut ids = std::collections::BTreeSet::new();
        for id in page.split(" id=\"").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(ids.insert(id.0.to_owned()), "{name}: the id {} occurs twice", id.0);
        }
        for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(ids.contains(target.0), "{name}: #{}", target.0);
        }
        for svg in page.split("<svg").skip(1).filter_map(|svg| svg.split_once("</svg>")) {
            assert!(!["NaN", "=\"inf", "Infinity"].iter().any(|word| svg.0.contains(word)), "{name}");
        }
    }
}

#[test]
fn what_flat_writes_are_put_down_to_is_told_first() {
    let run = curve_scenes::flat_writes();
    let page = html(&run).unwrap();
    let order = ["id=\"flatness\"", "id=\"curve-verdicts\""];
    let places: Vec<usize> = order.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted());
    let told = text(&run, Extent::Full, TextStyle { width: 1000, colour: false });
    for stratum in ["volume=fast", "volume=limited"] {
        assert!(page.contains(stratum) && told.contains(&format!("load with {stratum}: the flat curve is")));
    }
    assert!(!html(&curve_scenes::basic()).unwrap().contains("id=\"flatness\""));
}

#[test]
fn the_verdict_on_the_curve_comes_before_everything_else() {
    let page = html(&curve_scenes::basic()).unwrap();
    let order = ["id=\"curve-verdicts\"", "id=\"flags\"", "id=\"environment\""];
    let places: Vec<usize> = order.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted());
    assert!(
        page.contains(">faster</span>") && page.contains(">undecided</span>")
            || page.contains(">slower</span>")
    );
    assert!(page.contains("was read from memory in part"), "flags of curves are shown");
}

#[test]
fn a_curve_has_no_median_of_its_own() {
    let page = html(&curve_scenes::basic()).unwrap();
    assert!(!page.contains("no figure") && !page.contains("nothing to draw"));
    assert!(!page.contains("forest-figure"));
    let page = html(&curve_scenes::beside_a_figure()).unwrap();
    assert!(page.contains("forest-figure") && page.contains("curve-iops-wide"), "the strips and the curves");
    assert!(!page.contains("curve-verdicts"));
}

#[test]
fn a_cell_says_its_verdict_without_colour() {
    let page = html(&curve_scenes::detailed()).unwrap();
    let map = drawing(&page, "ratio-map-0");
    let signs: Vec<&str> = map
        .split("<text class=\"cell-sign")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('>')?.1.split_once('<')?.0))
        .collect();
    assert_eq!(signs.len(), map.matches("<rect").count());
    assert!(signs.iter().all(|sign| ["\u{25b2}", "\u{25bc}", "=", "?"].contains(sign)), "{signs:?}");
    assert!(map.contains(">+") && map.contains("cell-text"), "figures keep signs of their own");
}

#[test]
fn a_matrix_shows_rows_further_in_and_says_what_stands_beside() {
    let page = html(&curve_scenes::detailed()).unwrap();
    assert!(page.contains("with no large I/O beside it") && page.contains("with no small I/O beside it"));
    for id in ["curve-iops-2", "curve-iops-4", "curve-throughput-10"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    let page = html(&curve_scenes::basic()).unwrap();
    assert!(!page.contains("tag\">with no") && !page.contains("class=\"thirds\""));
}

#[test]
fn curves_that_cross_are_called_so() {
    let page = html(&curve_scenes::crossing()).unwrap();
    assert!(page.contains("<span class=\"verdict-word undecided\">crosses</span>"));
    assert!(page.contains("faster †</span>"), "the step-down is marked in the row");
    assert!(page.contains("†: decided together"));
}

#[test]
fn hostile_names_stay_text() {
    let page = html(&curve_scenes::hostile()).unwrap();
    let elements = balanced(&page);
    assert_eq!(elements.iter().filter(|element| *element == "script").count(), 1);
    assert!(!elements.iter().any(|element| element == "img"));
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn a_rehearsal_claims_nothing_of_curves() {
    let mut run = curve_scenes::basic();
    run.plan.quick = true;
    let page = html(&run).unwrap();
    balanced(&page);
    assert!(!page.contains("curve-verdicts") && !page.contains("ratio-map") && !page.contains(">faster<"));
    assert!(page.contains("curve-iops-wide"));
}
