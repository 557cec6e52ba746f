//! The table of allowances, built in: each file of `data` says where its figures are from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use csv::StringRecord;
use iostone_model::experiment::{Allowance, Basis, Law};
use iostone_model::units::Fraction;

const CREDITS: &str = include_str!("../../data/credits.csv");
const T1_MICRO: &str = include_str!("../../data/t1-micro.csv");
const BUILDS: &str = include_str!("../../data/builds.csv");

/// The fastest processor among the builds: a t2.micro in burst, by its CPU seconds, user and system (field report, addition of
/// 2014-07-02).
const FASTEST: (&str, f64) = ("t2.micro", 533.064 + 26.884);

const CREDIT_GUIDE: &str = "EC2 User Guide, burstable performance instances, May 2023";
const BUILD_REPORT: &str =
    "perlbrew install perl-5.18.2 of a field report of 2014-03-13 and 2014-07-02, once each";

/// Every allowance by instance type, the default of a type first.
pub(super) fn table() -> &'static BTreeMap<String, Vec<Allowance>> {
    static TABLE: OnceLock<BTreeMap<String, Vec<Allowance>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let credits = rows(CREDITS).into_iter().filter_map(|row| credits(&row)).flatten();
        let t1_micro = rows(T1_MICRO).into_iter().filter_map(|row| bucket_or_window(&row));
        let builds = rows(BUILDS).into_iter().filter_map(|row| share(&row));
        let mut table: BTreeMap<String, Vec<Allowance>> = BTreeMap::new();
        for allowance in credits.chain(t1_micro).chain(builds) {
            table.entry(allowance.instance.clone()).or_default().push(allowance);
        }
        table
    })
}

/// A row by the names of its columns.
struct Row(BTreeMap<String, String>);

impl Row {
    fn text(&self, column: &str) -> Option<String> {
        self.0.get(column).filter(|text| !text.is_empty()).cloned()
    }

    fn number(&self, column: &str) -> Option<f64> {
        self.0.get(column)?.parse().ok()
    }

    fn percent(&self, column: &str) -> Option<Fraction> {
        Some(Fraction(self.number(column)? / 100.0))
    }

    fn vcpus(&self) -> Option<u32> {
        self.0.get("vcpus")?.parse().ok()
    }

    fn basis(&self) -> Option<Basis> {
        match self.0.get("basis")?.as_str() {
            "published" => Some(Basis::Published),
            "measured" => Some(Basis::Measured),
            "assumed" => Some(Basis::Assumed),
            _ => None,
        }
    }
}

fn rows(text: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let names: Vec<String> =
        reader.headers().map(|names| names.iter().map(str::to_owned).collect()).unwrap_or_default();
    let row =
        |record: StringRecord| Row(names.iter().cloned().zip(record.iter().map(str::to_owned)).collect());
    reader.records().filter_map(Result::ok).map(row).collect()
}

/// The two modes of a type, its default first.
fn credits(row: &Row) -> Option<[Allowance; 2]> {
    let unlimited_is_default = row.text("mode")? == "unlimited";
    let mode = |unlimited: bool| {
        let is_default = unlimited == unlimited_is_default;
        let name = match (is_default, unlimited) {
            (true, _) => "credits",
            (false, true) => "unlimited",
            (false, false) => "standard",
        };
        Some(Allowance {
            instance: row.text("instance")?,
            name: name.to_owned(),
            vcpus: row.vcpus()?,
            law: Law::Credits {
                baseline: row.percent("baseline_percent")?,
                earned_per_hour: row.number("earned_per_hour")?,
                maximum: row.number("maximum")?,
                // Launch credits are of standard mode only.
                launch: if unlimited { 0.0 } else { row.number("launch")? },
                unlimited,
            },
            basis: Basis::Published,
            source: format!(
                "{CREDIT_GUIDE}; {} mode{}",
                if unlimited { "unlimited" } else { "standard" },
                if is_default { ", the type's default" } else { "" }
            ),
        })
    };
    Some([mode(unlimited_is_default)?, mode(!unlimited_is_default)?])
}

fn bucket_or_window(row: &Row) -> Option<Allowance> {
    let law = if let Some(window_seconds) = row.number("window_seconds") {
        Law::Window {
            window_seconds,
            threshold: row.percent("threshold_percent")?,
            slow: row.percent("slow_percent")?,
        }
    } else {
        Law::Bucket {
            capacity_seconds: row.number("capacity_seconds")?,
            refill: row.percent("refill_percent")?,
            throttled_refill: row.percent("throttled_refill_percent")?,
            slow: row.percent("slow_percent")?,
            resume: row.percent("resume_percent")?,
        }
    };
    Some(Allowance {
        instance: row.text("instance")?,
        name: row.text("law")?,
        vcpus: row.vcpus()?,
        law,
        basis: row.basis()?,
        source: row.text("source")?,
    })
}

fn share(row: &Row) -> Option<Allowance> {
    let (fastest, least) = FASTEST;
    let used = row.number("user_seconds")? + row.number("system_seconds")?;
    let left = 1.0 - row.number("steal_percent").unwrap_or_default() / 100.0;
    let note = row.text("note").map(|note| format!("; {note}")).unwrap_or_default();
    Some(Allowance {
        instance: row.text("instance")?,
        name: row.text("law")?,
        vcpus: row.vcpus()?,
        law: Law::Share { share: Fraction(least / used * left) },
        basis: row.basis()?,
        source: format!(
            "CPU time {least:.0} s on the fastest ({fastest}) over {used:.0} s: {BUILD_REPORT}{note}"
        ),
    })
}
