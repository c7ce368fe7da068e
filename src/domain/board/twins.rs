//! Twins: tasks that say the same, and those that nearly do.

use super::{Board, BoardFault, fault};
use crate::domain::task::Task;
use std::collections::BTreeSet;

/// Words that say nothing about what a task is.
const EMPTY: [&str; 24] = [
    "the", "and", "for", "with", "from", "into", "that", "this", "then", "when", "what", "which", "how",
    "our", "your", "its", "are", "was", "will", "all", "any", "new", "make", "add",
];

/// Endings of hosts, which are no files.
const HOSTS: [&str; 6] = ["com", "org", "net", "io", "dev", "example"];

/// What a task says, without case, marks and spacing: two with the same are the same task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    title: Vec<String>,
    description: Vec<String>,
}

impl Said {
    pub fn of(title: &str, description: &str) -> Said {
        Said { title: words(title).collect(), description: words(description).collect() }
    }

    fn is_titled(&self, title: &str) -> bool {
        words(title).eq(self.title.iter().map(String::as_str))
    }

    /// Read only as far as the two are alike: a board may hold hundreds.
    fn is_said_by(&self, task: &Task) -> bool {
        let description = self.description.iter().map(String::as_str);
        self.is_titled(&task.title) && words(task.description()).eq(description)
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn title_words(title: &str) -> BTreeSet<String> {
    words(title).filter(|word| word.chars().count() > 2 && !EMPTY.contains(&word.as_str())).collect()
}

/// The paths that a text names: `src/main.rs`, `./notes/`, not `and/or` and no address.
fn paths(text: &str) -> BTreeSet<&str> {
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ';' | '<' | '>');
    let is_path = |word: &&str| {
        let rooted = word.starts_with('/') || word.starts_with("./") || word.starts_with("~/");
        let inside = word.contains('/') && (word.matches('/').count() > 1 || word.contains('.'));
        (rooted || inside || is_file_name(word)) && word.len() > 2 && !word.contains("://")
    };
    text.split(ends).map(|word| word.trim_end_matches(['.', ':', '!', '?'])).filter(is_path).collect()
}

/// A bare name such as `README.md`: no number, abbreviation or host.
fn is_file_name(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    stem.len() > 1
        && stem.chars().all(plain)
        && (2..=5).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && !HOSTS.contains(&ending)
}

/// A task as it is compared with others: read once, however many there are.
struct Look<'a> {
    said: Said,
    title_words: BTreeSet<String>,
    paths: BTreeSet<&'a str>,
}

impl<'a> Look<'a> {
    fn of(title: &'a str, description: &'a str) -> Look<'a> {
        let mut paths = paths(title);
        paths.extend(self::paths(description));
        Look { said: Said::of(title, description), title_words: title_words(title), paths }
    }

    /// Why another looks alike, where it does.
    fn likeness(&self, other: &Task) -> Option<String> {
        if self.said.is_titled(&other.title) {
            return Some("the title is the same".to_string());
        }
        let theirs = title_words(&other.title);
        let shared = self.title_words.intersection(&theirs).count();
        if shared >= 2 && shared * 2 > self.title_words.len().min(theirs.len()) {
            return Some("most words of the title are the same".to_string());
        }
        if self.paths.is_empty() {
            return None;
        }
        let (title, description) = (paths(&other.title), paths(other.description()));
        let path = self.paths.iter().find(|path| title.contains(**path) || description.contains(**path))?;
        Some(format!("both name {path}"))
    }
}

impl Board {
    /// Whether another task is a twin of one, much like it, or named as different from it.
    pub(super) fn is_near(&self, task: &Task, other: &str) -> bool {
        let Some(other) = self.tasks.get(other).filter(|other| other.id != task.id) else { return false };
        task.not_twin_of.contains(&other.id)
            || other.not_twin_of.contains(&task.id)
            || Look::of(&task.title, task.description()).likeness(other).is_some()
    }

    fn others<'a>(&'a self, own: Option<&'a str>) -> impl Iterator<Item = &'a Task> {
        self.open_tasks().filter(move |task| own != Some(task.id.as_str()))
    }

    /// Refuses a twin, with the other's id.
    pub(super) fn check_twin(
        &self,
        own: Option<&str>,
        title: &str,
        description: &str,
    ) -> Result<(), BoardFault> {
        let said = Said::of(title, description);
        let Some(twin) = self.others(own).find(|task| said.is_said_by(task)) else { return Ok(()) };
        let message = format!("`{}` says the same: {}", twin.id, twin.title);
        Err(fault("twin", message).hint("work on that one, or say how this one differs"))
    }

    /// The open tasks that a title and a description are much like, but for some, each with what is alike.
    pub fn near_twins(&self, title: &str, description: &str, but: &[String]) -> Vec<(String, String)> {
        let look = Look::of(title, description);
        let others = self.open_tasks().filter(|task| !but.contains(&task.id));
        others.filter_map(|task| Some((task.id.clone(), look.likeness(task)?))).collect()
    }

    /// Refuses near twins that were not named as different.
    pub(super) fn check_near_twins(
        &self,
        own: Option<&str>,
        title: &str,
        description: &str,
        named: &[String],
    ) -> Result<(), BoardFault> {
        let mut near = self.near_twins(title, description, named);
        near.retain(|(id, _)| own != Some(id.as_str()));
        let Some((_, why)) = near.first() else { return Ok(()) };
        let ids: Vec<&str> = near.iter().map(|(id, _)| id.as_str()).collect();
        let ids = ids.join(", ");
        let fault = fault("near_twin", format!("it is much like {ids}: {why}"));
        Err(fault.hint(format!("if it is another task, name them in `not_twin_of`: {ids}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_count() {
        assert_eq!(
            Said::of("Write the Mail!", "A  short\nmail."),
            Said::of("write the mail", "a short mail")
        );
        assert_ne!(Said::of("Write the mail", "Short."), Said::of("Write the mail", "Long."));
        assert_ne!(Said::of("a b", "c"), Said::of("a", "b c"));
    }

    #[test]
    fn paths_are_told_from_other_slashes() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(paths(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        };
        check("Change `src/main.rs` and/or docs", &["src/main.rs"]);
        check("see /etc/hosts.", &["/etc/hosts"]);
        check("a/b/c, x/y", &["a/b/c"]);
        check("https://example.org/a/b.html", &[]);
        check("Mend README.md, e.g. at example.org, version 2.10 or v1.x.", &["README.md"]);
    }
}
