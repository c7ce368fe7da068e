//! Active hours: the days and times at which a department may be run, as `[days] HH:MM-HH:MM [zone]`.
//!
//! `22:00-06:00` goes over midnight and belongs to the day on which it begins. Days are `mon-fri` or `mon,wed`; no days
//! means every day. No zone means the machine's own.

use super::time::Time;
use super::zone::Zone;
use chrono::{DateTime, Datelike, Local, TimeDelta, TimeZone, Timelike, Weekday};

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Mon),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];
/// Hours open again within a week and a day, or never.
const MINUTES_MAX: i64 = 8 * 24 * 60;

/// When a department may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    /// By number of days from Monday.
    days: [bool; 7],
    /// Minutes since midnight; the end of a day is 1440.
    from: u32,
    to: u32,
    zone: Option<Zone>,
}

/// Reads hours; the fault continues a sentence that names the key.
pub fn parse_hours(text: &str) -> Result<Hours, String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || {
        let shown = super::text::one_line(text, 60);
        format!("is `{shown}`; write it as 08:00-18:00, or mon-fri 08:00-18:00 Europe/Berlin")
    };
    let zone = match words.last() {
        Some(word) if !word.contains(':') && words.len() > 1 => Some(parse_zone(word)?),
        _ => None,
    };
    if zone.is_some() {
        words.pop();
    }
    let (days, span) = match words[..] {
        [span] => ([true; 7], span),
        [days, span] => (parse_days(days).ok_or_else(wrong)?, span),
        _ => return Err(wrong()),
    };
    let (from, to) = span.split_once('-').ok_or_else(wrong)?;
    let (from, to) = (parse_clock(from).ok_or_else(wrong)?, parse_clock(to).ok_or_else(wrong)?);
    if from == to {
        return Err("begins when it ends, which is no time at all".to_string());
    }
    Ok(Hours { days, from, to, zone })
}

/// A zone by its name in the tz database.
pub fn parse_zone(name: &str) -> Result<Zone, String> {
    Zone::find(name).ok_or_else(|| {
        let shown = super::text::one_line(name, 60);
        format!("names the zone `{shown}`, which is not in the tz database; such as Europe/Berlin or UTC")
    })
}

fn parse_clock(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let two_digits = |part: &str| (part.len() == 2).then(|| part.parse::<u32>().ok()).flatten();
    let (hour, minute) = (two_digits(hour)?, two_digits(minute)?);
    // The end of a day is a time to stop at, though no clock shows it.
    ((hour < 24 && minute < 60) || (hour, minute) == (24, 0)).then_some(hour * 60 + minute)
}

fn parse_days(text: &str) -> Option<[bool; 7]> {
    let number = |name: &str| DAYS.iter().position(|(known, _)| *known == name.to_ascii_lowercase());
    let mut days = [false; 7];
    for part in text.split(',') {
        match part.split_once('-') {
            None => days[number(part)?] = true,
            Some((first, last)) => {
                let (mut day, last) = (number(first)?, number(last)?);
                days[day] = true;
                while day != last {
                    day = (day + 1) % 7;
                    days[day] = true;
                }
            }
        }
    }
    Some(days)
}

impl Hours {
    pub fn is_open(&self, now: Time) -> bool {
        match &self.zone {
            Some(zone) => self.is_open_at(&now.with_timezone(zone)),
            None => self.is_open_at(&now.with_timezone(&Local)),
        }
    }

    fn is_open_at<Z: TimeZone>(&self, now: &DateTime<Z>) -> bool {
        let (clock, today) = (now.hour() * 60 + now.minute(), now.weekday().num_days_from_monday() as usize);
        let yesterday = (today + 6) % 7;
        if self.from < self.to {
            return self.days[today] && clock >= self.from && clock < self.to;
        }
        (self.days[today] && clock >= self.from) || (self.days[yesterday] && clock < self.to)
    }

    /// The first full minute from now on at which it is open; none where no day is.
    pub fn next_open(&self, now: Time) -> Option<Time> {
        let minute = now - TimeDelta::seconds(i64::from(now.second()));
        let minutes = (1..=MINUTES_MAX).filter_map(|count| Some(minute + TimeDelta::try_minutes(count)?));
        if self.is_open(now) { Some(now) } else { minutes.into_iter().find(|at| self.is_open(*at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::parse_rfc3339;

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn check(hours: &str, time: &str, open: bool) {
        assert_eq!(parse_hours(hours).unwrap().is_open(at(time)), open, "{hours} at {time}");
    }

    #[test]
    fn hours_open_and_close() {
        check("08:00-18:00 UTC", "2026-11-18T08:00:00Z", true);
        check("08:00-18:00 UTC", "2026-11-18T07:59:59Z", false);
        check("08:00-18:00 UTC", "2026-11-18T18:00:00Z", false);
        check("08:00-24:00 UTC", "2026-11-18T23:59:59Z", true);
        check("08:00-18:00 Europe/Berlin", "2026-11-18T07:00:00Z", true);
        check("08:00-18:00 Europe/Berlin", "2026-07-18T06:00:00Z", true);
    }

    #[test]
    fn a_night_belongs_to_the_day_it_begins_on() {
        let hours = "fri 22:00-06:00 UTC";
        check(hours, "2026-11-20T23:00:00Z", true);
        check(hours, "2026-11-21T05:59:00Z", true);
        check(hours, "2026-11-21T06:00:00Z", false);
        check(hours, "2026-11-20T05:00:00Z", false);
        check(hours, "2026-11-21T23:00:00Z", false);
    }

    #[test]
    fn days_may_go_round_the_week() {
        check("sat-mon 00:00-24:00 UTC", "2026-11-22T12:00:00Z", true);
        check("sat-mon 00:00-24:00 UTC", "2026-11-24T12:00:00Z", false);
        check("mon,wed 00:00-24:00 UTC", "2026-11-18T12:00:00Z", true);
    }

    #[test]
    fn the_next_opening_is_found() {
        let next = |hours: &str, now: &str| parse_hours(hours).unwrap().next_open(at(now));
        assert_eq!(next("mon-fri 08:00-18:00 UTC", "2026-11-20T18:00:30Z"), Some(at("2026-11-23T08:00:00Z")));
        assert_eq!(next("08:00-18:00 UTC", "2026-11-20T09:00:30Z"), Some(at("2026-11-20T09:00:30Z")));
        // In the night in which clocks go from 02:00 to 03:00, 02:30 is never; the hours open when that night's gap ends.
        let gap = next("02:30-05:00 Europe/Berlin", "2026-03-28T23:00:00Z");
        assert_eq!(gap, Some(at("2026-03-29T01:00:00Z")));
    }

    #[test]
    fn what_is_no_hours_is_named() {
        for text in ["", "8-18", "08:00", "08:00-08:00", "xxx 08:00-18:00", "08:00-18:00 Mars/Base", "mon"] {
            assert!(parse_hours(text).is_err(), "{text}");
        }
    }
}
