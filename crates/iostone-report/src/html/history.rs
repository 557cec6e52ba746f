//! The page of a history: a drawing of each figure, its changes and what changed with them.

use askama::Template;
use iostone_model::history::{History, Series};

use super::prose::{Prose, without_controls};
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::history::{cautions, change_sentence, headline, subject, terms};
use crate::svg::history::draw;

struct SeriesPart {
    id: String,
    title: String,
    figure: Option<Figure>,
    changes: Vec<Prose>,
    cautions: Vec<Prose>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    title: String,
    headline: String,
    series: Vec<SeriesPart>,
    left_out: &'a [String],
    terms: String,
}

/// See [`crate::history_html()`].
pub(crate) fn write(history: &History) -> Result<String, askama::Error> {
    let page = HistoryPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        title: format!("History of {}", history.experiment),
        headline: headline(history),
        series: history.series.iter().enumerate().map(|(at, series)| part(at, series)).collect(),
        left_out: &history.left_out,
        terms: terms(history),
    };
    Ok(without_controls(&page.render()?))
}

fn part(at: usize, series: &Series) -> SeriesPart {
    let figure = draw(series, FULL - 60.0, &format!("history-{at}"))
        .zip(draw(series, SLIM, &format!("history-{at}-narrow")))
        .map(|(wide, narrow)| Figure { wide, narrow });
    SeriesPart {
        id: format!("series-{at}"),
        title: subject(series),
        figure,
        changes: series.changes.iter().map(|change| Prose::of(&change_sentence(series, change))).collect(),
        cautions: cautions(series).iter().map(|caution| Prose::of(caution)).collect(),
    }
}
