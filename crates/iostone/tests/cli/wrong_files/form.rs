//! What is wrong in the form of a file: syntax, keys, kinds of values, units.

use super::{barrier, complaints, flush_price, whole, without};
use crate::support::{BARRIER, assert_text};

#[test]
fn text_that_is_not_an_experiment_is_refused() {
    assert_text(
        "wrong_text",
        &complaints(vec![
            whole("an empty file", ""),
            whole("only a comment", "# nothing yet\n"),
            whole("a JSON file", "{\"name\": \"barrier\", \"stack\": {}}\n"),
            whole("a shell script", "#!/bin/sh\nexec fio job.fio\n"),
            whole("a binary file", b"\x7fELF\x02\x01\x01\x00\xff\xfe\x00"),
            whole("a file of 2 MiB", "# padding\n".repeat(210_000)),
            barrier("a string that is not closed", "name = \"ext4-barrier\"", "name = \"ext4-barrier"),
            barrier("a value that is missing", "fdatasync = 1", "fdatasync ="),
            whole(
                "several syntax errors at once",
                BARRIER
                    .replace("bs = \"4KiB\"", "bs = 4KiB")
                    .replace("metric = \"iops\"", "metric \"iops\"")
                    .replace("fdatasync = 1", "fdatasync = 1,"),
            ),
            barrier("a key given twice", "fdatasync = 1", "fdatasync = 1\nfdatasync = 2"),
            barrier("a section given twice", "[decide]", "[workload]"),
            barrier("a bracket that is not closed", "[\"barrier=1\"] }", "[\"barrier=1\" }"),
        ]),
    );
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    assert_text(
        "wrong_keys",
        &complaints(vec![
            barrier("a mistyped section", "[decide]", "[decied]"),
            barrier("an unknown section", "[decide]", "[notes]\nauthor = \"me\"\n\n[decide]"),
            barrier("an unknown key in the volume", "backing_io =", "backing ="),
            barrier("a mistyped key in the queue", "write_cache =", "write_cahce ="),
            barrier("a key in ext4 that is mount's", "kind = \"ext4\" }", "kind = \"ext4\", options = [] }"),
            barrier("a mistyped key in mount", "mount = { options", "mount = { option"),
            barrier("a mistyped layer", "filesystem = {", "filesytem = {"),
            barrier("a mistyped key in a level", "off = { mount.options", "off = { mount.optoins"),
            barrier(
                "a level that sets nothing known",
                "off = { mount.options = [\"barrier=0\"] }",
                "off = { barrier = 0 }",
            ),
            barrier("a level that writes `stack.`", "off = { mount.options", "off = { stack.mount.options"),
            barrier("an unknown key in a factor", "name = \"barrier\"", "name = \"barrier\"\nunit = \"ms\""),
            barrier("another tool's word in the workload", "bs = \"4KiB\"", "blocksize = \"4KiB\""),
            barrier("another workload's key", "bs = \"4KiB\"", "clients = 5"),
            barrier("a mistyped key in decide", "confidence =", "confidance ="),
            barrier("an unknown key in blocks", "min = 6,", "min = 6, step = 2,"),
            barrier("an unknown key in trials", "[decide]", "[trials]\nsettel = \"1s\"\n\n[decide]"),
            barrier("an unknown gate", "[decide]", "[gates]\nsteel = \"5%\"\n\n[decide]"),
            barrier(
                "an unknown key in machine",
                "[decide]",
                "[machine]\nkind = \"local\"\nhost = \"web1\"\n\n[decide]",
            ),
            flush_price(
                "a key in a `none` filesystem",
                "[[factor]]",
                "filesystem = { kind = \"none\", mkfs = [] }\n\n[[factor]]",
            ),
        ]),
    );
}

#[test]
fn missing_keys_are_named_with_their_section() {
    assert_text(
        "wrong_missing",
        &complaints(vec![
            barrier("no name", "name = \"ext4-barrier\"\n", ""),
            whole("only a name", "name = \"x\"\n"),
            barrier(
                "no volume",
                "volume = { kind = \"loop\", size = \"1GiB\", backing_io = \"buffered\" }\n",
                "",
            ),
            barrier("no size of the volume", "kind = \"loop\", size = \"1GiB\",", "kind = \"loop\","),
            barrier("no kind of the volume", "kind = \"loop\", ", ""),
            barrier("no kind of the workload", "kind = \"io\"\n", ""),
            barrier("no rw", "rw = \"randwrite\"\n", ""),
            barrier("no metric", "metric = \"iops\"\n", ""),
            barrier("no baseline", "baseline = \"on\"\n", ""),
            barrier("no name of the factor", "name = \"barrier\"\n", ""),
            barrier("no runtime", "runtime = \"10s\"\n", ""),
            flush_price("no size of the file", "size = \"64MiB\"\n", ""),
            barrier(
                "a command without argv",
                "kind = \"io\"\nrw = \"randwrite\"\nbs = \"4KiB\"\nsize = \"256MiB\"\nfdatasync = 1\nramp_time = \"1s\"\nruntime = \"10s\"",
                "kind = \"command\"",
            ),
            barrier("an agent without argv", "[decide]", "[machine]\nkind = \"agent\"\n\n[decide]"),
        ]),
    );
}

#[test]
fn values_of_the_wrong_kind_say_what_is_expected() {
    assert_text(
        "wrong_values",
        &complaints(vec![
            barrier("a name that is a number", "name = \"ext4-barrier\"", "name = 4"),
            barrier("a stack that is a list", "[stack]", "[[stack]]"),
            whole("a workload that is text", without("workload")).with("workload = \"io\"\n"),
            barrier(
                "a volume that is text",
                "volume = { kind = \"loop\", size = \"1GiB\", backing_io = \"buffered\" }",
                "volume = \"loop\"",
            ),
            barrier("a kind that is a number", "kind = \"loop\",", "kind = 7,"),
            barrier(
                "options that are text",
                "mount = { options = [\"noatime\"] }",
                "mount = { options = \"noatime\" }",
            ),
            barrier(
                "an option that is a number",
                "mount = { options = [\"noatime\"] }",
                "mount = { options = [\"noatime\", 5] }",
            ),
            barrier(
                "options that are text in a level",
                "options = [\"barrier=0\"]",
                "options = \"barrier=0\"",
            ),
            barrier("a count that is text", "fdatasync = 1", "fdatasync = \"one\""),
            barrier("a count that is negative", "fdatasync = 1", "fdatasync = -1"),
            barrier("a count that is a fraction", "fdatasync = 1", "fdatasync = 1.5"),
            barrier("a count that is too large", "fdatasync = 1", "fdatasync = 99999999999"),
            barrier("a switch that is text", "fdatasync = 1", "direct = \"yes\""),
            barrier("blocks that are a number", "blocks = { min = 6, max = 40 }", "blocks = 6"),
            barrier("blocks that are text inside", "min = 6,", "min = \"six\","),
            barrier("an unknown rw", "rw = \"randwrite\"", "rw = \"randwrites\""),
            barrier("a mixed rw", "rw = \"randwrite\"", "rw = \"mixed\""),
            barrier("an unknown engine", "fdatasync = 1", "engine = \"libaio\""),
            barrier("a mistyped cache", "\"write back\"", "\"writeback\""),
            barrier("a mistyped backing_io", "\"buffered\"", "\"bufferd\""),
            barrier("a factor with one bracket", "[[factor]]", "[factor]"),
            barrier(
                "factors that are numbers",
                "[[factor]]\nname = \"barrier\"",
                "[[other]]\nname = \"barrier\"",
            )
            .with("factor = [1, 2]\n"),
        ]),
    );
}

#[test]
fn quantities_need_their_unit() {
    assert_text(
        "wrong_quantities",
        &complaints(vec![
            barrier("a size without a unit", "bs = \"4KiB\"", "bs = \"4096\""),
            barrier("a size that is a number", "bs = \"4KiB\"", "bs = 4096"),
            barrier("a size with a rate's unit", "size = \"256MiB\"", "size = \"256MiB/s\""),
            barrier("a size with a unit that is none", "size = \"256MiB\"", "size = \"256Mib\""),
            barrier("a negative size", "size = \"256MiB\"", "size = \"-256MiB\""),
            barrier("a size that is no whole number of bytes", "bs = \"4KiB\"", "bs = \"0.3B\""),
            barrier("a size above everything", "size = \"256MiB\"", "size = \"99999999TiB\""),
            barrier("a time with a size's unit", "runtime = \"10s\"", "runtime = \"10MiB\""),
            barrier("a time in two units", "runtime = \"10s\"", "runtime = \"1min 30s\""),
            barrier("a time that is a number", "runtime = \"10s\"", "runtime = 10"),
            barrier("a margin without a unit", "margin = \"3%\"", "margin = \"3\""),
            barrier("a margin that is a number", "margin = \"3%\"", "margin = 0.03"),
            barrier("a gate without a unit", "[decide]", "[gates]\nsteal = \"5\"\n\n[decide]"),
            barrier("a gate of bits and bytes mixed", "[decide]", "[gates]\nidle = \"8MBps\"\n\n[decide]"),
            barrier("an empty quantity", "bs = \"4KiB\"", "bs = \"\""),
        ]),
    );
}

#[test]
fn kinds_that_are_not_here_are_told_from_kinds_that_are_nowhere() {
    assert_text(
        "wrong_kinds",
        &complaints(vec![
            barrier("a workload that is nowhere", "kind = \"io\"", "kind = \"iozone\""),
            barrier("a mistyped workload", "kind = \"io\"", "kind = \"oi\""),
            barrier("a filesystem that is nowhere", "kind = \"ext4\"", "kind = \"reiserfs\""),
            barrier("a mistyped filesystem", "kind = \"ext4\"", "kind = \"etx4\""),
            barrier("a mistyped array", "queue = {", "array = { kind = \"mdd\" }\nqueue = {"),
            barrier("a mistyped volume", "kind = \"loop\",", "kind = \"lop\","),
            barrier("a level of no array", "queue = {", "array = { kind = \"md\", level = 0 }\nqueue = {"),
            barrier("a container that is nowhere", "queue = {", "container = { kind = \"lxc\" }\nqueue = {"),
            barrier("an allowance of no instance", "[decide]", "[machine]\nkind = \"governed\"\n\n[decide]"),
            barrier("a machine that is nowhere", "[decide]", "[machine]\nkind = \"cloud\"\n\n[decide]"),
        ]),
    );
}
