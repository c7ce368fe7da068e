//! What a department writes down for itself: decisions, memory, the weekly.

use super::{Planning, action_id};
use crate::domain::action::{Act, Action};
use crate::domain::digest::sha256;
use crate::domain::plan::Effect;
use crate::domain::text::one_line;
use crate::domain::time::render_ts;

impl Planning<'_> {
    pub(super) fn log_decision(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::LogDecision { title, decision, why, refs, project } = &action.act else {
            return Default::default();
        };
        let id = action_id(self.facts.run, self.facts.step, index);
        let mut text = format!("## {} {} ({id})\n\n", render_ts(self.facts.now), one_line(title, 200));
        text.push_str(&format!("{}\n\nWhy: {}\n", decision.trim_end(), why.trim_end()));
        let project = project.iter().map(|project| format!("project {project}"));
        let trail: Vec<String> = refs.iter().cloned().chain(project).collect();
        if !trail.is_empty() {
            text.push_str(&format!("\nRefs: {}\n", trail.join(", ")));
        }
        text.push('\n');
        self.push(index, Effect::Append { path: "decisions.md".into(), text });
        self.tell("decided".to_string(), title);
        (String::new(), "in decisions.md".to_string())
    }

    pub(super) fn remember(
        &mut self,
        index: usize,
        text: &str,
        tags: &[String],
        refs: &[String],
    ) -> (String, String) {
        let id = action_id(self.facts.run, self.facts.step, index);
        let path = format!("memory/{}.md", self.facts.now.format("%Y-%m-%d"));
        let refs = if refs.is_empty() { String::new() } else { format!(" refs: {}", refs.join(", ")) };
        let mut entry = format!("- {id} [{}] {}{refs}\n", tags.join(", "), self.facts.provenance.name());
        for line in text.trim_end().lines() {
            entry.push_str(&format!("  {line}\n"));
        }
        self.push(index, Effect::Append { path: path.clone(), text: entry });
        (String::new(), format!("in {path}"))
    }

    pub(super) fn curate(&mut self, index: usize, file: &str, text: &str) -> (String, String) {
        let path = format!("memory/{file}.md");
        let before = self.facts.curated.iter().find(|(name, _)| *name == path);
        let before = before.map(|(_, text)| sha256(text.as_bytes()));
        let text = format!("{}\n", text.trim_end());
        self.push(index, Effect::Replace { path: path.clone(), before, text });
        (file.to_string(), format!("{path} is replaced"))
    }

    pub(super) fn write_weekly(&mut self, index: usize, text: &str) -> (String, String) {
        let id = action_id(self.facts.run, self.facts.step, index);
        let text = format!("## {} ({id})\n\n{}\n\n", render_ts(self.facts.now), text.trim_end());
        self.push(index, Effect::Append { path: "weekly.md".into(), text });
        (String::new(), "in weekly.md".to_string())
    }
}
