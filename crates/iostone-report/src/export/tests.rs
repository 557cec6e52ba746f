//! What is written, read back by hand where that is short. The tests of kind `real` read it by the programs it is for.

use iostone_model::dataset::{MetricNote, Observation};
use iostone_model::metric::{Direction, Unit};

use super::*;

fn dataset() -> Dataset {
    let mut dataset = Dataset::new("run");
    dataset.factors = vec!["flags".to_owned()];
    let note = |unit, better| MetricNote { unit, better, title: "a \"title\"".to_owned() };
    dataset.metrics.insert("iops".to_owned(), note(Unit::PerSecond, Some(Direction::Higher)));
    dataset.metrics.insert("wait_ms".to_owned(), note(Unit::Seconds, None));
    for (block, level, iops) in [(0, "-O2", 0.1 + 0.2), (0, "a, b", 1e21), (1, "-O2", 5.0)] {
        dataset.observations.push(Observation {
            labels: [("flags", level), ("host", "h")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            run: Some("1".to_owned()),
            block: Some(block),
            order: Some(1_764_000_000.5 + f64::from(u32::try_from(block).unwrap())),
            figures: [("iops".to_owned(), iops.into()), ("wait_ms".to_owned(), 0.0015.into())].into(),
            ..Observation::default()
        });
    }
    dataset
}

fn exported(dataset: &Dataset) -> Exported<'_> {
    Exported {
        directory: "2026-run",
        experiment: "my run",
        host: "h",
        started_at: "2026-11-28T00:00:00.5Z",
        dataset,
    }
}

#[test]
fn tables_quote_guard_and_keep_every_digit() {
    let dataset = dataset();
    let long = csv_long(&exported(&dataset));
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], "table,run,block,order,flags,host,metric,value,unit");
    assert_eq!(lines[1], ",1,0,1764000000.5,'-O2,h,iops,0.30000000000000004,/s");
    assert!(
        lines[3].starts_with(",1,0,1764000000.5,\"a, b\",h,iops,1000000000000000000000,/s"),
        "{}",
        lines[3]
    );
    let wide = csv_wide(&exported(&dataset));
    let lines: Vec<&str> = wide.lines().collect();
    assert_eq!(lines[0], "table,run,block,order,flags,host,iops,wait_ms [s]");
    assert_eq!(lines[1], ",1,0,1764000000.5,'-O2,h,0.30000000000000004,0.0015");
    assert_eq!(lines.len(), 4);
}

#[test]
fn formats_of_lines_name_units_and_levels() {
    let dataset = dataset();
    let text = open_metrics(&exported(&dataset));
    assert!(
        text.contains("# TYPE iostone_iops_per_second gauge\n# UNIT iostone_iops_per_second per_second\n"),
        "{text}"
    );
    assert!(text.contains(
        "configuration=\"flags=-O2\",trial=\"1\",block=\"0\",factor_flags=\"-O2\"} 0.30000000000000004\n"
    ));
    assert!(text.ends_with("# EOF\n"));
    let text = go_benchmark(&exported(&dataset));
    assert!(text.contains("Unit iops/s better=higher\n"), "{text}");
    assert!(
        text.contains("\nBenchmarkMy_run/flags=-O2 1 0.30000000000000004 iops/s 0.0015 wait_ms-sec\n"),
        "{text}"
    );
    let document: serde_json::Value = serde_json::from_str(&bencher(&exported(&dataset)).unwrap()).unwrap();
    let measure = &document["my run/flags=-O2"]["iops"];
    assert_eq!((&measure["lower_value"], &measure["upper_value"]), (&(0.1 + 0.2).into(), &5.0.into()));
}

#[test]
fn otava_has_a_row_for_each_block_of_a_run_and_one_for_each_of_several() {
    let dataset = dataset();
    let one = otava(&[exported(&dataset)]);
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(
        lines[0],
        "time,run,flags=-O2:iops,flags=-O2:wait_ms,\"flags=a, b:iops\",\"flags=a, b:wait_ms\""
    );
    assert!(
        lines[1].starts_with("2025-11-24T16:00:00Z,2026-run,0.30000000000000004,0.0015,"),
        "{}",
        lines[1]
    );
    assert_eq!((lines.len(), lines[2].ends_with(",,")), (3, true));
    let several = otava(&[exported(&dataset), exported(&dataset)]);
    assert_eq!(several.lines().count(), 3);
    assert!(several.lines().nth(1).unwrap().starts_with("2026-11-28T00:00:00Z,2026-run,2.65,"), "{several}");
}
