//! A small model provider on loopback that speaks to real clients: scripted answers and failures in the Messages and
//! the Responses protocol, and what each request asked for.
//!
//! One reply a request, in order; the last one repeats. `NONCE` and `MSGID` in a text are filled from the prompt.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[path = "../../../examples/fake-engine/script.rs"]
#[expect(dead_code, reason = "only the filling in of nonce and message is needed here")]
mod script;

/// Tokens that every answer reports.
pub const INPUT_TOKENS: u64 = 1234;
pub const OUTPUT_TOKENS: u64 = 56;

/// What a request gets.
#[derive(Clone, Debug)]
pub enum Reply {
    Text(String),
    /// An error with this status, and further headers.
    Status(u16, Vec<(&'static str, String)>),
    /// Nothing, until the client goes.
    Hang,
    /// The first half of an answer, and then the connection is closed.
    Cut(String),
}

#[derive(Default)]
struct Book {
    replies: Vec<Reply>,
    requests: Vec<Value>,
}

/// A provider that ends with the test.
pub struct Server {
    port: u16,
    book: Arc<Mutex<Book>>,
}

impl Server {
    pub fn start(replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let book = Arc::new(Mutex::new(Book { replies, requests: Vec::new() }));
        let shared = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let book = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &book));
            }
        });
        Server { port, book }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The bodies of the requests for an answer, in order.
    pub fn requests(&self) -> Vec<Value> {
        self.book.lock().unwrap().requests.clone()
    }
}

/// Answers requests on one connection until it is closed. A client that goes away is no mistake.
fn serve(stream: TcpStream, book: &Mutex<Book>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some((path, body)) = read_request(&mut reader) {
        let is_model = path.contains("/messages") || path.contains("/responses");
        let done = if path.contains("count_tokens") {
            write_json(&mut stream, 200, &[], &json!({"input_tokens": INPUT_TOKENS}))
        } else if is_model && !body.is_null() {
            answer(&mut stream, &path, &body, next(book, &body))
        } else {
            write_json(&mut stream, 404, &[], &json!({"error": {"message": "no such place"}}))
        };
        if done.is_none() {
            return;
        }
    }
}

fn next(book: &Mutex<Book>, body: &Value) -> Reply {
    let mut book = book.lock().unwrap();
    book.requests.push(body.clone());
    let at = (book.requests.len() - 1).min(book.replies.len() - 1);
    book.replies[at].clone()
}

/// Path and body; a body that is no JSON is null.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|count| *count > 0)?;
        let (name, value) = match header.trim_end() {
            "" => break,
            header => header.split_once(':')?,
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer(stream: &mut TcpStream, path: &str, body: &Value, reply: Reply) -> Option<()> {
    let events = |text: &str| {
        let text = script::fill(text, &texts(body));
        if path.contains("/responses") { responses(&text) } else { messages(&text, body) }
    };
    match reply {
        Reply::Text(text) => write_events(stream, &events(&text), true),
        Reply::Cut(text) => {
            let events = events(&text);
            write_events(stream, &events[..events.len() / 2], false)?;
            let _ = stream.shutdown(std::net::Shutdown::Both);
            None
        }
        Reply::Hang => {
            stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
            let _ = stream.read(&mut [0]);
            None
        }
        Reply::Status(status, headers) => {
            let error = json!({"type": "error", "error": {"type": "api_error", "message": "as scripted"}});
            write_json(stream, status, &headers, &error)
        }
    }
}

/// Every text of a request, in order, so that the prompt's end is the end.
fn texts(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(map) => ["system", "instructions", "messages", "input", "content", "text"]
            .iter()
            .filter_map(|key| map.get(*key))
            .map(|value| value.as_str().map_or_else(|| texts(value), |text| format!("{text}\n")))
            .collect(),
        _ => String::new(),
    }
}

type Event = (&'static str, Value);

fn messages(text: &str, body: &Value) -> Vec<Event> {
    let usage = json!({"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": OUTPUT_TOKENS});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let text = json!({"type": "text_delta", "text": text});
    vec![
        ("message_start", json!({"message": message})),
        ("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})),
        ("content_block_delta", json!({"index": 0, "delta": text})),
        ("content_block_stop", json!({"index": 0})),
        (
            "message_delta",
            json!({"delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": usage}),
        ),
        ("message_stop", json!({})),
    ]
}

fn responses(text: &str) -> Vec<Event> {
    let usage = json!({"input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS});
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [part]});
    let response = |status: &str, output: Value, usage: Value| {
        json!({"response": {"id": "resp_1", "object": "response", "created_at": 1_795_000_000,
            "status": status, "output": output, "usage": usage}})
    };
    vec![
        ("response.created", response("in_progress", json!([]), Value::Null)),
        ("response.output_item.added", json!({"output_index": 0, "item": item})),
        ("response.output_item.done", json!({"output_index": 0, "item": item})),
        ("response.completed", response("completed", json!([item]), usage)),
    ]
}

/// Server-sent events; each carries its own name as `type`.
fn write_events(stream: &mut TcpStream, events: &[Event], whole: bool) -> Option<()> {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for (name, data) in events {
        let mut data = data.clone();
        data["type"] = json!(name);
        let event = format!("event: {name}\ndata: {data}\n\n");
        text.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    if whole {
        text.push_str("0\r\n\r\n");
    }
    stream.write_all(text.as_bytes()).ok()
}

fn write_json(stream: &mut TcpStream, status: u16, headers: &[(&str, String)], body: &Value) -> Option<()> {
    let body = body.to_string();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all((head + &body).as_bytes()).ok()
}
