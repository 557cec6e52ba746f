//! A fleet for the terminal, on one screen or with every host: the answer, both claims, the worst hosts, the missing ones.

use iostone_model::fleet::FleetReport;

use super::wrap::wrap;
use super::{Page, TextStyle, columns};
use crate::figures::counted;
use crate::fleet::{
    finding, is_odd, measure, missing, outlook, own, refused_totals, relative, stratum, total, why_missing,
    worst_first,
};
use crate::ink::{Ink, clean, dye};

/// More hosts than this are in the page only.
const HOSTS: usize = 10;
const MISSING: usize = 10;
/// Comparisons that have a column of their own.
const COLUMNS: usize = 3;

/// See [`crate::fleet_text()`].
pub(crate) fn write(report: &FleetReport, full: bool, style: TextStyle) -> String {
    let [hosts_shown, missing_shown] = if full { [usize::MAX; 2] } else { [HOSTS, MISSING] };
    let mut page = Page::new(style);
    if !report.fleet.question.is_empty() {
        page.add(dye(Ink::Dim, &wrap(&clean(&report.fleet.question), page.width)));
    }
    page.add(dye(Ink::Bold, &wrap(&clean(&report.headline), page.width)));
    for comparison in &report.comparisons {
        let title = format!("{} against {}{}", comparison.level, comparison.baseline, stratum(comparison));
        let claims = [("these hosts", &comparison.these), ("hosts like these", &comparison.like_these)];
        let mut entries: Vec<(String, String)> = claims
            .into_iter()
            .map(|(scope, claim)| (scope.to_owned(), clean(&finding(report, claim))))
            .collect();
        let outlook: Vec<String> = outlook(report, comparison).iter().map(|one| clean(one)).collect();
        if !outlook.is_empty() {
            entries.push(("hosts".to_owned(), outlook.join("\n")));
        }
        page.add_list(&clean(&title), &entries);
    }
    let between: Vec<(String, String)> = report
        .between
        .iter()
        .take(hosts_shown)
        .map(|one| {
            let name = format!("{} {} against {}, {}", one.fact, one.level, one.baseline, one.configuration);
            (clean(&name), clean(&finding(report, &one.claim)))
        })
        .collect();
    page.add_list("Between hosts", &between);
    add_hosts(&mut page, report, hosts_shown);
    let odd: Vec<(String, String)> =
        report.odd.iter().take(hosts_shown).map(|odd| (clean(&odd.name), clean(&odd.message))).collect();
    page.add_list("Unlike the rest", &odd);
    let mut gone: Vec<(String, String)> = missing(report)
        .take(missing_shown)
        .map(|host| (clean(&host.name), clean(&why_missing(host))))
        .collect();
    let more = missing(report).count().saturating_sub(missing_shown);
    if more > 0 {
        gone.push(("...".to_owned(), format!("and {more} more, with `--full`")));
    }
    page.add_list("Missing", &gone);
    let totals: Vec<(String, String)> = report
        .totals
        .iter()
        .filter(|one| one.value.is_some())
        .take(hosts_shown)
        .map(|one| (clean(&format!("{}, {}", one.configuration, one.what)), clean(&total(one))))
        .collect();
    page.add_list("All hosts together", &totals);
    for line in refused_totals(report) {
        page.add(wrap(&clean(&line), page.width));
    }
    for flag in &report.flags {
        let line = page.heed(&format!("{}.", flag.message));
        page.add(line);
    }
    page.finish(style)
}

fn add_hosts(page: &mut Page, report: &FleetReport, shown: usize) {
    let mut header =
        vec!["Host, worst first".to_owned(), clean(&format!("{} against median", report.metric))];
    header.extend(
        report.comparisons.iter().take(COLUMNS).map(|one| clean(&format!("{}{}", one.level, stratum(one)))),
    );
    header.push("blocks".to_owned());
    let all = worst_first(report);
    let mut rows: Vec<Vec<String>> = all
        .iter()
        .take(shown)
        .map(|host| {
            let mark = if is_odd(report, &host.name) { " !" } else { "" };
            let mut row = vec![format!("{}{mark}", clean(&host.name)), relative(report, host)];
            row.extend((0..report.comparisons.len().min(COLUMNS)).map(|index| own(report, host, index)));
            row.push(host.blocks.to_string());
            row
        })
        .collect();
    let excess = columns::width(&header, &rows).saturating_sub(page.width);
    columns::narrow(&mut header, &mut rows, 0, excess, 12);
    let mut lines = columns::lines(&header, &rows, 1);
    if all.len() > shown {
        lines.push(dye(Ink::Dim, &format!("and {} more, with `--full`", counted(all.len() - shown, "host"))));
    }
    let note = format!("The second column, which orders the hosts: {}.", measure(report));
    lines.push(dye(Ink::Dim, &wrap(&clean(&note), page.width)));
    page.add(lines.join("\n"));
}
