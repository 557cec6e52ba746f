//! Cells of text in tables that a spreadsheet may open: none is a formula there, and each comes back as it was.
//!
//! A cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return is run by spreadsheets
//! (<https://owasp.org/www-community/attacks/CSV_Injection>). It is written behind an apostrophe, by which they take it for text;
//! one that has apostrophes there already gets one more. Numbers are no formulas.

/// What spreadsheets take for the beginning of a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn begins_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(FORMULA)
}

/// A text as it is written into a cell.
pub fn guarded(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    if begins_formula(text) && !is_number { format!("'{text}") } else { text.to_owned() }
}

/// A cell as it was before [`guarded`].
pub fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| begins_formula(rest)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_written_as_text_and_comes_back() {
        for text in
            ["=1+1", "+a", "-O2", "@x", "'=x", "''-y", "\tz", "plain", "it's", "'quoted'", "-5", "+1e3", ""]
        {
            let written = guarded(text);
            assert_eq!(unguarded(&written), text, "{written}");
            assert!(!written.starts_with(FORMULA) || written.parse::<f64>().is_ok(), "{written}");
        }
        assert_eq!(guarded("-O2"), "'-O2");
        assert_eq!(guarded("-5"), "-5");
    }
}
