//! Where the program may be linked with less: on Linux with glibc, the unwinder goes into the program.
//!
//! By default it is a library of its own, which the system's loader has to find, map and bind at every start, and a
//! program that timers start every 30 seconds pays for that each time. The archive comes with every GCC; where it can't
//! be found, or another linker was chosen, nothing changes but the time of a start.
#![expect(clippy::disallowed_methods, reason = "it runs while the program is built, before there are layers")]

use std::env::var;
use std::process::Command;

const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if is_plain_gnu_linux() && is_there() {
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// For this machine itself, and by the linker that is asked below.
fn is_plain_gnu_linux() -> bool {
    let is = |name: &str, value: &str| var(name).as_deref() == Ok(value);
    is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && var("HOST") == var("TARGET")
        && var("RUSTC_LINKER").is_err()
}

/// The C compiler, by which everything is linked, answers with a path where it has the file, and else with the bare name.
fn is_there() -> bool {
    let output = Command::new("cc").arg(format!("-print-file-name={UNWINDER}")).output();
    output.is_ok_and(|output| output.status.success() && output.stdout.contains(&b'/'))
}
