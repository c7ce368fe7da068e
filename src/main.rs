//! The binary: hands its arguments to the library and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // The guard of an engine starts without the command line being read: it must be quick, and can't fail on usage.
    if arguments.get(1).is_some_and(|verb| verb == "guard") {
        return director_harness::process::guard::guard(&arguments[2..]);
    }
    ExitCode::from(director_harness::cli::main(arguments))
}
