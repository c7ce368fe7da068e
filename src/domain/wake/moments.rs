//! Every way in which something becomes eligible by time alone: `next_at` is the earliest of them.
//!
//! Each source is one entry of [`Sources`]. A new kind of thing that comes due gets a field there and a line in
//! [`Sources::moments`]; `tick`, `why` and `schedulers` then know of it.

use crate::domain::time::Time;

/// A moment, and what becomes eligible then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub at: Time,
    pub what: String,
}

/// What a department has that comes due, by kind.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Schedules: the next slot of each, with its name.
    pub slots: Vec<(Time, String)>,
    /// Approvals and questions that expire, with their ids.
    pub expiries: Vec<(Time, String)>,
    /// Eligible items of the board and of memory: a nudge, a due date, consolidation. Each names itself.
    pub items: Vec<(Time, String)>,
}

impl Sources {
    /// All of them, earliest first.
    pub fn moments(&self) -> Vec<Moment> {
        let slots = self.slots.iter().map(|(at, name)| (*at, format!("schedule `{name}`")));
        let expiries = self.expiries.iter().map(|(at, id)| (*at, format!("{id} expires")));
        let items = self.items.iter().cloned();
        let mut all: Vec<Moment> =
            slots.chain(expiries).chain(items).map(|(at, what)| Moment { at, what }).collect();
        all.sort_by(|a, b| (a.at, &a.what).cmp(&(b.at, &b.what)));
        all
    }
}

/// The first moment that is still to come.
pub fn next_of(moments: &[Moment], now: Time) -> Option<&Moment> {
    moments.iter().find(|moment| moment.at > now)
}
