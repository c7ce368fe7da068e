//! What a department does at set times: schedules made and ended.

use super::Planning;
use crate::domain::action::{Act, Action};
use crate::domain::digest::sha256;
use crate::domain::plan::Effect;
use crate::domain::schedule::{
    SCHEDULE_SCHEMA, ScheduleFile, parse_schedule, render_schedule, scheduled, unscheduled,
};
use crate::domain::time::render_rfc3339;

fn path_of(name: &str) -> String {
    format!("schedules/{name}.toml")
}

impl Planning<'_> {
    fn text_of(&self, path: &str) -> Option<&str> {
        self.facts.curated.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_str())
    }

    pub(super) fn schedule(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::Schedule { name, cron, at, timezone, prompt } = &action.act else {
            return Default::default();
        };
        let path = path_of(name);
        // One that has ended is still there until a tick puts it away.
        let before = self.text_of(&path).map(|text| sha256(text.as_bytes()));
        let file = ScheduleFile {
            schema: SCHEDULE_SCHEMA,
            cron: cron.clone(),
            at: at.clone(),
            timezone: timezone.clone(),
            prompt: prompt.trim_end().to_string(),
            by: self.facts.dept.to_string(),
            // What arrives later is as far to be trusted as what led to it now.
            provenance: self.trust(self.facts.at_hand).name().to_string(),
            created: render_rfc3339(self.facts.now),
            ended: None,
        };
        self.push(index, Effect::Replace { path: path.clone(), before, text: render_schedule(&file) });
        self.remember(index, &scheduled(name, &file), &["cron".to_string()], &[]);
        self.tell(format!("scheduled {name}"), prompt);
        (name.clone(), format!("{path} is there"))
    }

    pub(super) fn unschedule(&mut self, index: usize, name: &str) -> (String, String) {
        let path = path_of(name);
        let Some(text) = self.text_of(&path).map(str::to_string) else {
            return (name.to_string(), format!("there was no schedule {name}"));
        };
        let before = Some(sha256(text.as_bytes()));
        if let Ok(mut schedule) = parse_schedule(&text) {
            schedule.file.ended = Some(render_rfc3339(self.facts.now));
            let text = render_schedule(&schedule.file);
            self.push(index, Effect::Replace { path, before, text });
            self.remember(index, &unscheduled(name), &["cron".to_string()], &[]);
        }
        self.tell(format!("unscheduled {name}"), "");
        (name.to_string(), format!("{name} comes no more"))
    }
}
