//! Every way in which a server or a program may fail, by every client and for compactions and handoffs: how often it is asked,
//! what is said of it, and that the session stays what it was.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use epitome::engine::tokens::Tokenizer;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::clients::{COMPACT, Client, GOOD, asked, compacted, go, holds, long, side_by_side};
use crate::run::{Out, Run};
use crate::server::{Answer, Server, json as ok, status};

const HANDOFF: &[&str] = &["compact", "s.jsonl", "--strategy", "handoff", "--json"];

/// Answers on the path of OpenAI's own compaction, and on any other; the last of each is given again and again.
fn serve(of_compact: Vec<Answer>, others: Vec<Answer>) -> Server {
    let counts = Mutex::new([0_usize; 2]);
    Server::with(move |_, got| {
        let at = usize::from(got.path.ends_with("/compact"));
        let answers = if at == 1 { &of_compact } else { &others };
        let mut counts = counts.lock().unwrap();
        counts[at] += 1;
        answers[(counts[at] - 1).min(answers.len() - 1)].clone()
    })
}

/// One way to answer.
struct Row {
    what: &'static str,
    /// Answers before a good one, or for ever: those that any path may give, or the client's own.
    answers: Answers,
    /// How often a request is made.
    tries: usize,
    /// What is said in the end; nothing where it works.
    said: Option<&'static str>,
}

enum Answers {
    /// Of the transport.
    Any(Vec<Answer>),
    /// The words of a model, and why they ended.
    Says(&'static str, &'static str),
    /// The beginning of a good answer, and then nothing, or an end.
    Begins { stalls: bool },
}

impl Row {
    fn server(&self, client: Client) -> Server {
        let none = ok(&json!({"output": [{"type": "message"}]}));
        let half = client.begins("## Goal\n- half");
        let (of_compact, others) = match &self.answers {
            Answers::Any(answers) if self.said.is_some() => (answers.clone(), answers.clone()),
            Answers::Any(answers) => {
                ([answers.as_slice(), &[compacted()]].concat(), [answers.as_slice(), &[client.says(GOOD, "stop")]].concat())
            }
            Answers::Says(text, reason) => (vec![none], vec![client.says(text, reason)]),
            Answers::Begins { stalls: true } => (vec![none], vec![Answer::Stall(half)]),
            Answers::Begins { stalls: false } => (vec![none], vec![Answer::Cut(half)]),
        };
        serve(of_compact, others)
    }

    /// Short limits only where they are what is looked at: a busy machine is slow.
    fn limits(&self) -> &'static [&'static str] {
        match &self.answers {
            Answers::Any(answers) if matches!(answers[0], Answer::Slow | Answer::Never) => &["--timeout", "800ms"],
            Answers::Begins { stalls: true } => &["--idle-timeout", "400ms"],
            _ => &[],
        }
    }
}

fn retry(value: &str) -> Answer {
    Answer::Whole(429, vec![format!("retry-after: {value}")], "application/json", "{}".to_owned())
}

fn rows() -> Vec<Row> {
    let any = |what, answers: &[Answer], tries, said| Row { what, answers: Answers::Any(answers.to_vec()), tries, said };
    let says = |what, text, reason, said| Row { what, answers: Answers::Says(text, reason), tries: 1, said: Some(said) };
    let busy = |code| status(code, "");
    vec![
        any("429 with Retry-After twice", &[retry("1"), retry("Wed, 21 Oct 2015 07:28:00 GMT")], 3, None),
        any("429 for ever", &[retry("1")], 4, Some("429")),
        any("a wait of an hour", &[retry("3600")], 1, Some("asks to wait 3600 s")),
        any("503, then good", &[busy(503)], 2, None),
        any("408, then good", &[busy(408)], 2, None),
        any("529, then good", &[busy(529)], 2, None),
        any("dropped, then good", &[Answer::Drop], 2, None),
        any("dropped for ever", &[Answer::Drop], 4, Some("dropped the connection, 4 times")),
        any("dropped in the middle", &[Answer::Half], 4, Some("dropped the connection, 4 times")),
        any("slow body", &[Answer::Slow], 1, Some("did not finish its answer within 0.8 s")),
        any("never answers", &[Answer::Never], 1, Some("did not finish its answer within 0.8 s")),
        any("400 with 503 in the text", &[status(400, r#"{"error":{"message":"request 503-429 is bad"}}"#)], 1, Some("503-429 is bad")),
        any("404", &[status(404, "not here")], 1, Some("404")),
        any("401", &[status(401, "{}")], 1, Some("401")),
        any("302", &[Answer::Whole(302, vec!["location: /else".to_owned()], "text/html", String::new())], 1, Some("302")),
        any("HTML", &[Answer::Whole(200, Vec::new(), "text/html", "<html>hello</html>".to_owned())], 1, Some("no JSON")),
        any("wrong schema", &[ok(&json!({"text": "hello"}))], 1, Some("cannot be used")),
        any("an error with status 200", &[ok(&json!({"error": {"message": "overloaded"}}))], 1, Some("overloaded")),
        says("empty", "", "stop", "it is empty"),
        says("blank", "\n\n", "stop", "it is empty"),
        says("length", GOOD, "length", "cut off"),
        says("tool call", "", "tool", "calls a tool"),
        says("tool call in words", "<invoke name=\"bash\">", "stop", "calls a tool"),
        says("thinking only", "<think>hm</think>", "stop", "only tags or thinking"),
        says("tags only", "<summary>\n</summary>", "stop", "only tags or thinking"),
        says("a page in words", "<!DOCTYPE html><p>hello</p>", "stop", "a page of HTML"),
        Row { what: "a stream that ends early", answers: Answers::Begins { stalls: false }, tries: 1, said: Some("cannot be used") },
        Row {
            what: "a stream without end",
            answers: Answers::Begins { stalls: true },
            tries: 1,
            said: Some("stopped in the middle of its answer for 0.4 s"),
        },
    ]
}

fn sha(run: &Run) -> String {
    Sha256::digest(run.bytes("s.jsonl")).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tokens that were said to be sent, request by request.
fn sizes(out: &Out) -> Vec<u64> {
    let lines = out.stderr();
    let sent = lines.lines().filter_map(|line| line.split("sending ").nth(1));
    sent.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
}

/// That a run failed, said so, and left everything as it was.
fn failed(run: &Run, out: &Out, before: &str, said: &str, what: &str) {
    assert_eq!(out.code, 1, "{what}: {out}");
    let error = out.json()["error"].clone();
    assert_eq!(error["code"], "summarizer", "{what}");
    assert!(error["message"].as_str().unwrap().contains(said), "{what}: {error}");
    assert_eq!(sha(run), before, "{what}: the session changed");
    assert_eq!(run.names(), ["s.jsonl"], "{what}");
}

/// The entry that a run wrote: the new one of the session, or the first of the session that goes on.
fn written(run: &Run, out: &Out) -> Value {
    match out.json()["new_session"]["path"].as_str() {
        Some(path) => run.last(std::path::Path::new(path).file_name().unwrap().to_str().unwrap()),
        None => run.last("s.jsonl"),
    }
}

fn row(row: &Row, client: Client, args: &[&str], falls_back: bool) {
    let is_handoff = args == HANDOFF;
    let what = format!("{client:?}, {}, {args:?}, {falls_back}", row.what);
    let server = row.server(client);
    let run = Run::of(long());
    let before = sha(&run);
    let more: &[&str] = if falls_back { &["--fallback", "offline"] } else { &[] };
    let out = go(
        &run,
        &[args, more, row.limits(), &["--max-input-tokens", "30k"]].concat(),
        &client.args(&server),
        &[("EPITOME_API_KEY", "k-1")],
    );
    let got = server.got();
    got.iter().for_each(holds);
    // Sizes are said before, and each is below what was allowed.
    assert_eq!(sizes(&out).len(), got.len(), "{what}: {out}");
    assert!(sizes(&out).iter().all(|size| *size <= 30_000 && *size > 20), "{what}: {out}");
    let asks_compact = client == Client::OpenaiCompact && !is_handoff;
    let Some(said) = row.said else {
        // What is good is followed by the short summary where that is asked for.
        let requests = row.tries + usize::from(!is_handoff && !asks_compact);
        assert_eq!((out.code, got.len()), (0, requests), "{what}: {out}");
        assert_eq!(out.json()["requests"], requests, "{what}");
        let entry = written(&run, &out);
        assert_eq!(entry.to_string().contains("MODEL-WORDS"), !asks_compact, "{what}: {entry}");
        assert_eq!(entry["details"]["summarizer"], client.args(&server)[1], "{what}");
        assert_eq!(sha(&run) == before, is_handoff, "{what}");
        return;
    };
    assert_eq!(got.len(), row.tries * if asks_compact { 2 } else { 1 }, "{what}: {out}");
    if !falls_back {
        return failed(&run, &out, &before, said, &what);
    }
    assert_eq!(out.code, 0, "{what}: {out}");
    let details = written(&run, &out)["details"].clone();
    assert_eq!((&details["summarizer"], &details["fallback"]["to"]), (&json!("offline"), &json!("offline")), "{what}");
    assert!(details["fallback"]["reason"].as_str().unwrap().contains(said), "{what}: {details}");
    assert!(out.json()["warnings"].to_string().contains("so offline made the words"), "{what}");
}

#[test]
fn c29_c32_c33_c34_c35_every_answer_by_every_client() {
    let rows = rows();
    let mut jobs = Vec::new();
    for at in 0..rows.len() {
        jobs.extend(Client::EVERY.map(|client| (at, client, COMPACT, false)));
        // The clients differ in how a conversation is sent as what it is; the rest is the same code.
        jobs.extend([Client::Openai, Client::Anthropic].map(|client| (at, client, HANDOFF, false)));
        jobs.push((at, Client::Openai, COMPACT, true));
        jobs.push((at, Client::Anthropic, HANDOFF, true));
        if at % 9 == 0 {
            jobs.extend([Client::Endpoint, Client::OpenaiCompact].map(|client| (at, client, HANDOFF, false)));
            jobs.extend([Client::Endpoint, Client::OpenaiCompact, Client::Anthropic].map(|client| (at, client, COMPACT, true)));
        }
    }
    side_by_side(jobs, |(at, client, args, falls_back)| row(&rows[at], client, args, falls_back));
}

/// A program has no status, no header and no end of a stream, so of the rows above these are its own: it is run once, whatever
/// its words on standard error say, because nothing tells a passing failure from a lasting one. `length` has no meaning, since
/// a program cannot say that its words were cut.
#[test]
fn every_failure_of_a_program() {
    let good = "cat > asked; echo '## Goal'; echo '- MODEL-WORDS'";
    let rows: &[(&str, &str, Option<&str>)] = &[
        ("good", good, None),
        ("exits 1", "exit 1", Some("it ended with exit code 1")),
        ("503 on standard error", "echo 'HTTP 503, retry-after: 1' >&2; exit 75", Some("it ended with exit code 75")),
        ("context length on standard error", "echo 'context_length_exceeded' >&2; exit 1", Some("it ended with exit code 1")),
        ("not there", "no-such-program", Some("it ended with exit code 127")),
        ("hangs", "sleep 30", Some("it took longer than 0.8 s")),
        ("slow output", "while true; do echo slow; sleep 0.1; done", Some("it took longer than 0.8 s")),
        ("killed", "kill -9 $$", Some("signal 9 ended it")),
        ("killed behind its words", "echo '## Goal'; kill -15 $$", Some("signal 15 ended it")),
        ("prints nothing", "true", Some("it is empty")),
        ("prints blanks", "echo; echo", Some("it is empty")),
        ("prints bytes", "printf '\\377\\376\\001'", Some("no text in UTF-8")),
        ("prints a page", "echo '<html>hello</html>'", Some("a page of HTML")),
        ("prints for ever", "yes", Some("it printed more than")),
        ("thinking only", "echo '<think>hm</think>'", Some("only tags or thinking")),
        ("tool call", "echo '<tool_call>{}</tool_call>'", Some("calls a tool")),
    ];
    let mut jobs = Vec::new();
    for row in rows {
        jobs.extend([(row, COMPACT, false), (row, COMPACT, true), (row, HANDOFF, false)]);
    }
    side_by_side(jobs, |((what, command, said), args, falls_back)| {
        let what = format!("{what}, {args:?}, {falls_back}");
        let run = Run::of(long());
        let before = sha(&run);
        let time = if said.is_some_and(|said| said.contains("longer")) { "800ms" } else { "60s" };
        let client = ["--summarizer", "command", "--summarizer-command", command, "--timeout", time].map(str::to_owned);
        let more: &[&str] = if falls_back { &["--fallback", "offline"] } else { &[] };
        let out = go(&run, &[args, more].concat(), &client, &[]);
        let is_handoff = args == HANDOFF;
        match said {
            None => {
                assert_eq!(out.json()["requests"], if is_handoff { 1 } else { 2 }, "{what}: {out}");
                let entry = written(&run, &out);
                assert!(entry.to_string().contains("MODEL-WORDS"), "{what}: {entry}");
                assert_eq!(entry["details"]["summarizer"], "command");
                if is_handoff {
                    assert_eq!(run.text("asked").matches("</conversation>").count(), 1);
                }
            }
            Some(said) if falls_back => {
                let details = written(&run, &out)["details"].clone();
                assert_eq!((&details["summarizer"], &details["fallback"]["to"]), (&json!("offline"), &json!("offline")), "{what}: {out}");
                assert!(details["fallback"]["reason"].as_str().unwrap().contains(said), "{what}: {details}");
                assert_eq!(out.json()["requests"], 1, "{what}");
            }
            Some(said) => {
                failed(&run, &out, &before, said, &what);
                assert_eq!(sizes(&out).len(), 1, "{what}: {out}");
            }
        }
    });
}

#[test]
fn c31_a_context_that_is_too_long_is_halved_until_nothing_is_left() {
    let too_long = status(400, r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 10 tokens"}}"#);
    let jobs = Client::EVERY.map(|client| (client, COMPACT)).into_iter().chain(Client::EVERY.map(|client| (client, HANDOFF))).collect();
    side_by_side(jobs, |(client, args)| {
        let what = format!("{client:?}, {args:?}");
        let server = serve(vec![too_long.clone()], vec![too_long.clone()]);
        let run = Run::of(long());
        let before = sha(&run);
        let out = go(&run, args, &client.args(&server), &[("EPITOME_API_KEY", "k-1")]);
        failed(&run, &out, &before, "maximum context length", &what);
        let got = server.got();
        got.iter().for_each(holds);
        // One try of the conversation as it is where there is one, then text, which halves each time.
        let whole = match (client, args == HANDOFF) {
            (Client::Endpoint, _) | (Client::Openai | Client::Anthropic, false) => 0,
            _ => 1,
        };
        let texts = &got[whole..];
        assert!((4..=8).contains(&texts.len()), "{what}: {} requests", got.len());
        let count = |text: &str| Tokenizer::default().count(text);
        let told = |at: usize| count(asked(&texts[at]).1.split("</conversation>").next().unwrap());
        for at in 1..texts.len() {
            assert!(told(at) * 10 <= told(at - 1) * 6, "{what}: {} after {}", told(at), told(at - 1));
        }
    });
}

#[test]
fn c35_an_answer_without_the_headings_is_warned_of() {
    for (words, warned) in
        [(GOOD, false), ("I went on and changed the parser, and all tests pass.", true), ("<summary>\n## Goal\n- open", false)]
    {
        for args in [COMPACT, HANDOFF] {
            let server = Server::new(vec![Client::Openai.says(words, "stop")]);
            let run = Run::of(long());
            let out = go(&run, args, &Client::Openai.args(&server), &[]).ok();
            let warnings = out.json()["warnings"].to_string();
            assert_eq!(warnings.matches("none of the headings").count(), usize::from(warned), "{args:?}, {words}: {warnings}");
            assert!(!written(&run, &out).to_string().contains("<summary>"));
        }
    }
    // Whoever gives a prompt of his own asks for other headings.
    let server = Server::new(vec![Client::Openai.says("- all is well", "stop")]);
    let hook = ["--hook", r#"session.compacting=echo '{"prompt":"Say how it is."}'"#];
    let out = go(&Run::of(long()), &[COMPACT, &hook].concat(), &Client::Openai.args(&server), &[]).ok();
    assert!(!out.json()["warnings"].to_string().contains("headings"), "{out}");
}

/// When each request came.
fn timed(answers: Vec<Answer>) -> (Server, std::sync::Arc<Mutex<Vec<Instant>>>) {
    let times = std::sync::Arc::new(Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&times);
    let server = Server::with(move |at, _| {
        kept.lock().unwrap().push(Instant::now());
        answers[at.min(answers.len() - 1)].clone()
    });
    (server, times)
}

#[test]
fn c32_a_server_is_given_the_time_that_it_asks_for() {
    let in_eight = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(8)))
        .unwrap();
    // A tenth of each wait: 6 s, the rest of 8 s by date, 1 s and then 2 s where nothing is asked for.
    let rows: [(Vec<Answer>, Vec<u64>); 4] = [
        (vec![retry("6")], vec![600]),
        (vec![retry(&in_eight)], vec![300]),
        (vec![status(429, ""), status(503, "")], vec![100, 200]),
        (vec![retry("soon")], vec![100]),
    ];
    side_by_side(rows.into_iter().collect(), |(mut answers, waits)| {
        answers.push(Client::Openai.says(GOOD, "stop"));
        let (server, times) = timed(answers);
        let env = [("EPITOME_TEST_WAIT_THOUSANDTHS", "100")];
        go(&Run::of(long()), COMPACT, &Client::Openai.args(&server), &env).ok();
        let times = times.lock().unwrap();
        for (at, wait) in waits.iter().enumerate() {
            let waited = times[at + 1] - times[at];
            assert!(waited >= Duration::from_millis(*wait - 10), "{waited:?} where {wait} ms were due");
        }
    });
}

#[test]
fn a_signal_ends_what_a_model_is_at() {
    use rustix::process::{Pid, Signal, kill_process};
    let begun =
        |run: &Run, server: &Option<Server>| server.as_ref().map_or_else(|| run.path("begun").exists(), |server| !server.got().is_empty());
    // Waiting for an answer, in the middle of one, before the next try, and for a program.
    let cases = ["answer", "stream", "pause", "program", "handoff"];
    let jobs = cases.into_iter().flat_map(|case| [(case, Signal::INT, 130), (case, Signal::TERM, 143)]).collect();
    side_by_side(jobs, |(case, signal, code)| {
        let server = match case {
            "answer" | "handoff" => Some(Server::new(vec![Answer::Never])),
            "stream" => Some(Server::new(vec![Answer::Stall(Client::Openai.begins("## Goal"))])),
            "pause" => Some(Server::new(vec![retry("200")])),
            _ => None,
        };
        let run = Run::of(long());
        let mut command = run.command(if case == "handoff" { HANDOFF } else { COMPACT });
        match &server {
            Some(server) => command.args(Client::Openai.args(server)),
            None => command.args(["--summarizer", "command", "--summarizer-command", "touch begun; sleep 2; touch late; sleep 60"]),
        };
        let child = command.spawn().unwrap();
        let since = Instant::now();
        while !begun(&run, &server) && since.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100));
        let since = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let out = run.end(child);
        assert_eq!(out.code, code, "{case}: {out}");
        assert!(since.elapsed() < Duration::from_secs(20), "{case}");
        assert!(run.bytes("s.jsonl") == long(), "{case}");
        if case == "program" {
            std::thread::sleep(Duration::from_millis(2_200));
            assert_eq!(run.names(), ["begun", "s.jsonl"]);
        } else {
            assert_eq!(run.names(), ["s.jsonl"], "{case}");
        }
    });
}
