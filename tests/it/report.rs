//! `report`: one page, with nothing to fetch, that shows what the ledgers hold.

mod browser;
mod driver;
mod pages;

use crate::sandbox::Sandbox;
use pages::busy;

#[test]
fn it_is_one_file_that_fetches_nothing() {
    let sandbox = busy();
    let run = sandbox.clone().cwd(sandbox.dir()).run(["report"]);
    let run = run.stdout("Wrote [DIR]/report.html\nOpen it: file://[DIR]/report.html\n");
    let page = std::fs::read_to_string(run.dir().join("report.html")).unwrap();
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'"), "{page}");
    for outside in
        ["http:", "https:", "//", "src=", "url(", "@import", "<script", "<iframe", "<object", "onload"]
    {
        // The one address in the page is what its own text says.
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn every_chart_has_words_and_a_table() {
    let page = busy().run(["report", "-o", "-"]).take_stdout();
    let charts = page.matches("<svg").count();
    assert!(charts >= 6, "{charts}");
    for part in ["role=\"img\"", "<desc id=", "<details><summary>", "<figcaption>"] {
        assert_eq!(page.matches(part).count(), charts, "{part}");
    }
}

/// A directive is a message of the human too, and one of anything has no `s`.
#[test]
fn a_directive_is_an_arrow_from_you() {
    let sandbox = Sandbox::new().organisation();
    let add = ["directive", "add", "--title", "A digest of what users read", "--body", "Mail it."];
    drop(sandbox.start(&add).finish().any_stdout().any_stderr());
    let page = sandbox.start(&["report", "-o", "-"]).finish().take_stdout();
    assert!(page.contains("<title>you to business: 1 message</title>"), "{page}");
    assert!(
        page.contains("1 directive, 1 of them open.") && page.contains("A digest of what users read"),
        "{page}"
    );
    assert!(!page.contains("1 directives") && !page.contains("1 messages"), "{page}");
}

#[test]
fn text_from_outside_stays_text() {
    let hostile = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let page = pages::hostile(hostile).run(["report", "-o", "-"]).take_stdout();
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
}

#[test]
fn a_file_that_is_no_page_is_left_alone() {
    let sandbox = Sandbox::new().dept("rd");
    let dir = sandbox.dir();
    std::fs::write(dir.join("thesis.html"), "<h1>My thesis</h1>").unwrap();
    let sandbox = sandbox.cwd(dir.clone());
    let run = sandbox.run(["report", "-o", "thesis.html"]).status(1).any_stderr();
    assert_eq!(std::fs::read_to_string(dir.join("thesis.html")).unwrap(), "<h1>My thesis</h1>");
    let run = run.then().run(["report", "-o", "page.html"]).any_stdout();
    run.then().run(["report", "-o", "page.html"]).any_stdout();
}

#[test]
fn a_new_organisation_has_a_page_too() {
    let page = Sandbox::new().organisation().run(["report", "-o", "-"]).take_stdout();
    assert!(
        page.contains("Nothing needs you.") && page.contains("Nothing was spent in this time."),
        "{page}"
    );
    assert!(!page.contains("<svg"), "{page}");
}

#[test]
fn inside_a_run_it_only_prints() {
    let sandbox = Sandbox::new().dept("rd").env("HARNESS_RUN", "r-1");
    let run = sandbox.run(["report"]).status(3).any_stderr();
    run.then().run(["report", "-o", "-"]).any_stdout();
}
