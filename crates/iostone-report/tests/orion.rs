//! The page and the text of made-up ORION tests: answers first, escaping, drawings that say what they are.

use crate::calibrations;
use crate::calibrations::findings;
use crate::markup::{balanced, drawing};
use iostone_model::orion::{OrionFindings, OrionRecord};
use iostone_report::{TextStyle, orion_html, orion_text};

fn page(record: &OrionRecord) -> String {
    orion_html(record, &findings(record)).expect("it is written")
}

fn text(record: &OrionRecord, width: usize) -> String {
    orion_text(record, &findings(record), TextStyle { width, colour: false })
}

#[test]
fn every_page_is_well_formed_and_loads_nothing() {
    for (name, make) in calibrations::ALL {
        let page = page(&make());
        balanced(&page);
        let local = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
        for address in ["http:", "https:", " src=\"", "url(", "@import", "<link"] {
            assert!(!local.contains(address), "{name}: {address}");
        }
        let mut ids = std::collections::BTreeSet::new();
        for id in page.split(" id=\"").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(ids.insert(id.0.to_owned()), "{name}: the id {} occurs twice", id.0);
        }
        for target in page.split("href=\"#").skip(1).filter_map(|rest| rest.split_once('"')) {
            assert!(ids.contains(target.0), "{name}: #{}", target.0);
        }
    }
}

#[test]
fn every_figure_says_what_it_is_and_holds_no_nonsense() {
    for (name, make) in calibrations::ALL {
        let page = page(&make());
        for svg in page.split("<svg").skip(1).filter_map(|svg| svg.split_once("</svg>")).map(|(svg, _)| svg) {
            assert!(svg.contains("role=\"img\"") && svg.contains("<desc id="), "{name}");
            for nonsense in ["NaN", "Infinity", "=\"inf", "=\"-inf"] {
                assert!(!svg.contains(nonsense), "{name}: {nonsense}");
            }
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let record = calibrations::hostile();
    let page = page(&record);
    let elements = balanced(&page);
    assert_eq!(elements.iter().filter(|element| *element == "script").count(), 1);
    assert!(!elements.iter().any(|element| element == "img"));
    assert!(page.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
    assert!(!page.contains('\u{202e}'));
    let text = text(&record, 80);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'));
}

#[test]
fn the_answers_come_first_and_name_the_limit() {
    let page = page(&calibrations::basic());
    let heading = page.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(heading.contains("IOPS") && heading.contains("MB/s") && heading.contains("µs"), "{heading}");
    assert!(page.contains("Bound by a known limit: 2\u{202f}000 reads/s on loop0"));
    assert!(page.contains("class=\"ceiling\"") && page.contains("class=\"plateau\""));
    assert!(page.contains("knee at load 2: ") && page.contains("The asymptotes meet at load 1.79."));
}

#[test]
fn a_matrix_is_a_map_and_a_row_is_none() {
    let maps = |record: &OrionRecord| {
        let page = page(record);
        ["map-iops", "map-latency", "map-throughput"].map(|id| page.contains(&format!("{id}-wide")))
    };
    assert_eq!(maps(&calibrations::normal()), [true; 3]);
    assert_eq!(maps(&calibrations::detailed()), [true; 3]);
    for make in [calibrations::basic, calibrations::single, calibrations::row, calibrations::dss] {
        assert_eq!(maps(&make()), [false; 3]);
    }
}

#[test]
fn estimates_are_hatched_and_what_is_missing_stays_empty() {
    let record = calibrations::adaptive();
    let map = drawing(&page(&record), "map-throughput");
    let estimates = &record.end.as_ref().unwrap().estimates;
    let hatched = estimates.iter().filter(|cell| cell.large > 0).count();
    assert_eq!(map.matches("class=\"hatch\"").count(), hatched);
    let measured = record.points.iter().filter(|point| point.large > 0).count();
    assert_eq!(map.matches("<rect").count(), hatched + measured);
    assert!(text(&record, 80).contains("~ marks points that were not measured"));
}

#[test]
fn a_load_beside_another_is_said_at_the_axis() {
    let page = page(&calibrations::row());
    assert!(page.contains("outstanding small I/Os, beside Large=3"));
    assert!(text(&calibrations::row(), 80).contains("Small I/O beside Large=3"));
}

#[test]
fn a_rate_that_still_grows_has_no_knee_anywhere() {
    let record = calibrations::unreached();
    let (page, text) = (page(&record), text(&record, 80));
    assert!(page.contains("No knee up to load 20: the rate still grows."));
    assert!(text.contains("No knee up to load 20: the rate still grows."), "{text}");
    for claim in ["knee at", "Knee at", "Knee: where", "hardly more rate", "or above"] {
        assert!(!page.contains(claim) && !text.contains(claim), "{claim}");
    }
}

#[test]
fn what_a_search_for_the_knee_took_is_no_share_of_a_plan() {
    let record = calibrations::unreached();
    let count = record.points.len();
    assert!(text(&record, 80).contains(&format!("\n{count} points, 1 LUN of 10\u{a0}GiB, ")));
    let plan = text(&calibrations::adaptive(), 80).replace('\n', " ");
    assert!(plan.contains(" of 189 points, 2 LUNs, 20\u{a0}GiB together"), "{plan}");
}

#[test]
fn more_remarks_than_are_read_are_counted() {
    let record = calibrations::unreached();
    let more = record.points.len() - 6;
    for told in [page(&record), text(&record, 80)] {
        assert_eq!(told.matches("hat is to be said of ").count(), 6);
        assert!(told.contains(&format!("{more} more notes stand in the record")));
        assert!(!told.contains("±0.0") && told.contains("±0.1\u{a0}%"));
    }
}

#[test]
fn an_unfinished_test_says_so() {
    assert!(page(&calibrations::adaptive()).contains("has not come to its end (interrupted)"));
    let record = calibrations::nothing();
    let page = orion_html(&record, &OrionFindings::default()).unwrap();
    assert!(page.contains("nothing measured yet") && page.contains("it can be resumed"));
    assert!(text(&record, 80).contains("nothing measured yet"));
}

#[test]
fn lines_keep_to_the_width() {
    for (name, make) in calibrations::ALL {
        for width in [60, 80, 140] {
            let text = text(&make(), width);
            let longest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(longest <= width, "{name}: {longest} of {width}");
        }
    }
}

#[test]
fn colour_only_adds_to_the_words() {
    let record = calibrations::basic();
    let coloured = orion_text(&record, &findings(&record), TextStyle { width: 80, colour: true });
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, text(&record, 80));
}

#[test]
fn a_small_matrix_is_written_and_drawn_as_before() {
    let record = calibrations::normal();
    insta::assert_snapshot!("orion_text", text(&record, 80));
    insta::assert_snapshot!("orion_map", drawing(&page(&record), "map-iops"));
    insta::assert_snapshot!("orion_curve", drawing(&page(&record), "iops"));
}

#[test]
fn a_rate_that_is_hardly_known_is_no_good_news() {
    let mut record = calibrations::basic();
    assert!(page(&record).contains("<li class=\"good\">✓ rates known to"));
    record.points.last_mut().unwrap().precision = Some(0.162);
    let page = page(&record);
    assert!(page.contains("<li class=\"heed\">! rates known to ±16.2\u{a0}% at worst</li>"));
    assert!(!page.contains("✓ rates known"));
}
