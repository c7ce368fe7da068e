//! Who wrote to whom: names on a circle, an arrow for each pair, as thick as there are messages.

use super::{Label, fit_name, place};
use serde::Serialize;

/// So many messages from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub count: u64,
}

/// An arrow: a curve, a head, and what it stands for.
#[derive(Clone, Debug, Serialize)]
pub struct Arrow {
    pub path: String,
    pub head: String,
    pub thick: f64,
    pub class: String,
    pub title: String,
}

/// A name on the circle.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    pub x: f64,
    pub y: f64,
    pub r: f64,
    pub class: String,
    pub label: Label,
    /// The same above or beneath the node, for a screen that has no room beside it.
    pub over: Label,
    /// `start`, `middle` or `end`: to which side of its place the name stands.
    pub anchor: &'static str,
    pub title: String,
}

/// The picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flow {
    pub width: f64,
    pub height: f64,
    pub nodes: Vec<Node>,
    pub arrows: Vec<Arrow>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 330.0;
const RADIUS: (f64, f64) = (200.0, 118.0);
const NODE: f64 = 9.0;
/// Room for a name beside its node, and over it where letters are nearly twice as large.
const BESIDE: f64 = 100.0;
const OVER: f64 = 110.0;

/// Lays names out on a circle, each with its class, and draws the edges between them.
pub fn lay_out_flow(names: &[(String, String)], edges: &[Edge]) -> Flow {
    let places: Vec<(f64, f64)> = (0..names.len()).map(|index| on_circle(index, names.len())).collect();
    let find = |name: &str| names.iter().position(|(known, _)| known == name);
    let most = edges.iter().map(|edge| edge.count).max().unwrap_or(1).max(1) as f64;
    let mut flow = Flow { width: WIDTH, height: HEIGHT, ..Flow::default() };
    for edge in edges.iter().filter(|edge| edge.count > 0) {
        let (Some(from), Some(to)) = (find(&edge.from), find(&edge.to)) else { continue };
        let thick = 1.0 + 6.0 * (edge.count as f64 / most).sqrt();
        let (path, head) = curve(places[from], places[to], thick);
        let plural = if edge.count == 1 { "message" } else { "messages" };
        flow.arrows.push(Arrow {
            path,
            head,
            thick: place(thick),
            class: names[from].1.clone(),
            title: format!("{} to {}: {} {plural}", edge.from, edge.to, edge.count),
        });
    }
    for ((name, class), (x, y)) in names.iter().zip(&places) {
        let total = |of: &dyn Fn(&Edge) -> bool| -> u64 {
            edges.iter().filter(|edge| of(edge)).map(|edge| edge.count).sum()
        };
        let (sent, got) = (total(&|edge| edge.from == *name), total(&|edge| edge.to == *name));
        let (anchor, dx) = match x - WIDTH / 2.0 {
            side if side > 30.0 => ("start", 16.0),
            side if side < -30.0 => ("end", -16.0),
            _ => ("middle", 0.0),
        };
        let dy = if anchor == "middle" { if *y < HEIGHT / 2.0 { -16.0 } else { 26.0 } } else { 4.0 };
        flow.nodes.push(Node {
            x: place(*x),
            y: place(*y),
            r: NODE,
            class: class.clone(),
            label: Label { x: place(x + dx), y: place(y + dy), text: fit_name(name, BESIDE) },
            over: Label {
                x: place(*x),
                y: place(if *y < HEIGHT / 2.0 { y - 18.0 } else { y + 32.0 }),
                text: fit_name(name, OVER),
            },
            anchor,
            title: format!("{name}: {sent} sent, {got} received"),
        });
    }
    flow
}

fn on_circle(index: usize, count: usize) -> (f64, f64) {
    let angle = std::f64::consts::TAU * index as f64 / count.max(1) as f64 - std::f64::consts::FRAC_PI_2;
    let (sin, cos) = libm::sincos(angle);
    (WIDTH / 2.0 + RADIUS.0 * cos, HEIGHT / 2.0 + RADIUS.1 * sin)
}

/// A curve bent to the right of its way, so that there and back are two; and the head at its end.
fn curve(from: (f64, f64), to: (f64, f64), thick: f64) -> (String, String) {
    if from == to {
        return loop_at(from);
    }
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = libm::hypot(dx, dy).max(1.0);
    let bend = 0.16 * length;
    let middle = ((from.0 + to.0) / 2.0 - dy / length * bend, (from.1 + to.1) / 2.0 + dx / length * bend);
    let start = towards(from, middle, NODE + 2.0);
    let size = 5.0 + thick;
    let tip = towards(to, middle, NODE + 3.0);
    let neck = towards(tip, middle, size);
    let path = format!(
        "M{} {} Q{} {} {} {}",
        place(start.0),
        place(start.1),
        place(middle.0),
        place(middle.1),
        place(neck.0),
        place(neck.1)
    );
    (path, head(tip, neck, size))
}

/// A small ring for what somebody wrote to itself.
fn loop_at(at: (f64, f64)) -> (String, String) {
    let path = format!("M{} {} m-6 -8 a10 10 0 1 1 12 0", place(at.0), place(at.1));
    (path, head((at.0 + 6.0, at.1 - 7.0), (at.0 + 9.0, at.1 - 13.0), 5.0))
}

fn towards(from: (f64, f64), to: (f64, f64), by: f64) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = libm::hypot(dx, dy).max(1e-6);
    (from.0 + dx / length * by, from.1 + dy / length * by)
}

fn head(tip: (f64, f64), neck: (f64, f64), size: f64) -> String {
    let (dx, dy) = (tip.0 - neck.0, tip.1 - neck.1);
    let length = libm::hypot(dx, dy).max(1e-6);
    let (nx, ny) = (-dy / length * size * 0.55, dx / length * size * 0.55);
    let points = [tip, (neck.0 + nx, neck.1 + ny), (neck.0 - nx, neck.1 - ny)];
    points.map(|(x, y)| format!("{},{}", place(x), place(y))).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, count: u64) -> Edge {
        Edge { from: from.into(), to: to.into(), count }
    }

    #[test]
    fn an_arrow_for_each_pair_and_none_for_strangers() {
        let names = ["a", "b", "c"].map(|name| (name.to_string(), "s0".to_string()));
        let edges = [
            edge("a", "b", 4),
            edge("b", "a", 1),
            edge("c", "c", 2),
            edge("a", "gone", 9),
            edge("a", "c", 0),
        ];
        let flow = lay_out_flow(&names, &edges);
        assert_eq!((flow.nodes.len(), flow.arrows.len()), (3, 3));
        assert_eq!(flow.arrows[0].title, "a to b: 4 messages");
        assert_eq!(flow.arrows[1].title, "b to a: 1 message");
        assert_ne!(flow.arrows[0].path, flow.arrows[1].path);
        assert!(flow.arrows[0].thick > flow.arrows[1].thick);
        assert_eq!(flow.nodes[2].title, "c: 2 sent, 2 received");
    }

    #[test]
    fn every_place_is_a_number_inside() {
        for count in 1..14 {
            let names: Vec<_> = (0..count).map(|index| (format!("n{index}"), String::new())).collect();
            let edges: Vec<_> = (0..count).map(|index| edge("n0", &format!("n{index}"), 1)).collect();
            let flow = lay_out_flow(&names, &edges);
            assert!(
                flow.nodes
                    .iter()
                    .all(|node| node.x > 0.0 && node.x < WIDTH && node.y > 0.0 && node.y < HEIGHT)
            );
            assert!(flow.arrows.iter().all(|arrow| !format!("{}{}", arrow.path, arrow.head).contains("NaN")));
        }
    }
}
