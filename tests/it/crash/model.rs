//! A disk of which only what was synced is sure: built from a trace, it gives the states that a power loss may leave.
//!
//! A file's data is sure after the file's sync, an entry of a folder after the folder's. Until then each of them may be
//! there or not, data also in part. A rename makes an entry and takes one away: without a sync both happen or neither,
//! or only the new entry is there; but each folder's sync makes its own half sure alone. So a move between folders
//! whose old folder is synced first can lose the file, and one whose new folder is first can only double it.

use super::tree::{Entry, Tree};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A file or folder, whatever it is called.
type Node = usize;

enum What {
    Enter {
        folder: Node,
        name: String,
        node: Node,
    },
    /// `with` is the entry that the same rename makes.
    Leave {
        folder: Node,
        name: String,
        node: Node,
        with: Option<usize>,
    },
    Write {
        node: Node,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
        node: Node,
        length: usize,
    },
}

struct Change {
    what: What,
    /// The operations, counted from 1, that did it and that made it sure.
    operation: usize,
    synced: Option<usize>,
}

/// What becomes of a change that was not sure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
    /// So many bytes of it are there.
    Torn(usize),
}

/// Numbers that look random and are always the same.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}

/// The contents of a file, or the entries of a folder.
#[derive(Clone)]
enum Content {
    Folder(BTreeMap<String, Node>),
    File(Rc<Vec<u8>>),
}

/// The disk.
pub struct Model {
    start: Vec<Content>,
    /// As a process sees it: every change done.
    now: Vec<Content>,
    changes: Vec<Change>,
    operations: usize,
}

const TOP: Node = 0;

impl Model {
    pub fn new(start: &Tree) -> Model {
        let mut model = Model {
            start: vec![Content::Folder(BTreeMap::new())],
            now: Vec::new(),
            changes: Vec::new(),
            operations: 0,
        };
        let mut nodes: BTreeMap<&str, Node> = BTreeMap::from([("", TOP)]);
        for (path, entry) in &start.0 {
            let content = match entry {
                Entry::Folder => Content::Folder(BTreeMap::new()),
                Entry::File(bytes) => Content::File(bytes.clone()),
            };
            let node = model.start.len();
            model.start.push(content);
            nodes.insert(path, node);
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            entries(&mut model.start[nodes[folder]]).insert(name.to_owned(), node);
        }
        model.now = model.start.clone();
        model
    }

    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Takes in a trace of what was done beneath `top`.
    pub fn follow(&mut self, trace: &[Value], top: &str) {
        for operation in trace {
            self.operations += 1;
            let path = |key: &str| operation[key].as_str().and_then(|path| path.strip_prefix(top));
            if let Some(folder) = path("folder") {
                let folder = self.find(folder);
                let to = path("to_folder").map(|to| self.find(to));
                self.take(operation, folder, to);
            }
        }
    }

    fn find(&self, path: &str) -> Node {
        path.split('/')
            .filter(|name| !name.is_empty())
            .fold(TOP, |node, name| self.entry(node, name).unwrap())
    }

    fn entry(&self, folder: Node, name: &str) -> Option<Node> {
        match &self.now[folder] {
            Content::Folder(entries) => entries.get(name).copied(),
            Content::File(_) => None,
        }
    }

    fn take(&mut self, operation: &Value, folder: Node, to: Option<Node>) {
        let text = |key: &str| operation[key].as_str().unwrap_or_default();
        let (name, bytes) = (text("file").to_owned(), unhex(text("bytes")));
        let there = self.entry(folder, &name);
        match (text("op"), there) {
            ("make", None) => self.enter(folder, &name, Content::Folder(BTreeMap::new())),
            ("make", Some(_)) | ("remove", None) => {}
            ("write" | "append", None) => {
                self.enter(folder, &name, Content::File(Rc::default()));
                let node = self.now.len() - 1;
                self.change(What::Write { node, at: 0, bytes });
            }
            ("append", Some(node)) => {
                let at = file(&self.now[node]).len();
                self.change(What::Write { node, at, bytes });
            }
            ("truncate", Some(node)) => {
                let length = String::from_utf8(bytes).unwrap().parse().unwrap();
                self.change(What::Cut { node, length });
            }
            ("sync", Some(node)) => self.sync(|what| data_of(what) == Some(node)),
            ("sync-folder", _) => self.sync(|what| entry_of(what) == Some(folder)),
            ("rename" | "rename-new", Some(node)) => {
                let (to, to_name) = (to.unwrap(), text("to_file").to_owned());
                let with = Some(self.changes.len());
                self.change(What::Enter { folder: to, name: to_name, node });
                self.change(What::Leave { folder, name, node, with });
            }
            ("remove", Some(node)) => self.change(What::Leave { folder, name, node, with: None }),
            (op, there) => panic!("{op} of {name}, which is {there:?}"),
        }
    }

    fn enter(&mut self, folder: Node, name: &str, content: Content) {
        let node = self.now.len();
        let empty = match &content {
            Content::Folder(_) => Content::Folder(BTreeMap::new()),
            Content::File(_) => Content::File(Rc::default()),
        };
        self.start.push(empty);
        self.now.push(content);
        self.change(What::Enter { folder, name: name.to_owned(), node });
    }

    fn change(&mut self, what: What) {
        apply(&mut self.now, &what, Fate::Kept);
        self.changes.push(Change { what, operation: self.operations, synced: None });
    }

    fn sync(&mut self, of: impl Fn(&What) -> bool) {
        for change in self.changes.iter_mut().filter(|change| change.synced.is_none() && of(&change.what)) {
            change.synced = Some(self.operations);
        }
    }

    /// What a power loss right after an operation may leave: nothing unsure is there; all but one; one in part; and
    /// so many more that chance picks.
    pub fn states(&self, after: usize, dice: &mut Dice, more: usize) -> Vec<Tree> {
        let done = self.changes.iter().take_while(|change| change.operation <= after);
        let is_unsure = |change: &Change| change.synced.is_none_or(|synced| synced > after);
        let unsure: Vec<bool> = done.map(is_unsure).collect();
        let mut states = Vec::new();
        let mut add = |fates: &[Fate]| {
            let state = self.state(fates, &unsure);
            if !states.contains(&state) {
                states.push(state);
            }
        };
        let kept = vec![Fate::Kept; unsure.len()];
        let lost: Vec<Fate> =
            unsure.iter().map(|unsure| if *unsure { Fate::Lost } else { Fate::Kept }).collect();
        add(&lost);
        for at in (0..unsure.len()).filter(|at| unsure[*at]) {
            for fate in [Fate::Lost, Fate::Torn(size(&self.changes[at].what) / 2)] {
                let mut fates = kept.clone();
                fates[at] = fate;
                add(&fates);
            }
        }
        for _ in 0..more {
            let fates: Vec<Fate> = (0..unsure.len())
                .map(|at| match dice.roll(3) {
                    0 if unsure[at] => Fate::Lost,
                    1 if unsure[at] => Fate::Torn(dice.roll(size(&self.changes[at].what) + 1)),
                    _ => Fate::Kept,
                })
                .collect();
            add(&fates);
        }
        states
    }

    fn state(&self, fates: &[Fate], unsure: &[bool]) -> Tree {
        let mut contents = self.start.clone();
        for (at, fate) in fates.iter().enumerate() {
            let what = &self.changes[at].what;
            // Half a rename that nothing made sure is no rename.
            let half = match what {
                What::Leave { with: Some(with), .. } => unsure[at] && fates[*with] == Fate::Lost,
                _ => false,
            };
            if *fate != Fate::Lost && !half {
                apply(&mut contents, what, *fate);
            }
        }
        let mut tree = Tree::default();
        gather(&contents, TOP, "", &mut tree);
        tree
    }
}

fn entries(content: &mut Content) -> &mut BTreeMap<String, Node> {
    match content {
        Content::Folder(entries) => entries,
        Content::File(_) => panic!("a file has no entries"),
    }
}

fn file(content: &Content) -> &Rc<Vec<u8>> {
    match content {
        Content::File(bytes) => bytes,
        Content::Folder(_) => panic!("a folder has no bytes"),
    }
}

fn data_of(what: &What) -> Option<Node> {
    match what {
        What::Write { node, .. } | What::Cut { node, .. } => Some(*node),
        _ => None,
    }
}

fn entry_of(what: &What) -> Option<Node> {
    match what {
        What::Enter { folder, .. } | What::Leave { folder, .. } => Some(*folder),
        _ => None,
    }
}

fn size(what: &What) -> usize {
    match what {
        What::Write { bytes, .. } => bytes.len(),
        _ => 0,
    }
}

fn apply(contents: &mut [Content], what: &What, fate: Fate) {
    match what {
        What::Enter { folder, name, node } => {
            entries(&mut contents[*folder]).insert(name.clone(), *node);
        }
        What::Leave { folder, name, node, .. } => {
            let entries = entries(&mut contents[*folder]);
            if entries.get(name) == Some(node) {
                entries.remove(name);
            }
        }
        What::Write { node, at, bytes } => {
            let bytes = if let Fate::Torn(length) = fate { &bytes[..length] } else { bytes };
            let mut whole = file(&contents[*node]).to_vec();
            whole.resize(whole.len().max(at + bytes.len()), 0);
            whole[*at..at + bytes.len()].copy_from_slice(bytes);
            contents[*node] = Content::File(Rc::new(whole));
        }
        What::Cut { node, length } => {
            let mut whole = file(&contents[*node]).to_vec();
            whole.resize(*length, 0);
            contents[*node] = Content::File(Rc::new(whole));
        }
    }
}

fn gather(contents: &[Content], folder: Node, path: &str, tree: &mut Tree) {
    let Content::Folder(entries) = &contents[folder] else { return };
    for (name, node) in entries {
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let entry = match &contents[*node] {
            Content::Folder(_) => Entry::Folder,
            Content::File(bytes) => Entry::File(bytes.clone()),
        };
        tree.0.insert(path.clone(), entry);
        gather(contents, *node, &path, tree);
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap());
    pairs.collect()
}
