//! The one output door: data on stdout, everything else on stderr.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use iostone_model::diagnostic::Diagnostic;
use iostone_report::{Extent, TextStyle, clean, clean_lines, harmless, steers};

use crate::exit_code::FileErrors;

/// Where everything that people or programs read goes through. Text from outside (names in a file, the output of
/// programs, paths) cannot steer the terminal: what would is shown instead.
pub(crate) struct Printer {
    quiet: bool,
    unwritten: Option<std::io::Error>,
}

/// The width of text where the terminal's is not known.
const USUAL_WIDTH: u16 = 80;

impl Printer {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, unwritten: None }
    }

    /// Data: what the command was asked for. A reader that has gone away (`| head`) is no error; any other failure to
    /// write is kept for [`Self::unwritten`].
    ///
    /// Only the styles of [`bold`] and of reports pass as such. Text from outside within it should have been through
    /// [`clean`], which also keeps it on its line.
    pub(crate) fn data(&mut self, text: &str) {
        let mut stdout = anstream::stdout();
        let written = stdout.write_all(harmless(text).as_bytes()).and_then(|()| stdout.flush());
        if let Err(error) = written
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            self.unwritten.get_or_insert(error);
        }
    }

    /// What is said before the data, on standard output too; silent with `--quiet`.
    pub(crate) fn preface(&mut self, text: &str) {
        if !self.quiet {
            self.data(text);
        }
    }

    /// Why some of the data could not be written, if that is so.
    pub(crate) fn unwritten(&mut self) -> Option<std::io::Error> {
        self.unwritten.take()
    }

    /// A line about what is going on; silent with `--quiet`.
    pub(crate) fn note(&mut self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{}", clean_lines(&text.to_string()));
        }
    }

    /// A warning: something to be done about.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn warning(&mut self, text: impl Display) {
        let style = AnsiColor::Yellow.on_default().bold();
        let _ = writeln!(anstream::stderr(), "{style}warning{style:#}: {}", clean_lines(&text.to_string()));
    }

    /// A verdict that the user wants to fail at; said with `--quiet` too.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn failure(&mut self, text: impl Display) {
        let style = AnsiColor::Red.on_default().bold();
        let _ = writeln!(anstream::stderr(), "{style}failed{style:#}: {}", clean_lines(&text.to_string()));
    }

    /// What ended the command. Errors in a file were shown when they were found.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        if error.downcast_ref::<FileErrors>().is_some() {
            return;
        }
        let style = AnsiColor::Red.on_default().bold();
        let _ = writeln!(anstream::stderr(), "{style}error{style:#}: {}", clean_lines(&chain(error)));
    }

    /// Errors in a file, each with its place underlined.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn diagnostics(&mut self, file: &str, source: &str, diagnostics: &[Diagnostic]) {
        let mut stderr = anstream::stderr();
        let (file, source) = (clean(file), without_controls(source));
        for diagnostic in diagnostics {
            let _ = writeln!(stderr, "{}\n", render(&file, &source, &cleaned(diagnostic)));
        }
    }

    /// How a report for this stdout looks.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn text_style(&self) -> TextStyle {
        let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        TextStyle { width: asked_width().or_else(terminal_width).unwrap_or(USUAL_WIDTH).into(), colour }
    }

    /// How much of a report is written: all of it where that is asked for, the answer and its table with `--quiet`.
    pub(crate) fn extent(&self, full: bool) -> Extent {
        match (full, self.quiet) {
            (true, _) => Extent::Full,
            (false, true) => Extent::Brief,
            (false, false) => Extent::Screen,
        }
    }

    /// How wide a table may be for this stdout: as wide as it likes where a program reads it.
    #[expect(
        clippy::unused_self,
        reason = "all output goes through the printer, whether or not it uses its state"
    )]
    pub(crate) fn table_width(&self) -> usize {
        let is_for_people = std::io::stdout().is_terminal();
        let usual = if is_for_people { USUAL_WIDTH.into() } else { usize::MAX };
        asked_width().or_else(terminal_width).map_or(usual, usize::from)
    }

    /// Whether a bar that redraws itself makes sense.
    pub(crate) fn shows_bars(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

/// An error with its causes, each said once: many messages hold their cause's already.
fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// What `COLUMNS` says, which goes before the terminal, as with ls(1) and others.
fn asked_width() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| *columns > 0)
}

fn terminal_width() -> Option<u16> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// A heading for people.
pub(crate) fn bold(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

/// A file's text with nothing that steers a terminal, and every other character at the same byte: places stay right.
fn without_controls(source: &str) -> String {
    let substitute = |character: char| match (character, character.len_utf8()) {
        ('\n' | '\r' | '\t', _) => character,
        _ if !steers(character) => character,
        (_, 1) => '?',
        (_, 2) => '\u{bf}',
        _ => '\u{fffd}',
    };
    source.chars().map(substitute).collect()
}

/// A diagnostic whose words, which quote the file, are safe to show.
fn cleaned(diagnostic: &Diagnostic) -> Diagnostic {
    let mut cleaned = diagnostic.clone();
    cleaned.message = clean(&cleaned.message);
    for label in &mut cleaned.labels {
        label.text = clean(&label.text);
    }
    for text in cleaned.notes.iter_mut().chain(&mut cleaned.fix) {
        *text = clean_lines(text);
    }
    cleaned
}

fn render(file: &str, source: &str, diagnostic: &Diagnostic) -> String {
    let mut group = Group::with_title(Level::ERROR.primary_title(&diagnostic.message).id(&diagnostic.code));
    if diagnostic.labels.is_empty() {
        group = group.element(annotate_snippets::Origin::path(file));
    } else {
        let mut snippet = Snippet::source(source).path(file);
        for label in &diagnostic.labels {
            let end = label.span.end.min(source.len());
            let span = label.span.start.min(end)..end;
            snippet = snippet.annotation(AnnotationKind::Primary.span(span).label(&label.text));
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note));
    }
    // A setting of the command line has no place in the file that could be patched.
    if let (Some(fix), None) = (&diagnostic.fix, diagnostic.labels.first()) {
        group = group.element(Level::HELP.message(format!("did you mean `{}`?", fix.trim_matches('"'))));
    }
    let mut report = vec![group];
    if let (Some(fix), Some(label)) = (&diagnostic.fix, diagnostic.labels.first()) {
        let patch = Snippet::source(source).path(file).patch(Patch::new(label.span.clone(), fix.as_str()));
        report.push(Group::with_title(Level::HELP.secondary_title("did you mean")).element(patch));
    }
    Renderer::styled().render(&report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_file_stay_right_whatever_it_holds() {
        let source = "a = \"\u{1b}\u{9b}\u{202e}\u{7f}ü日\"\r\n\tb = 1\n";
        let safe = without_controls(source);
        assert_eq!(safe, "a = \"?\u{bf}\u{fffd}?ü日\"\r\n\tb = 1\n");
        assert_eq!(safe.len(), source.len());
    }
}
