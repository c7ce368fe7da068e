//! `harness schema`: the JSON Schema of a format.

use super::app::{App, Result};
use crate::ui::Answer;
use serde_json::Value;

/// Print the JSON Schema of a format
///
/// For editors and checks of your own: the ACTIONS block, a charter, a department's config, a message's front matter.
///
/// Examples:
///   harness schema charter
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SchemaArgs {
    /// The format
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Actions,
    Charter,
    Config,
    Message,
}

pub fn run(args: &SchemaArgs, _app: &App<'_>) -> Result<Answer> {
    let schema: Value = match args.format {
        Format::Actions => crate::domain::schema::actions(),
        Format::Message => crate::domain::schema::message(),
        Format::Charter => parse(include_str!("../../schemas/charter.json")),
        Format::Config => parse(include_str!("../../schemas/config.json")),
    };
    let text = format!("{schema:#}\n");
    Ok(Answer::new("harness.schema/1", schema, text))
}

fn parse(text: &str) -> Value {
    // A test compares these files with the types, so they are always JSON.
    serde_json::from_str(text).unwrap_or(Value::Null)
}
