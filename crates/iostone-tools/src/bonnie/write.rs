//! CSV lines of format 1.98, which `bon_csv2html` and `bon_csv2txt` of bonnie++ 1.98 and 2.00 read.

use iostone_model::dataset::Observation;

use super::record::{OF_ONE_FILE, PHASES, TRANSFERS};

const FORMAT: &str = "1.98";
/// What is written as the program's version where none is known: the one whose format it is.
const VERSION: &str = "1.98";
/// `bon_csv2html` reads lines of up to 1023 bytes.
const LONGEST_NAME: usize = 200;
const KIB: f64 = 1024.0;

/// Writes figures named as in [`iostone_model::metric::BONNIE_METRICS`] as CSV lines of bonnie++'s format 1.98, one for each
/// observation that has any of them; each ends with a newline.
///
/// What is absent stays an empty field, a phase that was too fast to time is `+++++`. Rates of transfers are rounded to
/// whole KiB/s, latencies to microseconds below 0.1 s, to milliseconds below 100 s, as the program does. The seed, which
/// observations do not keep, is empty. Commas, angle brackets, quotes and control characters in a host's name become `_`,
/// since neither the format nor `bon_csv2html` can quote them.
pub fn bonnie_csv(observations: &[&Observation]) -> String {
    observations.iter().filter_map(|observation| line(observation)).collect()
}

fn line(observation: &Observation) -> Option<String> {
    let known = |phase: &str| {
        observation.figures.contains_key(phase)
            || observation.facts.too_fast.iter().any(|name| name == phase)
            || observation.figures.contains_key(&format!("{phase}.latency_max"))
    };
    if !PHASES.iter().any(|phase| known(phase)) {
        return None;
    }
    let label = |name: &str| observation.labels.get(name).map(|value| plain(value)).unwrap_or_default();
    let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
    let mut fields = vec![
        FORMAT.to_owned(),
        or(label("tool_version"), VERSION),
        label("host"),
        or(label("concurrency"), "1"),
        String::new(),
        file_size(observation),
        label("chunk"),
        label("seeks"),
        label("seekers"),
    ];
    let rates = |range: &[&str], from: usize, fields: &mut Vec<String>| {
        for (place, phase) in range.iter().enumerate() {
            fields.extend(rate(observation, phase, from + place));
        }
    };
    let (one_file, many_files) = PHASES.split_at(OF_ONE_FILE);
    rates(one_file, 0, &mut fields);
    fields.extend(files(&label("files")));
    rates(many_files, OF_ONE_FILE, &mut fields);
    for phase in PHASES {
        let latency = observation.value(&format!("{phase}.latency_max"));
        fields.push(latency.map(shown_latency).unwrap_or_default());
    }
    Some(fields.join(",") + "\n")
}

/// A text that breaks neither a CSV line nor a page of HTML.
fn plain(text: &str) -> String {
    let safe = |letter: char| {
        if letter.is_control() || matches!(letter, ',' | '<' | '>' | '&' | '"' | '\'') { '_' } else { letter }
    };
    let mut plain: String = text.chars().map(safe).collect();
    while plain.len() > LONGEST_NAME {
        plain.pop();
    }
    plain
}

/// As `print_size` of the program writes it: GiB where it comes out even, else MiB.
fn file_size(observation: &Observation) -> String {
    let mebibytes = observation.facts.working_set_bytes.map_or(0, |bytes| bytes >> 20);
    match mebibytes {
        0 => String::new(),
        even if even % 1024 == 0 => format!("{}G", even / 1024),
        odd => format!("{odd}M"),
    }
}

/// The five fields about files, each in its own column, of `num[:max[:min]][/dirs]`.
fn files(label: &str) -> [String; 5] {
    let (sizes, directories) = label.split_once('/').unwrap_or((label, ""));
    let mut sizes = sizes.split(':').map(str::to_owned);
    let mut next = || sizes.next().unwrap_or_default();
    [next(), next(), next(), directories.to_owned(), String::new()]
}

fn rate(observation: &Observation, phase: &str, place: usize) -> [String; 2] {
    if observation.facts.too_fast.iter().any(|name| name == phase) {
        return ["+++++".to_owned(), "+++".to_owned()];
    }
    let unit = if place < TRANSFERS { KIB } else { 1.0 };
    let rate = observation.value(phase).map(|value| value / unit);
    let shown = rate.map(|rate| match place {
        5 if rate < 1000.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    });
    let cpu = observation.value(&format!("{phase}.cpu")).map(|share| format!("{:.0}", share * 100.0));
    [shown.unwrap_or_default(), cpu.unwrap_or_default()]
}

fn shown_latency(seconds: f64) -> String {
    let microseconds = (seconds * 1e6).round();
    if microseconds > 99_999_999.0 {
        format!("{:.0}s", seconds.floor())
    } else if microseconds > 99_999.0 {
        format!("{:.0}ms", seconds * 1e3)
    } else {
        format!("{microseconds:.0}us")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_stays_empty() {
        let mut observation = Observation::default();
        assert_eq!(bonnie_csv(&[&observation]), "");
        observation.figures.insert("block_write".to_owned(), (64.0 * 1024.0).into());
        observation.labels.insert("host".to_owned(), "a,<b>".to_owned());
        let csv = bonnie_csv(&[&observation]);
        assert_eq!(csv.matches(',').count(), 49);
        assert!(csv.starts_with("1.98,1.98,a__b_,1,,,,,,,,64,,,"), "{csv}");
    }

    #[test]
    fn latencies_are_written_as_the_program_does() {
        assert_eq!(shown_latency(0.099_999), "99999us");
        assert_eq!(shown_latency(0.101), "101ms");
        assert_eq!(shown_latency(99.5), "99500ms");
        assert_eq!(shown_latency(120.0), "120s");
    }
}
