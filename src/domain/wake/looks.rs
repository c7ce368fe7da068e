//! When each department was last looked at, as `alive` holds it: a line each, `SECONDS NAME`, the first one for looks at
//! all of them (`*`). Seconds are always as wide, so that a tick overwrites its own where they stand.
//!
//! Units pulse one department each: that the file was touched says that some department was looked at, not which.

use std::collections::BTreeMap;

/// The name of the line for all departments.
const ALL: &str = "*";
/// How many digits a time has.
const WIDTH: usize = 12;
/// A department that nobody has looked at for so long is forgotten where the lines are written anew.
const FORGOTTEN_S: i64 = 400 * 86_400;

/// When departments were last looked at, in seconds by the clock of the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// When the file was last touched; no look is later than that.
    touched: i64,
    all: Option<i64>,
    own: BTreeMap<String, Own>,
    /// Whether every line could be read.
    whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Own {
    at: i64,
    offset: u64,
}

/// How a look is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// These bytes, each at its place.
    InPlace(Vec<(u64, String)>),
    /// The file as a whole.
    Anew(String),
}

fn line(at: i64, name: &str) -> String {
    format!("{:0WIDTH$} {name}\n", at.max(0))
}

impl Looks {
    /// Where there is no file yet.
    pub fn none() -> Looks {
        Looks { touched: i64::MAX, whole: true, ..Looks::default() }
    }

    /// Reads the lines. A file without any was touched by hand or by an older program, and stands for all departments.
    pub fn parse(text: &str, touched: i64) -> Looks {
        let mut looks = Looks { touched, whole: true, ..Looks::default() };
        if text.is_empty() {
            looks.all = Some(touched);
        }
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            match parse_line(line) {
                Some((at, ALL)) if offset == 0 => looks.all = (at > 0).then_some(at),
                Some((at, name)) if name != ALL && offset > 0 => {
                    looks.own.insert(name.to_string(), Own { at, offset });
                }
                _ => looks.whole = false,
            }
            offset += line.len() as u64;
        }
        looks
    }

    /// When a tick last looked at a department; none where none ever did.
    pub fn last(&self, dept: &str) -> Option<i64> {
        let own = self.own.get(dept).map(|own| own.at).filter(|at| *at > 0);
        own.max(self.all).map(|at| at.min(self.touched))
    }

    /// How a look at these departments, or at all of them, is written down.
    pub fn note(&self, depts: Option<&[String]>, at: i64) -> Note {
        let Some(depts) = depts else {
            return match self.whole {
                true => Note::InPlace(vec![(0, line(at, ALL))]),
                false => Note::Anew(line(at, ALL)),
            };
        };
        let places = depts.iter().map(|dept| self.own.get(dept).map(|own| own.offset));
        if let Some(places) = places.collect::<Option<Vec<u64>>>().filter(|_| self.whole) {
            let seconds = format!("{:0WIDTH$}", at.max(0));
            return Note::InPlace(places.into_iter().map(|place| (place, seconds.clone())).collect());
        }
        let mut own: BTreeMap<&str, i64> =
            self.own.iter().map(|(name, own)| (name.as_str(), own.at)).collect();
        own.extend(depts.iter().map(|dept| (dept.as_str(), at)));
        own.retain(|_, last| at - *last < FORGOTTEN_S);
        let first = line(self.all.unwrap_or(0), ALL);
        Note::Anew(first + &own.into_iter().map(|(name, at)| line(at, name)).collect::<String>())
    }
}

fn parse_line(line: &str) -> Option<(i64, &str)> {
    let (seconds, name) = line.strip_suffix('\n')?.split_once(' ')?;
    let digits = seconds.len() == WIDTH && seconds.bytes().all(|byte| byte.is_ascii_digit());
    let named = name == ALL || super::super::id::Dept::parse(name).is_ok();
    (digits && named).then(|| seconds.parse().ok()).flatten().map(|at| (at, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text after a note.
    fn noted(text: &str, touched: i64, depts: Option<&[&str]>, at: i64) -> String {
        let depts: Option<Vec<String>> = depts.map(|names| names.iter().map(ToString::to_string).collect());
        match Looks::parse(text, touched).note(depts.as_deref(), at) {
            Note::Anew(text) => text,
            Note::InPlace(pieces) => {
                let mut bytes = text.as_bytes().to_vec();
                for (place, piece) in pieces {
                    let place = place as usize;
                    bytes.resize(bytes.len().max(place + piece.len()), 0);
                    bytes[place..place + piece.len()].copy_from_slice(piece.as_bytes());
                }
                String::from_utf8(bytes).unwrap()
            }
        }
    }

    #[test]
    fn a_look_at_one_department_is_none_at_another() {
        let text = noted("", 100, None, 100);
        let text = noted(&text, 100, Some(&["rd"]), 200);
        let text = noted(&text, 200, Some(&["rd", "business"]), 300);
        let text = noted(&text, 300, Some(&["rd"]), 400);
        assert_eq!(text, "000000000100 *\n000000000300 business\n000000000400 rd\n");
        let looks = Looks::parse(&text, 400);
        let last = ["rd", "business", "marketing"].map(|dept| looks.last(dept));
        assert_eq!(last, [Some(400), Some(300), Some(100)]);
        let all = Looks::parse(&noted(&text, 400, None, 500), 500);
        assert_eq!(["rd", "business", "marketing"].map(|dept| all.last(dept)), [Some(500); 3]);
    }

    #[test]
    fn a_file_that_was_only_touched_stands_for_all() {
        assert_eq!(Looks::parse("", 70).last("rd"), Some(70));
        // Set back by hand, nothing in it is later.
        assert_eq!(Looks::parse("000000000100 *\n", 40).last("rd"), Some(40));
        let Note::Anew(first) = Looks::none().note(Some(&["rd".to_string()]), 9) else { panic!() };
        let looks = Looks::parse(&first, 9);
        assert_eq!((looks.last("rd"), looks.last("business")), (Some(9), None));
    }

    #[test]
    fn a_damaged_file_is_made_anew() {
        for damaged in
            ["x", "000000000100 rd\n", "000000000100 *\nx\n", "000000000100 *\n1 rd\n", "000000000100 *"]
        {
            assert_eq!(noted(damaged, 5, None, 7), "000000000007 *\n", "{damaged:?}");
        }
        let text = noted("000000000100 *\nx\n000000000100 rd\n", 100, Some(&["hr"]), 200);
        assert_eq!(text, "000000000100 *\n000000000200 hr\n000000000100 rd\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn any_text_can_be_read_and_noted_in(text in "([0-9]{12} [*a-c]\n|[0-9 *a\n]){0,6}", at in 1i64..9_999) {
            let after = noted(&text, 0, Some(&["a", "c"]), at);
            let looks = Looks::parse(&after, i64::MAX);
            prop_assert!(looks.whole, "{after:?}");
            prop_assert!(looks.last("a") >= Some(at) && looks.last("c") >= Some(at));
        }
    }
}
