//! The body of a task's file: its description, and the comments in their sections.

use super::{Comment, Section, Task};
use crate::domain::message::Provenance;
use crate::domain::time::{parse_rfc3339, render_rfc3339};

impl Task {
    /// Where the sections begin: at the last line that is `## Context`. What is said in a comment is indented, so that
    /// only the description can hold another, ahead of it.
    fn sections_at(&self) -> usize {
        let heading = format!("## {}\n", Section::Context.name());
        let inside = self.body.rfind(&format!("\n{heading}")).map(|at| at + 1);
        inside.or_else(|| self.body.starts_with(&heading).then_some(0)).unwrap_or(self.body.len())
    }

    pub fn description(&self) -> &str {
        self.body[..self.sections_at()].trim_end()
    }

    /// All that is known of it, as a letter: where it stands, what is to be done, what was said.
    pub fn letter(&self, eligible: &str) -> String {
        let mut text =
            format!("eligible: {eligible}\nstatus: {}\npriority: {}\n", self.status, self.priority);
        let list = |items: &[String]| Some(items.join(", ")).filter(|text| !text.is_empty());
        let rows = [
            ("owner", self.owner.clone()),
            ("last worker", self.worker.clone()),
            ("depends on", list(&self.depends_on)),
            ("assists", self.assists.clone()),
            ("due", self.due.map(render_rfc3339)),
            ("verdict", self.verdict.clone()),
            ("mentioned", list(&self.mentioned)),
        ];
        for (name, value) in rows {
            if let Some(value) = value {
                text.push_str(&format!("{name}: {value}\n"));
            }
        }
        text.push_str(&format!("\n{}\n", self.description()));
        let said = self.body[self.sections_at()..].trim_end();
        if !self.comments().is_empty() {
            text.push_str(&format!("\n{said}\n"));
        }
        text
    }

    pub fn set_description(&mut self, text: &str) {
        let sections = self.body[self.sections_at()..].to_string();
        self.body = format!("{}\n\n{sections}", text.trim_end());
    }

    /// Every comment, section by section, oldest first in each.
    pub fn comments(&self) -> Vec<Comment> {
        let mut comments: Vec<Comment> = Vec::new();
        let mut section = Section::Context;
        let mut open = false;
        for line in self.body[self.sections_at()..].lines() {
            if let Some(found) = line.strip_prefix("## ").and_then(Section::parse) {
                (section, open) = (found, false);
            } else if let Some(comment) = parse_entry(line, section) {
                comments.push(comment);
                open = true;
            } else if let (true, Some(text), Some(comment)) =
                (open, line.strip_prefix("  "), comments.last_mut())
            {
                if !comment.text.is_empty() {
                    comment.text.push('\n');
                }
                comment.text.push_str(text);
            } else {
                // A line that a person wrote between the entries belongs to none.
                open = open && line.is_empty();
            }
        }
        comments
    }

    /// Adds a comment at the end of its section.
    pub fn add_comment(&mut self, comment: &Comment) {
        let mut entry = format!(
            "- {} {} ({}) {}\n\n",
            render_rfc3339(comment.at),
            comment.by,
            comment.source,
            comment.provenance.name()
        );
        // The blank line keeps what was said a paragraph of its own in a viewer of Markdown.
        for line in comment.text.trim().lines() {
            entry.push_str(&format!("  {line}\n"));
        }
        let at = self.end_of(comment.section);
        let before = self.body[..at].trim_end_matches('\n');
        // Entries of a section stand under one another; the first has a blank line above it.
        let last = before.lines().last().unwrap_or_default();
        let gap = if last.starts_with("## ") { "\n\n" } else { "\n" };
        let after = self.body[at..].trim_start_matches('\n');
        let after = if after.is_empty() { String::new() } else { format!("\n{after}") };
        self.body = format!("{before}{gap}{entry}{after}");
    }

    /// Where a section ends. One that is missing, as in a file made by hand, is added.
    fn end_of(&mut self, section: Section) -> usize {
        let heading = format!("## {}\n", section.name());
        let find = |body: &str, from: usize| {
            let tail = &body[from..];
            let inside = tail.find(&format!("\n{heading}")).map(|at| from + at + 1);
            inside.or_else(|| tail.starts_with(&heading).then_some(from))
        };
        if self.sections_at() == self.body.len() {
            let sections: String = Section::ALL.iter().map(|one| format!("\n## {}\n", one.name())).collect();
            let newline = if self.body.is_empty() || self.body.ends_with('\n') { "" } else { "\n" };
            self.body.push_str(&format!("{newline}{sections}"));
        }
        let from = self.sections_at();
        let start = match find(&self.body, from) {
            Some(start) => start,
            None => {
                if !self.body.ends_with('\n') {
                    self.body.push('\n');
                }
                let start = self.body.len() + 1;
                self.body.push_str(&format!("\n{heading}"));
                start
            }
        };
        let inside = start + heading.len();
        self.body[inside - 1..].find("\n## ").map_or(self.body.len(), |at| inside + at)
    }
}

fn parse_entry(line: &str, section: Section) -> Option<Comment> {
    let rest = line.strip_prefix("- ")?;
    let (at, rest) = rest.split_once(' ')?;
    let (by, rest) = rest.split_once(" (")?;
    let (source, provenance) = rest.split_once(") ")?;
    Some(Comment {
        section,
        at: parse_rfc3339(at)?,
        by: by.to_string(),
        source: source.to_string(),
        provenance: Provenance::parse(provenance)?,
        text: String::new(),
    })
}
