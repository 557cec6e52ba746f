//! What the columns of a table, or the figures and labels of a dataset, hold.

use std::collections::BTreeSet;

use iostone_model::dataset::Dataset;
use iostone_model::figures::{count, counted};
use iostone_model::metric::{Direction, Unit};
use iostone_tools::{Role, Table};

use super::source::{Content, Source};

/// So many values of a column are listed.
const LISTED: usize = 5;

/// A column by its name, with what it holds.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a column holds.
pub(super) enum Kind {
    /// Numbers that vary.
    Figures { unit: Unit, better: Option<Direction>, low: f64, high: f64 },
    /// Words, or numbers that were set, in the order of their first appearance.
    Levels(Vec<String>),
    /// What people wrote about the rows.
    Notes,
    /// One value in every row.
    Constant(String),
    /// Which repetition, as many as there are.
    Run(usize),
    /// The block, as many as there are.
    Block(usize),
    /// The order in time.
    Order,
    /// Nothing that is judged.
    Other,
}

impl Kind {
    /// In words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Figures { unit, better, low, high } => {
                let better = match better {
                    Some(Direction::Higher) => ", higher is better",
                    Some(Direction::Lower) => ", lower is better",
                    None => "",
                };
                format!("number: {} to {}{better}", unit.format(*low), unit.format(*high))
            }
            Self::Levels(values) => {
                let listed = values.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = if values.len() > LISTED { ", ..." } else { "" };
                format!("{}: {listed}{more}", counted(values.len(), "level"))
            }
            Self::Notes => "notes".to_owned(),
            Self::Constant(value) => format!("constant: {value}"),
            Self::Run(values) => format!("repetition: {}", counted(*values, "value")),
            Self::Block(values) => format!("block: {}", counted(*values, "value")),
            Self::Order => "order of the trials".to_owned(),
            Self::Other => "not used".to_owned(),
        }
    }
}

/// The columns in the order of the table; of a dataset labels first.
pub(super) fn columns(source: &Source) -> Vec<Column> {
    match &source.content {
        Content::Table(table) => table.names().map(|name| of_table(table, name)).collect(),
        Content::Dataset { dataset, .. } => of_dataset(dataset),
    }
}

/// What the figures stand in.
pub(super) fn heading(source: &Source) -> String {
    match &source.content {
        Content::Table(table) => {
            format!("{} with {} between cells", counted(table.rows(), "row"), table.separator())
        }
        Content::Dataset { dataset, .. } => {
            let tools: BTreeSet<&str> = dataset.files.iter().map(|file| file.tool.as_str()).collect();
            let tools: Vec<&str> = tools.into_iter().filter(|tool| !tool.is_empty()).collect();
            let of = if tools.is_empty() { String::new() } else { format!(" of {}", tools.join(", ")) };
            format!("{} from {}{of}", counted(dataset.observations.len(), "observation"), files(dataset))
        }
    }
}

fn files(dataset: &Dataset) -> String {
    match dataset.files.len() {
        1 => "1 file".to_owned(),
        files => format!("{} files", count(files as u64)),
    }
}

fn of_table(table: &Table, name: &str) -> Column {
    let mut values: Vec<String> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for cell in table.cells(name) {
        if seen.insert(cell) {
            values.push(cell.to_owned());
        }
    }
    let kind = match (table.role(name), values.as_slice()) {
        (_, []) => Kind::Other,
        (Role::Block, _) => Kind::Block(values.len()),
        (Role::Run, _) => Kind::Run(values.len()),
        (Role::Order, _) => Kind::Order,
        (_, [one]) if table.rows() > 1 => Kind::Constant(one.clone()),
        (Role::Note, _) => Kind::Notes,
        (Role::Other, _) => Kind::Other,
        (Role::Label | Role::Figure(_), numbers) if is_place(name, numbers) => Kind::Order,
        (Role::Label, _) => Kind::Levels(values),
        (Role::Figure(note), _) => figures(&table.values(name), note.unit, note.better),
    };
    Column { name: name.to_owned(), kind }
}

/// Names of the place of a trial in its block, beside those that import takes for an order.
const PLACES: [&str; 7] = ["place", "pos", "slot", "seq", "turn", "step", "rank"];

/// Whether a column says in which order trials ran: where its name and all of its cells do.
fn is_place(name: &str, values: &[String]) -> bool {
    PLACES.iter().any(|place| name.eq_ignore_ascii_case(place))
        && values.iter().all(|value| value.parse::<u32>().is_ok())
}

fn figures(values: &[f64], unit: Unit, better: Option<Direction>) -> Kind {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low < high {
        Kind::Figures { unit, better, low, high }
    } else if low.is_finite() {
        Kind::Constant(unit.format(low))
    } else {
        Kind::Other
    }
}

fn of_dataset(dataset: &Dataset) -> Vec<Column> {
    let column = |name: &str, kind: Kind| Column { name: name.to_owned(), kind };
    let distinct = |values: Vec<String>| values.into_iter().collect::<BTreeSet<_>>().len();
    let observations = || dataset.observations.iter();
    let mut columns = Vec::new();
    let blocks =
        distinct(observations().filter_map(|one| one.block).map(|block| block.to_string()).collect());
    let runs = distinct(observations().filter_map(|one| one.run.clone()).collect());
    if blocks > 0 {
        columns.push(column("block", Kind::Block(blocks)));
    }
    if runs > 0 {
        columns.push(column("run", Kind::Run(runs)));
    }
    if observations().any(|one| one.order.is_some()) {
        columns.push(column("order", Kind::Order));
    }
    // What was varied on purpose stands first.
    let others = dataset.label_names();
    let others = others.into_iter().filter(|name| !dataset.factors.iter().any(|factor| factor == name));
    for name in dataset.factors.iter().map(String::as_str).chain(others) {
        let values: Vec<String> = dataset.values_of(name).into_iter().map(str::to_owned).collect();
        let kind = match values.as_slice() {
            [] => continue,
            [one] => Kind::Constant(one.clone()),
            _ => Kind::Levels(values),
        };
        columns.push(column(name, kind));
    }
    for (name, note) in &dataset.metrics {
        // Where only one direction was done, its figures are those of all.
        let whole = name.strip_prefix("read.").or_else(|| name.strip_prefix("write."));
        if whole.is_some_and(|whole| observations().all(|one| one.value(name) == one.value(whole))) {
            continue;
        }
        let values: Vec<f64> = observations().filter_map(|one| one.value(name)).collect();
        columns.push(column(name, figures(&values, note.unit, note.better)));
    }
    columns
}
