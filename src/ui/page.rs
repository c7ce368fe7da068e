//! Pages for a browser: one file each, with nothing to fetch. The templates lie in `page/`.
//!
//! Every value is escaped because the templates' names end in `.html`; a page is text and never a program.

use crate::domain::report::Page;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value, context, value::Serde};

const TEMPLATES: [(&str, &str); 4] = [
    ("report.html", include_str!("page/report.html")),
    ("style.html", include_str!("page/style.html")),
    ("figure.html", include_str!("page/figure.html")),
    ("table.html", include_str!("page/table.html")),
];

/// The report as HTML.
pub fn render_report(page: &Page) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| format!("{error:#}"))?);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(|error| format!("{error:#}"))?;
    }
    let template = environment.get_template("report.html").map_err(|error| format!("{error:#}"))?;
    let values = context! { page => Value::from(Serde(page)) };
    template.render(values).map_err(|error| format!("{error:#}"))
}
