//! What may still be asked: engines whose quota is used up, and budgets that are.

use super::{Clinic, Ward, check, judged};
use crate::domain::budget::{Book, Scope, Spend, earliest, limits_for, limits_of};
use crate::domain::settings::Settings;
use crate::domain::time::render_rfc3339;
use crate::run::service::prove::{Client, engine_lists};
use crate::run::verify::{Check, Verdict};
use crate::store::fault::Result;

impl Clinic<'_> {
    /// A list of engines whose every program is out of quota: what its rules don't cover waits.
    pub(super) fn quota(&self, settings: &std::result::Result<Settings, String>, wards: &[Ward]) -> Check {
        let name = "quota";
        let Ok(settings) = settings else { return check(name, Verdict::NotRun, "org.toml can't be read") };
        match self.out_of_quota(settings, wards) {
            // Runs read the same file, and stop at it.
            Err(error) => check(name, Verdict::Failed, error.to_string()),
            Ok((faults, others)) if others.is_empty() => judged(name, faults, "no engine is out of quota"),
            Ok((faults, others)) => {
                judged(name, faults, format!("{}; others can be asked", others.join(", ")))
            }
        }
    }

    fn out_of_quota(&self, settings: &Settings, wards: &[Ward]) -> Result<(Vec<String>, Vec<String>)> {
        let configs: Vec<_> = wards.iter().filter_map(|ward| ward.config.clone().ok()).collect();
        let (mut faults, mut others) = (Vec::new(), Vec::new());
        for list in engine_lists(settings, &configs) {
            let is_client = |name: &&String| {
                settings.engines.get(*name).and_then(|engine| Client::of(name, engine)).is_some()
            };
            let (mut out, mut left) = (Vec::new(), 0);
            for name in list.iter().filter(is_client) {
                let state = self.org.engine_state(name)?;
                match state.not_before(self.now).map(render_rfc3339) {
                    Some(at) if state.rests > 0 => {
                        out.push(format!("{name} rests until {at}: {}", state.why))
                    }
                    Some(at) => out.push(format!("{name} is out of quota until {at}")),
                    None => left += 1,
                }
            }
            if left == 0 {
                faults.extend(out);
            } else {
                others.extend(out);
            }
        }
        faults.dedup();
        others.dedup();
        Ok((faults, others))
    }

    /// A limit that is used up stops what it is for.
    pub(super) fn budget(&self, settings: &std::result::Result<Settings, String>, wards: &[Ward]) -> Check {
        let name = "budget left";
        let Ok(settings) = settings else { return check(name, Verdict::NotRun, "org.toml can't be read") };
        let mut limits = limits_of(Scope::Organisation, &settings.budget.organisation);
        for ward in wards {
            limits.extend(limits_of(
                Scope::Department(ward.department.dept.to_string()),
                &settings.budget.department,
            ));
        }
        let probe = limits_for(&settings.budget, &Spend::default());
        let book = match self.org.budget_lines(earliest(&probe, self.now)) {
            Ok(lines) => Book::read(&lines),
            // A line that can't be read closes the budget.
            Err(error) => return check(name, Verdict::Failed, error.to_string()),
        };
        let mut faults: Vec<String> = book.from_the_future(self.now).into_iter().collect();
        let mut least = None::<(f64, String)>;
        for limit in limits.iter().filter(|limit| limit.span.bounds(self.now).is_some()) {
            let used = book.used(limit, "", self.now);
            let all = used.spent + used.reserved;
            if all >= limit.most - 1e-9 {
                faults.push(format!("{} of {} is used up", limit.key(), limit.scope));
                continue;
            }
            let left = 1.0 - all / limit.most;
            if least.as_ref().is_none_or(|(share, _)| left < *share) {
                least = Some((left, format!("{:.0} % of {} of {}", left * 100.0, limit.key(), limit.scope)));
            }
        }
        judged(name, faults, least.map_or("no limit".to_string(), |(_, least)| format!("at least {least}")))
    }
}
