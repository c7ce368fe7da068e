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

/// Powers of two numbers, as C names it: what the templates' `**` comes down to. Without it the system's loader maps the
/// whole library of mathematics at every start, for an operator that hardly a template uses.
#[expect(unsafe_code, reason = "the linker must find it by that name; the body is safe")]
#[unsafe(no_mangle)]
extern "C" fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}
