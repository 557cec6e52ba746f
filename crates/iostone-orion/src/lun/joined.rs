//! Why a name does not exist: joined with another, blanks or quotes around it, or simply not there.

use std::fs;
use std::path::Path;

use super::error::EntryFault;

/// Longer names are not looked through for joined ones: the look-ups grow with the square of the length.
const LONGEST_LOOKED_THROUGH: usize = 400;

/// What is wrong with a name that does not exist.
pub(super) fn fault_of_missing(name: &str) -> EntryFault {
    let path = Path::new(name);
    if let Ok(target) = fs::read_link(path) {
        return EntryFault::DanglingLink { name: name.to_owned(), target: target.display().to_string() };
    }
    if let Some(fault) = fault_of_writing(name, &exists) {
        return fault;
    }
    if let Some(names) = split_at_directories(name, &|directory| Path::new(directory).is_dir()) {
        return EntryFault::Joined { names };
    }
    let name = name.to_owned();
    if name.starts_with("/dev/") {
        return EntryFault::NoDevice { name };
    }
    match path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        Some(directory) if !directory.is_dir() => {
            EntryFault::NoDirectory { name, directory: directory.display().to_string() }
        }
        _ => EntryFault::Missing { name },
    }
}

/// Whether it is there and could be a LUN, as no directory can.
fn exists(name: &str) -> bool {
    fs::metadata(name).is_ok_and(|metadata| !metadata.is_dir())
}

/// What is wrong with how a name is written, told by what exists.
fn fault_of_writing(name: &str, exists: &dyn Fn(&str) -> bool) -> Option<EntryFault> {
    let decorated = |meant: &str, around| EntryFault::Decorated {
        name: name.to_owned(),
        meant: meant.to_owned(),
        around,
    };
    let bare = name.trim();
    if let Some((meant, _)) = bare.split_once('#')
        && meant.ends_with([' ', '\t'])
    {
        let (name, meant) = (bare.to_owned(), meant.trim_end().to_owned());
        return Some(EntryFault::TrailingComment { name, meant });
    }
    if bare != name && exists(bare) {
        return Some(decorated(bare, "blanks"));
    }
    let unquoted = bare.trim_matches(['"', '\'']);
    if unquoted != bare && exists(unquoted) {
        return Some(decorated(unquoted, "quotes"));
    }
    if let Some(names) = split_into_existing(bare, exists) {
        return Some(EntryFault::Joined { names });
    }
    // From here on nothing exists: what no name holds on purpose must not become part of a file that is made.
    if let Some(sign) = bare.chars().find(|letter| matches!(letter, ',' | ';')) {
        let sign = if sign == ',' { "comma" } else { "semicolon" };
        return Some(EntryFault::SeveralNames { name: bare.to_owned(), sign });
    }
    if unquoted != bare && !unquoted.is_empty() {
        return Some(EntryFault::Quotes { name: bare.to_owned(), bare: unquoted.to_owned() });
    }
    if bare != name && !bare.is_empty() {
        return Some(EntryFault::Blanks { name: name.to_owned(), bare: bare.to_owned() });
    }
    let sign =
        if name.starts_with('~') { Some('~') } else { name.chars().find(|sign| matches!(sign, '$' | '*')) };
    sign.map(|sign| EntryFault::ShellSign { name: name.to_owned(), sign })
}

/// Absolute names that need not exist, one behind the other: the directory that the first one lies in, or one above it,
/// begins again within a name whose own directory does not exist.
fn split_at_directories(name: &str, is_directory: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let (parent, _) = name.rsplit_once('/')?;
    if !name.starts_with('/') || parent.is_empty() || is_directory(parent) {
        return None;
    }
    let ends = name.match_indices('/').map(|(place, _)| place).filter(|place| *place > 0);
    let directories: Vec<&str> = ends.filter_map(|end| name.get(..=end)).collect();
    let again = |directory: &&&str| {
        name.get(1..).is_some_and(|behind| behind.contains(**directory)) && is_directory(directory)
    };
    // The longest, which is the least likely to come twice by chance.
    let directory = directories.iter().rev().find(again)?;
    let mut names = Vec::new();
    let mut from = 0;
    while let Some(next) = name.get(from + 1..).and_then(|behind| behind.find(directory)) {
        names.push(name.get(from..=from + next)?.to_owned());
        from += next + 1;
    }
    names.push(name.get(from..)?.to_owned());
    Some(names)
}

/// The names that exist and that, one behind the other, make up this one, as few of them as possible. Blanks, commas and
/// semicolons between them are passed over.
fn split_into_existing(name: &str, exists: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    if name.len() > LONGEST_LOOKED_THROUGH {
        return None;
    }
    let mut places: Vec<usize> = name.char_indices().map(|(place, _)| place).collect();
    places.push(name.len());
    // From behind: the shortest way to the end from each place, as the place where its first name ends and the number of
    // names.
    let mut ways: Vec<Option<(usize, usize)>> = vec![None; places.len()];
    if let Some(end) = ways.last_mut() {
        *end = Some((0, 0));
    }
    for from in (0..places.len().saturating_sub(1)).rev() {
        let mut best: Option<(usize, usize)> = None;
        for to in from + 1..places.len() {
            let (Some(Some((_, names))), Some(part)) = (ways.get(to), part(name, &places, from, to)) else {
                continue;
            };
            let names = names + 1;
            if best.is_none_or(|(_, least)| names < least) && exists(part) {
                best = Some((to, names));
            }
        }
        if let Some(way) = ways.get_mut(from) {
            *way = best;
        }
    }
    let mut names = Vec::new();
    let mut from = 0;
    while from + 1 < places.len() {
        let (to, _) = ways.get(from).copied().flatten()?;
        names.push(part(name, &places, from, to)?.to_owned());
        from = to;
    }
    (names.len() > 1).then_some(names)
}

/// What stands between two places, without what separates names.
fn part<'a>(name: &'a str, places: &[usize], from: usize, to: usize) -> Option<&'a str> {
    let part = name.get(*places.get(from)?..*places.get(to)?)?;
    let part = part.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';'));
    (!part.is_empty()).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(name: &str, existing: &[&str]) -> Option<Vec<String>> {
        split_into_existing(name, &|part| existing.contains(&part))
    }

    #[test]
    fn joined_names_are_found_by_what_exists() {
        let devices = ["/dev/sda", "/dev/sdb", "/dev/sdc"];
        assert_eq!(split("/dev/sda/dev/sdb", &devices).unwrap(), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(split("/dev/sda/dev/sdb/dev/sdc", &devices).unwrap(), devices);
        assert_eq!(split("/dev/sda, /dev/sdb", &devices).unwrap(), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(split("a.datab.data", &["a.data", "b.data"]).unwrap(), ["a.data", "b.data"]);
        assert_eq!(split("ab", &["a", "b", "ab"]), None, "it exists as it is");
        assert_eq!(split("/dev/sda/dev/sdx", &devices), None);
        assert_eq!(split("/dev/sda", &devices), None);
        assert_eq!(split(&"a".repeat(5_000), &["a"]), None, "not looked through");
        assert_eq!(split("é.dataü", &["é.data", "ü"]).unwrap(), ["é.data", "ü"]);
    }

    #[test]
    fn joined_names_that_do_not_exist_yet_are_found_by_their_directory() {
        let split = |name: &str| {
            split_at_directories(name, &|path| matches!(path.trim_end_matches('/'), "/a" | "/a/b" | "/a/b/a"))
        };
        assert_eq!(split("/a/b/n2/a/b/n3").unwrap(), ["/a/b/n2", "/a/b/n3"]);
        assert_eq!(split("/a/b/n2/a/n3").unwrap(), ["/a/b/n2", "/a/n3"]);
        assert_eq!(split("/a/b/n1/a/b/n2/a/b/n3").unwrap(), ["/a/b/n1", "/a/b/n2", "/a/b/n3"]);
        assert_eq!(split("/a/b/a/n"), None, "it lies in a directory");
        for name in ["/a/b/none/n", "/none/n", "/n", "n2n3", "none/n", "/"] {
            assert_eq!(split(name), None, "{name}");
        }
    }

    #[test]
    fn slips_of_the_pen_are_told_apart() {
        let fault = |name: &str| {
            fault_of_writing(name, &|part| part == "a.data")
                .map(|fault| fault.to_string())
                .unwrap_or_default()
        };
        assert_eq!(
            fault("a.data  "),
            "there is no `a.data  `, but there is `a.data`; write it without the blanks around it"
        );
        assert!(fault("\"a.data\"").contains("without the quotes"));
        assert!(fault("~/a.data").contains("no shell expands `~`"));
        assert!(fault("$HOME/a").contains("no shell expands `$`"));
        assert!(fault("b.data ").contains("has blanks at its end"));
        assert_eq!(
            fault("a.data # the first"),
            "`a.data # the first` ends in a comment, which ORION does not allow in a `.lun` file; write `a.data` alone"
        );
        assert!(fault("n6,n7").contains("in which a comma stands"));
        assert!(fault("n6; n7").contains("in which a semicolon stands"));
        assert!(fault("\"n8\"").contains("quotes would be part of the name; write `n8`"));
        assert_eq!(fault("disk#1"), "", "part of a name");
        assert_eq!(fault("b.data"), "");
    }
}
