//! The page of a recommendation: the answer, the picture of price against what it buys, the steps, and why less fails.

use askama::Template;
use iostone_model::recommendation::{Choice, Recommendation};

use super::prose::{Prose, without_controls};
use super::{FULL, Figure, SLIM, STYLE, digest, script};
use crate::prediction::dollars;
use crate::recommendation::{
    BURST_MARK, BURST_WORDS, cheapest_work, considered, headline, left_out, marked_performance, misses, more,
    no_runner_up, rented, sentences, subject,
};
use crate::svg::pareto::{CHOSEN, FRONT, MISS, RUNNER_UP, draw};
use crate::svg::{Drawing, marker};

/// A choice in full.
struct Part {
    title: String,
    sentences: Vec<Prose>,
    command: String,
}

struct StepRow {
    number: usize,
    instance: String,
    volumes: String,
    price: String,
    more: String,
    does: String,
    job: String,
    binds: Prose,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "recommendation.html")]
struct RecommendationPage<'a> {
    style: &'a str,
    script: &'a str,
    script_digest: String,
    version: &'a str,
    title: String,
    eyebrow: String,
    headline: Prose,
    figure: Option<Figure>,
    legend: Vec<(String, &'static str)>,
    parts: Vec<Part>,
    steps: Vec<StepRow>,
    remarks: Vec<String>,
    is_job: bool,
    misses: Vec<(String, Prose)>,
    considered: String,
    unknown: Vec<(String, String)>,
    assumptions: Vec<Prose>,
    sources: Vec<Prose>,
    asked: &'a str,
}

/// See [`crate::recommendation_html()`].
pub(crate) fn write(found: &Recommendation, asked: &str) -> Result<String, askama::Error> {
    let figure = draw(found, FULL - 60.0, "pareto-wide")
        .zip(draw(found, SLIM, "pareto-narrow"))
        .map(|(wide, narrow)| Figure { wide, narrow });
    let first = if found.is_met { "Cheapest" } else { "Fastest there is" };
    let chosen = std::iter::once((first, &found.chosen));
    let parts = chosen.chain(found.runner_up.iter().map(|choice| ("Runner-up", choice)));
    let point = |sentence: &String| Prose::of(&format!("{sentence}."));
    let page = RecommendationPage {
        style: STYLE,
        script: script(),
        script_digest: digest::source_expression(script()),
        version: env!("CARGO_PKG_VERSION"),
        title: match found.target.within_seconds {
            Some(_) => format!("What to rent to {} {}?", found.work, found.target.words),
            None => format!("What to rent for {}?", found.target.words),
        },
        eyebrow: format!("Recommendation · {}", subject(found)),
        headline: Prose::of(&format!("{}.", headline(found))),
        figure,
        legend: legend(found),
        parts: parts.map(|(title, choice)| part(found, title, choice)).collect(),
        steps: (1..).zip(&found.front).map(|(number, choice)| step(found, number, choice)).collect(),
        remarks: remarks(found),
        is_job: found.target.within_seconds.is_some(),
        misses: misses(found).into_iter().map(|(name, why)| (name, Prose::of(&why))).collect(),
        considered: considered(found),
        unknown: left_out(found, true),
        assumptions: found.assumptions.iter().map(point).collect(),
        sources: found.sources.iter().map(point).collect(),
        asked,
    };
    Ok(without_controls(&page.render()?))
}

fn part(found: &Recommendation, title: &str, choice: &Choice) -> Part {
    Part {
        title: format!("{title}: {}", rented(choice)),
        sentences: sentences(found, choice).iter().map(|sentence| Prose::of(sentence)).collect(),
        command: choice.predict.clone(),
    }
}

fn step(found: &Recommendation, number: usize, choice: &Choice) -> StepRow {
    StepRow {
        number,
        instance: choice.instance.clone(),
        volumes: choice.volumes.clone(),
        price: dollars(choice.usd_per_hour),
        more: more(found, choice),
        does: marked_performance(found, choice),
        job: choice.job_usd.map(dollars).unwrap_or_default(),
        binds: Prose::of(&choice.binding),
        chosen: choice == &found.chosen,
    }
}

/// What is said below the table.
fn remarks(found: &Recommendation) -> Vec<String> {
    let bursts = found.front.iter().any(|choice| choice.bursts);
    let bursts = bursts.then(|| format!("{BURST_MARK} {BURST_WORDS}."));
    let others = cheapest_work(found).into_iter().chain(no_runner_up(found).map(str::to_owned));
    bursts.into_iter().chain(others).collect()
}

/// What the marks mean, of those that are drawn.
fn legend(found: &Recommendation) -> Vec<(String, &'static str)> {
    let swatch = |index: usize, class: &str| {
        let mut drawing = Drawing::new(16.0, 16.0);
        let class = format!("{} {class}", marker::colour_class(index));
        drawing.path(&class, &marker::path(index, (8.0, 8.0), 5.5), "");
        drawing.finish_hidden()
    };
    let first = if found.is_met { "the cheapest that is enough" } else { "the fastest there is" };
    let mut legend = vec![(swatch(CHOSEN, "mark"), first)];
    legend.extend(found.runner_up.iter().map(|_| (swatch(RUNNER_UP, "mark"), "the runner-up")));
    legend.extend((found.front.len() > 1).then(|| (swatch(FRONT, "mark hollow"), "what more money buys")));
    legend.extend((!found.misses.is_empty()).then(|| (swatch(MISS, "mark"), "cheaper, and not enough")));
    legend
}
