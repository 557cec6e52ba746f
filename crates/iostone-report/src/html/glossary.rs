//! What flags and findings mean, in the words of the documentation's own tables, for those that a page names.

use super::prose::Prose;

/// A name in the first column, its meaning in the second; and what a meaning begins with.
const TABLES: [(&str, &str); 2] = [
    (include_str!("../../../../docs/concepts/blocks-and-verdicts.md"), ""),
    (include_str!("../../../../docs/reference/audit-rules.md"), "looks for "),
];

/// A flag or rule with what it means.
pub(super) struct Term {
    pub(super) name: String,
    pub(super) meaning: Prose,
}

/// The explained ones of these names, each once, in the order of the alphabet.
pub(super) fn terms<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Term> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let term = |name: &&str| Some(Term { name: (*name).to_owned(), meaning: Prose::of(&meaning(name)?) });
    names.iter().filter_map(term).collect()
}

/// A name, with a link to its meaning where it has one.
pub(super) fn named(name: &str) -> Prose {
    if meaning(name).is_some() { Prose::link(&format!("about-{name}"), name) } else { Prose::of(name) }
}

/// What the documentation says of a name.
fn meaning(name: &str) -> Option<String> {
    TABLES.iter().find_map(|(page, beginning)| {
        page.lines().find_map(|line| {
            let (first, rest) = line.strip_prefix("| `")?.split_once(" | ")?;
            let (own, remark) = first.split_once('`')?;
            let says = rest.split_once(" |").filter(|_| own == name)?.0;
            let remark = match remark.trim() {
                "" => String::new(),
                "(forbids)" => " (forbids a verdict)".to_owned(),
                other => format!(" {other}"),
            };
            Some(format!("{beginning}{}{}", without_links(says), without_links(&remark)))
        })
    })
}

/// A sentence of Markdown with the words of its links alone.
fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((words, after)) = after.split_once("](") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        text.push_str(before);
        text.push_str(words);
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_the_documentation_says() {
        assert_eq!(meaning("too-few-blocks").as_deref(), Some("a verdict needs more blocks"));
        assert!(meaning("fixed-order").unwrap().ends_with("in every block (forbids a verdict)"));
        assert!(meaning("single-run").unwrap().starts_with("looks for conditions run once"));
        assert_eq!(meaning("<b>tail"), None);
        let vouched = meaning("order-unknown").unwrap();
        assert!(vouched.ends_with("(forbids, unless you vouch for it)"), "{vouched}");
    }

    #[test]
    fn every_explained_name_can_be_linked_to() {
        let rows = TABLES.iter().flat_map(|(page, _)| page.lines());
        let names: Vec<&str> =
            rows.filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
        assert!(names.len() > 60, "{}", names.len());
        for name in names {
            assert!(!meaning(name).unwrap().contains("]("), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        }
    }
}
