//! Recommendations for the terminal: the answer, what each further dollar buys, and why less fails.

use iostone_model::recommendation::{Choice, Recommendation};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, columns};
use crate::ink::{Ink, clean, dye};
use crate::prediction::dollars;
use crate::recommendation::{
    BURST_MARK, BURST_WORDS, cheapest_work, considered, headline, left_out, marked_performance, misses, more,
    no_runner_up, rented, sentences, subject,
};

/// More steps than this are only listed where all are asked for.
const STEPS: usize = 10;

/// See [`crate::recommendation_text()`].
pub(crate) fn write(found: &Recommendation, all: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let ink = if found.is_met { Ink::Bold } else { Ink::Caution };
    page.add(dye(ink, &wrap(&clean(&format!("{}.", headline(found))), page.width)));
    page.add(dye(Ink::Dim, &wrap(&clean(&subject(found)), page.width)));
    add_choice(&mut page, found, if found.is_met { "Cheapest" } else { "Fastest" }, &found.chosen);
    if let Some(runner_up) = &found.runner_up {
        add_choice(&mut page, found, "Runner-up", runner_up);
    }
    if let Some(words) = no_runner_up(found) {
        page.add(wrap(words, page.width));
    }
    if let Some(words) = cheapest_work(found) {
        page.add(wrap(&clean(&words), page.width));
    }
    add_front(&mut page, found, all);
    let cheaper: Vec<(String, String)> =
        misses(found).into_iter().map(|(name, why)| (clean(&name), clean(&why))).collect();
    page.add_list("Cheaper, and not enough", &cheaper);
    page.add(wrap(&clean(&considered(found)), page.width));
    let unknown: Vec<(String, String)> =
        left_out(found, all).into_iter().map(|(why, who)| (clean(&why), clean(&who))).collect();
    page.add_list("Left out, since something is not known", &unknown);
    add_points(&mut page, "Taken for granted", &found.assumptions);
    add_points(&mut page, "Prices", &found.sources);
    page.finish(style)
}

fn add_points(page: &mut Page, title: &str, sentences: &[String]) {
    let lines: Vec<String> = sentences
        .iter()
        .map(|sentence| hang(&clean(&format!("{sentence}.")), page.width, "  - ", "    "))
        .collect();
    page.add(format!("{}\n{}", dye(Ink::Bold, title), lines.join("\n")));
}

fn add_choice(page: &mut Page, found: &Recommendation, title: &str, choice: &Choice) {
    let name = format!("{title}: {}", rented(choice));
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&name), page.width))];
    lines.extend(sentences(found, choice).iter().map(|line| hang(&clean(line), page.width, "  ", "  ")));
    // A command is not broken into lines, so that it can be copied.
    lines.push(format!("  {}", clean(&choice.predict)));
    page.add(lines.join("\n"));
}

/// A line for each step, the first being the cheapest that is enough; on narrow terminals, an entry of some lines.
fn add_front(page: &mut Page, found: &Recommendation, all: bool) {
    if found.front.len() < 2 {
        return;
    }
    let shown = if all { found.front.len() } else { STEPS };
    let steps: Vec<&Choice> = found.front.iter().take(shown).collect();
    let mut lines = vec![dye(Ink::Bold, "What each further dollar buys")];
    let fits = |(header, rows): &(Vec<String>, Vec<Vec<String>>)| columns::width(header, rows) <= page.width;
    // What a step costs more can be seen from the prices, if there is no room to say it.
    let mut tables = [true, false].into_iter().map(|more| table(found, &steps, more));
    if let Some((header, rows)) = tables.find(fits) {
        lines.extend(columns::lines(&header, &rows, 2).iter().map(|line| line.trim_end().to_owned()));
    } else {
        lines.extend(steps.iter().map(|choice| entry(found, choice, page.width)));
    }
    if steps.iter().any(|choice| choice.bursts) {
        lines.push(hang(&format!("{BURST_MARK} {BURST_WORDS}"), page.width, "  ", "    "));
    }
    let hidden = found.front.len().saturating_sub(shown);
    if hidden > 0 {
        lines.push(format!("  and {hidden} more, which --all shows"));
    }
    page.add(lines.join("\n"));
}

fn table(found: &Recommendation, steps: &[&Choice], says_more: bool) -> (Vec<String>, Vec<Vec<String>>) {
    let is_job = found.target.within_seconds.is_some();
    let what = if is_job { "time" } else { "rate" };
    let mut header = ["  instance", "volumes", "$/h"].map(str::to_owned).to_vec();
    header.extend(says_more.then(|| "more".to_owned()));
    header.push(what.to_owned());
    header.extend(is_job.then(|| "work costs".to_owned()));
    header.push("held by".to_owned());
    let row = |choice: &&Choice| {
        let mut row = vec![
            format!("  {}", clean(&choice.instance)),
            clean(&choice.volumes),
            dollars(choice.usd_per_hour),
        ];
        row.extend(says_more.then(|| more(found, choice)));
        row.push(marked_performance(found, choice));
        row.extend(is_job.then(|| choice.job_usd.map(dollars).unwrap_or_default()));
        row.push(choice.binds.word().to_owned());
        row
    };
    (header, steps.iter().map(row).collect())
}

/// The same as a row, where a row is too wide: a specification is never cut short.
fn entry(found: &Recommendation, choice: &Choice, width: usize) -> String {
    let more = Some(more(found, choice)).filter(|more| !more.is_empty());
    let more = more.map(|more| format!(" ({more})")).unwrap_or_default();
    let work = choice.job_usd.map(|usd| format!(", the work costs {}", dollars(usd))).unwrap_or_default();
    let does = format!(
        "{} an hour{more}, {}{work}, held by the {}",
        dollars(choice.usd_per_hour),
        marked_performance(found, choice),
        choice.binds.word()
    );
    [hang(&clean(&rented(choice)), width, "  ", "    "), hang(&clean(&does), width, "    ", "    ")]
        .join("\n")
}
