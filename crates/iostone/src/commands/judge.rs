//! `iostone judge`: verdicts on figures from anywhere.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use iostone_lab::conclude::headline;
use iostone_model::metric::{Direction, Unit};
use iostone_model::verdict::{BlockCount, ConfigurationSummary, VERDICTS_SCHEMA, Verdicts};
use iostone_stats::judge::{Figure, Rules, judge as judge_figures};
use iostone_stats::median::summarize;

use crate::cli::{Better, JudgeArguments};
use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// A table of figures is read whole; what is larger is a log.
const LARGEST_FILE_BYTES: u64 = 256 << 20;

pub(crate) fn judge(arguments: &JudgeArguments, printer: &mut Printer) -> Result<ExitCode> {
    let name = arguments.file.display().to_string();
    if arguments.margin.0 >= 1.0 {
        bail!("`--margin {}` would let nothing matter; the margin must be below 100%", arguments.margin);
    }
    let table = Table::read(arguments)?;
    let rules = Rules {
        baseline: arguments.baseline.clone(),
        direction: match arguments.better {
            Better::Higher => Direction::Higher,
            Better::Lower => Direction::Lower,
        },
        margin: arguments.margin.0,
        confidence: arguments.confidence.0,
        budget: arguments.budget,
        minimum: iostone_stats::FEWEST_BLOCKS,
        resolution: arguments.resolution,
        adjust_order: true,
    };
    let judgement = judge_figures(&table.figures, &rules).with_context(|| format!("`{name}`"))?;
    let complete = judgement.comparisons.iter().map(|comparison| comparison.blocks).max().unwrap_or(0);
    let mut verdicts = Verdicts {
        schema: VERDICTS_SCHEMA.to_owned(),
        source: name,
        question: None,
        headline: String::new(),
        metric: arguments.metric.clone(),
        unit: Unit::Plain,
        better: rules.direction,
        margin: rules.margin,
        confidence: rules.confidence,
        baseline: rules.baseline.clone(),
        configurations: summaries(&table.figures, arguments),
        comparisons: judgement.comparisons,
        blocks: BlockCount { complete, discarded: 0, maximum: arguments.budget },
        flags: judgement.flags,
        evidence: Vec::new(),
        permanent: Vec::new(),
        noise: None,
        scope: "judged from a table; how it was measured is not known".to_owned(),
    };
    verdicts.headline = headline(&verdicts);
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&verdicts)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::verdicts_text(&verdicts, style));
    }
    Ok(ExitCode::Success)
}

fn summaries(figures: &[Figure], arguments: &JudgeArguments) -> Vec<ConfigurationSummary> {
    let mut groups: Vec<((&str, &str), Vec<f64>)> = Vec::new();
    for figure in figures {
        let key = (figure.stratum.as_str(), figure.level.as_str());
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(figure.value),
            None => groups.push((key, vec![figure.value])),
        }
    }
    groups
        .into_iter()
        .map(|((stratum, level), values)| {
            let summary = summarize(&values, arguments.confidence.0);
            let mut levels = BTreeMap::from([(arguments.by.clone(), level.to_owned())]);
            if let (Some(column), false) = (&arguments.within, stratum.is_empty()) {
                let value = stratum.strip_prefix(&format!("{column}=")).unwrap_or(stratum);
                levels.insert(column.clone(), value.to_owned());
            }
            let name = if stratum.is_empty() { level.to_owned() } else { format!("{level} ({stratum})") };
            summary.of_configuration(name, levels, 0)
        })
        .collect()
}

/// The figures of a CSV file.
struct Table {
    figures: Vec<Figure>,
}

impl Table {
    fn read(arguments: &JudgeArguments) -> Result<Self> {
        let file = arguments.file.display().to_string();
        let mut bytes = Vec::new();
        let reader: Box<dyn Read> = if file == "-" {
            Box::new(std::io::stdin())
        } else {
            Box::new(std::fs::File::open(&arguments.file).with_context(|| format!("reading `{file}`"))?)
        };
        reader
            .take(LARGEST_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("reading `{file}`"))?;
        if bytes.len() as u64 > LARGEST_FILE_BYTES {
            bail!("`{file}` is larger than 256 MiB; a table of figures is not");
        }
        // Spreadsheets put a byte order mark before the first column's name.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text);
        let header = csv.headers().map_err(|error| unreadable(&file, error))?.clone();
        if header.is_empty() {
            bail!("`{file}` is empty; its first line should name the columns");
        }
        let column = |name: &str| {
            header.iter().position(|candidate| candidate == name).ok_or_else(|| {
                let known: Vec<&str> = header.iter().collect();
                match iostone_model::diagnostic::nearest(name, known.iter().copied()) {
                    Some(near) => anyhow!("`{file}` has no column `{name}`; did you mean `{near}`?"),
                    None => anyhow!("`{file}` has no column `{name}`; it has `{}`", known.join("`, `")),
                }
            })
        };
        let metric = column(&arguments.metric)?;
        let by = column(&arguments.by)?;
        let optional = |name: &Option<String>| name.as_deref().map(column).transpose();
        let block = optional(&arguments.block)?;
        let order = optional(&arguments.order)?;
        let within = optional(&arguments.within)?;

        let mut figures = Vec::new();
        let mut blocks = Numbering::default();
        // The line of each block's figure of each level.
        let mut lines: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for record in csv.records() {
            let record = record.map_err(|error| unreadable(&file, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |index: usize| record.get(index).unwrap_or_default();
            let number = |index: usize, what: &str| -> Result<f64> {
                let text = cell(index);
                text.parse::<f64>().ok().filter(|value| !value.is_nan()).ok_or_else(|| {
                    anyhow!("`{file}`, line {line}: `{text}` in column `{what}` is not a number")
                })
            };
            let level = cell(by);
            if level.is_empty() {
                bail!("`{file}`, line {line}: column `{}` is empty", arguments.by);
            }
            let value = number(metric, &arguments.metric)?;
            if value <= 0.0 {
                bail!(
                    "`{file}`, line {line}: {value} in column `{}` is not above zero, but ratios need that",
                    arguments.metric
                );
            }
            let stratum = match (&arguments.within, within) {
                (Some(name), Some(index)) => format!("{name}={}", cell(index)),
                _ => String::new(),
            };
            let block = match block {
                Some(index) if cell(index).is_empty() => {
                    bail!(
                        "`{file}`, line {line}: column `{}` is empty",
                        header.get(index).unwrap_or_default()
                    )
                }
                Some(index) => {
                    let key = (cell(index).to_owned(), stratum.clone(), level.to_owned());
                    if let Some(first) = lines.insert(key, line) {
                        bail!(
                            "`{file}`, line {line}: block `{}` has a second figure of `{level}`; the first is on line \
                             {first}",
                            cell(index)
                        );
                    }
                    Some(blocks.number(cell(index)))
                }
                None => None,
            };
            figures.push(Figure {
                level: level.to_owned(),
                stratum,
                value,
                block,
                order: match (order, &arguments.order) {
                    (Some(index), Some(name)) => Some(number(index, name)?),
                    _ => None,
                },
            });
        }
        blocks.settle(&mut figures);
        Ok(Self { figures })
    }
}

/// What is wrong with the form of a table, in the words of a table.
fn unreadable(file: &str, error: csv::Error) -> anyhow::Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => anyhow!(
            "`{file}`, line {line}: {len} cells where the header has {expected_len}; a cell with a comma stands in quotes"
        ),
        csv::ErrorKind::Utf8 { .. } => anyhow!("`{file}`, line {line}: this is not UTF-8 text"),
        _ => anyhow::Error::new(error).context(format!("`{file}`")),
    }
}

/// Blocks are numbers in most tables, but may be any words: then they are numbered as they come.
#[derive(Default)]
struct Numbering {
    names: Vec<String>,
}

impl Numbering {
    /// The place of a block's name among those seen.
    fn number(&mut self, name: &str) -> u64 {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        place as u64
    }

    /// Where every name is a whole number, it is the block's number: gaps then mean that something ran in between.
    fn settle(&self, figures: &mut [Figure]) {
        let numbers: Option<Vec<u64>> = self.names.iter().map(|name| name.parse().ok()).collect();
        if let Some(numbers) = numbers {
            for figure in figures {
                figure.block =
                    figure.block.and_then(|place| numbers.get(usize::try_from(place).ok()?).copied());
            }
        }
    }
}
