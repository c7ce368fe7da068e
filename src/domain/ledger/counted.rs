//! What statistics need of a line of the ledger, at the cost of looking at it once.
//!
//! A line as it is written here has its fields in a known order and form, and is read field by field by that form:
//!
//! ```text
//! step = {"line":"step","schema":N,"at":T,"run":T, .. "actions":[A..],"history":[[N,T]..],"refusals":[R..], .. }
//! run  = {"line":"run","schema":N,"at":T,"run":T,"kind":T, .. "changed":true, .. "record":T}
//! ```
//!
//! Every byte is accounted for, so a line that this reader takes is one that the parser takes too, with the same
//! values. Anything else (an escape in a text, another order, a field that isn't known, damage) goes to the parser.

use super::{Line, RunLine, StepLine, parse_line};
use memchr::{memchr, memchr2};

/// What is counted of a line.
#[derive(Debug, PartialEq)]
pub enum Counted<'a> {
    Step(CountedStep<'a>),
    Run(CountedRun<'a>),
}

/// What is counted of a step.
#[derive(Debug, Default, PartialEq)]
pub struct CountedStep<'a> {
    pub at: &'a str,
    pub role: &'a str,
    pub engine: &'a str,
    pub decision: Option<&'a str>,
    pub outcome: &'a str,
    pub actions: Vec<CountedAction<'a>>,
    /// The codes of what was refused.
    pub refusals: Vec<&'a str>,
    pub first_refusals: Vec<&'a str>,
    pub input_tokens: Option<u64>,
    pub cache_write_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    pub prompt_bytes: u64,
    pub prefix_bytes: u64,
    pub duration_s: f64,
}

/// What is counted of an action.
#[derive(Debug, Default, PartialEq)]
pub struct CountedAction<'a> {
    pub name: &'a str,
    pub target: &'a str,
    pub verdict: &'a str,
}

/// What is counted of a run.
#[derive(Debug, Default, PartialEq)]
pub struct CountedRun<'a> {
    pub at: &'a str,
    pub kind: &'a str,
    pub outcome: &'a str,
    pub steps: u64,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    pub changed: bool,
}

impl Counted<'_> {
    /// When the line was written.
    pub fn at(&self) -> &str {
        match self {
            Counted::Step(step) => step.at,
            Counted::Run(run) => run.at,
        }
    }
}

impl<'a> From<&'a Line> for Counted<'a> {
    fn from(line: &'a Line) -> Counted<'a> {
        match line {
            Line::Step(step) => Counted::Step(CountedStep::from(&**step)),
            Line::Run(run) => Counted::Run(CountedRun::from(run)),
        }
    }
}

impl<'a> From<&'a StepLine> for CountedStep<'a> {
    fn from(step: &'a StepLine) -> CountedStep<'a> {
        CountedStep {
            at: &step.at,
            role: &step.role,
            engine: &step.engine,
            decision: step.decision.as_deref(),
            outcome: &step.outcome,
            actions: step
                .actions
                .iter()
                .map(|action| CountedAction {
                    name: &action.name,
                    target: &action.target,
                    verdict: &action.verdict,
                })
                .collect(),
            refusals: step.refusals.iter().map(|refusal| &*refusal.code).collect(),
            first_refusals: step.first_refusals.iter().map(|refusal| &*refusal.code).collect(),
            input_tokens: step.input_tokens,
            cache_write_tokens: step.cache_write_tokens,
            cache_read_tokens: step.cache_read_tokens,
            output_tokens: step.output_tokens,
            cost_usd: step.cost_usd,
            counted_usd: step.counted_usd,
            prompt_bytes: step.prompt_bytes,
            prefix_bytes: step.prefix_bytes,
            duration_s: step.duration_s,
        }
    }
}

impl<'a> From<&'a RunLine> for CountedRun<'a> {
    fn from(run: &'a RunLine) -> CountedRun<'a> {
        CountedRun {
            at: &run.at,
            kind: &run.kind,
            outcome: &run.outcome,
            steps: run.steps,
            cost_usd: run.cost_usd,
            counted_usd: run.counted_usd,
            changed: run.changed,
        }
    }
}

/// Hands over every line of a piece of the ledger that can be read, oldest first.
pub fn count_lines(piece: &[u8], take: &mut dyn FnMut(&Counted<'_>)) {
    let mut rest = piece;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if let Some(counted) = read_line(line) {
            take(&counted);
        } else if let Some(line) = parse_line(&String::from_utf8_lossy(line)) {
            take(&Counted::from(&line));
        }
    }
}

/// The line, where it is exactly as it is written here.
fn read_line(line: &[u8]) -> Option<Counted<'_>> {
    // In a text, JSON knows no control characters. One look at all of them is the cheapest.
    if line.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        return None;
    }
    let mut fields = Fields { rest: line };
    if fields.has(b"{\"line\":\"step\",\"schema\":") {
        return fields.read_step().map(Counted::Step);
    }
    fields.pass(b"{\"line\":\"run\",\"schema\":")?;
    fields.read_run().map(Counted::Run)
}

/// What is left of a line.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read_step(mut self) -> Option<CountedStep<'a>> {
        let mut step = CountedStep::default();
        self.read_number()?;
        self.pass(b",\"at\":\"")?;
        step.at = self.read_text()?;
        self.pass(b",\"run\":\"")?;
        self.skip_text()?;
        self.pass(b",\"step\":")?;
        self.read_number()?;
        self.pass(b",\"iteration\":")?;
        self.read_number()?;
        self.pass(b",\"role\":\"")?;
        step.role = self.read_text()?;
        self.pass(b",\"mode\":\"")?;
        self.skip_text()?;
        self.pass(b",\"engine\":\"")?;
        step.engine = self.read_text()?;
        self.pass(b",\"item\":")?;
        if !self.has(b"null") {
            self.pass(b"\"")?;
            self.skip_text()?;
        }
        self.pass(b",\"decision\":")?;
        if !self.has(b"null") {
            self.pass(b"\"")?;
            step.decision = Some(self.read_text()?);
        }
        self.pass(b",\"provenance\":\"")?;
        self.skip_text()?;
        self.pass(b",\"outcome\":\"")?;
        step.outcome = self.read_text()?;
        self.pass(b",\"actions\":[")?;
        self.read_list(|fields| {
            step.actions.push(fields.read_action()?);
            Some(())
        })?;
        self.pass(b",\"history\":[")?;
        self.read_list(Fields::skip_entry)?;
        self.pass(b",\"refusals\":[")?;
        step.refusals = self.read_refusals()?;
        if self.has(b",\"first_refusals\":[") {
            step.first_refusals = self.read_refusals()?;
        }
        self.read_costs(&mut step)?;
        Some(step)
    }

    /// The part of a step's line that is numbers.
    fn read_costs(&mut self, step: &mut CountedStep<'a>) -> Option<()> {
        self.pass(b",\"input_tokens\":")?;
        step.input_tokens = self.read_if_there(Fields::read_number)?;
        if self.has(b",\"cache_write_tokens\":") {
            step.cache_write_tokens = self.read_if_there(Fields::read_number)?;
        }
        self.pass(b",\"cache_read_tokens\":")?;
        step.cache_read_tokens = self.read_if_there(Fields::read_number)?;
        self.pass(b",\"output_tokens\":")?;
        step.output_tokens = self.read_if_there(Fields::read_number)?;
        self.pass(b",\"cost_usd\":")?;
        step.cost_usd = self.read_if_there(Fields::read_decimal)?;
        self.pass(b",\"counted_usd\":")?;
        step.counted_usd = self.read_decimal()?;
        self.pass(b",\"prompt_bytes\":")?;
        step.prompt_bytes = self.read_number()?;
        self.pass(b",\"prefix_bytes\":")?;
        step.prefix_bytes = self.read_number()?;
        self.pass(b",\"prefix_sha256\":\"")?;
        self.skip_text()?;
        self.pass(b",\"duration_s\":")?;
        step.duration_s = self.read_decimal()?;
        self.read_end()
    }

    fn read_run(mut self) -> Option<CountedRun<'a>> {
        let mut run = CountedRun::default();
        self.read_number()?;
        self.pass(b",\"at\":\"")?;
        run.at = self.read_text()?;
        self.pass(b",\"run\":\"")?;
        self.skip_text()?;
        self.pass(b",\"kind\":\"")?;
        run.kind = self.read_text()?;
        self.pass(b",\"started\":\"")?;
        self.skip_text()?;
        self.pass(b",\"outcome\":\"")?;
        run.outcome = self.read_text()?;
        self.pass(b",\"reason\":\"")?;
        self.skip_text()?;
        self.pass(b",\"iterations\":")?;
        self.read_number()?;
        self.pass(b",\"steps\":")?;
        run.steps = self.read_number()?;
        self.pass(b",\"cost_usd\":")?;
        run.cost_usd = self.read_if_there(Fields::read_decimal)?;
        self.pass(b",\"counted_usd\":")?;
        run.counted_usd = self.read_decimal()?;
        self.pass(b",\"changed\":")?;
        run.changed = self.has(b"true");
        if !run.changed {
            self.pass(b"false")?;
        }
        let _ = self.has(b",\"beat\":true");
        self.read_end()?;
        Some(run)
    }

    /// The last field of either line, and the end.
    fn read_end(&mut self) -> Option<()> {
        self.pass(b",\"record\":\"")?;
        self.skip_text()?;
        (self.rest == b"}").then_some(())
    }

    fn read_action(&mut self) -> Option<CountedAction<'a>> {
        let mut action = CountedAction::default();
        self.pass(b"{\"id\":\"")?;
        self.skip_text()?;
        self.pass(b",\"do\":\"")?;
        action.name = self.read_text()?;
        self.pass(b",\"target\":\"")?;
        action.target = self.read_text()?;
        self.pass(b",\"verdict\":\"")?;
        action.verdict = self.read_text()?;
        self.pass(b",\"code\":\"")?;
        self.skip_text()?;
        if self.has(b",\"rule\":\"") {
            self.skip_text()?;
        }
        if self.has(b",\"thread\":\"") {
            self.skip_text()?;
        }
        self.pass(b"}")?;
        Some(action)
    }

    /// `[7,"text"]`.
    fn skip_entry(&mut self) -> Option<()> {
        self.pass(b"[")?;
        self.read_number()?;
        self.pass(b",\"")?;
        self.skip_text()?;
        self.pass(b"]")
    }

    fn read_refusals(&mut self) -> Option<Vec<&'a str>> {
        let mut codes = Vec::new();
        self.read_list(|fields| {
            fields.pass(b"{\"code\":\"")?;
            codes.push(fields.read_text()?);
            fields.pass(b",\"message\":\"")?;
            fields.skip_text()?;
            fields.pass(b"}")
        })?;
        Some(codes)
    }

    /// What follows an opening bracket, with the closing one.
    fn read_list(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.has(b"]") {
            return Some(());
        }
        loop {
            read(self)?;
            if self.has(b"]") {
                return Some(());
            }
            self.pass(b",")?;
        }
    }

    #[inline]
    fn has<const N: usize>(&mut self, text: &[u8; N]) -> bool {
        self.pass(text).is_some()
    }

    #[inline]
    fn pass<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// The text up to its closing quote. One with an escape in it is not for this reader.
    #[inline]
    fn skip_text(&mut self) -> Option<&'a [u8]> {
        let end = memchr2(b'"', b'\\', self.rest).filter(|end| self.rest[*end] == b'"')?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(text)
    }

    #[inline]
    fn read_text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.skip_text()?).ok()
    }

    fn read_if_there<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.has(b"null") { Some(None) } else { read(self).map(Some) }
    }

    /// Digits as a number, and how many there were. More than 18 could be too many for the type.
    #[inline]
    fn read_digits(&mut self, from: u64) -> Option<(u64, usize)> {
        let mut number = from;
        let mut count = 0;
        while let Some(digit) = self.rest.get(count).filter(|byte| byte.is_ascii_digit()) {
            if count == 18 {
                return None;
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            count += 1;
        }
        self.rest = &self.rest[count..];
        (count > 0).then_some((number, count))
    }

    #[inline]
    fn read_number(&mut self) -> Option<u64> {
        let zero = self.rest.first() == Some(&b'0');
        let (number, count) = self.read_digits(0)?;
        (!zero || count == 1).then_some(number)
    }

    /// A decimal of so few digits that number and power of ten are both exact, and their quotient is the nearest there
    /// is, however one comes to it.
    fn read_decimal(&mut self) -> Option<f64> {
        const POWERS: [f64; 16] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        let zero = self.rest.first() == Some(&b'0');
        let (whole, count) = self.read_digits(0)?;
        if (zero && count > 1) || count > 15 {
            return None;
        }
        let (number, places) = if self.has(b".") { self.read_digits(whole)? } else { (whole, 0) };
        let simple = count + places <= 15 && !matches!(self.rest.first(), Some(b'e' | b'E'));
        simple.then(|| number as f64 / POWERS[places])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::{ActionLine, Refusal, parse_lines, render_line};
    use proptest::prelude::*;

    /// What is counted of a piece is what the parser makes of it; how many lines were read without it.
    fn check(piece: &[u8]) -> usize {
        let whole = parse_lines(&String::from_utf8_lossy(piece));
        let expected: Vec<String> = whole.iter().map(|line| format!("{:?}", Counted::from(line))).collect();
        let mut found = Vec::new();
        count_lines(piece, &mut |counted| found.push(format!("{counted:?}")));
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(piece));
        piece.split(|byte| *byte == b'\n').filter(|line| read_line(line).is_some()).count()
    }

    fn refusal(code: &str) -> Refusal {
        Refusal { code: code.into(), message: "not in the charter →".into() }
    }

    fn step(text: &str, list: usize, number: u64, usd: f64) -> Line {
        let action = ActionLine {
            id: "r-1-2-0".into(),
            name: text.into(),
            target: format!("m-1 Decision to {text}"),
            verdict: "allow".into(),
            code: "ok".into(),
            rule: if list > 1 { "charter.toml [sends]".into() } else { String::new() },
            thread: (list > 1).then(|| "m-1".into()),
            ..ActionLine::default()
        };
        Line::Step(Box::new(StepLine {
            schema: 1,
            at: "2026-11-18T00:42:01Z".into(),
            run: "r-20261118-004201-7f3k2q".into(),
            step: number,
            role: text.into(),
            engine: "claude".into(),
            item: (list > 0).then(|| text.into()),
            decision: (list == 1).then(|| text.into()),
            outcome: "ok".into(),
            actions: vec![action; list],
            history: vec![(number, text.into()); list],
            refusals: vec![refusal(text); list],
            first_refusals: vec![refusal("no_decision"); list / 2],
            input_tokens: (list > 0).then_some(number),
            cache_write_tokens: (list > 1).then_some(number),
            output_tokens: Some(number),
            cost_usd: (list > 0).then_some(usd),
            counted_usd: usd,
            prompt_bytes: number,
            prefix_bytes: number,
            duration_s: usd,
            ..StepLine::default()
        }))
    }

    fn run(text: &str, yes: bool, number: u64, usd: f64) -> Line {
        Line::Run(RunLine {
            schema: 1,
            at: "2026-11-18T00:42:01Z".into(),
            kind: text.into(),
            outcome: text.into(),
            reason: text.into(),
            steps: number,
            cost_usd: yes.then_some(usd),
            counted_usd: usd,
            changed: yes,
            beat: !yes,
            ..RunLine::default()
        })
    }

    #[test]
    fn lines_as_they_are_written_need_no_parser() {
        for list in 0..3 {
            assert_eq!(check(render_line(&step("rd → ops", list, 412, 0.0184)).as_bytes()), 1);
        }
        assert_eq!(check(render_line(&run("done", true, 3, 0.0552)).as_bytes()), 1);
        assert_eq!(check(render_line(&run("done", false, 0, 0.0)).as_bytes()), 1);
    }

    #[test]
    fn what_is_laid_out_otherwise_is_read_by_the_parser() {
        let line = render_line(&run("done", true, 3, 0.5));
        let line = line.trim_end();
        for (what, with) in [
            ("\"line\":\"run\",", "\"line\": \"run\","),
            ("\"done\"", "\"do\\u006ee\""),
            ("\"steps\":3", "\"steps\":03"),
            ("\"steps\":3", "\"steps\":-3"),
            ("\"steps\":3", "\"steps\":99999999999999999999"),
            ("\"steps\":3", "\"steps\":3,\"steps\":3"),
            ("\"counted_usd\":0.5", "\"counted_usd\":5e-1"),
            ("\"counted_usd\":0.5", "\"counted_usd\":0.30000000000000004"),
            ("\"counted_usd\":0.5", "\"counted_usd\":.5"),
            ("\"counted_usd\":0.5", "\"counted_usd\":5."),
            ("\"changed\":true", "\"changed\":null"),
            ("\"reason\":\"done\"", "\"reason\":\"a\tb\""),
            ("\"reason\":\"done\"", "\"reason\":\"a\0b\""),
            ("\"record\":\"\"}", "\"record\":\"\",\"more\":1}"),
            ("\"record\":\"\"}", "\"record\":\"\""),
            ("\"record\":\"\"}", "\"record\":\"\"}}"),
            ("\"record\":\"\"}", "\"record\":\"\"}\r"),
        ] {
            assert!(line.contains(what), "{what}");
            assert_eq!(check(line.replace(what, with).as_bytes()), 0, "{with}");
        }
        assert_eq!(check(b"\n\nno json\n{\"line\":\"run\"}\n[]"), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
        #[test]
        fn what_is_counted_is_what_the_whole_line_says(
            text in r#"([a-z" \\\\→\n]|"outcome":"ok",|\]\}){0,4}"#,
            list in 0usize..3,
            number in any::<u64>(),
            usd in prop_oneof![any::<f64>().prop_filter("JSON has no other", |usd| usd.is_finite()),
                (0u32..100_000_000).prop_map(|millionths| f64::from(millionths) / 1e6)],
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in any::<prop::sample::Index>(),
        ) {
            let lines = [step(&text, list, number, usd), run(&text, list == 0, number, usd), step("worker", list, 7, usd)];
            let mut piece: Vec<u8> = lines.iter().flat_map(|line| render_line(line).into_bytes()).collect();
            check(&piece);
            for (at, byte) in &hits {
                let at = at.index(piece.len());
                piece[at] = *byte;
            }
            check(&piece);
            piece.truncate(cut.index(piece.len()));
            check(&piece);
        }
    }
}
