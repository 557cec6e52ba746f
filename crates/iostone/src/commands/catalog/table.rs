//! Tables that fit the terminal: columns that matter less give way, and long text goes on below itself.

use crate::printer::bold;

/// A column of a table.
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Whether its cells are figures, which are flushed right.
    pub(super) is_figure: bool,
    /// The higher, the sooner it gives way; 0 stays.
    pub(super) gives_way: u8,
}

/// Space between columns.
const GAP: usize = 2;

/// A table with the columns that fit a width, and the heads of those that do not.
pub(super) fn fitting(columns: &[Column], rows: &[Vec<String>], width: usize) -> (String, Vec<&'static str>) {
    let cell =
        |row: &[String], index: usize| row.get(index).map(|cell| cell.chars().count()).unwrap_or_default();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            rows.iter().map(|row| cell(row, index)).max().unwrap_or(0).max(column.head.len())
        })
        .collect();
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let total = |kept: &[usize]| {
        kept.iter().filter_map(|index| widths.get(*index)).map(|width| width + GAP).sum::<usize>()
    };
    let gives_way = |index: usize| columns.get(index).map_or(0, |column| column.gives_way);
    while total(&kept) > width.saturating_add(GAP) {
        let Some(first) =
            kept.iter().copied().filter(|index| gives_way(*index) > 0).max_by_key(|index| gives_way(*index))
        else {
            break;
        };
        kept.retain(|index| *index != first);
    }
    let line = |cells: &dyn Fn(usize) -> String| {
        let mut line = String::new();
        for index in &kept {
            let (Some(column), Some(width)) = (columns.get(*index), widths.get(*index)) else { continue };
            let text = cells(*index);
            let aligned =
                if column.is_figure { format!("{text:>width$}") } else { format!("{text:<width$}") };
            line.push_str(&aligned);
            line.push_str(&" ".repeat(GAP));
        }
        line.trim_end().to_owned()
    };
    let heads = line(&|index| columns.get(index).map(|column| column.head.to_owned()).unwrap_or_default());
    let mut text = format!("{}\n", bold(&heads));
    for row in rows {
        text.push_str(&line(&|index| row.get(index).cloned().unwrap_or_default()));
        text.push('\n');
    }
    let left_out = (0..columns.len()).filter(|index| !kept.contains(index));
    let left_out = left_out.filter_map(|index| columns.get(index)).map(|column| column.head).collect();
    (text, left_out)
}

/// A label with what is to be said of it, broken at blanks and indented below itself.
pub(super) fn labelled(label: &str, text: &str, label_width: usize, width: usize) -> String {
    let room = width.saturating_sub(label_width + 2 + GAP).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= room {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
    }
    let mut whole = String::new();
    for (index, line) in lines.iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        whole.push_str(format!("  {label:<label_width$}  {line}").trim_end());
        whole.push('\n');
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_give_way_and_text_goes_on_below() {
        let column = |head, gives_way| Column { head, is_figure: false, gives_way };
        let columns = [column("type", 0), column("memory", 1), column("status", 2)];
        let rows = [["c4.large", "4 GiB", "current"].map(str::to_owned).to_vec()];
        let (text, left_out) = fitting(&columns, &rows, 18);
        assert!(text.contains("c4.large  4 GiB") && !text.contains("current"), "{text}");
        assert_eq!(left_out, ["status"]);
        assert_eq!(
            labelled("a", "one two three four five six", 1, 24),
            "  a  one two three four\n     five six\n"
        );
    }
}
