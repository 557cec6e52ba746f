//! What `iostone orion -help` prints.

/// ORION's options with their defaults, iostone's beside them, and what writing does.
pub(crate) const HELP: &str = "\
Oracle ORION's test of storage: its command line, its load points, its files. Neither Oracle nor a database is needed.

Usage: iostone orion -run LEVEL [-testname NAME] [-OPTION VALUE]... [--OPTION]...

NAME.lun lists the files and block devices to test, one a line. Small random I/Os and large I/Os are kept in flight at
a number of loads; every pair of loads is a load point, measured for a minute. Results lie in NAME_<date>_<time>_*.

THE TEST READS, AND NOTHING ELSE, UNLESS -write IS GIVEN. With -write above 0 it WRITES RANDOM DATA OVER EVERYTHING on the
files and devices in NAME.lun: what was there is lost. iostone then refuses devices that are in use or hold anything, and
files that it did not make itself, unless they are named a second time with --destroy.

ORION's options (names in any case; a KB is 1024 bytes, an MB of -cache_size 1024 KB)
  -run LEVEL           which loads; the one option that must be given:
                         simple    small I/O alone at loads up to 5 a disk, then large alone up to 2 a disk
                         normal    all combinations of the two
                         oltp      small I/O alone, up to 20 a disk: the most IOPS
                         dss       large I/O alone, up to 15 a disk: the most MBPS (a sequence of iostone's, for ORION's
                                   own is not publicly known)
                         advanced  what the options below say
  -testname NAME       NAME.lun is read, and results begin with NAME; may hold a path  [orion]
  -num_disks N         disks behind the LUNs, which scale the loads  [the number of LUNs]
  -cache_size MB       moved unmeasured before each large sequential point, to fill an array's cache; 0 for none
                       [as much as goes in two minutes]
  -write PCT           percentage of I/Os that write, of streams with -type seq; also with oltp and dss  [0]
  -verbose             a line on standard output as each point begins
  -help                this page
  -hugenotneeded       accepted: iostone needs no huge pages
  -storax skgfr        accepted; oss, asmlib and odmlib are layers of Oracle's own
With -run advanced only
  -size_small KB       size of small I/Os, which are always random  [8]
  -size_large KB       size of large I/Os  [1024]
  -type rand|seq       large I/O: random, or sequential streams  [rand]
  -num_streamIO N      I/Os in flight in each stream, with -type seq  [4]
  -simulate concat|raid0
                       the LUNs one behind the other, or striped  [concat]
  -stripe KB           what lies on one LUN before the next one's turn, with -simulate raid0  [1024]
  -duration SECONDS    how long each point is measured  [60]
  -matrix SHAPE        which pairs of loads  [basic]:
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
  --json               one JSON document on standard output, and nothing else
  --format 11.1|12     layout of ORION's files: 11.1 (latency in ms) or 12 (in \u{b5}s, with histograms)  [12]
  --until PERCENT      end a point once its rate is known within this much (95 %); -duration is then the most
  --knee               only the points that show where latency takes off
  --adaptive PERCENT   measure only the points that their neighbours do not predict within this much
  --resume PREFIX      go on with a test that was interrupted, as in --resume orion_20260101_1200; print a finished one
                       again with --json, or write its files in another layout with --format
  --create SIZE        make the files in NAME.lun that do not exist, this large and full of random data
  --prefill            fill what was never written (holes, zeros) with random data first;
                       zeros of a file that is not iostone's, and devices, need --destroy
  --allow-unwritten    measure never-written blocks as they are, though storage answers them without its medium
  --destroy FILE       let -write and --prefill write over this file (as NAME.lun names it, or its absolute path), or
                       over this device (by the stable name that the refusal prints); repeatable
  --buffered           through the page cache (else O_DIRECT)
  --seed N             of offsets and data; a random one if left out
  -q, --quiet          nothing but the results
  -h, --help           this page

Examples
  printf '/srv/a.data\\n/srv/b.data\\n' > orion.lun
  iostone orion -run simple --plan                      which points, and how long
  iostone orion -run simple --create 10GiB              make both files, then measure
  iostone orion -run oltp -num_disks 8 --until 2%       as short as 2 % allow
  iostone orion -run advanced -size_small 8 -num_disks 4 -write 20 -duration 10 --format 11.1

Exit codes: 0 it ran; 1 an I/O failed; 2 usage, NAME.lun or never-written blocks; 3 refused for safety; 4 partial and \
resumable; 130 interrupted, with what was measured kept.
";
