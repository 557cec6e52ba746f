//! What pages are checked by: balanced tags, and single drawings cut out of them.

/// Elements that HTML closes by itself.
const VOID: [&str; 4] = ["meta", "!doctype", "br", "img"];

/// Checks that tags are balanced, and gives the names of all elements.
pub(crate) fn balanced(markup: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = markup;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, tail) = after.split_once('>').expect("every tag is closed");
        rest = tail;
        let name: String = tag.chars().take_while(|c| !c.is_whitespace() && *c != '>').collect();
        let name = name.trim_end_matches('/').to_lowercase();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(
                open.pop().as_deref(),
                Some(closed),
                "before {:?}",
                rest.chars().take(60).collect::<String>()
            );
        } else {
            seen.push(name.clone());
            if name == "script" || name == "style" {
                let end = format!("</{name}>");
                rest = rest.split_once(&end).expect("it ends").1;
            } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

/// The wide drawing of a figure.
pub(crate) fn drawing(page: &str, id: &str) -> String {
    let marked = format!("aria-labelledby=\"{id}-wide-t");
    let at = page.find(&marked).expect("the figure is there");
    let start = page[..at].rfind("<svg").expect("it begins");
    let end = at + page[at..].find("</svg>").expect("it ends");
    format!("{}</svg>", &page[start..end])
}
