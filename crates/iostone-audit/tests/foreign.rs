//! Tables as other people keep them: clean ones of many shapes raise nothing serious, and faults planted in them are found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use iostone_audit::audit;
use iostone_model::audit::Severity;
use iostone_model::dataset::{Ceiling, DataKind, Dataset, Ending, Figure, MetricNote, Observation};
use iostone_model::metric::{self, Unit};

/// Pseudorandom numbers (Lehmer's, multiplier 48271), the same each time.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed * 7919 + 1)
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        f64::from(u32::try_from(self.0).unwrap()) / 2_147_483_647.0
    }
}

/// Seconds since 1970 at which the first run starts.
const START: f64 = 1_795_000_000.0;

/// Two filesystems in eight blocks of random order: throughput and latency with 3 % of noise, printed to two decimals.
fn base() -> Dataset {
    let mut chance = Chance::new(21);
    let mut made = Dataset::new("foreign");
    made.factors = vec!["fs".to_owned()];
    for block in 0..8_u32 {
        let mut levels = [("ext4", 100.0), ("xfs", 120.0)];
        if chance.share() < 0.5 {
            levels.reverse();
        }
        for (index, (fs, rate)) in levels.into_iter().enumerate() {
            let mut noise = || 1.0 + 0.06 * (chance.share() - 0.5);
            let mut row = Observation {
                file: "results.csv".to_owned(),
                line: Some(u64::from(2 * block) + index as u64 + 2),
                order: Some(START + 130.0 * f64::from(2 * block) + 130.0 * index as f64 + 17.0 * noise()),
                ..Observation::default()
            };
            row.labels.insert("fs".to_owned(), fs.to_owned());
            row.figures.insert("throughput".to_owned(), printed(1e6 * rate * noise(), 1e4));
            row.figures.insert("latency_mean".to_owned(), printed(0.004 * noise(), 1e-6));
            made.observations.push(row);
        }
    }
    noted(made)
}

/// A value as printed in steps.
fn printed(value: f64, step: f64) -> Figure {
    Figure { value: (value / step).round() * step, step }
}

/// With the units of figures that are known by name.
fn noted(mut made: Dataset) -> Dataset {
    for name in made.observations.iter().flat_map(|row| row.figures.keys()) {
        let known = metric::find(name);
        let note = MetricNote {
            unit: known.map_or(Unit::Plain, |known| known.unit),
            better: known.map(|known| known.direction),
            title: String::new(),
        };
        made.metrics.entry(name.clone()).or_insert(note);
    }
    made
}

/// `base` with something done to each row, by its number.
fn each(change: impl Fn(usize, &mut Observation)) -> Dataset {
    let mut made = base();
    made.observations.iter_mut().enumerate().for_each(|(index, row)| change(index, row));
    noted(made)
}

/// With a label in each row, taken as varied on purpose, as tables without a description are.
fn labelled(name: &str, value: impl Fn(usize, &str) -> String) -> Dataset {
    let mut made = each(|index, row| {
        let text = value(index, &row.labels["fs"]);
        row.labels.insert(name.to_owned(), text);
    });
    made.factors.push(name.to_owned());
    made
}

fn set(row: &mut Observation, name: &str, value: f64) {
    row.figures.insert(name.to_owned(), value.into());
}

fn unit(mut made: Dataset, units: &[(&str, Unit)]) -> Dataset {
    for (name, unit) in units {
        let note = MetricNote { unit: *unit, better: None, title: String::new() };
        made.metrics.insert((*name).to_owned(), note);
    }
    made
}

fn is_xfs(row: &Observation) -> bool {
    row.labels["fs"] == "xfs"
}

/// The rows of one filesystem after those of the other, in time as well, each value times its place's.
fn in_stretches(factor: impl Fn(usize) -> f64) -> Dataset {
    let mut made = base();
    made.observations.sort_by_key(is_xfs);
    for (index, row) in made.observations.iter_mut().enumerate() {
        row.order = Some(START + 130.0 * index as f64);
        let value = row.figures["throughput"].value / if is_xfs(row) { 1.2 } else { 1.0 };
        row.figures.insert("throughput".to_owned(), printed(value * factor(index), 1e4));
    }
    made
}

/// A grid of settings, each run once, some next to each other hardly apart.
fn grid() -> Dataset {
    let mut made = Dataset::new("grid");
    made.factors = vec!["iodepth".to_owned(), "bs".to_owned()];
    for (depth, bs, rate) in [1, 2, 4, 8, 16, 32]
        .into_iter()
        .flat_map(|depth: u32| [("4k", 1.0), ("64k", 6.0), ("1m", 9.0)].map(|(bs, rate)| (depth, bs, rate)))
    {
        let mut row = Observation { file: "grid.csv".to_owned(), ..Observation::default() };
        row.labels.insert("iodepth".to_owned(), depth.to_string());
        row.labels.insert("bs".to_owned(), bs.to_owned());
        let saturated = 1.0 - 0.5_f64.powi(i32::try_from(depth).unwrap());
        row.figures.insert("throughput".to_owned(), printed(28.13e6 * rate * saturated, 1e4));
        made.observations.push(row);
    }
    noted(made)
}

/// What a load generator writes every second: cumulative percentiles that stand still for a while.
fn series() -> Dataset {
    let mut made = Dataset::new("series");
    made.factors = vec!["users".to_owned()];
    for second in 0..120_u32 {
        let mut row = Observation { order: Some(START + f64::from(second)), ..Observation::default() };
        row.labels.insert("users".to_owned(), (second / 10 * 5).to_string());
        row.figures.insert("latency_p50".to_owned(), printed(0.190_37 + 0.001 * f64::from(second / 4), 1e-5));
        row.figures.insert("latency_p99".to_owned(), printed(0.903_11 + 0.007 * f64::from(second / 7), 1e-5));
        made.observations.push(row);
    }
    noted(made)
}

/// A program that a tool ran with options of its own, named by a file or a job.
fn of_a_tool(factor: &str, names: [&str; 2], option: &str, values: [&str; 2]) -> Dataset {
    let mut made = each(|_, row| {
        let second = usize::from(is_xfs(row));
        row.labels = [(factor, names[second]), (option, values[second])]
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .into();
        "fio".clone_into(&mut row.tool);
    });
    made.factors = vec![factor.to_owned()];
    made
}

fn clean() -> Vec<(&'static str, Dataset)> {
    let uuid = |index: usize| format!("6ecd8c99-4036-403d-bf84-{:012x}", index * 7919 + 5);
    let time = |index: usize| format!("2026-11-19T{:02}:{:02}:07Z", 3 + index / 20, 7 + 2 * (index % 20));
    let by_fs = |ext4: &'static str, xfs: &'static str| {
        move |_: usize, fs: &str| if fs == "xfs" { xfs } else { ext4 }.to_owned()
    };
    vec![
        ("blocks", base()),
        ("a uuid", labelled("id", |index, _| uuid(index))),
        ("a log file", labelled("log", |index, fs| format!("{fs}-{index}.log"))),
        (
            "a comment here and there",
            labelled("comment", |index, _| if index == 3 { "cron ran" } else { "-" }.to_owned()),
        ),
        ("an end time", labelled("finished", |index, _| time(index))),
        ("a number of each row", labelled("pid", |index, _| (4711 + 13 * index).to_string())),
        ("a price", labelled("price_per_hour", by_fs("0.096", "0.192"))),
        ("a long name", labelled("full_name", by_fs("the fourth extended filesystem", "that of IRIX"))),
        ("a longer level", labelled("variant", by_fs("ext4 (defaults)", "xfs (defaults)"))),
        ("commits with their day", {
            let mut made = each(|_, row| {
                let new = is_xfs(row);
                let (commit, day) = if new { ("8065bf5", "2026-11-22") } else { ("77c1205", "2026-11-20") };
                row.labels =
                    [("commit", commit), ("date", day)].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
                row.order = None;
            });
            made.factors = vec!["commit".to_owned()];
            made
        }),
        ("a condition that an option makes", of_a_tool("condition", ["small", "large"], "bs", ["4k", "1m"])),
        (
            "jobs with their own kind of I/O",
            of_a_tool("job", ["first", "second"], "rw", ["randread", "randwrite"]),
        ),
        ("a grid run once", grid()),
        ("a series sampled every second", series()),
        ("ten of one command, then ten of the other", {
            let mut made = in_stretches(|_| 1.0);
            let mut again = made.observations.clone();
            let mut chance = Chance::new(4);
            for row in &mut again {
                row.order = row.order.map(|order| order + 0.5);
                for figure in row.figures.values_mut() {
                    figure.value =
                        printed(figure.value * (1.0 + 0.02 * (chance.share() - 0.5)), figure.step).value;
                }
            }
            made.observations.extend(again);
            made
        }),
        (
            "prices that repeat",
            unit(
                each(|index, row| {
                    row.figures.clear();
                    set(row, "price", [9.8, 4.9, 7.9, 9.8, 4.9][index % 5]);
                }),
                &[("price", Unit::Plain)],
            ),
        ),
        (
            "percentiles rounded to two digits",
            each(|_, row| {
                set(row, "latency_min", 0.001_304);
                set(row, "latency_p50", 0.004);
                set(row, "latency_p99_9", 0.0074);
                set(row, "latency_max", 0.007_351);
            }),
        ),
        (
            "bytes, seconds and their rate",
            unit(
                each(|_, row| {
                    let seconds = 1e9 / row.figures["throughput"].value;
                    row.figures.insert("bytes".to_owned(), 1e9.into());
                    row.figures.insert("seconds".to_owned(), printed(seconds, 1e-3));
                }),
                &[("bytes", Unit::Bytes), ("seconds", Unit::Seconds)],
            ),
        ),
    ]
}

#[test]
fn clean_tables_of_many_shapes_raise_nothing_serious() {
    for (shape, made) in clean() {
        let report = audit(&made);
        let serious: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity == Severity::Serious).collect();
        assert!(serious.is_empty(), "{shape}: {serious:#?}");
    }
}

#[test]
fn columns_that_describe_or_name_rows_raise_no_warning_either() {
    for (shape, made) in clean().into_iter().take(9) {
        let warnings: Vec<_> =
            audit(&made).findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert!(warnings.is_empty(), "{shape}: {warnings:#?}");
    }
}

/// Faults with the rule that should find them.
#[expect(clippy::too_many_lines, reason = "a table, a fault after the other")]
fn faulty() -> Vec<(&'static str, &'static str, Dataset)> {
    let copy = |from: usize, to: usize| {
        let mut made = base();
        made.observations[to].figures = made.observations[from].figures.clone();
        made
    };
    let ext4: Vec<usize> = (0..16).filter(|index| !is_xfs(&base().observations[*index])).collect();
    let amounts = |factor: f64| {
        let made = each(|index, row| {
            set(row, "bytes", 1e9);
            set(row, "seconds", (1e9 / row.figures["throughput"].value * 1e3).round() / 1e3);
            if index > 8 {
                let rate = row.figures["throughput"].value * factor;
                row.figures.insert("throughput".to_owned(), printed(rate, 1e4));
            }
        });
        unit(made, &[("bytes", Unit::Bytes), ("seconds", Unit::Seconds)])
    };
    let facts = |index: usize, change: fn(&mut iostone_model::dataset::Facts)| {
        each(move |row_index, row| {
            if row_index == index {
                change(&mut row.facts);
            }
        })
    };
    let with_iops = each(|_, row| {
        let iops = (row.figures["throughput"].value / 4096.0 * 1.048_576).round();
        set(row, "iops", iops);
        row.labels.insert("bs".to_owned(), "4KiB".to_owned());
    });
    vec![
        ("a row told twice", "identical-rows", copy(ext4[0], ext4[4])),
        (
            "one value down the column",
            "identical-rows",
            each(|index, row| {
                if !is_xfs(row) && index > 4 {
                    row.figures.insert("throughput".to_owned(), Figure { value: 99_310_000.0, step: 1e4 });
                }
            }),
        ),
        ("rows under another condition", "same-data", {
            let mut made = base();
            let sources: Vec<_> =
                ext4.iter().map(|index| made.observations[*index].figures.clone()).collect();
            made.observations
                .iter_mut()
                .filter(|row| is_xfs(row))
                .zip(sources)
                .for_each(|(row, figures)| row.figures = figures);
            made
        }),
        ("bits for bytes", "unit-slip", amounts(8.0)),
        ("MiB under MB, by bytes and seconds", "unit-slip", amounts(1.0 / 1.048_576)),
        ("MiB under MB, by operations", "unit-slip", with_iops),
        (
            "latencies in other units",
            "latency-unit",
            each(|_, row| {
                if is_xfs(row) {
                    let latency = row.figures["latency_mean"].value;
                    set(row, "latency_mean", 1000.0 * latency);
                }
            }),
        ),
        (
            "states above the whole",
            "beyond-cpus",
            unit(
                each(|index, row| {
                    set(row, "cpu_user", 0.41);
                    set(row, "cpu_idle", if index == 7 { 0.93 } else { 0.56 });
                }),
                &[("cpu_user", Unit::Share), ("cpu_idle", Unit::Share)],
            ),
        ),
        (
            "more CPU time than CPUs",
            "beyond-cpus",
            each(|index, row| {
                row.labels.insert("cores".to_owned(), "2".to_owned());
                set(row, "wall_time", 10.0);
                set(row, "user_time", if index == 2 { 21.0 } else { 11.0 });
                set(row, "system_time", 4.0);
            }),
        ),
        (
            "a p50 above the p99",
            "statistics-order",
            each(|index, row| {
                set(row, "latency_p50", if index == 5 { 0.009 } else { 0.003 });
                set(row, "latency_p99", 0.006);
            }),
        ),
        (
            "a least value above the mean",
            "statistics-order",
            each(|index, row| {
                set(row, "latency_min", if index == 5 { 0.009 } else { 0.001 });
            }),
        ),
        (
            "an end before its start",
            "clock-backwards",
            each(|index, row| {
                let minute = if index == 6 { 1 } else { 40 };
                let end = jiff::Timestamp::from_second(
                    1_795_000_000 + 130 * i64::try_from(index).unwrap() + 60 * (minute - 39),
                );
                row.labels.insert("end_time".to_owned(), end.unwrap().to_string());
            }),
        ),
        (
            "a clock set back",
            "clock-backwards",
            each(|index, row| {
                if index == 9 {
                    row.order = row.order.map(|order| order - 3600.0);
                }
            }),
        ),
        (
            "settings that change together",
            "confounded-factors",
            labelled("scheduler", |_, fs| if fs == "xfs" { "bfq" } else { "none" }.to_owned()),
        ),
        (
            "one host each",
            "confounded-factors",
            labelled("host", |_, fs| if fs == "xfs" { "a" } else { "b" }.to_owned()),
        ),
        (
            "one after the other, on a drift",
            "order-confounded",
            in_stretches(|index| 1.0 + 0.02 * index as f64),
        ),
        (
            "a drift",
            "trend",
            each(|index, row| {
                row.order = Some(START + 130.0 * index as f64);
                let value = row.figures["throughput"].value * (1.0 - 0.03 * index as f64);
                row.figures.insert("throughput".to_owned(), printed(value, 1e4));
            }),
        ),
        (
            "a run that failed",
            "tool-error",
            facts(4, |facts| facts.ending = Some(Ending::Failed("killed".to_owned()))),
        ),
        (
            "a run cut short",
            "given-up",
            facts(4, |facts| facts.ending = Some(Ending::GivenUp("after an hour".to_owned()))),
        ),
        ("a full disk", "disk-full", facts(4, |facts| facts.ending = Some(Ending::DiskFull))),
        (
            "reads out of memory",
            "page-cache",
            facts(4, |facts| {
                facts.claimed_read_bytes = Some(10_000_000_000);
                facts.served_read_bytes = Some(1_000_000_000);
            }),
        ),
        ("more than the link carries", "above-ceiling", {
            let mut made = base();
            made.ceilings.push(Ceiling {
                name: "link".to_owned(),
                limit: "100MB/s".parse().unwrap(),
                restated: None,
                metrics: Vec::new(),
                applies: [].into(),
                source: "the provider".to_owned(),
            });
            made
        }),
        (
            "zeros",
            "zero-data",
            facts(4, |facts| {
                facts.data = Some(DataKind::Zeros);
                facts.claimed_written_bytes = Some(1_000_000_000);
            }),
        ),
        (
            "syncs dropped",
            "sync-dropped",
            facts(4, |facts| {
                facts.syncs_dropped_by = Some("an overlay mounted `volatile`".to_owned());
                facts.claimed_written_bytes = Some(1_000_000_000);
            }),
        ),
    ]
}

#[test]
fn faults_planted_in_a_clean_table_are_found() {
    let missed: Vec<_> = faulty()
        .into_iter()
        .filter_map(|(fault, rule, made)| {
            let report = audit(&made);
            let told = report.findings.iter().any(|one| one.rule == rule && one.severity > Severity::Note);
            let found: Vec<_> = report.findings.iter().map(|one| (one.rule.clone(), one.severity)).collect();
            (!told).then_some((fault, rule, found))
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
