//! The pages, each made of what the run directories hold at that moment.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use iostone_lab::difference::{Side, difference};
use iostone_lab::history::{Apart, Followed, NamedSummary, OVERVIEW_POINTS, Subject, follow, overview};
use iostone_lab::{RunFilter, ShownRuns, is_import, read_import, read_run, read_underway, stamp_of_run};
use iostone_model::summary::RunListing;
use iostone_report::site::{self, Page, RunsAsked, Section, Sheet};
use iostone_stats::history::Hazard;
use tokio::time::timeout;

use super::asked::{Asked, command};
use super::door::plain;
use super::{Site, live};
use crate::cli::Command;
use crate::commands::{casebook, catalog, predict, report};

/// Runs on a page of the list.
const ON_A_PAGE: usize = 100;
/// More runs side by side cannot be read.
const SIDE_BY_SIDE: usize = 12;
/// Reports that are kept until their run changes.
const REPORTS: usize = 16;
/// As long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reports that were made, each with the stamp of its run, and the casebook, which never changes.
#[derive(Default)]
pub(super) struct Kept {
    reports: VecDeque<(String, String, Page)>,
    casebook: Option<Page>,
}

/// What became of a request.
struct Answer {
    status: StatusCode,
    page: Page,
}

impl From<Page> for Answer {
    fn from(page: Page) -> Self {
        Self { status: StatusCode::OK, page }
    }
}

impl Site {
    /// The runs as they are.
    pub(super) fn runs(&self) -> Result<Arc<ShownRuns>> {
        Ok(locked(&self.shelf).runs()?)
    }

    /// The directory of a run that there is: a name from an address never leads anywhere else.
    fn find(&self, name: &str) -> Result<Option<(PathBuf, RunListing)>> {
        let runs = self.runs()?;
        let found = runs.listings.iter().find(|run| run.directory == name);
        Ok(found.map(|run| (self.parent.join(&run.directory), run.clone())))
    }
}

/// What a thread that failed left behind is no worse than before: pages are made anew.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which address leads where.
pub(super) fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(|site, query| made(site, query, String::new(), list)))
        .route("/experiments", get(|site, query| made(site, query, String::new(), experiments)))
        .route("/history", get(|site, query| made(site, query, String::new(), history)))
        .route("/diff", get(|site, query| made(site, query, String::new(), diff)))
        .route("/run/{name}/", get(|site, query, Path(name)| made(site, query, name, run)))
        .route("/run/{name}/report", get(|site, query, Path(name)| made(site, query, name, run_report)))
        .route("/run/{name}/events", get(events))
        .route("/catalog", get(|site, query| made(site, query, String::new(), types)))
        .route("/catalog/{name}", get(|site, query, Path(name)| made(site, query, name, one_type)))
        .route("/predict", get(|site, query| made(site, query, String::new(), prediction)))
        .route("/casebook", get(|site, query| made(site, query, String::new(), cases)))
        .fallback(|site, query| made(site, query, String::new(), |_, _, _| missing("page")))
        .with_state(site)
}

/// Makes a page beside the requests.
async fn made(
    State(site): State<Arc<Site>>,
    RawQuery(query): RawQuery,
    name: String,
    make: fn(&Site, &Asked, &str) -> Result<Answer>,
) -> Response<Body> {
    let asked = Asked::of(query.as_deref());
    let work =
        tokio::task::spawn_blocking(move || make(&site, &asked, &name).or_else(|error| failed(&error)));
    match timeout(PATIENCE, work).await {
        Ok(Ok(Ok(answer))) => with_headers(answer),
        Ok(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be made\n"),
        Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "this page takes too long: try again\n"),
    }
}

fn with_headers(answer: Answer) -> Response<Body> {
    let Answer { status, page } = answer;
    let mut answer = Response::new(Body::from(page.html));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    let policy: HeaderName = header::CONTENT_SECURITY_POLICY;
    if let Ok(value) = HeaderValue::try_from(page.policy) {
        answer.headers_mut().insert(policy, value);
    }
    answer
}

fn notice(status: StatusCode, title: &str, lede: String) -> Result<Answer> {
    let sheet = Sheet { title: title.to_owned(), lede, ..Sheet::default() };
    Ok(Answer { status, page: site::sheet(&sheet, None)? })
}

fn missing(what: &str) -> Result<Answer> {
    let lede = format!("There is no such {what} here. It may have been moved or deleted.");
    notice(StatusCode::NOT_FOUND, "Not found", lede)
}

fn failed(error: &anyhow::Error) -> Result<Answer> {
    notice(StatusCode::INTERNAL_SERVER_ERROR, "Cannot be shown", format!("{error:#}."))
}

/// The options of `list` that are fields here.
const FILTERS: [&str; 7] = ["experiment", "host", "kernel", "verdict", "since", "until", "tag"];

fn list(site: &Site, asked: &Asked, _: &str) -> Result<Answer> {
    let runs = site.runs()?;
    let (filter, complaint) = match filter(asked) {
        Ok(filter) => (filter, None),
        Err(complaint) => (RunFilter::default(), Some(complaint)),
    };
    let words: Vec<String> = asked.first("q").split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<&RunListing> =
        runs.listings.iter().filter(|run| filter.admits(run) && holds(run, &words)).collect();
    found.reverse();
    let pages = found.len().div_ceil(ON_A_PAGE).max(1);
    let page = asked.first("page").parse::<usize>().unwrap_or(1).clamp(1, pages);
    let start = (page - 1) * ON_A_PAGE;
    let shown: Vec<RunListing> = found.iter().skip(start).take(ON_A_PAGE).copied().cloned().collect();
    let to = |page: usize| asked.address_with("/", "page", &page.to_string());
    let page = site::runs(&RunsAsked {
        runs: &shown,
        fields: vec![
            asked.field("q", "Search", "any words"),
            asked.field("experiment", "Experiment", "ext4-*"),
            asked.field("host", "Host", "db*"),
            asked.field("kernel", "Kernel", "6.1.*"),
            asked.field("since", "Since", "2026-11-21 or 4w"),
            asked.field("until", "Until", "2026-11-28"),
            asked.field("tag", "Tags", "nightly"),
        ],
        verdict: asked.first("verdict").to_owned(),
        complaint,
        found: found.len(),
        all: runs.listings.len(),
        start,
        newer: (page > 1).then(|| to(page - 1)),
        older: (page < pages).then(|| to(page + 1)),
        damaged: &runs.damaged,
    })?;
    Ok(page.into())
}

fn filter(asked: &Asked) -> Result<RunFilter, String> {
    match command("list", &asked.options(&FILTERS, &["tag"]))? {
        Command::List(arguments) => Ok(arguments.filter.filter()),
        _ => Ok(RunFilter::default()),
    }
}

/// Whether a run has every word somewhere.
fn holds(run: &RunListing, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let tags = run.tags.iter().map(String::as_str);
    let headline = run.headline.as_deref().unwrap_or_default();
    let all: Vec<String> = [run.directory.as_str(), &run.experiment, &run.host, &run.kernel, headline]
        .into_iter()
        .chain(tags)
        .map(str::to_lowercase)
        .collect();
    words.iter().all(|word| all.iter().any(|text| text.contains(word)))
}

fn experiments(site: &Site, _: &Asked, _: &str) -> Result<Answer> {
    let runs = site.runs()?;
    let pairs = runs.listings.iter().zip(runs.summaries.iter().map(AsRef::as_ref));
    Ok(site::overview(&overview(pairs), OVERVIEW_POINTS)?.into())
}

fn history(site: &Site, asked: &Asked, _: &str) -> Result<Answer> {
    let experiment = asked.first("experiment");
    let runs = site.runs()?;
    if !runs.listings.iter().any(|run| run.experiment == experiment) {
        return missing("experiment");
    }
    let followed = match asked.first("metric") {
        "" => Followed::Decided,
        "all" => Followed::All,
        metric => Followed::Metric(metric),
    };
    let subject = Subject { experiment: experiment.to_owned(), digest: None };
    let history = follow(&subject, &runs.summaries, Apart::Host, followed, Hazard::In500);
    Ok(site::served(&iostone_report::history_html(&history)?, Some(Section::Experiments)).into())
}

fn diff(site: &Site, asked: &Asked, _: &str) -> Result<Answer> {
    let runs = site.runs()?;
    let mut named: Vec<&NamedSummary> = Vec::new();
    for wanted in asked.all("run") {
        let Some(run) = runs.summaries.iter().find(|run| run.directory == wanted) else {
            return missing("run");
        };
        if !named.iter().any(|known| known.directory == run.directory) {
            named.push(run);
        }
    }
    if !(2..=SIDE_BY_SIDE).contains(&named.len()) {
        let lede = format!(
            "Choose 2 to {SIDE_BY_SIDE} runs to hold against each other: the oldest is what the others are held against."
        );
        return notice(StatusCode::BAD_REQUEST, "Which runs?", lede);
    }
    named.sort_by(|left, right| left.summary.started_at.cmp(&right.summary.started_at));
    let sides: Vec<Side<'_>> =
        named.iter().map(|run| Side { name: run.directory.clone(), runs: vec![run] }).collect();
    // The spread between runs is that of the same experiment's.
    let alike = |run: &NamedSummary| named.iter().any(|one| one.summary.experiment == run.summary.experiment);
    let others: Vec<NamedSummary> =
        runs.summaries.iter().filter(|run| alike(run)).map(|run| NamedSummary::clone(run)).collect();
    let metric = Some(asked.first("metric")).filter(|metric| !metric.is_empty());
    Ok(site::difference(&difference(&sides, &others, metric))?.into())
}

fn run(site: &Site, _: &Asked, name: &str) -> Result<Answer> {
    let Some((path, listing)) = site.find(name)? else { return missing("run") };
    if listing.live {
        return Ok(site::underway(name, &read_underway(&path)?)?.into());
    }
    Ok(report_of(site, &path, name)?.into())
}

fn run_report(site: &Site, _: &Asked, name: &str) -> Result<Answer> {
    let Some((path, _)) = site.find(name)? else { return missing("run") };
    Ok(report_of(site, &path, name)?.into())
}

/// The report of a run, made anew of its records: `report.html` may be of an older version, or somebody else's.
fn report_of(site: &Site, path: &std::path::Path, name: &str) -> Result<Page> {
    let stamp = stamp_of_run(path);
    let kept = |kept: &Kept| {
        let found = kept.reports.iter().find(|(known, of, _)| known == name && *of == stamp)?;
        Some(found.2.clone())
    };
    if let Some(page) = kept(&locked(&site.kept)) {
        return Ok(page);
    }
    let html = if is_import(path) {
        let record = read_import(path)?;
        iostone_report::dataset_html(&record.dataset, &iostone_audit::audit(&record.dataset))?
    } else {
        iostone_report::html(&report::explained(read_run(path)?))?
    };
    let page = site::served(&html, Some(Section::Runs));
    let mut kept = locked(&site.kept);
    kept.reports.retain(|(known, ..)| known != name);
    kept.reports.push_front((name.to_owned(), stamp, page.clone()));
    kept.reports.truncate(REPORTS);
    Ok(page)
}

async fn events(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response<Body> {
    let Ok(permit) = Arc::clone(&site.followers).try_acquire_owned() else { return live::too_many() };
    let found = tokio::task::spawn_blocking(move || site.find(&name)).await;
    match found {
        Ok(Ok(Some((path, listing)))) if !listing.imported => live::events(path, permit),
        _ => plain(StatusCode::NOT_FOUND, "there is no such run\n"),
    }
}

fn types(_: &Site, asked: &Asked, _: &str) -> Result<Answer> {
    Ok(site::sheet(&catalog::page::search(asked.first("q")), Some(Section::Catalogue))?.into())
}

fn one_type(_: &Site, _: &Asked, name: &str) -> Result<Answer> {
    match catalog::page::show(name) {
        Some(sheet) => Ok(site::sheet(&sheet, Some(Section::Catalogue))?.into()),
        None => missing("type"),
    }
}

/// The options of `predict` that are fields here, and those of them that several values are typed into.
const QUESTIONS: [&str; 9] = ["instance", "volume", "write", "read", "bs", "depth", "cpu", "start", "date"];
const SEVERAL: [&str; 3] = ["instance", "volume", "cpu"];

fn prediction(_: &Site, asked: &Asked, _: &str) -> Result<Answer> {
    let options = asked.options(&QUESTIONS, &SEVERAL);
    let complaint = if options.is_empty() {
        None
    } else {
        match predicted(&options) {
            Ok(page) => return Ok(page.into()),
            Err(error) => Some(format!("{error:#}")),
        }
    };
    let status = if complaint.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let sheet = Sheet {
        title: "How long will it take?".to_owned(),
        lede: "Predicts I/O on an instance and its volumes, and what binds. Several types, with spaces between them, are compared. \
               Sizes carry units: `220GiB`, `4KiB`."
            .to_owned(),
        action: "/predict",
        fields: vec![
            asked.field("instance", "Instance types", "c4.large"),
            asked.field("volume", "Volumes", "gp2:220GiB"),
            asked.field("write", "Bytes to write", "220GiB"),
            asked.field("read", "Bytes to read", "100GiB"),
            asked.field("bs", "Block size", "16KiB"),
            asked.field("depth", "Queue depth", "unlimited"),
            asked.field("cpu", "CPU limit, or CPU time", "30% or 2s/GiB"),
            asked.field("start", "Burst buckets at the start", "full"),
            asked.field("date", "Limits of", "2017-07"),
        ],
        button: "Predict",
        complaint,
        ..Sheet::default()
    };
    Ok(Answer { status, page: site::sheet(&sheet, Some(Section::Predict))? })
}

fn predicted(options: &[String]) -> Result<Page> {
    let Command::Predict(arguments) = command("predict", options).map_err(anyhow::Error::msg)? else {
        bail!("nothing was asked")
    };
    let answers = predict::of_questions(&arguments)?;
    let typed =
        predict::command_line(std::iter::once("predict".into()).chain(options.iter().map(Into::into)));
    let html = iostone_report::predictions_html(&answers, &typed)?;
    Ok(site::served(&html, Some(Section::Predict)))
}

fn cases(site: &Site, _: &Asked, _: &str) -> Result<Answer> {
    if let Some(page) = &locked(&site.kept).casebook {
        return Ok(page.clone().into());
    }
    let cases = casebook::read_cases(None).context("reading the casebook")?;
    let page = site::served(&iostone_report::casebook_html(&cases)?, Some(Section::Casebook));
    locked(&site.kept).casebook = Some(page.clone());
    Ok(page.into())
}
