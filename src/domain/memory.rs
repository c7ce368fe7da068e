//! Memory: the tagged entries of a day, and the front matter of what the summarizer made of them.
//!
//! ```text
//! - r-20261118-004201-7f3k2q/1/0 [shops, north] department refs: m-20261118-004201-7f3k2q
//!   Two shops were asked about.
//! ```
//!
//! An entry's first line is its own: its key, tags, provenance and refs. Its text is indented, so that no text can
//! begin another entry. A day's file only grows; MEMORY.md and SELF.md are replaced as a whole, by the summarizer alone.

use super::front_matter::{FrontMatter, parse_front_matter};
use super::message::Provenance;
use super::text::one_line;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::{NaiveDate, TimeZone, Utc};

/// The newest format of a curated file that this program knows.
pub const MEMORY_SCHEMA: u64 = 1;
/// Tags with a meaning of their own: the director's plan, how things stand, what goal intake found, schedule changes.
pub const RESERVED_TAGS: [&str; 4] = ["plan", "status", "intake", "cron"];
/// Those of them that the tool alone writes.
pub const TOOL_TAGS: [&str; 2] = ["intake", "cron"];
/// An entry that is older, in days, is marked with its age.
pub const STALE_DAYS: i64 = 30;
/// The most tags of an entry.
pub const TAGS_MAX: usize = 12;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The day's file, `2026-11-18`.
    pub day: String,
    pub key: String,
    pub tags: Vec<String>,
    pub provenance: Provenance,
    pub refs: Vec<String>,
    pub text: String,
}

impl Entry {
    /// When its day began.
    pub fn at(&self) -> Option<Time> {
        day_start(&self.day)
    }

    /// How old it is, in days.
    pub fn age_days(&self, now: Time) -> i64 {
        self.at().map_or(0, |at| (now - at).num_days().max(0))
    }

    /// Its age as a mark, where it is stale.
    pub fn stale(&self, now: Time) -> Option<String> {
        let days = self.age_days(now);
        (days > STALE_DAYS).then(|| format!("stale, {days} days old"))
    }

    /// Whether it holds a text, in any case, in its words, tags or refs.
    pub fn holds(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        let mut parts = self.tags.iter().chain(&self.refs).chain([&self.key, &self.text]);
        parts.any(|part| part.to_lowercase().contains(&wanted))
    }

    /// The entry as its day's file holds it.
    pub fn render(&self) -> String {
        let plain = |tag: &String| one_line(&tag.replace(['[', ']', ','], " "), 60).trim().to_string();
        let tags: Vec<String> = self.tags.iter().map(plain).filter(|tag| !tag.is_empty()).collect();
        let refs =
            if self.refs.is_empty() { String::new() } else { format!(" refs: {}", self.refs.join(", ")) };
        let mut text = format!("- {} [{}] {}{refs}\n", self.key, tags.join(", "), self.provenance.name());
        for line in self.text.trim_end().lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text
    }
}

fn day_start(day: &str) -> Option<Time> {
    let date = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    Some(Utc.from_utc_datetime(&date.and_hms_opt(0, 0, 0)?))
}

/// Whether a file's name, without its ending, is a day's.
pub fn is_day(name: &str) -> bool {
    name.len() == 10 && day_start(name).is_some()
}

/// The entries of a day's file, in their order. Lines that belong to none are passed over.
pub fn parse_entries(day: &str, text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        if let Some(entry) = parse_head(day, line) {
            entries.push(entry);
        } else if let (Some(rest), Some(entry)) = (line.strip_prefix("  "), entries.last_mut()) {
            entry.text.push_str(rest);
            entry.text.push('\n');
        }
    }
    entries.iter_mut().for_each(|entry| entry.text.truncate(entry.text.trim_end().len()));
    entries
}

fn parse_head(day: &str, line: &str) -> Option<Entry> {
    let (key, rest) = line.strip_prefix("- ")?.split_once(" [")?;
    let (tags, rest) = rest.split_once("] ")?;
    let (provenance, refs) = match rest.split_once(" refs: ") {
        Some((provenance, refs)) => (provenance, refs),
        None => (rest, ""),
    };
    let list = |text: &str| -> Vec<String> {
        text.split(", ").map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect()
    };
    let provenance = Provenance::parse(provenance.trim())?;
    let whole = !key.is_empty() && !key.contains(char::is_whitespace);
    whole.then(|| Entry {
        day: day.to_string(),
        key: key.to_string(),
        tags: list(tags),
        provenance,
        refs: list(refs),
        text: String::new(),
    })
}

/// A curated file: when it was last consolidated, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Curated {
    pub consolidated: Option<Time>,
    pub text: String,
}

/// Reads MEMORY.md or SELF.md. One without a front matter was never consolidated.
pub fn parse_curated(text: &str) -> Curated {
    match parse_front_matter(text) {
        Ok(split) if split.front.is_some() => {
            let consolidated = split.front.as_ref().and_then(|front| front.text("consolidated"));
            Curated {
                consolidated: consolidated.and_then(parse_rfc3339),
                text: split.body.trim_start_matches('\n').to_string(),
            }
        }
        _ => Curated { consolidated: None, text: text.to_string() },
    }
}

/// The file as the summarizer's text makes it. A front matter that the text brings along is not its to write.
pub fn render_curated(text: &str, now: Time, run: &str) -> String {
    let text = parse_curated(text).text;
    let mut front = FrontMatter::default();
    front.set_number("schema", MEMORY_SCHEMA);
    front.set_text("consolidated", render_rfc3339(now));
    front.set_text("run", run);
    front.render(&format!("{}\n", text.trim()))
}

/// The points of a curated text that carry a day in brackets and are stale, each with its age.
pub fn stale_points(text: &str, now: Time) -> Vec<String> {
    let stale = |line: &str| {
        let words = line.split(|c: char| !(c.is_ascii_digit() || c == '-'));
        let newest = words.filter(|word| is_day(word)).filter_map(day_start).max()?;
        let days = (now - newest).num_days();
        (days > STALE_DAYS).then(|| format!("{} (stale, {days} days old)", one_line(line, 200)))
    };
    text.lines().filter_map(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(tags: &[&str], text: &str) -> Entry {
        Entry {
            day: "2026-11-18".into(),
            key: "r-1/1/0".into(),
            tags: tags.iter().map(|tag| tag.to_string()).collect(),
            provenance: Provenance::External,
            refs: vec!["m-1".into(), "m-2".into()],
            text: text.into(),
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let one = entry(&["shops", "north"], "Two shops.\n\n- not an entry [x] human");
        let text = format!("# A day\n{}{}", one.render(), entry(&["b"], "More.").render());
        assert_eq!(parse_entries("2026-11-18", &text), [one, entry(&["b"], "More.")]);
    }

    #[test]
    fn age_is_said_where_it_is_great() {
        let now = parse_rfc3339("2026-12-20T00:00:00Z").unwrap();
        assert_eq!(entry(&[], "x").stale(now), Some("stale, 32 days old".into()));
        assert_eq!(entry(&[], "x").stale(now - chrono::TimeDelta::days(2)), None);
        let text =
            "- Old [m-1, 2026-01-01]\n- New [2026-12-19]\n- Undated\n- Both [2026-01-01, 2026-12-01]\n";
        assert_eq!(stale_points(text, now), ["- Old [m-1, 2026-01-01] (stale, 353 days old)"]);
    }

    #[test]
    fn a_curated_file_says_when_it_was_consolidated() {
        let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
        let text = render_curated("---\nconsolidated: 2030-01-01T00:00:00Z\n---\n# Facts\n", now, "r-1");
        let curated = parse_curated(&text);
        assert_eq!(curated, Curated { consolidated: Some(now), text: "# Facts\n".into() });
        assert_eq!(parse_curated("# Plain\n").consolidated, None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in any::<String>(), tags in proptest::collection::vec("[^\\p{C}]{1,12}", 0..4)) {
            let one = Entry { tags, text, ..entry(&[], "") };
            let read = parse_entries("2026-11-18", &one.render());
            prop_assert_eq!(read.len(), 1, "a text can't begin another entry");
            prop_assert_eq!(&read[0].key, &one.key);
            prop_assert_eq!(read[0].provenance, Provenance::External);
            prop_assert_eq!(read[0].render(), parse_entries("2026-11-18", &read[0].render())[0].render());
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            parse_entries("2026-11-18", &text);
            let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
            prop_assert_eq!(parse_curated(&render_curated(&text, now, "r-1")).consolidated, Some(now));
            stale_points(&text, now);
        }
    }
}
