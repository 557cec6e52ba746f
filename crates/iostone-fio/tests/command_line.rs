//! fio's options as arguments.

use crate::support::{files, read_among};
use iostone_fio::{Request, split_arguments};
use iostone_model::units::Bytes;

fn split(arguments: &[&str]) -> (Vec<iostone_fio::Argument>, Vec<String>) {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    split_arguments(&arguments).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn refusals(arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    match split_arguments(&arguments) {
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
        Ok((arguments, _)) => {
            let request = Request { arguments: &arguments, ..Request::default() };
            let read = read_among(&files(&[]), &request);
            read.map_or_else(|problems| problems.iter().map(ToString::to_string).collect(), |_| Vec::new())
        }
    }
}

#[test]
fn each_name_begins_a_job_and_what_is_before_the_first_is_for_all() {
    let (arguments, files_named) = split(&[
        "--bs",
        "4k",
        "-iodepth=8",
        "--name=a",
        "--rw=randread",
        "--time_based",
        "--name",
        "b",
        "--bs=8k",
    ]);
    assert!(files_named.is_empty());
    let read = read_among(&files(&[]), &Request { arguments: &arguments, ..Request::default() }).unwrap();
    let seen: Vec<_> = read
        .sections
        .iter()
        .map(|section| (section.name.as_str(), section.options.bs.read, section.options.time_based))
        .collect();
    assert_eq!(seen, [("a", Some(Bytes(4096)), Some(true)), ("b", Some(Bytes(8192)), None)]);
    assert!(read.sections.iter().all(|section| section.options.iodepth == Some(8)));
    assert_eq!(read.sections[0].place_of("rw").unwrap().to_string(), "argument 5");
}

#[test]
fn a_name_of_global_sets_defaults() {
    let (arguments, _) = split(&["--name=global", "--size=128m", "--name=job1", "--name=job2"]);
    let read = read_among(&files(&[]), &Request { arguments: &arguments, ..Request::default() }).unwrap();
    assert_eq!(read.sections.len(), 2);
    assert!(read.sections.iter().all(|section| section.options.size.is_some()));
}

#[test]
fn files_follow_options_and_the_first_inherits_them() {
    let (arguments, names) = split(&["--bs=512", "one.fio", "--", "--two.fio"]);
    assert_eq!(names, ["one.fio", "--two.fio"]);
    let memory = files(&[("one.fio", "[x]\n"), ("--two.fio", "[y]\n")]);
    let read =
        read_among(&memory, &Request { arguments: &arguments, files: &names, ..Request::default() }).unwrap();
    let seen: Vec<_> = read.sections.iter().map(|section| section.options.bs.read).collect();
    assert_eq!(seen, [Some(Bytes(512)), None]);
}

#[test]
fn variables_of_arguments_are_the_shells_and_keywords_are_not() {
    let (arguments, _) = split(&["--name=j", "--description=${SIZE}", "--size=8*$mb_memory"]);
    let read = read_among(&files(&[]), &Request { arguments: &arguments, ..Request::default() }).unwrap();
    assert_eq!(read.sections[0].options.description.as_deref(), Some("${SIZE}"));
    assert_eq!(read.sections[0].options.size, Some(iostone_fio::values::Portion::Bytes(Bytes(8_000))));
}

#[test]
fn problems_name_the_argument() {
    assert_eq!(
        refusals(&["--name=j", "--iodpeth=4"]),
        ["argument 2: `--iodpeth` is not an option of fio; did you mean `iodepth`?"]
    );
    assert_eq!(refusals(&["--name=j", "--bs"]), ["argument 2: `bs` is refused: it needs a value"]);
    assert_eq!(refusals(&["--name="]), ["argument 1: `name` is refused: a job needs a name"]);
    assert!(refusals(&["--bs=4k"])[0].contains("no job is defined"));
}
