//! A spinner while an engine thinks: who asks whom, and for how long. On stderr, and only for a person at a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// How often it turns.
const TURN: Duration = Duration::from_millis(120);

/// Somebody who waits, or nobody.
#[derive(Debug, Default)]
pub struct Waiting {
    spinner: Option<ProgressBar>,
}

impl Waiting {
    /// Begins to wait. The time runs from now.
    pub fn start(&mut self, words: &str) {
        self.stop();
        let style = ProgressStyle::with_template("  {spinner} {wide_msg} {elapsed}");
        let spinner = ProgressBar::new_spinner().with_message(words.to_string());
        if let Ok(style) = style {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(TURN);
        self.spinner = Some(spinner);
    }

    /// Takes the line away, so that another can be written.
    pub fn stop(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.stop();
    }
}
