//! `harness demo` on a machine with nothing on it: a story, told as it happens, that ends in quiet.

use crate::sandbox::Sandbox;

/// A PATH with nothing on it, in an empty folder.
fn bare() -> Sandbox {
    let sandbox = Sandbox::new().apart();
    let (empty, nothing) = (sandbox.dir().join("empty"), sandbox.dir().join("nothing"));
    for folder in [&empty, &nothing] {
        std::fs::create_dir(folder).unwrap();
    }
    sandbox.env("PATH", nothing).without_env("HARNESS_ROOT").cwd(empty)
}

#[test]
fn it_tells_a_story_and_all_is_quiet() {
    let sandbox = bare();
    let (status, stdout, stderr) = sandbox.clone().run(["demo"]).parts();
    assert_eq!(status, 0);
    assert!(stdout.starts_with("\nAll is quiet: "), "{stdout}");
    assert!(stdout.contains("0.00 USD") && stdout.contains("harness message thread m-"), "{stdout}");
    let page = stdout.lines().find_map(|line| line.trim().strip_prefix("file://")).unwrap();
    let page = sandbox.places().show(page);
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"), "{page}");
    let told: Vec<&str> = stderr.lines().collect();
    assert!(told[0].starts_with("Made harness-demo with five departments: "), "{stderr}");
    for part in [
        "you -> business  Directive: ",
        "Round 1",
        "decides NEXT_WORKER_CEO_MODE m-",
        "MarketSignal to business",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let status = sandbox.run(["status", "--root", "harness-demo"]).take_stdout();
    assert!(status.starts_with("Nothing needs you.\n"), "{status}");
}

#[test]
fn the_thread_goes_all_the_way_round_and_reads_in_order() {
    let run = bare().run(["demo", "tour"]).any_stderr();
    let (sandbox, root) = (run.clone(), run.dir().join("empty/tour"));
    for dept in ["business", "rd", "technology", "management", "marketing"] {
        let inbox = root.join(format!("org-{dept}/inbox"));
        assert_eq!(std::fs::read_dir(inbox).unwrap().count(), 0, "{dept} has open mail");
    }
    let text = run.take_stdout();
    let id = text.split_once("harness message thread ").unwrap().1.split(' ').next().unwrap().to_string();
    let thread = sandbox.run(["message", "thread", &id, "--root", "tour"]).take_stdout();
    let places: Vec<usize> = [
        " user to business ",
        " business to management ",
        " management to technology ",
        " technology to management ",
        " management to marketing ",
        " marketing to business ",
    ]
    .iter()
    .map(|part| thread.find(part).expect(part))
    .collect();
    assert!(places.is_sorted(), "{thread}");
    for kind in
        ["Directive", "Decision", "BuildRequest ", "BuildRequestResponse", "LaunchReady", "MarketSignal"]
    {
        assert!(thread.contains(kind), "{kind}: {thread}");
    }
}

#[test]
fn a_folder_that_is_there_is_left_alone() {
    let run = bare().run(["demo", "tour"]).any_stdout().any_stderr();
    let run = run.then().run(["demo", "tour"]).status(2);
    let run = run.stderr("error: tour is there already\nhint: name a folder that isn't there yet\n");
    let run = run.then().run(["demo"]).any_stdout().any_stderr();
    let ending = run.then().run(["demo"]).any_stderr().take_stdout();
    assert!(ending.contains("--root harness-demo-2\n"), "{ending}");
}
