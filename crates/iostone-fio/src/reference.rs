//! The reference page of all options, written from the table.

use std::fmt::Write;

use crate::table::{FioOption, Treatment, groups, options};
use crate::values::foreign_engines;

const HEAD: &str = "\
# fio's options

Which of fio's options does `iostone io` support, in job files and as flags? This page lists every option of fio's
manual. It is generated from the program's own table; a test compares the two.

- **honoured**: it shapes the load, within the limit given.
- **no effect**: it does not change the load, for the reason given. Its value is still checked.
- **refused**: an error that names file, line and column. With `--lenient` it is dropped and listed instead.
  Values in brackets are accepted, because they request nothing.

An option that fio does not know is always an error. As in fio, an option of some engines is unknown under others.
";

/// The page `docs/reference/fio-options.md`.
pub fn write_reference() -> String {
    let mut page = String::from(HEAD);
    let count = |wanted: fn(&Treatment) -> bool| options().filter(|option| wanted(&option.treatment)).count();
    let honoured = count(|treatment| matches!(treatment, Treatment::Honoured));
    let without = count(|treatment| matches!(treatment, Treatment::NoEffect { .. }));
    let refused = count(|treatment| matches!(treatment, Treatment::Refused { .. }));
    // Writing to a string does not fail.
    let _ =
        writeln!(page, "\n{honoured} options are honoured, {without} have no effect, {refused} are refused.");
    for group in groups() {
        let _ = writeln!(page, "\n## {}\n\n| option | value | iostone |\n|---|---|---|", group.title);
        for option in group.options {
            let _ = writeln!(page, "| {} | {} | {} |", names(option), option.kind.name(), treatment(option));
        }
    }
    let _ = writeln!(page, "\n## Engines that are refused\n\n| `ioengine` | why |\n|---|---|");
    for engine in foreign_engines() {
        let _ = writeln!(page, "| `{}` | {} |", engine.name, engine.why);
    }
    page
}

fn names(option: &FioOption) -> String {
    option.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn treatment(option: &FioOption) -> String {
    let mut text = match option.treatment {
        Treatment::Honoured if option.limit.is_empty() => "honoured".to_owned(),
        Treatment::Honoured => format!("honoured: {}", option.limit),
        Treatment::NoEffect { why } => format!("no effect: {why}"),
        Treatment::Refused { why, harmless: [] } => format!("refused: {why}"),
        Treatment::Refused { why, harmless } => format!("refused: {why} [`{}`]", harmless.join("`, `")),
    };
    if !option.engines.is_empty() {
        let _ = write!(text, " ({})", option.engines.join(", "));
    }
    text
}
