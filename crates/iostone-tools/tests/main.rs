//! What other tools printed, version for version, read into datasets.

mod bonnie;
mod csv_table;
mod dbench;
mod dd;
mod detect;
mod elbencho;
mod fio;
mod fio_memory;
mod hyperfine;
mod import;
mod ioping;
mod iostat;
mod mangled;
mod orion;
mod phoronix;
mod plain_tables;
mod sar;
mod sysbench;
mod time;
mod vmstat;
