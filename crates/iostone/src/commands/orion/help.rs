//! What `iostone orion -help` prints.

/// ORION's options with their defaults, iostone's beside them, and what writing does.
pub(crate) const HELP: &str = "\
Run Oracle ORION's storage test, with its options and output files. Needs neither Oracle nor a database.

Usage: iostone orion -run LEVEL [-testname NAME] [-OPTION VALUE]... [--OPTION]...

NAME.lun lists the files and block devices to test, one per line. The test keeps numbers of small random I/Os and of large
I/Os in flight; each pair of numbers is a load point, measured for a minute. Results are in NAME_<date>_<time>_*.

THE TEST ONLY READS, UNLESS -write IS GIVEN. With -write above 0 it OVERWRITES ALL DATA on the files and devices in NAME.lun
WITH RANDOM DATA. iostone then refuses devices that are in use or hold data, and files that it did not create, unless
--destroy names them again.

ORION's options (case does not matter; KB is 1024 bytes, MB in -cache_size 1024 KB)
  -run LEVEL           the loads to measure; required:
                         simple    small I/Os alone, up to 5 per disk, then large I/Os alone, up to 2 per disk
                         normal    all combinations of the two
                         oltp      small I/Os alone, up to 20 per disk: maximum IOPS
                         dss       large I/Os alone, up to 15 per disk: maximum MBPS (iostone's own sequence, since
                                   ORION's is not public)
                         advanced  as set by the options below
  -testname NAME       read NAME.lun and write results NAME_*; may be a path  [orion]
  -num_disks N         number of disks behind the LUNs; scales the loads  [the number of LUNs]
  -cache_size MB       data moved before each large sequential point to fill the array's cache, not measured;
                       0 for none  [what two minutes move]
  -write PCT           percentage of writes among the I/Os, or the streams with -type seq; also with oltp
                       and dss  [0]
  -verbose             print a line on standard output as each point begins
  -help                this page
  -hugenotneeded       accepted: iostone needs no huge pages
  -storax skgfr        accepted; oss, asmlib and odmlib are layers of Oracle's own
With -run advanced only
  -size_small KB       size of small I/Os, which are always random  [8]
  -size_large KB       size of large I/Os  [1024]
  -type rand|seq       large I/O: random, or sequential streams  [rand]
  -num_streamIO N      I/Os in flight in each stream, with -type seq  [4]
  -simulate concat|raid0
                       concatenate or stripe the LUNs  [concat]
  -stripe KB           stripe size with -simulate raid0  [1024]
  -duration SECONDS    measured time of each point  [60]
  -matrix SHAPE        pairs of loads to measure  [basic]:
                         basic     small alone, then large alone
                         detailed  all pairs
                         point     the one pair -num_small, -num_large
                         row       small loads beside -num_large
                         col       large loads beside -num_small
                         max       all pairs up to -num_small, -num_large
  -num_small N         outstanding small I/Os, with the matrices point, col and max
  -num_large N         outstanding large I/Os, or streams, with the matrices point, row and max

iostone's options
  --plan               print the load points and the time they take; no I/O, and no NAME.lun if -num_disks is given
  --json               print only one JSON document on standard output
  --format 11.1|12     layout of ORION's files: 11.1 (latency in ms) or 12 (in \u{b5}s, with histograms)  [12]
  --until PERCENT      end a point once its rate is known to this precision (95 %); -duration is then the maximum
  --knee               measure only the points around the knee of the latency curve
  --adaptive PERCENT   skip points that their neighbours predict to this precision
  --resume PREFIX      resume an interrupted test, as in --resume orion_20260101_1200; print a finished one again
                       with --json, or write its files in another format with --format
  --create SIZE        create missing files in NAME.lun with this size, filled with random data
  --prefill            fill never-written blocks (holes, zeros) with random data first;
                       devices, and zeros in files that iostone did not create, need --destroy
  --allow-unwritten    measure never-written blocks although reads of them do not reach the medium
  --destroy FILE       let -write and --prefill overwrite this file (as named in NAME.lun, or its absolute path) or
                       this device (by the stable name that the refusal prints); repeatable
  --buffered           use the page cache instead of O_DIRECT
  --seed N             seed of offsets and data  [random]
  -q, --quiet          print only the results
  -h, --help           this page

Examples
  printf '/srv/a.data\\n/srv/b.data\\n' > orion.lun
  iostone orion -run simple --plan                      the points and the time they take
  iostone orion -run simple --create 10GiB              create both files, then measure
  iostone orion -run oltp -num_disks 8 --until 2%       no longer than 2 % need
  iostone orion -run advanced -size_small 8 -num_disks 4 -write 20 -duration 10 --format 11.1

Exit codes: 0 it ran; 1 an I/O failed; 2 usage, NAME.lun or never-written blocks; 3 refused for safety; 4 partial and \
resumable; 130 interrupted, with the measurements kept.
";
