//! What an experiment file declares, whoever draws its seed: the text that tells one experiment from another.

use toml::{Table, Value};

/// The text of an experiment without its seed, its comments and its layout, followed by what the command line changed of it.
/// Text that is no TOML stands for itself.
pub fn declared_text(text: &str, overrides: &[String]) -> String {
    let mut declared = match text.parse::<Table>() {
        Ok(mut table) => {
            if let Some(Value::Table(trials)) = table.get_mut("trials") {
                trials.remove("seed");
                if trials.is_empty() {
                    table.remove("trials");
                }
            }
            table.to_string()
        }
        Err(_) => text.to_owned(),
    };
    let is_seed = |typed: &&String| {
        typed.split_once('=').is_some_and(|(path, _)| path.split('.').map(str::trim).eq(["trials", "seed"]))
    };
    for typed in overrides.iter().filter(|typed| !is_seed(typed)) {
        declared.push_str("--set ");
        declared.push_str(typed);
        declared.push('\n');
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_comments_and_layout_do_not_make_another_experiment() {
        let plain = "name = \"a\"\n[trials]\nseed = 7\n[workload]\nkind = \"io\"\n";
        let other = "# again\nname='a'\n\n[trials]\nseed = 8\n[workload]\nkind   = 'io'\n";
        let seedless = "name = \"a\"\n[workload]\nkind = \"io\"\n";
        let text = declared_text(plain, &[]);
        assert!([other, seedless].iter().all(|same| declared_text(same, &[]) == text), "{text}");
        assert_eq!(declared_text(plain, &["trials.seed = 9".to_owned()]), text);
        assert_ne!(declared_text(plain, &["workload.bs=8KiB".to_owned()]), text);
        assert_ne!(declared_text(&plain.replace("io", "dd"), &[]), text);
        assert_eq!(declared_text("no toml", &[]), "no toml");
    }
}
