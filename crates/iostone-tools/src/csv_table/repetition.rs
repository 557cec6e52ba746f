//! Which column says which repetition a row is: by its name, or because it counts up within each condition.

use std::collections::BTreeMap;

use super::column::{Column, Meaning};
use super::measure::snake;
use super::sheet::Sheet;

/// Names of nothing else.
const NAMES: &[&str] = &[
    "run",
    "trial",
    "repetition",
    "rep",
    "repeat",
    "replicate",
    "iteration",
    "iter",
    "attempt",
    "try",
    "pass",
    "run_no",
    "run_number",
    "run_id",
    "test_no",
    "trial_no",
    "wiederholung",
    "durchlauf",
    "lauf",
];

/// Names that stand for other things as well, a size or a sample's name, unless they count.
const COUNTING_NAMES: &[&str] = &["#", "n", "no", "no.", "nr", "nr.", "sample", "test", "index", "i"];

/// Whether a column of this name is the repetition whatever its cells are.
pub(super) fn is_named(plain: &str) -> bool {
    NAMES.contains(&plain)
}

/// Makes the repetition of a column that counts, where no column is called so.
pub(super) fn find(sheet: &Sheet, columns: &mut [Column]) {
    if columns.iter().any(|column| column.meaning == Meaning::Run) {
        return;
    }
    // What a name alone tells asks for two in a row, what cells alone tell for three: `0, 1` are levels of a switch.
    let counting = |least: usize, named: bool| {
        (0..columns.len()).find(|index| {
            let Some(column) = columns.get(*index) else { return false };
            column.guessed
                && COUNTING_NAMES.contains(&snake(&column.name).as_str()) == named
                && counts(sheet, columns, *index, least)
        })
    };
    let found = counting(2, true)
        .map(|index| (index, false))
        .or_else(|| counting(3, false).map(|index| (index, true)));
    if let Some((index, doubtful)) = found
        && let Some(column) = columns.get_mut(index)
    {
        column.meaning = Meaning::Run;
        column.remark = doubtful.then(|| {
            format!(
                "column `{}` counts up within each condition; it was taken for the repetition",
                column.name
            )
        });
    }
}

/// Whether a column counts 1, 2, 3 or 0, 1, 2 within each set of equal other labels, or over the entire table; the
/// longest count is of `least` at least.
fn counts(sheet: &Sheet, columns: &[Column], counted: usize, least: usize) -> bool {
    let labels: Vec<usize> = columns
        .iter()
        .enumerate()
        .filter(|(index, column)| {
            // A date of each row parts nothing.
            *index != counted
                && snake(&column.name) != "date"
                && matches!(
                    column.meaning,
                    Meaning::Label(_) | Meaning::Fact { label: Some(_), .. } | Meaning::Block
                )
        })
        .map(|(index, _)| index)
        .collect();
    [labels.as_slice(), &[]].iter().any(|labels| {
        let mut next: BTreeMap<Vec<&str>, i64> = BTreeMap::new();
        let mut longest = 0;
        let mut first = None;
        sheet.rows.iter().all(|row| {
            let Ok(number) = row.cell(counted).parse::<i64>() else { return false };
            let first = *first.get_or_insert(number);
            let key = labels.iter().map(|label| row.cell(*label)).collect();
            let expected = next.entry(key).or_insert(first);
            let right = number == *expected;
            *expected += 1;
            longest = longest.max(*expected - first);
            right && (0..=1).contains(&first)
        }) && usize::try_from(longest).is_ok_and(|longest| longest >= least)
    })
}
