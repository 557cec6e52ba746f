//! Job files as people write them: sections, inheritance, includes, variables, and what is refused where.

use std::time::Duration;

use crate::support::{files, problems_of, read_among, read_text};
use iostone_fio::values::{Engine, Portion};
use iostone_fio::{JobFile, Problem, Request, Section};
use iostone_model::load::{BlockRange, BlockSizes, BlockSplit, Direction, PerDirection, Rw};
use iostone_model::units::{Bytes, Span};

fn sections(text: &str) -> Vec<Section> {
    read_text(text).unwrap_or_else(|problems| panic!("{problems:?}")).sections
}

fn section(options: &str) -> Section {
    sections(&format!("[job]\n{options}\n")).remove(0)
}

fn read_files(texts: &[(&str, &str)], names: &[&str]) -> Result<JobFile, Vec<Problem>> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    read_among(&files(texts), &Request { files: &names, ..Request::default() })
}

#[test]
fn each_global_adds_to_those_above_and_holds_below() {
    let read = sections(
        "[global]\nbs=8k\n[a]\n[global]\niodepth=4\n[b]\nbs=16k\n[globally]\nbs=1k\n[c]\niodepth=2\n",
    );
    let seen: Vec<_> = read
        .iter()
        .map(|section| (section.name.as_str(), section.options.bs.read.unwrap().0, section.options.iodepth))
        .collect();
    assert_eq!(seen, [("a", 8192, None), ("b", 16384, Some(4)), ("c", 1024, Some(2))]);
}

#[test]
fn comments_blanks_and_line_ends_are_stripped_wherever_they_are() {
    for text in [
        "\u{feff}[job]\nrw=randread\nsize=1m\n",
        "; first\n\n  # second\n[job] ; third\r\n  rw=randread # fourth\r\n\tsize=1m;fifth\r\n",
        "[job]\nrw =randread\nsize\t=1m  \n\x0c",
        "[job]\nrw=randread\nsize=1m",
    ] {
        let read = sections(text).remove(0);
        assert_eq!(read.name, "job");
        assert_eq!(read.options.access().rw, Rw::RandRead, "{text:?}");
        assert_eq!(read.options.size, Some(Portion::Bytes(Bytes(1 << 20))), "{text:?}");
    }
}

#[test]
fn names_of_files_add_up_with_the_directory_of_their_moment() {
    let read = sections("[global]\nfilename=a\n[job]\nfilename=b:/c\ndirectory=/d:/e\n");
    let paths: Vec<String> =
        read[0].options.filename.iter().map(iostone_fio::values::FileName::path).collect();
    assert_eq!(paths, ["a", "/d/b", "/d//c"]);
}

#[test]
fn the_later_of_two_opposites_wins() {
    assert_eq!(section("direct=1\nbuffered=1").options.direct, Some(false));
    assert_eq!(section("buffered=1\ndirect=1").options.direct, Some(true));
    assert_eq!(section("rwmixread=70\nrwmixwrite=40").options.rwmixread, Some(60));
    assert_eq!(section("bs=4k\nblocksize=8k").options.bs.write, Some(Bytes(8192)));
}

#[test]
fn kb_base_is_read_before_the_sizes_of_its_section() {
    let read = section("size=1m\nbs=4kib\nkb_base=1000");
    assert_eq!(read.options.size, Some(Portion::Bytes(Bytes(1_000_000))));
    assert_eq!(read.options.bs.read, Some(Bytes(4096)));
}

#[test]
fn a_split_outranks_a_range_and_a_range_outranks_bs() {
    let read = read_text(
        "[global]\nbsrange=1k-4k\n[a]\nbs=8k\n[b]\nbssplit=4k/10:64k/50:32k/40\n[c]\nbsrange=2k-2k\n",
    );
    let read = read.unwrap();
    let choice = |index: usize| read.sections[index].options.block_sizes(Direction::Write);
    assert_eq!(choice(0), BlockSizes::Range(BlockRange { min: Bytes(1024), max: Bytes(4096) }));
    assert!(matches!(choice(1), BlockSizes::Split(split) if split.shares().len() == 3));
    assert_eq!(choice(2), BlockSizes::Fixed(Bytes(2048)));
    let remark = &read.remarks[0];
    assert_eq!((remark.place.line(), remark.text.contains("gives way")), (Some(4), true));
}

#[test]
fn shares_without_a_percentage_divide_the_rest() {
    let shares = |text: &str| {
        let read = section(&format!("bssplit={text}"));
        let share = |list: &Option<BlockSplit>| {
            list.iter()
                .flat_map(BlockSplit::shares)
                .map(|(bytes, percent)| (bytes.0, *percent))
                .collect::<Vec<_>>()
        };
        (
            share(&read.options.bssplit.read),
            share(&read.options.bssplit.write),
            share(&read.options.bssplit.trim),
        )
    };
    let same = |list: &[(u64, u32)]| (list.to_vec(), list.to_vec(), list.to_vec());
    assert_eq!(shares("4k/50:1k/:2k/"), same(&[(4096, 50), (1024, 25), (2048, 25)]));
    assert_eq!(shares("8k"), same(&[(8192, 100)]));
    assert_eq!(shares("512/4:4k/67"), same(&[(512, 4), (4096, 96)]));
    assert_eq!(shares("2k/50:4k/50,4k/90:8k/10").1, [(4096, 90), (8192, 10)]);
    assert_eq!(shares("2k,4k,8k").2, [(8192, 100)]);
    assert_eq!(shares(",4k").0, []);
    assert!(!problems_of("[j]\nbssplit=4k/60:8k/60\n").is_empty());
}

#[test]
fn rates_may_name_single_directions() {
    let rate = |text: &str| section(&format!("rate={text}")).options.rate;
    let b = |bytes: u64| Some(Bytes(bytes));
    assert_eq!(rate("1m,500k"), PerDirection { read: b(1 << 20), write: b(512_000), trim: b(512_000) });
    assert_eq!(rate(",500k"), PerDirection { read: None, write: b(512_000), trim: b(512_000) });
    assert_eq!(rate("500k,"), PerDirection { read: b(512_000), write: None, trim: None });
}

#[test]
fn distributions_zones_and_modifiers_are_read() {
    let read = |text: &str| {
        let read = section(&format!("random_distribution={text}")).options.random_distribution.unwrap();
        assert!(read.iter().all(|of_direction| *of_direction == read.read), "{text}");
        read.read.to_string()
    };
    assert_eq!(read("zipf:1.2"), "zipf:1.2");
    assert_eq!(read("zipf"), "zipf:1.1");
    assert_eq!(read("pareto:0.9:0.25"), "pareto:0.9:0.25");
    assert_eq!(read("normal:30"), "normal:30");
    assert_eq!(read("zoned:50/5:30/15:20/"), "zoned:50/5:30/15:20/80");
    assert_eq!(read("zoned_abs:60/20G:40/100G"), "zoned_abs:60/20GiB:40/100GiB");
    for text in
        ["zipf:1", "pareto:1", "normal:100", "zoned:50/50", "zoned", "zipf:1.2:2", "gauss:1", "sequence:2,0"]
    {
        assert!(!problems_of(&format!("[j]\nrandom_distribution={text}\n")).is_empty(), "{text}");
    }
    assert_eq!(section("rw=randread:8").options.access().ios_per_offset, Some(8));
    assert_eq!(section("rw=read:-8k").options.access().skip_bytes, -8192);
    assert_eq!(section("rw=write:4k").options.access().skip_bytes, 4096);
}

#[test]
fn times_and_flags_have_the_manuals_units() {
    let read = section(
        "runtime=1m\nramp_time=500ms\nthinktime=10\nthinktime_iotime=9\nthinktime_spin=500\nmax_latency=10ms,20ms\n\
         startdelay=5-10\nrate_cycle=2000\ntime_based\ngroup_reporting=0\nlog_avg_msec=100\nss=iops:2%\nss_dur=30",
    )
    .options;
    let span = |millis| Some(Span(Duration::from_millis(millis)));
    assert_eq!((read.runtime, read.ramp_time, read.thinktime_iotime), (span(60_000), span(500), span(9_000)));
    assert_eq!(read.thinktime, Some(Span(Duration::from_micros(10))));
    assert_eq!(read.thinktime_spin, Some(Span(Duration::from_micros(500))));
    assert_eq!((read.max_latency.read, read.max_latency.trim), (span(10), span(20)));
    assert_eq!(read.startdelay, span(5_000).zip(span(10_000)));
    assert_eq!((read.rate_cycle, read.log_avg_msec), (span(2_000), span(100)));
    assert_eq!((read.time_based, read.group_reporting), (Some(true), Some(false)));
    assert_eq!(read.steadystate_duration, span(30_000));
}

#[test]
fn variables_and_keywords_are_expanded_in_values() {
    let read = section("size=${SIZE}\nbs=$pagesize\nnumjobs=$ncpus\nio_size=2*1024*$mb_memory/8");
    assert_eq!(read.options.size, Some(Portion::Bytes(Bytes(64 << 20))));
    assert_eq!(read.options.numjobs, Some(8));
    assert_eq!(read.options.io_size, Some(Portion::Bytes(Bytes(256_000))));
    let read = read_text("[j]\ndescription=x${NOPE}y\n").unwrap();
    assert_eq!(read.sections[0].options.description.as_deref(), Some("xy"));
    assert!(read.remarks[0].text.contains("`NOPE` is not set"));
}

#[test]
fn includes_are_looked_for_as_written_and_then_beside_the_includer() {
    let texts = [
        ("jobs/main.fio", "[global]\ninclude common.inc\n[job]\ninclude deep/own.inc\nbs=4k\n"),
        ("jobs/common.inc", "; shared\niodepth=4\nioengine=libaio\n"),
        ("jobs/deep/own.inc", "include=more.inc\nrw=write\n"),
        ("jobs/deep/more.inc", "size=1m"),
    ];
    let read = read_files(&texts, &["jobs/main.fio"]).unwrap();
    let options = &read.sections[0].options;
    assert_eq!(
        (options.iodepth, options.engine(), options.access().rw),
        (Some(4), Engine::Libaio, Rw::Write)
    );
    let place = read.sections[0].place_of("size").unwrap();
    assert_eq!(place.to_string(), "jobs/deep/more.inc:1:1");
}

#[test]
fn an_include_that_cannot_be_followed_is_refused_at_its_line() {
    for (main, other, expected) in [
        ("[j]\nbs=4k\ninclude nosuch.inc\n", "", "m:3:1: `nosuch.inc` cannot be read"),
        ("[j]\n  include o\n", "include m\n", "o:1:1: `include` is refused: `m` would include itself"),
        (
            "[j]\ninclude o\n",
            "bs=4k\n[x]\n",
            "o:2:1: `[x]` is no section: a file that is included holds options only",
        ),
        ("[j]\ninclude\n", "", "m:2:1: `include` is refused: the name of a file is missing"),
    ] {
        let problems = read_files(&[("m", main), ("o", other)], &["m"]).unwrap_err();
        assert!(problems[0].to_string().starts_with(expected), "{problems:?}");
    }
}

#[test]
fn includes_that_multiply_come_to_an_end() {
    let names: Vec<String> = (0..30).map(|depth| format!("f{depth}")).collect();
    let mut texts: Vec<(String, String)> = names
        .windows(2)
        .map(|pair| (pair[0].clone(), format!("include {0}\ninclude {0}\n", pair[1])))
        .collect();
    texts[0].1.insert_str(0, "[j]\n");
    texts.push((names[29].clone(), "bs=4k\n".into()));
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let problems = read_files(&texts, &["f0"]).unwrap_err();
    assert!(problems[0].to_string().contains("more than 1000 files"), "{}", problems[0]);
}

#[test]
fn several_files_wait_for_each_other_and_forget_their_defaults() {
    let texts = [("a", "[global]\nbs=8k\n[x]\n"), ("b", "[y]\n[z]\n")];
    let read = read_files(&texts, &["a", "b"]).unwrap();
    let seen: Vec<_> =
        read.sections.iter().map(|section| (section.options.bs.read, section.options.stonewall)).collect();
    assert_eq!(seen, [(Some(Bytes(8192)), None), (None, Some(true)), (None, None)]);
}

#[test]
fn sections_can_be_chosen_by_name() {
    let only = ["heavy".to_owned()];
    let names = ["job.fio".to_owned()];
    let request = Request { files: &names, only: &only, ..Request::default() };
    let texts = files(&[("job.fio", "[global]\nbs=8k\n[light]\nnonsense=1\n[heavy]\nrw=write\n")]);
    let read = read_among(&texts, &request).unwrap();
    assert_eq!((read.sections.len(), read.sections[0].options.bs.read), (1, Some(Bytes(8192))));
    let only = ["none".to_owned()];
    let problems = read_among(&texts, &Request { only: &only, ..request }).unwrap_err();
    assert!(problems[0].to_string().contains("no section is called none"));
}

#[test]
fn options_of_an_engine_need_that_engine_and_stay_behind_with_it() {
    assert_eq!(section("hipri\nioengine=io_uring").options.hipri, Some(true));
    assert_eq!(
        problems_of("[job]\nhipri\n"),
        [
            "job.fio:2:1: `hipri` belongs to the engines `io_uring`, `io_uring_cmd`, `pvsync2`, `xnvme`, `libblkio`, `sg`, \
          and the engine here is `psync`"
        ]
    );
    let read = sections("[global]\nioengine=io_uring\nhipri\nbs=8k\n[a]\n[b]\nioengine=psync\n");
    assert_eq!((read[0].options.hipri, read[1].options.hipri), (Some(true), None));
    assert_eq!(read[1].options.bs.read, Some(Bytes(8192)));
}

#[test]
fn each_problem_names_file_line_and_column() {
    for (text, expected) in [
        ("[j]\niodpeth=4\n", "job.fio:2:1: `iodpeth` is not an option of fio; did you mean `iodepth`?"),
        (
            "[j]\n  bs = 4k\n",
            "job.fio:2:7: `bs= 4k` is refused: fio reads a number behind a blank without its suffix, \
                              as 4; write `4k` right behind the `=`",
        ),
        (
            "bs=4k\n[j]\n",
            "job.fio:1:1: `bs=4k` stands before the first section; write `[global]` or `[a job's name]` above it",
        ),
        ("[j\n", "job.fio:1:1: `[j` is no section: the `]` is missing"),
        ("[j]\ndirect\n", "job.fio:2:1: `direct` is refused: it needs a value"),
        ("[j]\ndirect=true\n", "job.fio:2:8: `direct=true` is refused: it must be 0 or 1"),
        (
            "[j]\nsize=1.5g\n",
            "job.fio:2:6: `size=1.5g` is refused: a whole number is needed: fio reads `1.5g` as 1; use a smaller unit",
        ),
        (
            "[j]\nruntime=1min\n",
            "job.fio:2:9: `runtime=1min` is refused: fio reads `min` as microseconds; a minute is `m`",
        ),
        (
            "[j]\nrw=randwrote\n",
            "job.fio:2:4: `rw=randwrote` is refused: it must be one of read, write, trim, randread, \
                                 randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite",
        ),
        (
            "[j]\nioengine=rbd\nrbdname=x\n",
            "job.fio:2:10: `ioengine=rbd` is refused: it drives its target through a library of its own",
        ),
        (
            "[j]\nexec_prerun=rm x\n",
            "job.fio:2:1: `exec_prerun=rm x` is not honoured: text of a job file never reaches a shell; \
                                     run the command yourself before",
        ),
        (
            "[j]\nzonemode=zbd\n",
            "job.fio:2:10: `zonemode=zbd` is refused: zoned block devices are not driven; none and strided are honoured",
        ),
        ("[j]\nrate=1m\nrate_iops=5\n", "job.fio:3:1: `rate` and `rate_iops` exclude each other"),
        ("[j]\nwait_for=k\n", "job.fio:2:1: there is no job `k` above to wait for"),
        (
            "[global]\nbs=4k\n",
            "job.fio:1:1: no job is defined: besides `[global]` a section, or `--name`, is missing",
        ),
    ] {
        assert_eq!(problems_of(text), [expected], "{text:?}");
    }
}

#[test]
fn all_problems_are_told_in_the_order_of_the_file() {
    let problems = problems_of("[global]\nfoo=1\n[a]\nbs=x\n[b]\nrw=y\n");
    let lines: Vec<&str> = problems.iter().map(|problem| problem.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["2", "4", "6"]);
}

#[test]
fn bytes_that_are_no_text_are_refused_outside_comments_only() {
    let mut memory = files(&[]);
    memory.0.insert("job.fio".into(), b"[j] ; caf\xe9\n# \xff\x00\nbs=4k\n".to_vec());
    let names = ["job.fio".to_owned()];
    let request = Request { files: &names, ..Request::default() };
    assert!(read_among(&memory, &request).is_ok());
    memory.0.insert("job.fio".into(), b"[j]\nfilename=caf\xe9\nname=a\x00b\n".to_vec());
    let problems = read_among(&memory, &request).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "job.fio:2:13: this line is not text: it holds bytes that are not UTF-8"
    );
    assert_eq!(problems[1].to_string(), "job.fio:3:7: this line is not text: it holds a zero byte");
}

#[test]
fn the_lenient_are_told_what_was_dropped() {
    let names = ["job.fio".to_owned()];
    let request = Request { files: &names, lenient: true, ..Request::default() };
    let text = "[j]\nexec_prerun=true\nflow=0\ncgroup=x\nbs=4k\n";
    let read = read_among(&files(&[("job.fio", text)]), &request).unwrap();
    let dropped: Vec<_> =
        read.dropped.iter().map(|dropped| (dropped.option.name, dropped.option.place.line())).collect();
    assert_eq!(dropped, [("exec_prerun", Some(2)), ("cgroup", Some(4))]);
    assert!(read_among(&files(&[("job.fio", "[j]\nnosuch=1\n")]), &request).is_err());
    assert!(read_among(&files(&[("job.fio", "[j]\nioengine=net\n")]), &request).is_err());
}

#[test]
fn very_long_lines_are_read() {
    let names: Vec<String> = (0..20_000).map(|number| format!("/dev/disk{number}")).collect();
    let read = section(&format!("filename={}", names.join(":")));
    assert_eq!(read.options.filename.len(), 20_000);
}

#[test]
fn options_that_stand_for_nothing_are_let_through() {
    let read = section(
        "thread\ngtod_reduce=1\nzonemode=none\nexperimental_verify=1\nthreads=1\nfdp=0\nwrite_hint=none",
    );
    assert_eq!(read.given.len(), 7);
}
