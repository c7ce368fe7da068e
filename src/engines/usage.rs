//! What a call used and what it cost, as far as its client says.
//!
//! Unknown is never zero: a count that wasn't reported is absent, and a cost that wasn't is
//! [`Cost::Unknown`]. What an unknown cost counts as is for the budget to say.

/// Tokens, as far as they were reported. Each token is in one count only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub cache_write_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

impl Usage {
    /// All tokens; unknown where nothing was reported.
    pub fn total(&self) -> Option<u64> {
        self.counts().into_iter().flatten().reduce(u64::saturating_add)
    }

    /// This and another call's usage.
    pub fn plus(&self, other: &Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| [a, b].into_iter().flatten().reduce(u64::saturating_add);
        Usage {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
        }
    }

    fn counts(&self) -> [Option<u64>; 4] {
        [self.input_tokens, self.cache_write_tokens, self.cache_read_tokens, self.output_tokens]
    }
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Cost {
    /// In USD.
    Known(f64),
    /// To be counted at the engine's worst case.
    #[default]
    Unknown,
}

impl Cost {
    /// A cost that a client reported.
    ///
    /// Zero is believed only where it is also said that no token was used. A subscription login, or a model without a
    /// price, is reported as 0 beside thousands of tokens: taken at its word, no cap would ever hold.
    pub fn reported(usd: Option<f64>, usage: &Usage) -> Cost {
        match usd {
            Some(usd) if usd.is_finite() && usd > 0.0 => Cost::Known(usd),
            Some(0.0) if usage.total() == Some(0) => Cost::Known(0.0),
            _ => Cost::Unknown,
        }
    }

    /// This and another cost; unknown where either is.
    pub fn plus(self, other: Cost) -> Cost {
        match (self, other) {
            (Cost::Known(a), Cost::Known(b)) => Cost::Known(a + b),
            _ => Cost::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_cost_beside_tokens_is_unknown() {
        let some = Usage { output_tokens: Some(5), ..Usage::default() };
        let check = |usd, usage: &Usage, expected| assert_eq!(Cost::reported(usd, usage), expected);
        check(Some(0.5), &some, Cost::Known(0.5));
        check(Some(0.0), &some, Cost::Unknown);
        let none = Usage { input_tokens: Some(0), output_tokens: Some(0), ..Usage::default() };
        check(Some(0.0), &none, Cost::Known(0.0));
        check(Some(0.0), &Usage::default(), Cost::Unknown);
        check(Some(-1.0), &some, Cost::Unknown);
        check(Some(f64::NAN), &some, Cost::Unknown);
        check(None, &Usage::default(), Cost::Unknown);
    }

    #[test]
    fn a_total_of_nothing_reported_is_unknown() {
        assert_eq!(Usage::default().total(), None);
        let usage = Usage { input_tokens: Some(1), cache_read_tokens: Some(2), ..Usage::default() }
            .plus(&Usage { output_tokens: Some(u64::MAX), ..Usage::default() });
        assert_eq!(usage.total(), Some(u64::MAX));
    }
}
