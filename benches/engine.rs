//! What the parts of the engine take: the pass over a file, the context, the cut, counting, and text surgery.
//!
//! Sessions are built in memory and always the same, so runs can be compared; whole runs of the program are measured
//! elsewhere.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a bench may fail loudly")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use epitome::engine::compaction;
use epitome::engine::cut::{CutSettings, cut};
use epitome::engine::serialize::{Form, WRAPPERS, select, serialize};
use epitome::engine::tokens::{Counter, Effort, Tokenizer};
use epitome::session::{Ix, Session, Source, problems};
use epitome::summarize::offline::Offline;
use epitome::summarize::{Purpose, Request, Summarizer as _};
use epitome::text;
use serde_json::json;

#[path = "../tests/common/sessions.rs"]
mod sessions;
use sessions as s;

/// A session of about `size` bytes: questions, answers with two calls each, and their results.
fn session(size: usize) -> Arc<[u8]> {
    let mut bytes = s::file(&[s::header()]);
    let mut last: Option<String> = None;
    for n in 0.. {
        if bytes.len() >= size {
            break;
        }
        let id = |kind: &str| format!("{kind}{n:07x}");
        let (ask, answer, one, two) = (id("a"), id("b"), id("c"), id("d"));
        let (call_one, call_two) = (format!("call-{n}-1"), format!("call-{n}-2"));
        let blocks = json!([
            s::th(&s::words_from(n, 600), "c2lnbmF0dXJl"),
            s::tx(&s::words_from(n + 1, 300)),
            s::call(&call_one, "read", json!({"path": format!("src/part{}.rs", n % 97)})),
            s::call(&call_two, "bash", json!({"command": "cargo test", "timeout": 120})),
        ]);
        let usage = json!({"usage": {"input": 1000, "output": 200, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1200}});
        bytes.extend(s::file(&[
            s::user(&ask, last.as_deref(), s::words_from(n * 10, 200)),
            s::assistant_with(&answer, ask.as_str(), blocks, usage),
            s::tool_result(&one, answer.as_str(), &call_one, "read", &s::words_from(n * 100, 1000 + n % 7 * 900)),
            s::tool_result(&two, one.as_str(), &call_two, "bash", &s::words_from(n * 50, 200 + n % 11 * 300)),
        ]));
        last = Some(two);
    }
    bytes.into()
}

fn open(bytes: &Arc<[u8]>) -> Session {
    Session::open(Source::memory(Arc::clone(bytes))).unwrap()
}

/// A megabyte of what tools print: words, paths, colours, an assignment now and then, tags and headings.
fn output() -> String {
    let mut out = String::new();
    for n in 0.. {
        if out.len() >= 1 << 20 {
            break;
        }
        out.push_str(&s::words_from(n, 160));
        match n % 8 {
            0 => out.push_str("\n\u{1b}[32mok\u{1b}[0m src/lib.rs:12:5"),
            1 => out.push_str("\n# A heading\n<div>"),
            2 => out.push_str("\nAPI_TOKEN=abcdefghijklmnop0123456789"),
            3 => out.push_str("\n</conversation>"),
            _ => {}
        }
        out.push('\n');
    }
    out
}

fn sessions_of_10_mb(c: &mut Criterion) {
    let bytes = session(10 << 20);
    let opened = open(&bytes);
    let path = opened.active_path();
    let mut group = c.benchmark_group("session_10mb");
    group.sample_size(20).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("open", |b| b.iter(|| open(black_box(&bytes))));
    group.bench_function("problems", |b| b.iter(|| problems::find(&opened, &path, None).unwrap()));
    group.bench_function("context", |b| b.iter(|| opened.context(black_box(&path.entries)).unwrap()));
    let settings = CutSettings { keep_recent: 20_000, keep_from: None };
    let counter = || Counter::new(&opened, Tokenizer::Heuristic, Effort::Glance);
    group.bench_function("cut", |b| b.iter_batched(counter, |mut c| cut(&mut c, &path.entries, settings).unwrap(), BatchSize::SmallInput));
    group.bench_function("plan", |b| {
        b.iter_batched(counter, |mut c| compaction::plan(&mut c, &path.entries, settings).unwrap(), BatchSize::SmallInput)
    });
    let messages: Vec<Ix> = path.entries.iter().copied().filter(|ix| opened[*ix].is_message()).collect();
    let selection = select(&opened, &path.entries, &messages).unwrap();
    let request = Request {
        session: &opened,
        selection: &selection,
        purpose: Purpose::History,
        previous: None,
        kept: &[],
        turn: &[],
        focus: None,
        prompt: None,
        context: &[],
        budget: 4_096,
        spare: 0,
        tokenizer: Tokenizer::Heuristic,
    };
    group.bench_function("summarize", |b| b.iter(|| Offline.summarize(black_box(&request)).unwrap().lines.len()));
    group.finish();
}

fn texts(c: &mut Criterion) {
    let bytes = session(1 << 20);
    let opened = open(&bytes);
    let messages: Vec<Ix> = opened.active_path().entries;
    let selection = select(&opened, &messages, &messages).unwrap();
    let output = output();
    let mut group = c.benchmark_group("text_1mb");
    group.sample_size(20).throughput(Throughput::Bytes(output.len() as u64));
    black_box(Tokenizer::O200k.count("load the vocabulary first"));
    group.bench_function("count_o200k", |b| b.iter(|| Tokenizer::O200k.count(black_box(&output))));
    group.bench_function("redact", |b| b.iter(|| text::Redactor::secrets().redact(black_box(&output)).text.len()));
    // What begins as a secret does and never ends: rules that look ahead from each of them would take for ever.
    let beginnings = ["http://a:", "TOKEN=", "authorization:", "sk-", "-----BEGIN PRIVATE KEY-----", "password=\\\"", "eyJaaaaaa."];
    let hostile: String = beginnings.iter().map(|unit| unit.repeat(100_000 / unit.len())).collect();
    group.bench_function("redact_beginnings", |b| b.iter(|| text::Redactor::secrets().redact(black_box(&hostile)).text.len()));
    group.bench_function("strip", |b| b.iter(|| text::strip(black_box(&output)).len()));
    group.bench_function("neutralize_tags", |b| b.iter(|| text::neutralize_tags(black_box(&output), WRAPPERS).len()));
    group.bench_function("elide_data_urls", |b| b.iter(|| text::elide_data_urls(black_box(&output)).len()));
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("serialize", |b| b.iter(|| serialize(&opened, black_box(&selection), Form::default()).unwrap().len()));
    group.finish();
}

criterion_group!(benches, sessions_of_10_mb, texts);
criterion_main!(benches);
