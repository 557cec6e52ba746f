//! Several jobs: beside each other, one after the other, and what they leave.

use super::{ios, jobs};
use crate::support::Bench;

fn named(jobs: &[serde_json::Value]) -> Vec<(String, [u64; 3])> {
    jobs.iter().map(|job| (job["name"].as_str().unwrap().to_owned(), ios(job))).collect()
}

#[test]
fn a_stonewall_lets_one_job_read_what_another_has_written() {
    let bench = Bench::new();
    bench.write(
        "two.fio",
        "[global]\nfilename=data\nsize=64k\n\n[fill]\nrw=write\n\n[look]\nstonewall\nrw=randread\n\n\
         [again]\nwait_for_previous\nrw=rw\n",
    );
    let done = jobs(&bench, &["two.fio"]);
    let names: Vec<String> = named(&done).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["fill", "look", "again"]);
    assert_eq!(ios(&done[1]), [16, 0, 0]);
    // The file was there, and nothing had to be laid out.
    for job in &done {
        assert_eq!(job["layout"]["written"], "0B", "{}", job["name"]);
    }
    let said = bench.iostone(&["io", "two.fio", "--parse-only"]).ended_with(0);
    assert_eq!(
        said.stdout,
        "phase 1 of 3\nfill: write 4KiB at depth 1 on data\nphase 2 of 3\nlook: randread 4KiB at depth 1 on data\n\
         phase 3 of 3\nagain: rw 4KiB at depth 1 on data\n"
    );
}

#[test]
fn jobs_without_a_stonewall_run_at_the_same_time() {
    let bench = Bench::new();
    bench.write(
        "beside.fio",
        "[global]\nsize=64k\ntime_based\nruntime=300ms\nthinktime=1ms\n[a]\nrw=randread\n[b]\nrw=randwrite\n",
    );
    let begun = std::time::Instant::now();
    let done = jobs(&bench, &["beside.fio"]);
    // Not a limit, a proof: two windows of 0.3 s one after the other would have to take longer than one.
    let both: f64 = done.iter().map(|job| job["elapsed_seconds"].as_f64().unwrap()).sum();
    assert!((both - 0.6).abs() < 1e-9, "{both}");
    assert!(begun.elapsed().as_secs_f64() > 0.3);
    assert!(done.iter().all(|job| ios(job).iter().sum::<u64>() > 0));
}

#[test]
fn a_job_may_wait_and_begin_later_than_the_others() {
    let bench = Bench::new();
    bench.write(
        "late.fio",
        "[global]\nsize=64k\nrw=write\n[early]\n[late]\nstartdelay=200ms\n[last]\nstonewall\nfilename=early.0.0\n\
         rw=read\n",
    );
    let begun = std::time::Instant::now();
    let done = jobs(&bench, &["late.fio"]);
    assert!(begun.elapsed().as_secs_f64() > 0.2);
    assert_eq!(
        named(&done),
        [("early".to_owned(), [0, 16, 0]), ("late".to_owned(), [0, 16, 0]), ("last".to_owned(), [16, 0, 0])]
    );
}

#[test]
fn unlinked_files_are_gone_and_others_stay() {
    let bench = Bench::new();
    bench.write("u.fio", "[global]\nsize=64k\nrw=write\n[gone]\nunlink=1\nnrfiles=2\nnumjobs=2\n[stays]\n");
    assert_eq!(jobs(&bench, &["u.fio"]).len(), 3);
    assert_eq!(bench.names(), ["stays.0.0", "u.fio"]);
}

#[test]
fn the_end_of_one_ends_all_where_that_is_asked() {
    let bench = Bench::new();
    let long = "time_based\nruntime=600\nrw=randread\n";
    bench.write("all.fio", format!("[global]\nsize=64k\n[long]\n{long}[short]\nrw=write\nexitall\n"));
    let done = jobs(&bench, &["all.fio"]);
    assert_eq!(ios(&done[1]), [0, 16, 0]);
    assert_eq!(done[0]["interrupted"], false);
}

#[test]
fn only_the_sections_that_are_named_run() {
    let bench = Bench::new();
    bench.write("s.fio", "[global]\nsize=64k\nrw=write\n[a]\n[b]\n[c]\n");
    let done = jobs(&bench, &["s.fio", "--section=a", "--section=c"]);
    assert_eq!(named(&done), [("a".to_owned(), [0, 16, 0]), ("c".to_owned(), [0, 16, 0])]);
    assert_eq!(bench.names(), ["a.0.0", "c.0.0", "s.fio"]);
}

#[test]
fn a_failing_job_ends_alone_and_those_behind_it_run() {
    let bench = Bench::new();
    bench.write(
        "fails.fio",
        "[global]\nsize=64k\nrw=write\n[good]\n[bad]\nfilename=/dev/full\n[behind]\nstonewall\n",
    );
    let said = bench.iostone(&["io", "fails.fio", "--json"]).ended_with(1);
    said.complains_of("ENOSPC when writing 4096 bytes at offset 0 of `/dev/full`");
    let document = said.json();
    let done = document["jobs"].as_array().unwrap();
    let expected = [("good", [0, 16, 0]), ("bad", [0, 0, 0]), ("behind", [0, 16, 0])];
    assert_eq!(named(done), expected.map(|(name, counts)| (name.to_owned(), counts)));
}

#[test]
fn a_phase_that_cannot_begin_does_not_cost_the_figures_of_those_before_it() {
    let bench = Bench::new();
    bench.write("thesis", "years of work");
    bench.write("p.fio", "[global]\nsize=64k\nrw=write\n[good]\n[bad]\nstonewall\nfilename=thesis\n");
    let said = bench.iostone(&["io", "p.fio", "--json"]).ended_with(3);
    said.complains_of("--destroy thesis");
    assert_eq!(named(said.json()["jobs"].as_array().unwrap()), [("good".to_owned(), [0, 16, 0])]);
    let nothing_ran = bench.iostone(&["io", "p.fio", "--section=bad", "--json"]).ended_with(3);
    assert_eq!(nothing_ran.stdout, "");
}
