//! What the columns of a plain table are, told from their names and cells.

use iostone_model::dataset::{CIRCUMSTANCES, Facts, MetricNote};
use iostone_model::metric::{self, Direction, Metric, Unit};

use super::clock::moment;
use super::fact;
use super::measure::{Measure, are_counts, snake, with_point, written};
use super::repetition;
use super::sheet::Sheet;
use crate::Malformed;

/// A column and what is made of its cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its name in the header.
    pub(crate) name: String,
    pub(crate) meaning: Meaning,
    /// Whether its cells alone told what it is: then other cells may tell better.
    pub(super) guessed: bool,
    /// What is doubtful in reading it so, where it is no figure.
    pub(crate) remark: Option<String>,
}

impl Column {
    /// The label that its cells are.
    pub(crate) fn label(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Label(label) | Meaning::Fact { label: Some(label), .. } => Some(label),
            _ => None,
        }
    }
}

/// What is made of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    Ignored,
    /// A label of that name.
    Label(String),
    Run,
    Block,
    Order,
    Tool,
    /// A fact, what stands behind the number in its cells, and the label that it is as well.
    Fact {
        key: &'static str,
        unit: String,
        label: Option<String>,
    },
    Figure(FigureColumn),
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureColumn {
    pub(crate) metric: String,
    pub(crate) note: MetricNote,
    /// How many base units one is; none where each cell carries its own unit.
    pub(crate) factor: Option<f64>,
    /// What is doubtful in reading it so.
    pub(crate) remark: Option<String>,
}

/// Names under which a number is a level of something that was set, not a result.
const LEVELS: &[&str] = &[
    "condition",
    "level",
    "clients",
    "procs",
    "processes",
    "threads",
    "jobs",
    "numjobs",
    "workers",
    "users",
    "disks",
    "devices",
    "devs",
    "nodes",
    "release",
    "os_release",
    "volumes",
    "members",
    "replicas",
    "cores",
    "vcpus",
    "depth",
    "iodepth",
    "queue_depth",
    "qd",
    "small",
    "large",
    "bs",
    "block_size",
    "io_size",
    "file_size",
    "record_size",
    "size",
    "chunk",
    "readahead",
    "seed",
    "id",
    "version",
];

/// Words of results, for whole numbers that come back: 95 ms twice is no level.
const RESULTS: &[&str] = &[
    "latency",
    "lat",
    "response",
    "elapsed",
    "duration",
    "errors",
    "failures",
    "misses",
    "hits",
    "requests",
    "score",
    "avg",
    "average",
    "mean",
    "median",
    "min",
    "max",
    "stddev",
    "throughput",
    "bandwidth",
    "bw",
    "iops",
    "tps",
    "qps",
    "rps",
    "ops",
    "cycles",
    "instructions",
];

/// Names of the time at which a row was made, where its cells are times of day.
const MOMENTS: &[&str] = &[
    "timestamp",
    "time_stamp",
    "datetime",
    "date_time",
    "date",
    "time",
    "start",
    "started",
    "started_at",
    "start_time",
    "begin",
    "begin_time",
    "start_timestamp",
    "created_at",
    "run_at",
];

/// Names under which people write about a row, rather than what it was made under.
const NOTES: &[&str] =
    &["note", "notes", "comment", "comments", "remark", "remarks", "description", "bemerkung", "kommentar"];

/// Other names of facts that are sizes, for columns with a unit of bytes or whose cells carry one.
const SIZES: &[(&[&str], &str)] = &[
    (
        &[
            "file_size",
            "filesize",
            "size_of_file",
            "working_set",
            "working_set_size",
            "data_size",
            "dataset_size",
            "test_size",
        ],
        "working_set_bytes",
    ),
    (&["memory", "ram", "mem", "memory_size"], "memory_bytes"),
    (&["volume_size"], "volume_bytes"),
];

/// Other names of known figures, for columns whose unit agrees.
const ALIASES: &[(&str, &str)] = &[
    ("bandwidth", "throughput"),
    ("bw", "throughput"),
    ("read_throughput", "read.throughput"),
    ("read_bandwidth", "read.throughput"),
    ("read_bw", "read.throughput"),
    ("write_throughput", "write.throughput"),
    ("write_bandwidth", "write.throughput"),
    ("write_bw", "write.throughput"),
    ("read_iops", "read.iops"),
    ("write_iops", "write.iops"),
    ("block_rewrite", "rewrite"),
    ("seeks", "random_seeks"),
    ("max_latency", "latency_max"),
    ("min_latency", "latency_min"),
    ("mean_latency", "latency_mean"),
    ("avg_latency", "latency_mean"),
    ("average_latency", "latency_mean"),
    ("latency_avg", "latency_mean"),
    ("median_latency", "latency_p50"),
    ("latency_median", "latency_p50"),
    ("p50_latency", "latency_p50"),
    ("p90_latency", "latency_p90"),
    ("p95_latency", "latency_p95"),
    ("p99_latency", "latency_p99"),
    ("real", "wall_time"),
    ("real_time", "wall_time"),
    ("wall", "wall_time"),
    ("elapsed", "wall_time"),
    ("elapsed_time", "wall_time"),
    ("duration", "wall_time"),
    ("user", "user_time"),
    ("sys", "system_time"),
    ("sys_time", "system_time"),
    ("system", "system_time"),
];

/// What every column of a table is. The rule stands in `docs/reference/described-datasets.md`.
pub(crate) fn guess(sheet: &Sheet) -> Vec<Column> {
    let mut columns: Vec<Column> = sheet
        .columns
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let told = meaning(sheet, index, name);
            let guessed = told.is_none();
            let meaning = told.unwrap_or_else(|| by_cells(sheet, index, name));
            Column { name: name.clone(), meaning, guessed, remark: None }
        })
        .collect();
    // Of several times the first is when a row was made.
    let mut times = columns.iter_mut().filter(|column| column.meaning == Meaning::Order).skip(1);
    times.by_ref().for_each(|column| column.meaning = Meaning::Label(column.name.clone()));
    repetition::find(sheet, &mut columns);
    plain_numbers(sheet, &mut columns);
    part_namesakes(&mut columns);
    columns
}

/// What a column's name tells; none where it tells nothing.
fn meaning(sheet: &Sheet, index: usize, name: &str) -> Option<Meaning> {
    if name.is_empty() || sheet.column(index).all(is_missing) {
        return Some(Meaning::Ignored);
    }
    let plain = snake(name);
    match plain.as_str() {
        plain if repetition::is_named(plain) => return Some(Meaning::Run),
        "block" | "round" => return Some(Meaning::Block),
        "order" | "position" | "sequence" | "timestamp" | "started_at"
            if sheet.column(index).all(|cell| moment(cell).is_some()) =>
        {
            return Some(Meaning::Order);
        }
        "tool" => return Some(Meaning::Tool),
        plain if MOMENTS.contains(&plain) && are_moments(sheet, index) => return Some(Meaning::Order),
        _ => {}
    }
    let named = Measure::of_name(name);
    if let Some(fact) = as_fact(sheet, index, name, &plain, named.as_ref()) {
        return Some(fact);
    }
    let base = named.as_ref().map_or(plain.as_str(), |(base, _)| base.as_str());
    let size = named.as_ref().is_none_or(|(_, measure)| measure.unit == Unit::Bytes);
    if CIRCUMSTANCES.contains(&plain.as_str()) || (size && LEVELS.contains(&base)) {
        return Some(Meaning::Label(name.to_owned()));
    }
    // A quota of -1 is none, and a time of -1 says that there was none: such numbers were set, not measured.
    let time = named.as_ref().is_some_and(|(_, measure)| measure.unit == Unit::Seconds);
    let below_zero = || {
        let numbers = sheet.column(index).filter_map(|cell| cell.parse::<f64>().ok());
        let mut below: Vec<f64> = numbers.filter(|number| *number < 0.0).collect();
        below.dedup();
        matches!(below.as_slice(), [one] if one.fract() == 0.0)
    };
    if plain.split('_').any(|word| word == "quota") || (time && below_zero()) {
        return Some(Meaning::Label(name.to_owned()));
    }
    if let Some(metric) = metric::find(name).or_else(|| metric::find(&plain)) {
        return Some(known_figure(sheet, index, name, metric));
    }
    named.map(|(base, measure)| {
        let figure = named_figure(name, base, measure);
        // `44.7k` of operations, where the name says that they are of a second.
        let counts = figure.note.unit == Unit::PerSecond && are_counts(sheet, index);
        Meaning::Figure(FigureColumn { factor: figure.factor.filter(|_| !counts), ..figure })
    })
}

/// A fact by its name, or by its name with another unit: `memory_gib`, `steal_percent`.
fn as_fact(
    sheet: &Sheet,
    index: usize,
    name: &str,
    plain: &str,
    named: Option<&(String, Measure)>,
) -> Option<Meaning> {
    let sized = |base: &str| {
        let size = SIZES.iter().find(|(names, _)| names.contains(&base))?;
        Some(size.1)
    };
    let sized_cells = (written_unit(sheet, index) == Some(Unit::Bytes)).then(|| sized(plain)).flatten();
    let exact = sized_cells.map(|key| (key, String::new()));
    let exact =
        // What is called as a circumstance is one: `instance`, `volume`, `date`.
        exact.or_else(|| fact::KEYS.iter().find(|key| **key == plain && !CIRCUMSTANCES.contains(key)).map(|key| (*key, String::new())));
    let other = || {
        let (base, measure) = named?;
        let (wanted, base_unit) = match measure.unit {
            Unit::Bytes => (format!("{base}_bytes"), "B"),
            Unit::BytesPerSecond => (format!("{base}_bytes_per_second"), "B/s"),
            Unit::Share => (base.clone(), "%"),
            _ => return None,
        };
        let alias = (measure.unit == Unit::Bytes).then(|| sized(base)).flatten();
        let key = alias.or_else(|| fact::KEYS.iter().copied().find(|key| *key == wanted))?;
        // The unit as quantities spell it, found by its factor.
        let unit = ["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "%"]
            .iter()
            .flat_map(|unit| [(*unit).to_owned(), format!("{unit}/s")])
            .find(|unit| Measure::of_text(unit) == Some(*measure))
            .unwrap_or_else(|| base_unit.to_owned());
        Some((key, unit))
    };
    let (key, unit) = exact.or_else(other)?;
    let fits = |cell: &str| {
        let text = format!("{}{unit}", with_point(cell, sheet.comma_is_free));
        is_missing(cell) || fact::set(&mut Facts::default(), key, &text).is_ok()
    };
    if !sheet.column(index).all(fits) {
        return None;
    }
    let varied = fact::CHOSEN.contains(&key) && distinct(sheet, index) > 1;
    Some(Meaning::Fact { key, unit, label: varied.then(|| name.to_owned()) })
}

/// A figure known by its bare name: in cells with units as they say, else in its base unit.
fn known_figure(sheet: &Sheet, index: usize, name: &str, metric: &Metric) -> Meaning {
    let note = note_of(metric);
    let carried = written_unit(sheet, index) == Some(metric.unit) && metric.unit != Unit::Plain;
    if carried || (metric.unit == Unit::PerSecond && are_counts(sheet, index)) {
        let metric = metric.name.to_owned();
        return Meaning::Figure(FigureColumn { metric, note, factor: None, remark: None });
    }
    let base = match metric.unit {
        Unit::BytesPerSecond => Some("bytes a second"),
        Unit::Seconds => Some("seconds"),
        Unit::Bytes => Some("bytes"),
        Unit::Share => Some("a share of 1"),
        Unit::PerSecond | Unit::Plain => None,
    };
    let remark = base.map(|base| format!("column `{name}` names no unit; it was taken for {base}"));
    Meaning::Figure(FigureColumn { metric: metric.name.to_owned(), note, factor: Some(1.0), remark })
}

/// A figure whose column tells its unit.
fn named_figure(name: &str, base: String, measure: Measure) -> FigureColumn {
    let known = |base: &str| {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == base).map_or(base, |(_, metric)| metric);
        metric::find(alias)
    };
    let (metric, note) = match known(&base) {
        Some(metric) if metric.unit == measure.unit => (metric.name.to_owned(), note_of(metric)),
        // `random_seeks_s`: seeks a second, not seconds.
        Some(metric)
            if metric.unit == Unit::PerSecond
                && measure.unit == Unit::Seconds
                && snake(name).ends_with("_s") =>
        {
            return FigureColumn {
                metric: metric.name.to_owned(),
                note: note_of(metric),
                factor: Some(1.0),
                remark: None,
            };
        }
        // The name of something else that is counted otherwise must not be taken from it.
        Some(_) => (name.to_owned(), note(measure.unit, &base)),
        None => {
            let note = note(measure.unit, &base);
            (base, note)
        }
    };
    FigureColumn { metric, note, factor: Some(measure.factor), remark: None }
}

/// Numbers are results unless they are whole and come back; all else is words.
fn by_cells(sheet: &Sheet, index: usize, name: &str) -> Meaning {
    let label = Meaning::Label(name.to_owned());
    let comes_back = comes_back(sheet, index);
    if is_result(name) && are_counts(sheet, index) {
        let note = note(Unit::Plain, name);
        return Meaning::Figure(FigureColumn { metric: name.to_owned(), note, factor: None, remark: None });
    }
    match written_unit(sheet, index) {
        Some(Unit::Plain) => {
            let whole = |cell: &str| is_missing(cell) || cell.parse::<i64>().is_ok();
            if comes_back && !is_result(name) && sheet.column(index).all(whole) {
                return label;
            }
            let note = note(Unit::Plain, name);
            Meaning::Figure(FigureColumn { metric: name.to_owned(), note, factor: Some(1.0), remark: None })
        }
        // Sizes and shares in words are what was set (`8KiB`, `30%`), as is a rate or a time that comes back.
        None | Some(Unit::Bytes | Unit::Share) => label,
        Some(_) if comes_back => label,
        Some(unit) => {
            let named = named_figure(name, snake(name), Measure { unit, factor: 1.0 });
            // A name that no table knows stays as it is written.
            let known = metric::find(&named.metric).is_some();
            let metric = if known { named.metric } else { name.to_owned() };
            Meaning::Figure(FigureColumn { metric, note: named.note, factor: None, remark: None })
        }
    }
}

/// Whether a name is that of a result: `Average Response Time`, `p95`, `99.9%`.
fn is_result(name: &str) -> bool {
    let plain = snake(name);
    let mut words = plain.split('_');
    let quantile = |word: &str| {
        let number = word.strip_prefix('p').or_else(|| word.strip_suffix('%'));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    !words.clone().any(|word| LEVELS.contains(&word))
        && words.any(|word| RESULTS.contains(&word) || quantile(word))
}

/// Whether all cells are dates with a time of day, written alike.
fn are_moments(sheet: &Sheet, index: usize) -> bool {
    let mut first = None;
    sheet.column(index).all(|cell| {
        let writing = moment(cell).map(|(_, writing)| writing).filter(|_| cell.contains(':'));
        writing.is_some_and(|writing| *first.get_or_insert(writing) == writing)
    })
}

/// Numbers whose name tells no unit stand beside figures with one as what was set, where they look so: every value twice on
/// average, powers of two, or one more in each row. Where they are still figures that is doubtful, and said.
fn plain_numbers(sheet: &Sheet, columns: &mut [Column]) {
    let beside = columns.iter().any(|column| {
        matches!(&column.meaning, Meaning::Figure(figure) if !column.guessed || figure.note.unit != Unit::Plain)
    });
    for (index, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.guessed) {
        let Meaning::Figure(figure) = &mut column.meaning else { continue };
        if figure.note.unit != Unit::Plain {
            continue;
        }
        if beside && !is_result(&column.name) && (comes_back(sheet, index) || is_scale(sheet, index)) {
            column.meaning = Meaning::Label(column.name.clone());
        } else {
            figure.remark = Some(format!("column `{}` names no unit; taken for a figure", column.name));
        }
    }
}

/// Whether a column is 1, 2, 4, 8 or 3, 4, 5: people count machines so, and no measurement comes out so.
fn is_scale(sheet: &Sheet, index: usize) -> bool {
    let read: Option<Vec<u32>> = sheet.column(index).map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = read.filter(|numbers| numbers.len() > 1) else { return false };
    let doubled = numbers.iter().all(|number| number.is_power_of_two() || *number == 0);
    let counted =
        numbers.windows(2).all(|pair| matches!(pair, [one, next] if one.checked_add(1) == Some(*next)));
    doubled || counted
}

/// Refuses a label that some rows have and some have not, where its values come back: what the others were made under is
/// not known, and they must not become one condition.
pub(super) fn without_gaps(sheet: &Sheet, columns: &[Column]) -> Result<(), Malformed> {
    for (index, column) in columns.iter().enumerate() {
        let Meaning::Label(label) = &column.meaning else { continue };
        let filled = sheet.column(index).filter(|cell| !cell.is_empty()).count();
        let values = distinct(sheet, index);
        let Some(gap) = sheet.rows.iter().find(|row| row.cell(index).is_empty()) else { continue };
        let noted = is_note(label);
        // Spreadsheets write a level once above all of its rows.
        let merged = values > 1 && sheet.rows.first().is_some_and(|row| !row.cell(index).is_empty());
        if !noted && values > 1 && (values * 2 <= filled || merged) {
            return Err(Malformed {
                line: gap.line,
                expected: format!("a value in column `{}`, as in other rows (`-` for none)", column.name),
                found: "an empty cell".to_owned(),
            });
        }
    }
    Ok(())
}

/// The labels among the columns that may have been varied: they say something in every row, and are no circumstance and no
/// note.
pub(crate) fn factors(sheet: &Sheet, columns: &[Column]) -> Vec<String> {
    let label = |(index, column): (usize, &Column)| match &column.meaning {
        Meaning::Label(label) | Meaning::Fact { label: Some(label), .. } => {
            let full = sheet.column(index).all(|cell| !cell.is_empty());
            (full && !is_note(label)).then(|| label.clone())
        }
        _ => None,
    };
    let labels = columns.iter().enumerate().filter_map(label);
    labels.filter(|label| !CIRCUMSTANCES.contains(&label.as_str())).collect()
}

/// Whether a column of this name is what people write about a row.
pub(super) fn is_note(name: &str) -> bool {
    NOTES.contains(&snake(name).as_str())
}

/// What a column's cells are counted in, where all of them are numbers or quantities of one kind.
pub(crate) fn written_unit(sheet: &Sheet, index: usize) -> Option<Unit> {
    let mut found = None;
    for cell in sheet.column(index).filter(|cell| !is_missing(cell) && !is_endless(cell)) {
        let (_, unit) = written(&with_point(cell, sheet.comma_is_free))?;
        if *found.get_or_insert(unit) != unit {
            return None;
        }
    }
    found
}

/// Whether every value stands twice on average.
fn comes_back(sheet: &Sheet, index: usize) -> bool {
    distinct(sheet, index) * 2 <= sheet.column(index).filter(|cell| !is_missing(cell)).count()
}

fn distinct(sheet: &Sheet, index: usize) -> usize {
    sheet.column(index).filter(|cell| !is_missing(cell)).collect::<std::collections::BTreeSet<_>>().len()
}

/// How tables say that there is nothing.
pub(crate) fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "-" | "–" | "?" | "NA" | "N/A" | "n/a" | "nan" | "NaN" | "null" | "NULL")
}

/// How tables say that something never ended.
pub(crate) fn is_endless(cell: &str) -> bool {
    ["inf", "+inf", "infinity", "∞"].iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// What is noted of a known figure.
pub(crate) fn note_of(metric: &Metric) -> MetricNote {
    MetricNote { unit: metric.unit, better: Some(metric.direction), title: metric.title.to_owned() }
}

/// What is noted of a figure that is not known: more of a rate is better, and less of time.
pub(crate) fn note(unit: Unit, name: &str) -> MetricNote {
    let better = match unit {
        Unit::BytesPerSecond | Unit::PerSecond => Some(Direction::Higher),
        Unit::Seconds => Some(Direction::Lower),
        Unit::Bytes | Unit::Share | Unit::Plain => None,
    };
    MetricNote { unit, better, title: name.replace('_', " ") }
}

/// Figures that came to the same name keep the whole names of their columns.
fn part_namesakes(columns: &mut [Column]) {
    let metrics: Vec<Option<String>> = columns
        .iter()
        .map(|column| match &column.meaning {
            Meaning::Figure(figure) => Some(figure.metric.clone()),
            _ => None,
        })
        .collect();
    for column in columns {
        if let Meaning::Figure(figure) = &mut column.meaning
            && metrics.iter().flatten().filter(|metric| **metric == figure.metric).count() > 1
        {
            figure.metric.clone_from(&column.name);
        }
    }
}
