//! The page in a real browser: Chromium, headless, where it is installed; else `not run`.

use super::driver::Browser;
use super::pages::{busy, hostile};
use crate::outcome::not_run;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Writes the page and hands it to a browser, where there is one.
fn with_page(sandbox: Sandbox, look: impl FnOnce(&Browser, &Path, &Sandbox)) {
    let folder = tempfile::tempdir().unwrap();
    let browser = match Browser::start(folder.path()) {
        Ok(browser) => browser,
        Err(why) => return not_run("report::browser", &why),
    };
    let page = folder.path().join("report.html");
    drop(sandbox.start(&["report", "-o", &page.display().to_string()]).finish().any_stdout());
    look(&browser, &page, &sandbox);
    let asked = browser.requests();
    assert!(asked.iter().any(|url| url.starts_with("file://")), "what was opened is seen: {asked:?}");
    let outside: Vec<&String> =
        asked.iter().filter(|url| **url != format!("file://{}", page.display())).collect();
    assert!(outside.is_empty(), "{outside:?}");
}

/// The watching works: a page that does fetch something is seen to.
#[test]
fn a_request_would_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let browser = match Browser::start(folder.path()) {
        Ok(browser) => browser,
        Err(why) => return not_run("report::browser::a_request_would_be_seen", &why),
    };
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<img src='http://127.0.0.1:9/x.png'>").unwrap();
    browser.open(&page, 1280);
    assert!(browser.requests().iter().any(|url| url == "http://127.0.0.1:9/x.png"));
}

/// The words of charts that don't lie wholly in their picture, or on the page where the picture lets them out.
const CUT: &str = "[...document.querySelectorAll('svg text')].filter(it => { const box = it.getBoundingClientRect(); \
    if (box.width === 0) return false; const svg = it.closest('svg'); const frame = svg.getBoundingClientRect(); \
    const free = getComputedStyle(svg).overflow === 'visible'; \
    return free ? box.left < 0 || box.right > innerWidth : box.left < frame.left - 0.5 || box.right > frame.right + 0.5; \
    }).map(it => it.textContent)";

fn picture(browser: &Browser, name: &str) {
    let Some(folder) = std::env::var_os("HARNESS_PICTURES").map(PathBuf::from) else { return };
    let height = browser.eval("document.documentElement.scrollHeight");
    let width = browser.eval("document.documentElement.clientWidth");
    let clip = serde_json::json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
    let shot = browser
        .devtools("Page.captureScreenshot", serde_json::json!({"captureBeyondViewport": true, "clip": clip}));
    crate::sandbox::write(&folder.join(format!("{name}.b64")), shot["data"].as_str().unwrap().as_bytes());
}

#[test]
fn it_loads_without_a_complaint_at_the_width_of_a_phone_and_of_a_desk() {
    with_page(busy(), |browser, page, _| {
        for width in [360, 1280] {
            browser.open(page, width);
            let console = browser.console();
            assert!(console.is_empty(), "{width}: {console:?}");
            // The page itself never scrolls sideways; what is wider scrolls in its own box.
            let wide = browser.eval("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{width}: {wide}");
            assert_eq!(browser.eval(CUT), serde_json::json!([]), "{width}: words that are cut off");
            // Nobody has to scroll for what deals with a need.
            let seen = "[...document.querySelectorAll('#needs code')].every(it => { const box = it.getBoundingClientRect(); return box.width > 0 && box.right <= innerWidth; })";
            assert_eq!(browser.eval(seen), true, "{width}");
            picture(browser, &format!("report-{width}"));
        }
        let dark = serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
        browser.devtools("Emulation.setEmulatedMedia", dark);
        let ground = browser.eval("getComputedStyle(document.body).backgroundColor");
        assert_eq!(ground, "rgb(20, 23, 27)");
        picture(browser, "report-dark");
    });
}

#[test]
fn charts_have_as_many_marks_as_there_are_things() {
    with_page(busy(), |browser, page, sandbox| {
        browser.open(page, 1280);
        let stats = sandbox.start(&["stats", "--since", "14d", "--json"]).finish().json()["data"].clone();
        let departments = stats["departments"].as_array().unwrap();
        let days = |count: &dyn Fn(&Value) -> usize| -> usize { departments.iter().map(count).sum() };
        let spent = days(&|dept| {
            dept["stats"]["days"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|day| day["cost_usd"].as_f64() > Some(0.0))
                .count()
        });
        let marks = |id: &str| {
            browser.eval(&format!("document.querySelectorAll('#{id} svg .mark').length")).as_u64().unwrap()
                as usize
        };
        assert_eq!(marks("spend"), spent);
        assert_eq!(marks("outcomes"), days(&|dept| dept["stats"]["by_outcome"].as_object().unwrap().len()));
        assert_eq!(marks("decisions"), stats["total"]["decisions"].as_object().unwrap().len());
        assert_eq!(marks("refusals"), stats["total"]["refusals"].as_object().unwrap().len());
        let bad_days = stats["total"]["days"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|day| day["bad_runs"].as_u64() > Some(0))
            .count();
        let good_days = stats["total"]["days"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|day| day["runs"].as_u64() > day["bad_runs"].as_u64())
            .count();
        assert_eq!(marks("runs"), bad_days + good_days);
        let rows = browser.eval("document.querySelectorAll('#flow details tbody tr').length");
        assert_eq!(marks("flow") as u64, rows.as_u64().unwrap());
        let rows = browser.eval("document.querySelectorAll('#hours details tbody tr').length");
        assert!(marks("hours") as u64 == rows.as_u64().unwrap() && marks("hours") > 10, "{rows}");
        let seen = browser.eval("[...document.querySelectorAll('svg .mark')].every(mark => { const box = mark.getBoundingClientRect(); return box.width > 0 && box.height > 0; })");
        assert_eq!(seen, true);
    });
}

#[test]
fn hostile_text_stays_text() {
    let text = "</title></style><script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>";
    with_page(hostile(text), |browser, page, _| {
        browser.open(page, 1280);
        assert!(browser.console().is_empty());
        assert_eq!(
            browser.eval("document.querySelectorAll('script, img, iframe, [onerror], [onclick]').length"),
            0
        );
        assert!(browser.eval("document.title").as_str().unwrap().starts_with("harness report, "));
        let shown =
            browser.eval("document.body.innerText.includes(\"<script>document.title='owned'</script>\")");
        assert_eq!(shown, true);
    });
}

#[test]
fn a_keyboard_and_a_screen_reader_get_everywhere() {
    with_page(busy(), |browser, page, _| {
        browser.open(page, 1280);
        // Every link leads somewhere, every chart has a name and a description, every table heads its columns.
        assert_eq!(browser.eval("[...document.querySelectorAll('a[href^=\"#\"]')].every(link => document.querySelector(link.getAttribute('href')))"), true);
        assert_eq!(browser.eval("[...document.querySelectorAll('svg')].every(svg => svg.getAttribute('aria-labelledby').split(' ').every(id => document.getElementById(id).textContent.length > 5))"), true);
        assert_eq!(browser.eval("[...document.querySelectorAll('table')].every(table => table.querySelectorAll('th[scope=col]').length === table.querySelector('tr').children.length)"), true);
        assert_eq!(browser.eval("[...document.querySelectorAll('.chart, .scroll')].every(box => box.tabIndex === 0 && box.getAttribute('aria-label'))"), true);
        assert_eq!(browser.eval("document.querySelectorAll('h1').length"), 1);
        let ids = browser.eval("(() => { const ids = [...document.querySelectorAll('[id]')].map(it => it.id); return ids.length === new Set(ids).size; })()");
        assert_eq!(ids, true);
        let tree = browser.devtools("Accessibility.getFullAXTree", serde_json::json!({}));
        let named = |role: &str| {
            let nodes = tree["nodes"].as_array().unwrap().iter();
            nodes
                .filter(|node| {
                    node["role"]["value"] == role
                        && !node["name"]["value"].as_str().unwrap_or_default().is_empty()
                })
                .count()
        };
        assert!(
            named("image") + named("img") + named("graphics-document") + named("SvgRoot") >= 6,
            "{}",
            tree["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|node| node["role"]["value"].to_string())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        );
    });
}
