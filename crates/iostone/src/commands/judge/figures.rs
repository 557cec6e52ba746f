//! The figures that are to be judged, with everything else that is known of them for the audit.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use iostone_model::dataset::{Dataset, MetricNote, Observation, Order, SourceFile};
use iostone_model::diagnostic::nearest;
use iostone_model::metric::Unit;
use iostone_report::clean;
use iostone_stats::judge::Figure;
use iostone_stats::resolution::infer;
use iostone_tools::{Choice, Malformed, Table};

use super::MOST_AUDITED_ROWS;
use super::source::{Content, Source};

/// What is to be judged, by the names of columns, or of figures and labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) metric: String,
    pub(super) by: String,
    pub(super) within: Vec<String>,
    pub(super) block: Option<String>,
    pub(super) order: Option<String>,
}

/// Figures, ready to be judged.
pub(super) struct Prepared {
    pub(super) figures: Vec<Figure>,
    /// The levels of the other factors, for each stratum.
    pub(super) strata: BTreeMap<String, BTreeMap<String, String>>,
    /// Everything that is known of them.
    pub(super) dataset: Dataset,
    /// What the figures are.
    pub(super) note: MetricNote,
    /// What they are called in the dataset.
    metric: String,
    /// The step that they were rounded to, as they themselves show.
    step: f64,
    /// How many base units are one of the column's.
    factor: f64,
    /// How many rows have no figure.
    pub(super) missing: usize,
    /// Trials of each level in the superblock that a run began with; 0 for none.
    pub(super) superblock: u32,
}

impl Prepared {
    /// The step to which the figures were rounded: as somebody says in their own unit, or as they show.
    pub(super) fn resolution(&self, said: Option<f64>) -> f64 {
        said.map_or_else(|| infer(&self.figures, self.step), |step| step * self.factor)
    }
}

/// Takes the figures that are asked for.
pub(super) fn prepare(source: &Source, asked: &Asked) -> Result<Prepared> {
    twice(asked)?;
    match &source.content {
        Content::Table(table) => of_table(table, &source.name, asked),
        Content::Dataset { dataset, own } => of_dataset(dataset, &source.name, *own, asked),
    }
}

/// Refuses a column that would be two things at once.
fn twice(asked: &Asked) -> Result<()> {
    let options = [("--metric", Some(&asked.metric)), ("--by", Some(&asked.by))].into_iter();
    let options = options.chain(asked.within.iter().map(|name| ("--within", Some(name))));
    let options = options.chain([("--block", asked.block.as_ref()), ("--order", asked.order.as_ref())]);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (option, name) in options {
        let Some(name) = name else { continue };
        if let Some(first) = seen.insert(name, option) {
            bail!("`{first}` and `{option}` name the same column, `{}`", clean(name));
        }
    }
    Ok(())
}

fn of_table(table: &Table, file: &str, asked: &Asked) -> Result<Prepared> {
    let shown = clean(file);
    let columns: Vec<String> = table.names().map(clean).collect();
    let names = [Some(&asked.metric), Some(&asked.by), asked.block.as_ref(), asked.order.as_ref()];
    for name in names.into_iter().flatten().chain(&asked.within).map(|name| clean(name)) {
        if !columns.contains(&name) {
            bail!(match nearest(&name, columns.iter().map(String::as_str)) {
                Some(near) => format!("`{shown}` has no column `{name}`; did you mean `{near}`?"),
                None => format!("`{shown}` has no column `{name}`; it has `{}`", columns.join("`, `")),
            });
        }
    }
    let labels: Vec<String> = std::iter::once(&asked.by).chain(&asked.within).cloned().collect();
    let choice = Choice {
        figure: &asked.metric,
        labels: &labels,
        block: asked.block.as_deref(),
        order: asked.order.as_deref(),
    };
    let unreadable = |error: Malformed| anyhow!("`{shown}`, {}", clean(&error.to_string()));
    if table.rows() > MOST_AUDITED_ROWS {
        // Nobody audits them, so that no row is kept beyond its figure.
        let mut taken = Taken::new(None);
        let metric = table.metric(&asked.metric);
        let mut failure = None;
        let rows = table.observe_each(&choice, &mut |observation| {
            if failure.is_none() {
                let refused = filled(&observation, asked, &shown);
                failure = refused.and_then(|()| taken.add(&observation, &metric, asked, &shown)).err();
            }
        });
        let rows = rows.map_err(unreadable)?;
        if let Some(error) = failure {
            return Err(error);
        }
        let note = rows.metrics.get(&rows.metric).cloned();
        let prepared = taken.prepared(Dataset::new(shown), &rows.metric, note);
        return Ok(Prepared { step: rows.step, factor: rows.factor.unwrap_or(1.0), ..prepared });
    }
    let rows = table.observe(&choice).map_err(unreadable)?;
    rows.observations.iter().try_for_each(|observation| filled(observation, asked, &shown))?;
    let name = match file {
        "-" => "standard input".to_owned(),
        file => file.rsplit('/').next().unwrap_or(file).to_owned(),
    };
    let mut dataset = Dataset::new(name.clone());
    dataset.metrics = rows.metrics;
    dataset.factors = labels;
    dataset.files.push(SourceFile { name: name.clone(), tool: "csv".to_owned(), ..SourceFile::default() });
    dataset.observations = rows.observations;
    for observation in &mut dataset.observations {
        observation.file.clone_from(&name);
        observation.facts.remarks.clear();
    }
    let mut prepared = take(dataset, &shown, &rows.metric, asked, false)?;
    prepared.step = rows.step;
    prepared.factor = rows.factor.unwrap_or(1.0);
    let dataset = &mut prepared.dataset;
    if dataset.observations.iter().all(|observation| observation.block.is_some()) {
        dataset.order = Order::RandomisedBlocks;
    }
    // Positions count within a block.
    for observation in &mut dataset.observations {
        let before = observation.block.map_or(0.0, |block| block as f64 * 1e6);
        observation.order = observation.order.map(|order| order + before);
    }
    Ok(prepared)
}

/// Refuses a row in which a column that was chosen is empty.
fn filled(observation: &Observation, asked: &Asked, shown: &str) -> Result<()> {
    let empty = [
        (Some(&asked.by), observation.labels.contains_key(&asked.by)),
        (asked.block.as_ref(), observation.block.is_some()),
        (asked.order.as_ref(), observation.order.is_some()),
    ];
    if let Some((Some(name), _)) = empty.iter().find(|(name, filled)| name.is_some() && !filled) {
        let line = observation.line.unwrap_or_default();
        bail!("`{shown}`, line {line}: column `{}` is empty", clean(name));
    }
    Ok(())
}

fn of_dataset(dataset: &Dataset, name: &str, own: bool, asked: &Asked) -> Result<Prepared> {
    let shown = clean(name);
    let labels: Vec<&str> = dataset.label_names().into_iter().collect();
    let metrics: Vec<&str> = dataset.metrics.keys().map(String::as_str).collect();
    let unknown = |kind: &str, name: &str, known: &[&str]| match nearest(name, known.iter().copied()) {
        Some(near) => anyhow!("`{shown}` has no {kind} `{}`; did you mean `{near}`?", clean(name)),
        None => {
            anyhow!("`{shown}` has no {kind} `{}`; it has `{}`", clean(name), clean(&known.join("`, `")))
        }
    };
    let own_columns = ["block", "run"];
    let block = asked.block.iter().filter(|name| !own_columns.contains(&name.as_str()));
    for name in std::iter::once(&asked.by).chain(&asked.within).chain(block) {
        if !labels.contains(&name.as_str()) {
            return Err(unknown("label", name, &labels));
        }
    }
    if !metrics.contains(&asked.metric.as_str()) {
        return Err(unknown("figure", &asked.metric, &metrics));
    }
    if let Some(order) = asked.order.as_ref().filter(|order| *order != "order") {
        bail!("`{shown}` has its order in `order`, not in `{}`", clean(order));
    }
    let mut dataset = dataset.clone();
    let mut names: Vec<String> = Vec::new();
    let mut place = |name: &String| {
        let known = names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        }) as u64
    };
    for observation in &mut dataset.observations {
        observation.block = match asked.block.as_deref() {
            None | Some("block") => observation.block,
            Some("run") => observation.run.as_ref().map(&mut place),
            Some(label) => observation.labels.get(label).map(&mut place),
        };
    }
    dataset
        .observations
        .retain(|one| one.figures.contains_key(&asked.metric) && one.labels.contains_key(&asked.by));
    let mut prepared = take(dataset, &shown, &asked.metric, asked, own)?;
    let figures = prepared.dataset.observations.iter().filter_map(|one| one.figures.get(&asked.metric));
    prepared.step = figures.map(|figure| figure.step).fold(0.0, f64::max);
    Ok(prepared)
}

/// The figures of observations whose labels, blocks and orders are those that are meant.
fn take(dataset: Dataset, shown: &str, metric: &str, asked: &Asked, own: bool) -> Result<Prepared> {
    let superblock = if own { superblock(&dataset.observations, asked) } else { None };
    let mut taken = Taken::new(superblock);
    taken.figures.reserve(dataset.observations.len());
    for observation in &dataset.observations {
        taken.add(observation, metric, asked, shown)?;
    }
    let note = dataset.metrics.get(metric).cloned();
    Ok(taken.prepared(dataset, metric, note))
}

/// Figures as they come in, one observation after the other.
#[derive(Default)]
struct Taken {
    figures: Vec<Figure>,
    strata: BTreeMap<String, BTreeMap<String, String>>,
    /// Where the figure of each level of a block stands.
    places: BTreeMap<(u64, String, String), String>,
    missing: usize,
    /// The first block and the trials of each level in it, where that is a superblock.
    superblock: Option<(u64, u32)>,
}

impl Taken {
    fn new(superblock: Option<(u64, u32)>) -> Self {
        Self { superblock, ..Self::default() }
    }

    fn add(&mut self, observation: &Observation, metric: &str, asked: &Asked, shown: &str) -> Result<()> {
        let place = || match observation.line {
            Some(line) => format!("line {line}"),
            None => observation.file.clone(),
        };
        let (Some(value), Some(level)) = (observation.value(metric), observation.labels.get(&asked.by))
        else {
            self.missing += 1;
            return Ok(());
        };
        if value <= 0.0 {
            bail!(
                "`{shown}`, {}: {value} in column `{}` is not above zero, but ratios need that",
                clean(&place()),
                clean(&asked.metric)
            );
        }
        let stratum = stratum(observation, asked);
        if !self.strata.contains_key(&stratum) {
            let levels = asked.within.iter().map(|name| (name.clone(), label(observation, name).to_owned()));
            self.strata.insert(stratum.clone(), levels.collect());
        }
        let superblock = self.superblock.map(|(first, _)| first);
        if let Some(block) = observation.block.filter(|block| superblock != Some(*block)) {
            let key = (block, stratum.clone(), level.clone());
            if let Some(first) = self.places.insert(key, place()) {
                bail!(
                    "`{shown}`, {}: a second figure of `{}` in one block; the first is on {first}. Where another column \
                     varies, name it: `--within COLUMN`",
                    clean(&place()),
                    clean(level)
                );
            }
        }
        self.figures.push(Figure {
            level: level.clone(),
            stratum,
            value,
            block: observation.block,
            order: observation.order,
            ..Figure::default()
        });
        Ok(())
    }

    fn prepared(self, dataset: Dataset, metric: &str, note: Option<MetricNote>) -> Prepared {
        let unknown = || MetricNote { unit: Unit::Plain, better: None, title: metric.to_owned() };
        Prepared {
            figures: self.figures,
            strata: self.strata,
            note: note.unwrap_or_else(unknown),
            metric: metric.to_owned(),
            step: 0.0,
            factor: 1.0,
            missing: self.missing,
            superblock: self.superblock.map_or(0, |(_, trials)| trials),
            dataset,
        }
    }
}

fn label<'a>(observation: &'a Observation, name: &str) -> &'a str {
    observation.labels.get(name).map_or("", String::as_str)
}

/// The levels of the other factors, as runs write them.
fn stratum(observation: &Observation, asked: &Asked) -> String {
    let levels = asked.within.iter().map(|name| format!("{name}={}", label(observation, name)));
    levels.collect::<Vec<_>>().join(", ")
}

/// The first block of a run's own trials and how often each level stands in it, where that is more than once.
fn superblock(observations: &[Observation], asked: &Asked) -> Option<(u64, u32)> {
    let first = observations.iter().filter_map(|one| one.block).min()?;
    let mut counts: BTreeMap<(String, &str), u32> = BTreeMap::new();
    for one in observations.iter().filter(|one| one.block == Some(first)) {
        *counts.entry((stratum(one, asked), label(one, &asked.by))).or_default() += 1;
    }
    counts.into_values().max().filter(|trials| *trials > 1).map(|trials| (first, trials))
}

impl Prepared {
    /// The dataset for the audit, with what was decided about the figure.
    pub(super) fn audited(&self, better: iostone_model::metric::Direction) -> Dataset {
        let mut dataset = self.dataset.clone();
        if let Some(note) = dataset.metrics.get_mut(&self.metric) {
            note.better = Some(better);
        }
        dataset
    }
}
