//! `action-2` in place of an id: what the second action of the same answer makes, a task or a project.

use super::Planning;
use crate::domain::action::{Action, parse_action};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The fields in which an id may stand. Words that people read are left as they are.
const FIELDS: [&str; 7] = ["id", "on", "project", "depends_on", "duplicates", "assists", "not_twin_of"];

/// The index of the action that a reference names; none where it is none.
pub fn named_action(id: &str) -> Option<usize> {
    id.strip_prefix("action-")?.parse::<usize>().ok()?.checked_sub(1)
}

impl Planning<'_> {
    /// The action with the ids of what the actions before it made. What waits for a human is written down so: by the
    /// time it is approved nobody knows any more which answer `action-2` counted in.
    pub(super) fn with_real_ids<'a>(&self, action: &'a Action) -> Cow<'a, Action> {
        let real = |index: usize| {
            let task = self.work.as_ref().and_then(|work| work.made(index));
            self.projects.get(&index).or(task).cloned()
        };
        let mut json = action.json.clone();
        if !put_in(&mut json, &real) {
            return Cow::Borrowed(action);
        }
        parse_action(&json).map_or(Cow::Borrowed(action), Cow::Owned)
    }
}

/// Puts real ids in place of references; whether there were any.
fn put_in(json: &mut Map<String, Value>, real: &dyn Fn(usize) -> Option<String>) -> bool {
    let mut found = false;
    for (key, value) in json.iter_mut() {
        let places: Vec<&mut Value> = match value {
            Value::Object(inner) if key == "action" => {
                found |= put_in(inner, real);
                continue;
            }
            _ if !FIELDS.contains(&key.as_str()) => continue,
            Value::Array(items) => items.iter_mut().collect(),
            one => vec![one],
        };
        for place in places {
            if let Some(id) = place.as_str().and_then(named_action).and_then(real) {
                (*place, found) = (Value::String(id), true);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_put_in_where_ids_stand_and_nowhere_else() {
        let real = |index: usize| (index < 2).then(|| format!("t-{index}"));
        let check = |json: Value, expected: Option<Value>| {
            let Value::Object(mut map) = json.clone() else { return };
            let found = put_in(&mut map, &real);
            assert_eq!((found, Value::Object(map)), (expected.is_some(), expected.unwrap_or(json)));
        };
        check(
            json!({"project": "action-1", "title": "action-1"}),
            Some(json!({"project": "t-0", "title": "action-1"})),
        );
        check(json!({"depends_on": ["action-2", "t-9"]}), Some(json!({"depends_on": ["t-1", "t-9"]})));
        check(json!({"action": {"id": "action-2"}}), Some(json!({"action": {"id": "t-1"}})));
        check(json!({"id": "action-3"}), None);
        check(json!({"id": "action-0", "project": "action-x", "on": "actions"}), None);
    }
}
