//! Patterns for file names: what they read, what they refuse, and that they never panic.

use proptest::prelude::*;

use super::*;

fn read(pattern: &str, path: &str) -> Named {
    pattern.parse::<Pattern>().unwrap().read(Path::new(path)).unwrap()
}

fn labels(pattern: &str, path: &str) -> Vec<(String, String)> {
    read(pattern, path).labels.into_iter().collect()
}

fn label(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn refuse(pattern: &str) -> String {
    pattern.parse::<Pattern>().unwrap_err().to_string()
}

#[test]
fn a_name_is_parted_into_its_fields() {
    let named = read("{condition}-{run}.log", "logs/on-3.log");
    assert_eq!(named.labels.get("condition").map(String::as_str), Some("on"));
    assert_eq!(named.run.as_deref(), Some("3"));
    let named = read("{block}_{order}_{barrier}.txt", "7_2.5_off.txt");
    assert_eq!((named.block, named.order), (Some(7), Some(2.5)));
    assert_eq!(named.labels.get("barrier").map(String::as_str), Some("off"));
}

#[test]
fn fields_are_short_but_numbers_are_taken_for_what_must_be_one() {
    assert_eq!(labels("{a}-{b}", "x-y-z"), [label("a", "x"), label("b", "y-z")]);
    let named = read("{condition}-{run}.log", "barrier-off-3.log");
    assert_eq!(named.labels.get("condition").map(String::as_str), Some("barrier-off"));
    assert_eq!(named.run.as_deref(), Some("3"));
    // Where no digits stand, a run may be called anything.
    assert_eq!(read("{condition}-{run}.log", "on-first.log").run.as_deref(), Some("first"));
}

#[test]
fn parts_are_skipped() {
    assert_eq!(labels("{_}-{disks}disks*", "bonnie-4disks.csv"), [label("disks", "4")]);
    assert_eq!(labels("{_}-{disks}disks*", "bonnie-4disks"), [label("disks", "4")]);
}

#[test]
fn folders_belong_to_a_pattern_with_a_slash() {
    let pattern = "{host}/{condition}/{run}.json";
    let named = read(pattern, "/srv/results/alpha/on/2.json");
    assert_eq!(
        named.labels.into_iter().collect::<Vec<_>>(),
        [label("condition", "on"), label("host", "alpha")]
    );
    assert_eq!(named.run.as_deref(), Some("2"));
    let pattern: Pattern = pattern.parse().unwrap();
    let error = pattern.read(Path::new("on/2.json")).unwrap_err().to_string();
    assert_eq!(error, "its name `on/2.json` does not match the pattern `{host}/{condition}/{run}.json`");
    // Where a path goes up, its parts are not known.
    assert_eq!(labels("{a}/x", "here/../x"), [label("a", "here")]);
}

#[test]
fn braces_are_written_twice_and_signs_of_expressions_mean_themselves() {
    assert_eq!(labels("{{{a}}}.[0-9]+", "{x}.[0-9]+"), [label("a", "x")]);
    assert!("{a}.[0-9]+".parse::<Pattern>().unwrap().read(Path::new("x.5")).is_err());
}

#[test]
fn a_pattern_that_cannot_be_meant_is_refused() {
    assert!(refuse("{condition-{run}").contains("must pair up"));
    assert!(refuse("{condition").contains("must pair up"));
    assert!(refuse("condition}").contains("must pair up"));
    assert_eq!(
        refuse("{a}-{a}"),
        "pattern `{a}-{a}`: `{a}` stands twice; a part to be skipped is `{_}` or `*`"
    );
    assert_eq!(
        refuse("{a}{b}"),
        "pattern `{a}{b}`: between `{a}` and `{b}` text must stand, so that it is clear where one ends"
    );
    assert!(refuse("{a}*").contains("between `{a}` and `*`"));
    assert!(refuse("{}").contains("`{}` is no field"));
    assert!(refuse("{a b}").contains("`{a b}` is no field"));
    assert!(refuse("plain.log").contains("names no field"));
    assert!(refuse("").contains("every part"));
    assert!(refuse("{a}//x").contains("every part"));
    assert!(refuse("../{a}").contains("every part"));
}

#[test]
fn a_block_that_is_no_number_is_named() {
    let pattern: Pattern = "{condition}-{block}.log".parse().unwrap();
    assert_eq!(
        pattern.read(Path::new("on-one.log")).unwrap_err().to_string(),
        "its name `on-one.log` has `one` for `{block}` of the pattern `{condition}-{block}.log`, which must be a number"
    );
    assert!(pattern.read(Path::new("on-99999999999999999999999.log")).is_err());
}

proptest! {
    #[test]
    fn what_was_put_into_a_name_is_read_from_it(
        values in proptest::collection::vec("[a-zA-Z0-9 =.é]{1,8}", 1..5),
        separator in "[-_+,(\\[]",
    ) {
        let names: Vec<String> = (0..values.len()).map(|index| format!("field{index}")).collect();
        let fields: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
        let pattern: Pattern = format!("x{}.log", fields.join(&separator)).parse().unwrap();
        let file = format!("x{}.log", values.join(&separator));
        let named = pattern.read(Path::new(&file)).unwrap();
        for (name, value) in names.iter().zip(&values) {
            prop_assert_eq!(named.labels.get(name), Some(value));
        }
    }

    #[test]
    fn fields_and_the_text_between_them_make_up_the_name(file in "[ab-]{0,12}") {
        let pattern: Pattern = "{x}-{y}b{z}".parse().unwrap();
        if let Ok(named) = pattern.read(Path::new(&file)) {
            let value = |name: &str| &named.labels[name];
            prop_assert_eq!(format!("{}-{}b{}", value("x"), value("y"), value("z")), file);
        }
    }

    #[test]
    fn no_pattern_and_no_path_panics(pattern in "[{}*/a_.é]{0,16}", path in "[{}*/a_.é]{0,16}") {
        if let Ok(pattern) = pattern.parse::<Pattern>() {
            let _ = pattern.read(Path::new(&path));
        }
    }
}
