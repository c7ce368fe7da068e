//! What a department writes down for itself: decisions, memory, the weekly.

use super::{Planning, action_id};
use crate::domain::action::{Act, Action};
use crate::domain::digest::sha256;
use crate::domain::memory::{Entry, render_curated};
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
        let entry = Entry {
            day: self.facts.now.format("%Y-%m-%d").to_string(),
            key: id,
            tags: tags.to_vec(),
            provenance: self.facts.provenance,
            refs: refs.to_vec(),
            text: text.to_string(),
        };
        let path = format!("memory/{}.md", entry.day);
        self.push(index, Effect::Append { path: path.clone(), text: entry.render() });
        (String::new(), format!("in {path}"))
    }

    pub(super) fn curate(&mut self, index: usize, file: &str, text: &str) -> (String, String) {
        let path = format!("memory/{file}.md");
        let before = self.facts.curated.iter().find(|(name, _)| *name == path);
        let before = before.map(|(_, text)| text.clone()).filter(|text| !text.is_empty());
        if let Some(old) = before.clone() {
            // The version before is kept, under the name of the step that replaces it.
            let kept = format!("archive/memory/{file}-{}-{}.md", self.facts.run, self.facts.step);
            self.push(index, Effect::Create { path: kept, text: old });
        }
        let before = before.map(|text| sha256(text.as_bytes()));
        let text = render_curated(text, self.facts.now, self.facts.run);
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
