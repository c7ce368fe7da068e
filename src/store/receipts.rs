//! `receipts.jsonl`: what ticks did with a department and why, within a size. Only what differs from the one before is
//! added, so that it is short; and an older file is kept, so that a bad night doesn't push out what led to it.

use super::fault::Result;
use super::org::Department;
use super::tail::read_tail;
use crate::domain::wake::Receipt;

const RECEIPTS: &str = "receipts.jsonl";
const OLDER: &str = "receipts.1.jsonl";
/// A file that is larger is set aside before the next receipt is added; one older one is kept.
pub const RECEIPTS_MAX: u64 = 1024 * 1024;
/// How much of the receipts' end is looked at for one that says the same.
const REMEMBERED: u64 = 64 * 1024;

impl Department {
    /// Adds a receipt to `.harness/receipts.jsonl`. It can be done without: nothing is synced.
    pub fn append_receipt(&self, receipt: &Receipt) -> Result<()> {
        let Receipt { at, code, why, from } = receipt;
        let mut line = serde_json::json!({"schema": 1, "at": at, "code": code, "why": why});
        if let Some(from) = from {
            line["from"] = from.as_str().into();
        }
        let own = self.own()?;
        if own.stat(RECEIPTS)?.is_some_and(|stat| stat.size > RECEIPTS_MAX) {
            own.rename_lazily(RECEIPTS, OLDER)?;
        }
        own.append_lazily(RECEIPTS, &format!("{line}\n"))
    }

    /// The same, where none that is remembered says the same.
    pub fn append_receipt_once(&self, receipt: &Receipt) -> Result<()> {
        match self.receipts(REMEMBERED)?.iter().any(|before| before.is_like(receipt)) {
            true => Ok(()),
            false => self.append_receipt(receipt),
        }
    }

    /// The end of the receipts, oldest first.
    pub fn receipts(&self, most: u64) -> Result<Vec<Receipt>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(Vec::new()) };
        let newer = read_tail(&own, RECEIPTS, most)?.text;
        let older = match most.saturating_sub(newer.len() as u64) {
            0 => String::new(),
            left => read_tail(&own, OLDER, left)?.text,
        };
        let lines = older.lines().chain(newer.lines());
        Ok(lines.filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::super::org::Org;
    use super::*;
    use crate::domain::id::Dept;

    #[test]
    fn they_stay_within_a_size_and_the_older_ones_are_still_told() {
        let folder = tempfile::tempdir().unwrap();
        for made in [".harness", "org-rd/.harness"] {
            std::fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        let org = Org::find(folder.path(), &Disk::new(None)).unwrap().unwrap();
        let rd = org.department(&Dept::parse("rd").unwrap()).unwrap().unwrap();
        let receipt = |number: u64| Receipt {
            at: format!("{number:09}"),
            why: "x".repeat(10_000),
            ..Receipt::default()
        };
        for number in 0..250 {
            rd.append_receipt(&receipt(number)).unwrap();
        }
        let kept = rd.receipts(u64::MAX / 2).unwrap();
        assert_eq!(kept.last().unwrap(), &receipt(249));
        assert!(kept.len() > 104 && kept.len() < 250 && kept.is_sorted_by_key(|one| one.at.clone()));
        let sizes: Vec<u64> = [RECEIPTS, OLDER]
            .iter()
            .map(|name| std::fs::metadata(folder.path().join("org-rd/.harness").join(name)).unwrap().len())
            .collect();
        assert!(sizes.iter().all(|size| *size < RECEIPTS_MAX + 11_000), "{sizes:?}");
    }
}
