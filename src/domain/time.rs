//! Times and durations as text: the forms in files, in JSON and for people.
//!
//! `now` is always handed in; this file never reads a clock.

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, SecondsFormat, TimeZone, Utc};

/// A moment, in UTC.
pub type Time = DateTime<Utc>;

/// The form in file names and memory lines: `20261118T004201Z`.
pub fn render_ts(time: Time) -> String {
    time.format("%Y%m%dT%H%M%SZ").to_string()
}

/// Reads the form of [`render_ts`].
pub fn parse_ts(text: &str) -> Option<Time> {
    NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").ok().map(|naive| Utc.from_utc_datetime(&naive))
}

/// The form in front matter and JSON: RFC 3339 in UTC, whole seconds.
pub fn render_rfc3339(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Reads RFC 3339, in any zone.
pub fn parse_rfc3339(text: &str) -> Option<Time> {
    parse_written(text.as_bytes()).or_else(|| parse_any(text))
}

/// The form that the tool writes, `2026-11-18T00:42:01Z`, without a parser of every form.
fn parse_written(text: &[u8]) -> Option<Time> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'Z'] = text
    else {
        return None;
    };
    let digits = |digits: &[&u8]| {
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(**digit - b'0'))
        })
    };
    let date = NaiveDate::from_ymd_opt(
        i32::try_from(digits(&[y1, y2, y3, y4])?).ok()?,
        digits(&[m1, m2])?,
        digits(&[d1, d2])?,
    )?;
    Some(date.and_hms_opt(digits(&[h1, h2])?, digits(&[n1, n2])?, digits(&[s1, s2])?)?.and_utc())
}

fn parse_any(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text.trim()).ok().map(|time| time.with_timezone(&Utc))
}

/// The form of [`render_ts`], of a moment in RFC 3339. As the tool writes those, only marks have to go.
pub fn to_ts(rfc3339: &str) -> Option<String> {
    const SHAPE: &[u8; 20] = b"0000-00-00T00:00:00Z";
    let alike =
        |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
    if rfc3339.len() != SHAPE.len() || !rfc3339.bytes().zip(SHAPE).all(alike) {
        return parse_rfc3339(rfc3339).map(render_ts);
    }
    let part = |from: usize, to: usize| &rfc3339[from..to];
    Some([part(0, 4), part(5, 7), part(8, 13), part(14, 16), part(17, 20)].concat())
}

/// The month folder of an archive: `2026-11`.
pub fn render_month(time: Time) -> String {
    time.format("%Y-%m").to_string()
}

/// For a person at a terminal: local time, to the minute.
pub fn render_local(time: Time) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M").to_string()
}

/// The same without the year, for a moment that is days away.
pub fn render_local_day(time: Time) -> String {
    time.with_timezone(&Local).format("%m-%d %H:%M").to_string()
}

/// How far clocks may be apart before what one of them dated is from the future.
const SKEW_S: i64 = 3_600;

/// Whether a moment is still to come, by more than clocks differ.
pub fn is_future(at: Time, now: Time) -> bool {
    (at - now).num_seconds() > SKEW_S
}

/// How long ago, in one unit: `40s`, `6m`, `3h`, `12d`. A moment still to come counts as now.
pub fn render_age(from: Time, now: Time) -> String {
    render_span((now - from).num_seconds())
}

/// A span of seconds in one unit; less than nothing is nothing.
pub fn render_span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A span that goes on, in up to two units: `40s`, `1m12s`, `3h05m`, `2d04h`.
pub fn render_elapsed(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A span such as `45s`, `90m`, `3h` or `2d`, in seconds.
pub fn parse_span(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    number.parse::<i64>().ok()?.checked_mul(unit)
}

/// A point in the past as a person types it: RFC 3339, a date, or a span back from now.
pub fn parse_since(text: &str, now: Time) -> Option<Time> {
    if let Some(seconds) = parse_span(text) {
        return now.checked_sub_signed(chrono::TimeDelta::try_seconds(seconds)?);
    }
    if let Some(time) = parse_rfc3339(text).or_else(|| parse_ts(text)) {
        return Some(time);
    }
    let date = chrono::NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()?;
    Some(Utc.from_utc_datetime(&date.and_hms_opt(0, 0, 0)?))
}

/// A moment by which something is to be done: RFC 3339, or a date, which lasts until its end.
pub fn parse_due(text: &str) -> Option<Time> {
    if let Some(time) = parse_rfc3339(text) {
        return Some(time);
    }
    let date = chrono::NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()?;
    Some(Utc.from_utc_datetime(&date.and_hms_opt(23, 59, 59)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_files_becomes_the_form_of_names() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(to_ts(text).as_deref(), expected, "{text}");
        check("2026-11-18T00:42:01Z", Some("20261118T004201Z"));
        check("2026-11-18T01:42:01+01:00", Some("20261118T004201Z"));
        check("2026-11-18T00:42:01.5Z", Some("20261118T004201Z"));
        check("2026-11-18 00:42:01Z", Some("20261118T004201Z"));
        check("2026-11-18t00:42:01z", Some("20261118T004201Z"));
        check("2026-11-38T00:42:01+00:00", None);
        check("", None);
    }

    #[test]
    fn a_due_date_lasts_until_its_end() {
        assert_eq!(parse_due("2026-11-18"), Some(at("2026-11-18T23:59:59Z")));
        assert_eq!(parse_due("2026-11-18T09:00:00+01:00"), Some(at("2026-11-18T08:00:00Z")));
        assert_eq!((parse_due("soon"), parse_due("2026-11-38"), parse_due("7d")), (None, None, None));
    }

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    #[test]
    fn stamps_go_there_and_back() {
        let time = at("2026-11-18T00:42:01Z");
        assert_eq!(render_ts(time), "20261118T004201Z");
        assert_eq!(parse_ts("20261118T004201Z"), Some(time));
        assert_eq!(render_rfc3339(at("2026-11-18T01:42:01+01:00")), "2026-11-18T00:42:01Z");
    }

    #[test]
    fn the_form_that_is_written_means_what_every_parser_says() {
        for text in [
            "2026-11-18T00:42:01Z",
            "2024-02-29T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-18T24:00:00Z",
            "2026-12-31T23:59:60Z",
            "0000-01-01T00:00:00Z",
            "2026-11-18T00:42:0xZ",
            "+026-11-18T00:42:01Z",
            " 2026-11-18T00:42:01Z",
        ] {
            assert_eq!(parse_rfc3339(text), parse_any(text), "{text}");
        }
    }

    #[test]
    fn ages_use_one_unit() {
        let now = at("2026-11-18T00:42:01Z");
        let check = |from: &str, age: &str| assert_eq!(render_age(at(from), now), age);
        check("2026-11-18T00:41:21Z", "40s");
        check("2026-11-18T00:36:01Z", "6m");
        check("2026-11-17T21:42:01Z", "3h");
        check("2026-11-06T00:42:01Z", "12d");
        check("2027-01-01T00:00:00Z", "0s");
    }

    #[test]
    fn elapsed_time_has_two_units() {
        let check = |seconds: i64, text: &str| assert_eq!(render_elapsed(seconds), text);
        check(-5, "0s");
        check(59, "59s");
        check(72, "1m12s");
        check(11_100, "3h05m");
        check(187_200, "2d04h");
    }

    #[test]
    fn spans_have_a_unit() {
        let check = |text: &str, seconds: Option<i64>| assert_eq!(parse_span(text), seconds, "{text}");
        check("45s", Some(45));
        check("90m", Some(5_400));
        check("2d", Some(172_800));
        check("2", None);
        check("-2d", None);
        check("d", None);
        check("99999999999999999999d", None);
        check("9é", None);
    }

    #[test]
    fn since_takes_a_span_a_date_or_a_time() {
        let now = at("2026-11-18T00:42:01Z");
        assert_eq!(parse_since("1d", now), Some(at("2026-11-17T00:42:01Z")));
        assert_eq!(parse_since("2026-11-01", now), Some(at("2026-11-01T00:00:00Z")));
        assert_eq!(parse_since("2026-11-01T10:00:00Z", now), Some(at("2026-11-01T10:00:00Z")));
        assert_eq!(parse_since("yesterday", now), None);
        assert_eq!(parse_since("999999999999d", now), None);
    }
}
