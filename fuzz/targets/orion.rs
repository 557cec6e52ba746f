//! ORION's command line, its `.lun` file, and the record of a test: each is read or refused, and a record that is read can
//! be written in both layouts, searched for findings and drawn.
#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use iostone_fuzz::assert_survives_json;
use iostone_model::orion::{LoadPoint, OrionTest};
use iostone_orion::schedule::schedule;
use iostone_orion::files::{self, Format};
use iostone_orion::lun::parse_lun_text;
use iostone_orion::{findings, record};
use libfuzzer_sys::fuzz_target;

/// A matrix of more points is a matter of patience, not of reading.
const MOST_POINTS: usize = 100_000;

fuzz_target!(|bytes: &[u8]| {
    let [kind, content @ ..] = bytes else { return };
    match kind {
        b'a' => read_arguments(&String::from_utf8_lossy(content)),
        b'l' => read_luns(content),
        _ => read_record(content),
    }
});

fn read_arguments(line: &str) {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let test = match OrionTest::parse(&words) {
        Ok(test) => test,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_survives_json(&test);
    let disks = test.num_disks.unwrap_or(1);
    if test.small_loads(disks).len() * test.large_loads(disks).len() > MOST_POINTS {
        return;
    }
    let points = test.points(disks);
    let apart: BTreeSet<LoadPoint> = points.iter().copied().collect();
    assert_eq!(apart.len(), points.len(), "{line}: a point is measured twice");
    assert!(test.estimated_minutes(points.len()) > 0);
}

fn read_luns(content: &[u8]) {
    match parse_lun_text("fuzz.lun", content) {
        Ok(lines) => assert!(lines.iter().all(|line| !line.name.is_empty() && line.number > 0)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn read_record(content: &[u8]) {
    let Ok((record, whole)) = record::parse(Path::new("fuzz_record.jsonl"), content) else { return };
    assert!(whole <= content.len());
    let disks = record.header.num_disks.max(1);
    let test = &record.header.test;
    if test.small_loads(disks).len() * test.large_loads(disks).len() > MOST_POINTS {
        return;
    }
    for format in [Format::V11_1, Format::V12] {
        let texts = [
            files::summary(&record, format),
            files::iops_csv(&record, format),
            files::lat_csv(&record, format),
            files::mbps_csv(&record, format),
            files::console(&record, format),
        ];
        assert!(texts[0].contains("Commandline:"));
    }
    let _ = (files::trace(&record), files::histogram(&record));
    let found = findings::find(&record);
    let next = schedule(&record.header).next(&record.points);
    assert_eq!(next, schedule(&record.header).next(&record.points), "a schedule changes its mind");
    let page = iostone_report::orion_html(&record, &found).expect("a page");
    assert!(!page.contains("<script>alert"), "markup of a record is in the page");
}
