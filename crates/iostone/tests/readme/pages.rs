//! The pages of the repository and what stands in them: fenced blocks, spans of code, links, headings.

use std::fs;
use std::path::{Path, PathBuf};

/// A page of Markdown.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// The word behind the fence: `console`.
    pub(crate) language: &'a str,
    /// The content of the HTML comment on the line before: `check`.
    pub(crate) comment: Option<&'a str>,
    /// The number of the fence's line.
    pub(crate) line: usize,
    pub(crate) lines: Vec<&'a str>,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The page at a path below the root.
pub(crate) fn page(name: &str) -> Page {
    let path = root().join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Page { path, text }
}

/// Every page: those at the root, and all below docs.
pub(crate) fn pages() -> Vec<Page> {
    let mut names: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].iter().map(PathBuf::from).collect();
    let mut directories = vec![PathBuf::from("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root().join(&directory)).unwrap() {
            let name = directory.join(entry.unwrap().file_name());
            if root().join(&name).is_dir() {
                directories.push(name);
            } else if name.extension().is_some_and(|extension| extension == "md") {
                names.push(name);
            }
        }
    }
    names.sort();
    names.iter().map(|name| page(name.to_str().unwrap())).collect()
}

impl Page {
    /// The path below the root.
    pub(crate) fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }

    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        let mut before = "";
        for (number, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(_), Some(block)) => blocks.push(block),
                (Some(language), None) => {
                    let comment = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                    open = Some(Block { language, comment, line: number + 1, lines: Vec::new() });
                }
                (None, Some(mut block)) => {
                    block.lines.push(line);
                    open = Some(block);
                }
                (None, None) => {}
            }
            before = line;
        }
        assert!(open.is_none(), "{}: a fenced block has no end", self.name());
        blocks
    }

    /// The text without its fenced blocks.
    pub(crate) fn prose(&self) -> String {
        let mut inside = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside {
                prose.push_str(line);
                prose.push('\n');
            }
        }
        prose
    }

    /// Spans of code in the prose.
    pub(crate) fn spans(&self) -> Vec<String> {
        // A span may be broken over two lines, but not over paragraphs.
        let prose = self.prose();
        prose
            .split("\n\n")
            .flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2))
            .map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    /// What typed commands the console blocks show, without the prompt.
    pub(crate) fn typed(&self) -> Vec<String> {
        let blocks = self.blocks();
        let consoles = blocks.iter().filter(|block| block.language == "console");
        consoles
            .flat_map(|block| &block.lines)
            .filter_map(|line| line.strip_prefix("$ ").map(str::to_owned))
            .collect()
    }

    /// Targets of links and images.
    pub(crate) fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let marked = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let images = prose.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        marked.chain(images).map(|(target, _)| target.to_owned()).collect()
    }

    /// The anchors that a forge makes of headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter(|line| line.starts_with('#'));
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        headings
            .map(|line| line.trim_start_matches('#').trim().to_lowercase())
            .map(|heading| heading.chars().filter(kept).collect::<String>().replace(' ', "-"))
            .collect()
    }
}
