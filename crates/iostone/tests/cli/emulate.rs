//! `emulate` and emulated instances in experiment files, without building anything: what is refused, and what is said.

use crate::support::Bench;

const EXPERIMENT: &str = include_str!("../../../../experiments/instance-bandwidth.toml");

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let bench = Bench::new();
    let refused = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        bench.iostone(&words).ended_with(2).stderr
    };
    let unknown = refused("emulate c4.lage --volume gp2:220GiB --speed 60 -- true");
    assert!(unknown.contains("did you mean `c4.large`?"), "{unknown}");
    let speed = refused("emulate c4.large --volume gp2:220GiB --speed 0 -- true");
    assert!(speed.contains("1 to 10000"), "{speed}");
    let credits = refused("emulate t2.micro --volume gp2:220GiB --speed 600 -- true");
    assert!(credits.contains("at most 100 times faster") && credits.contains("--no-cpu"), "{credits}");
    let one = refused("emulate c4.large --volume gp2:220GiB --speed 60 --raid raid0 -- true");
    assert!(one.contains("2xgp2:220GiB"), "{one}");
    let volume = refused("emulate c4.large --volume gp9:220GiB --speed 60 -- true");
    assert!(volume.contains("`--volume`: ") && volume.contains("gp9"), "{volume}");
    let link = refused("emulate c4.large --volume gp2:100GiB --speed 400 --link 0Mbps -- true");
    assert!(link.contains("must be above 0"), "{link}");
    refused("emulate c4.large --volume gp2:100GiB --speed 400 --link-iops 0 -- true");
    let large = refused("emulate c4.large --volume 4xgp2:1TiB -- true");
    assert!(large.contains("`--speed "), "{large}");
}

#[test]
fn a_dry_run_says_what_stands_for_what() {
    let bench = Bench::new();
    let file = bench.write("instance-bandwidth.toml", EXPERIMENT);
    let text = bench.iostone(&["run", file, "--dry-run"]).ended_with(0).stdout;
    for said in [
        "stand for c4.large: a link of 62.5MB/s and 4000 IOPS, gp2:220GiB made 939 MiB small, limits of 2017-07, 240 times faster",
        "stand for c4.4xlarge: a link of 250MB/s and 16000 IOPS",
        // 880 MiB over 62.5 MB/s, and what comes around it.
        "19 s a trial",
        "660 IOPS and 160MiB/s",
        "22500 credits",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
}

#[test]
fn keys_that_do_not_fit_are_pointed_at() {
    let bench = Bench::new();
    let wrong = |old: &str, new: &str| {
        assert!(EXPERIMENT.contains(old), "{old}");
        let file = bench.write("wrong.toml", EXPERIMENT.replace(old, new));
        bench.iostone(&["run", file, "--dry-run"]).ended_with(2).stderr
    };
    let whole = wrong("type = \"gp2\", size = \"220GiB\"", "type = \"gp2:220GiB\"");
    assert!(whole.contains("\"gp2\", size = \"220GiB\""), "{whole}");
    let burst = wrong("type = \"gp2\",", "type = \"gp2\", burst = { iops = 10, credits = 10 },");
    assert!(burst.contains("`burst` is set by the type `gp2`"), "{burst}");
    let date = wrong("type = \"gp2\",", "date = \"2017-07\",");
    assert!(date.contains("`date` needs a `type`"), "{date}");
    let block =
        wrong("kind = \"emulated\", type = \"gp2\", size = \"220GiB\", fill = false", "kind = \"directory\"");
    assert!(block.contains("an emulated instance needs emulated volumes"), "{block}");
    let settled = wrong("type = \"gp2\",", "type = \"gp2\", stands_for = \"gp2:220GiB\",");
    assert!(settled.contains("`stands_for` is written by plans"), "{settled}");
    let iops = wrong("type = \"gp2\",", "type = \"gp2\", iops = 5000,");
    assert!(iops.contains("gp2"), "{iops}");
    let large = wrong("size = \"880MiB\"", "size = \"8800MiB\"");
    assert!(large.contains("`workload.size`") || large.contains("8800MiB"), "{large}");
    let instance = wrong(
        "\"c4.4xlarge\" = { machine = { emulate = \"c4.4xlarge\"",
        "\"c4.4xlarge\" = { machine = { emulate = \"c4.5xlarge\"",
    );
    assert!(instance.contains("c4.4xlarge") && instance.contains("wrong.toml"), "{instance}");
}
