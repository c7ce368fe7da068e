//! Whether what steps changed is still what they left: letters, their statuses, and the logs that are only added to.
//!
//! A letter's content never changes after delivery, so the receiver's copy must say what the sender's says. A status
//! moved by a run must have that run in the ledger. A decision that the ledger counts as carried out must stand in
//! `decisions.md`. What was sent in the last 30 days must be somewhere at its receiver's, unless an undo took it back.

use crate::domain::id::Dept;
use crate::domain::ledger::Line;
use crate::domain::message::Message;
use crate::store::fault::{Fault, Result};
use crate::store::messages::{Location, Place};
use crate::store::org::{Department, Org};
use std::collections::BTreeSet;

/// The largest log that is looked through.
const LOG_MAX: u64 = 1024 * 1024 * 1024;

/// What was looked at, and what is wrong.
#[derive(Debug, Default)]
pub struct Revisions {
    pub letters: usize,
    pub statuses: usize,
    pub decisions: usize,
    pub faults: Vec<String>,
}

/// Checks the revisions of a department.
pub fn revisions(org: &Org, department: &Department) -> Result<Revisions> {
    let (_, ledger) = department.ledger_lines()?;
    let mut found = Revisions::default();
    found.check_letters(org, department, &ledger)?;
    found.check_statuses(department, &ledger)?;
    found.check_decisions(department, &ledger)?;
    Ok(found)
}

impl Revisions {
    fn check_letters(&mut self, org: &Org, department: &Department, ledger: &[Line]) -> Result<()> {
        let undone = ledger.iter().any(|line| matches!(line, Line::Run(run) if run.kind == "undo"));
        for place in [Place::Outbox, Place::OldOutbox] {
            for location in department.locations(place)? {
                let Some(sent) = self.read(department, &location)? else { continue };
                self.letters += 1;
                for to in &sent.to {
                    let receiver = Dept::parse(to).ok().map(|to| org.department(&to)).transpose()?.flatten();
                    // A department that is gone took its letters with it.
                    let Some(receiver) = receiver else { continue };
                    let must_be_there = place == Place::Outbox && !undone;
                    self.check_copy(&receiver, &sent, must_be_there)?;
                }
            }
        }
        Ok(())
    }

    fn check_copy(&mut self, receiver: &Department, sent: &Message, must_be_there: bool) -> Result<()> {
        let (to, id) = (&receiver.dept, &sent.id);
        match receiver.find_delivered(id)? {
            None if must_be_there => self.faults.push(format!("{id} was sent to {to}, which has it nowhere")),
            None => {}
            // What was set aside is what could not be read: there is nothing to compare.
            Some(there) if there.folder.starts_with(".harness") => {}
            Some(there) => {
                let copy = self.read(receiver, &there)?;
                if copy.is_some_and(|copy| copy.digest() != sent.digest()) {
                    let path = format!("org-{to}/{}/{}", there.folder, there.file);
                    self.faults.push(format!("{path} is not what was sent"));
                }
            }
        }
        Ok(())
    }

    fn check_statuses(&mut self, department: &Department, ledger: &[Line]) -> Result<()> {
        let runs: BTreeSet<&str> = ledger.iter().map(Line::run).collect();
        for place in [Place::Inbox, Place::Archive] {
            for location in department.locations(place)? {
                // A stranger in the inbox is the next run's to set aside.
                let Some(message) = self.read(department, &location)? else { continue };
                for receipt in message.receipts() {
                    self.statuses += 1;
                    if receipt.run.starts_with("r-") && !runs.contains(receipt.run.as_str()) {
                        let (id, status, run) = (&message.id, receipt.status, &receipt.run);
                        self.faults.push(format!("{id} is {status} by {run}, which the ledger doesn't know"));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_decisions(&mut self, department: &Department, ledger: &[Line]) -> Result<()> {
        let log = department.dir.read("decisions.md", LOG_MAX)?.map(|text| text.text).unwrap_or_default();
        for line in ledger {
            let Line::Step(step) = line else { continue };
            let carried = step.actions.iter().filter(|_| step.outcome == "ok");
            for action in carried.filter(|action| action.name == "log_decision" && action.verdict == "allow")
            {
                self.decisions += 1;
                if !log.contains(&format!("({})\n", action.id)) {
                    self.faults.push(format!("decisions.md lacks {} of {}", action.id, step.run));
                }
            }
        }
        Ok(())
    }

    /// A message; one that can't be read is a fault, but in the inbox, where anybody may drop a file.
    fn read(&mut self, department: &Department, location: &Location) -> Result<Option<Message>> {
        match department.read_at(location) {
            Ok(filed) => Ok(filed.map(|filed| filed.message)),
            Err(error) if matches!(error.fault, Fault::Io(_)) => Err(error),
            Err(_) if location.place == Place::Inbox => Ok(None),
            Err(error) => {
                let (dept, folder, file) = (&department.dept, &location.folder, &location.file);
                self.faults.push(format!("org-{dept}/{folder}/{file}: {}", error.fault));
                Ok(None)
            }
        }
    }
}
