//! The casebook as a page: each investigation's conclusion, its figures, and what they come to.

use askama::Template;
use iostone_model::case::{CaseReport, Reconsidered};
use iostone_model::metric;

use super::explanation::ExplanationPart;
use super::findings::Findings;
use super::glossary::{self, Term};
use super::prose::{Prose, without_controls};
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::figures::{declared_percent, figure};
use crate::svg::forest::capitalised;
use crate::svg::strips::{self, Strip};
use crate::text::case::NOTHING_TO_JUDGE;

struct ComparisonPart {
    title: String,
    terms: String,
    figure: Option<Figure>,
    claim: Option<Prose>,
    sayings: Vec<(String, Prose)>,
}

struct CasePart {
    id: String,
    name: String,
    source: String,
    question: String,
    conclusion: Option<Prose>,
    comparisons: Vec<ComparisonPart>,
    explanation: Option<ExplanationPart>,
    findings: Findings,
}

#[derive(Template)]
#[template(path = "casebook.html")]
struct CasebookPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    title: &'a str,
    lede: String,
    nothing: String,
    cases: Vec<CasePart>,
    glossary: Vec<Term>,
}

/// See [`crate::casebook_html()`].
pub(crate) fn write(cases: &[CaseReport]) -> Result<String, askama::Error> {
    let findings: usize = cases.iter().map(|case| case.audit.findings.len()).sum();
    let rules = cases.iter().flat_map(|case| &case.audit.findings);
    let page = CasebookPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        title: "Published figures, judged again",
        lede: format!(
            "What engineers concluded from benchmarks made by hand, what their figures allow to be said, and the {findings} \
             things in them that an audit found doubtful."
        ),
        nothing: capitalised(NOTHING_TO_JUDGE),
        cases: cases.iter().enumerate().map(|(index, case)| part(index, case)).collect(),
        glossary: glossary::terms(rules.map(|finding| finding.rule.as_str())),
    };
    Ok(without_controls(&page.render()?))
}

fn part(index: usize, case: &CaseReport) -> CasePart {
    CasePart {
        id: format!("case-{index}"),
        name: case.name.clone(),
        source: case.source.clone().unwrap_or_default(),
        question: case.question.clone().unwrap_or_else(|| case.name.clone()),
        conclusion: case.conclusion.as_deref().map(Prose::of),
        comparisons: case
            .comparisons
            .iter()
            .enumerate()
            .map(|(number, comparison)| compared(&format!("case-{index}-{number}"), comparison))
            .collect(),
        explanation: case.explanation.as_ref().map(ExplanationPart::of),
        findings: Findings::of(&case.audit),
    }
}

fn compared(id: &str, comparison: &Reconsidered) -> ComparisonPart {
    let stated = &comparison.stated;
    let title = metric::find(&stated.metric).map_or(stated.metric.as_str(), |metric| metric.title);
    let title = format!("{} by {}", capitalised(title), stated.by);
    let strips: Vec<Strip> = comparison
        .figures
        .iter()
        .map(|figures| Strip {
            name: named(&stated.by, &figures.level, &figures.stratum),
            values: figures.values.clone(),
            limits: figures
                .ceilings
                .iter()
                .map(|limit| (format!("{} {}", limit.name, limit.text), limit.value))
                .collect(),
        })
        .collect();
    let draw = |width: f64, suffix: &str| {
        strips::draw(&title, comparison.unit, &strips, width, &format!("{id}-{suffix}"))
    };
    let figure = draw(FULL, "wide").zip(draw(SLIM, "narrow")).map(|(wide, narrow)| Figure { wide, narrow });
    let mut sayings: Vec<(String, Prose)> =
        comparison.levels.iter().map(|level| saying(comparison, level)).collect();
    sayings.extend(comparison.unjudged.as_deref().map(|reason| ("iostone".to_owned(), Prose::of(reason))));
    ComparisonPart {
        title,
        terms: format!("against {}, margin {}", stated.baseline, declared_percent(stated.margin)),
        figure,
        claim: stated.claim.as_deref().map(Prose::of),
        sayings,
    }
}

/// A level's name on the page; a bare number says nothing without its factor.
fn named(by: &str, level: &str, stratum: &str) -> String {
    let level = if level.parse::<f64>().is_ok() { format!("{by}={level}") } else { level.to_owned() };
    format!("{level} {stratum}").trim().to_owned()
}

fn saying(comparison: &Reconsidered, level: &iostone_model::case::ReconsideredLevel) -> (String, Prose) {
    let of = &level.comparison;
    let values = (comparison.values(&of.level, &of.stratum), comparison.values(&of.baseline, &of.stratum));
    let held = match values {
        ([level], [baseline]) => {
            format!("{} against {}: ", figure(comparison.unit, *level), figure(comparison.unit, *baseline))
        }
        _ => String::new(),
    };
    let name = named(&comparison.stated.by, &of.level, &of.stratum);
    (name, Prose::of(&capitalised(&format!("{held}{}", level.statement))))
}
