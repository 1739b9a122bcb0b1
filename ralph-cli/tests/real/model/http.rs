//! As much of HTTP as the agents need: one request for a connection, and the whole answer at once.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::Value;

use super::{Api, Asked, Model, Turn, anthropic::Anthropic, responses::Responses};

/// By these the agents say which session a request belongs to.
const SESSION: &[&str] = &["x-claude-code-session-id", "thread-id", "session-id", "session_id"];

struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

pub(super) fn serve(model: &Model, stream: &TcpStream) {
    // A client that goes away has its reasons.
    let Ok(Some(request)) = read(stream) else { return };
    let _ = answer(model, &request, stream);
}

/// The request; none where the client only looked whether somebody is there.
fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, headers, body }))
}

fn answer(model: &Model, request: &Request, stream: &TcpStream) -> io::Result<()> {
    let path = request.path.split('?').next().unwrap_or_default();
    let api: &dyn Api = match (request.method.as_str(), path) {
        ("POST", "/v1/messages") => &Anthropic,
        ("POST", "/v1/responses") => &Responses,
        // Whether somebody is there, which models there are, a web socket: the agents do without.
        ("GET" | "HEAD", _) => {
            let status = if request.headers.contains_key("upgrade") { 426 } else { 404 };
            return send(stream, status, &[], "{}");
        }
        (method, path) => {
            model.surprise(format!("{method} {path}"));
            return send(stream, 404, &[], "{}");
        }
    };
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        model.surprise(format!("a body of {path} that is no JSON: {:?}", request.headers));
        return send(stream, 400, &[], &api.error("invalid_request_error").to_string());
    };
    let sse = [("content-type".to_owned(), "text/event-stream".to_owned())];
    if !api.offers_tools(&body) {
        return send(stream, 200, &sse, &api.reply(&body, "ok", None));
    }
    let header = |names: &[&str]| names.iter().find_map(|&name| request.headers.get(name)).cloned().unwrap_or_default();
    let (prompt, last) = api.said(&body);
    let credential = header(&["x-api-key", "authorization"]);
    match model.turn(&header(SESSION), Asked { session: 0, prompt, last, body: body.to_string(), credential }) {
        Some(Turn::Reply { text, tool }) => send(stream, 200, &sse, &api.reply(&body, &text, tool.as_ref())),
        Some(Turn::Trouble { status, kind, headers }) => send(stream, status, &headers, &api.error(kind).to_string()),
        None => send(stream, 400, &[], &api.error("invalid_request_error").to_string()),
    }
}

fn send(mut stream: &TcpStream, status: u16, headers: &[(String, String)], body: &str) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name == "content-type") {
        head.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}
