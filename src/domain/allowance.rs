//! What a project or a directive may cost in all: `budget_usd`, `budget_tokens` and `budget_runs` of its front matter.

use super::front_matter::FrontMatter;

/// The highest budget that is taken: what is more is a slip of the keyboard.
pub const USD_MAX: f64 = 1e9;

/// A budget for good; absent is not limited by this.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub runs: Option<u64>,
}

impl Allowance {
    pub fn parse(front: &FrontMatter) -> Result<Allowance, String> {
        let usd = match front.text("budget_usd") {
            None => None,
            Some(text) => Some(parse_usd(text).ok_or_else(|| bad("budget_usd", text))?),
        };
        let count = |key: &str| match front.text(key) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| bad(key, text)),
        };
        Ok(Allowance { usd, tokens: count("budget_tokens")?, runs: count("budget_runs")? })
    }

    /// Writes what is set, and leaves the rest as it is.
    pub fn write(&self, front: &mut FrontMatter) {
        if let Some(usd) = self.usd {
            front.set_number("budget_usd", render_usd(usd));
        }
        for (key, count) in [("budget_tokens", self.tokens), ("budget_runs", self.runs)] {
            if let Some(count) = count {
                front.set_number(key, count);
            }
        }
    }
}

fn bad(key: &str, text: &str) -> String {
    format!("`{key}` can't be `{}`", super::text::one_line(text, 60))
}

/// An amount that may be a budget.
pub fn is_usd(usd: f64) -> bool {
    usd.is_finite() && (0.0..=USD_MAX).contains(&usd)
}

pub fn parse_usd(text: &str) -> Option<f64> {
    text.parse().ok().filter(|usd| is_usd(*usd))
}

/// An amount to the hundredth of a cent, without zeros that say nothing: sums of floats look like sums of money.
pub fn render_usd(usd: f64) -> String {
    let text = format!("{usd:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// What something cost, in cents; a cost below half a cent is not shown as none.
pub fn render_cost(usd: f64) -> String {
    match usd {
        usd if usd > 0.0 && usd < 0.0001 => "under 0.0001".to_string(),
        usd if usd > 0.0 && usd < 0.005 => format!("{usd:.4}"),
        usd => format!("{usd:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cost_is_not_shown_as_none() {
        let check = |usd: f64, text: &str| assert_eq!(render_cost(usd), text);
        check(0.0, "0.00");
        check(0.00004, "under 0.0001");
        check(0.004, "0.0040");
        check(0.005, "0.01");
        check(12.3456, "12.35");
    }

    #[test]
    fn amounts_are_plain() {
        let check = |usd: f64, text: &str| {
            assert_eq!(render_usd(usd), text);
            assert!((parse_usd(text).unwrap() - usd).abs() < 1e-4);
        };
        check(0.0, "0");
        check(300.0, "300");
        check(0.1 + 0.2, "0.3");
        check(1_234_567.5, "1234567.5");
        for text in ["-1", "NaN", "inf", "1e12", "x", ""] {
            assert_eq!(parse_usd(text), None, "{text}");
        }
    }
}
