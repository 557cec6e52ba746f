//! Plain tables: what is read of real published ones, and of every kind of column.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use iostone_tools::{Format, Head, Input, Likeness, Reading, find};

fn csv() -> &'static dyn Format {
    find("csv").unwrap()
}

fn read(name: &str, bytes: &[u8]) -> Result<Reading, String> {
    csv().read(&mut Input::new(name, bytes)).map_err(|error| error.to_string())
}

/// One snapshot of each fixture.
macro_rules! fixture {
    ($test:ident, $file:literal) => {
        #[test]
        fn $test() {
            let bytes = include_bytes!(concat!("fixtures/csv/", $file));
            let head = String::from_utf8_lossy(bytes);
            assert_eq!(csv().recognise(&Head { name: "a.txt", text: &head }), Likeness::Perhaps);
            let reading = read($file, bytes).unwrap();
            insta::assert_debug_snapshot!(summary(&reading));
        }
    };
}

// The published figures of the field reports, as they were copied from the articles.
fixture!(figures_of_dbench, "barrier-dbench.csv");
fixture!(figures_of_bonnie, "raid0-bonnie.csv");
fixture!(figures_of_dd, "ebs-bandwidth-dd.csv");
fixture!(figures_of_a_build, "cpu-limit-build.csv");
// Made for the tests: a German spreadsheet, every kind of column, tabs.
fixture!(a_spreadsheet_with_decimal_commas, "decimal-comma.csv");
fixture!(every_kind_of_column, "blocks.csv");
fixture!(tabs_between_cells, "tabs.tsv");

/// The notes, the factors and the observations, a line each.
fn summary(reading: &Reading) -> Vec<String> {
    let notes = reading.metrics.iter().map(|(name, note)| {
        let better = note.better.map_or("?".to_owned(), |better| format!("{better:?}"));
        format!("metric {name}: {:?}, {better}, `{}`", note.unit, note.title)
    });
    let factors = [format!("factors {}", reading.factors.join(", "))];
    let observations = reading.observations.iter().map(|observation| {
        let labels: Vec<String> =
            observation.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        let figures: Vec<String> = observation
            .figures
            .iter()
            .map(|(name, figure)| format!("{name}={:?}±{:?}", figure.value, figure.step))
            .collect();
        format!(
            "line {}: run {:?} block {:?} order {:?} [{}] {} {}",
            observation.line.unwrap_or_default(),
            observation.run,
            observation.block,
            observation.order,
            labels.join(", "),
            figures.join(" "),
            serde_json::to_string(&observation.facts).unwrap()
        )
    });
    notes.chain(factors).chain(observations).collect()
}

#[test]
fn a_cell_that_is_no_figure_is_told_with_its_line_and_column() {
    assert_eq!(
        read("a", b"condition,throughput_mb_s\non,198.8\noff,fast\n").unwrap_err(),
        "line 3: expected a number, in column `throughput_mb_s`, found `fast`"
    );
    assert_eq!(
        read("a", b"mode;ms;x_s\na;1,5;1\nb;1.500;2\n").unwrap_err(),
        "line 3: expected a decimal comma, as on line 2, in column `ms`, found `1.500`"
    );
    assert!(read("a", b"name,place\nfoo,bar\n").unwrap_err().contains("expected a column of figures"));
    assert!(read("a", b"").unwrap_err().contains("found the end of the file"));
}

#[test]
fn whole_numbers_that_come_back_are_levels_and_others_are_results() {
    let reading = read("a", b"x,y\n1,10\n1,11\n2,12\n2,13\n").unwrap();
    assert_eq!(reading.factors, ["x"]);
    assert_eq!(reading.metrics.keys().collect::<Vec<_>>(), ["y"]);
}

#[test]
fn one_figure_in_two_columns_keeps_their_names() {
    let reading = read("a", b"mode,max_latency_ms,max_latency_us\na,1,1000\nb,2,2000\n").unwrap();
    assert_eq!(reading.metrics.keys().collect::<Vec<_>>(), ["max_latency_ms", "max_latency_us"]);
}

#[test]
fn prose_and_code_are_no_tables() {
    let likeness = |name: &str, text: &str| csv().recognise(&Head { name, text });
    assert_eq!(likeness("a.txt", "Dear reader,\nthis is, as you see,\nno table.\n"), Likeness::No);
    assert_eq!(likeness("a.csv", "value\n1\n2\n"), Likeness::Perhaps);
    assert_eq!(likeness("a.txt", "value\n1\n2\n"), Likeness::No);
    assert_eq!(likeness("a.txt", ""), Likeness::No);
    assert_eq!(likeness("a.txt", "a,b\n"), Likeness::No);
}

#[test]
fn times_tell_the_order_and_results_are_no_levels() {
    let table = "fs,date_time,ended,avg_response,throughput_mb_s,elapsed_s\n\
                 ext4,2026-11-21 19:40:07,2026-11-21 19:41:00,95,101.5,53.1\n\
                 xfs,2026-11-21 19:41:07,2026-11-21 19:42:00,95,99.5,-53.2\n\
                 ext4,2026-11-21 19:42:07,2026-11-21 19:43:00,95,102.5,53.3\n\
                 xfs,2026-11-21 19:43:07,2026-11-21 19:44:00,95,98.5,53.4\n";
    let reading = read("a.csv", table.as_bytes()).unwrap();
    let first = &reading.observations[0];
    assert!(first.order.is_some_and(|order| order > 1.7e9), "{first:?}");
    assert!(first.figures.contains_key("avg_response"), "{first:?}");
    assert_eq!(
        reading.observations[1].value("wall_time"),
        Some(-53.2),
        "a clock that ran backwards is a figure"
    );
}
