//! What counts how much.

use serde_json::{Value, json};

use crate::run::Run;
use crate::sessions as s;
use crate::{LITTLE, compacted};

/// Tokens of an entry in the context.
fn tokens(report: &Value, id: &str) -> u64 {
    let item = report["context"].as_array().unwrap().iter().find(|item| item["id"] == id);
    item.unwrap_or_else(|| panic!("{id} is not in the context: {report}"))["tokens"].as_u64().unwrap()
}

fn context(run: &Run, name: &str) -> Value {
    run.json(&["inspect", name, "--show", "overview,context", "--exact"])
}

#[test]
fn c16_usage_from_before_a_compaction_is_stale() {
    let name = "C16-stale-usage.jsonl";
    let run = Run::with(&["cases/C16-stale-usage.jsonl"]);
    let found = context(&run, name);
    assert!(found["tokens"]["context"].as_u64().unwrap() < 2_000, "{found}");
    assert!(found["tokens"]["reported"].is_null());
    assert_eq!(run.json(&["compact", "-n", name, "--trigger", "auto"])["reason"], "no_trigger");
}

#[test]
fn c19_an_image_costs_the_same_whatever_its_bytes() {
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, json!([s::tx("look"), s::image(4_000)])),
        s::user("u2", "u1", json!([s::tx("look"), s::image(2_000_000)])),
        s::assistant("a1", "u2", json!([s::call("c1", "read", json!({"path": "a.png"})), s::call("c2", "read", json!({"path": "b.png"}))])),
        s::tool_result_with("t1", "a1", "c1", "read", json!([s::tx("look"), s::image(4_000)]), json!({})),
        s::tool_result_with("t2", "t1", "c2", "read", json!([s::tx("look"), s::image(2_000_000)]), json!({})),
    ];
    let run = Run::of(s::file(&lines));
    let found = context(&run, "s.jsonl");
    let counts = ["u1", "u2", "t1", "t2"].map(|id| tokens(&found, id));
    assert_eq!(counts, [1_201; 4]);
}

#[test]
fn c20_base64_weighs_more_than_prose() {
    let run = Run::with(&["cases/C20-base64.jsonl", "cases/C20-prose.jsonl"]);
    let count = |name: &str| context(&run, name)["tokens"]["counted"].as_u64().unwrap();
    let (base64, prose) = (count("C20-base64.jsonl"), count("C20-prose.jsonl"));
    assert!(base64 > 24_000 && base64 > prose, "40,000 characters of base64 count {base64}, of words {prose}");
    // Ordinary prose of that length.
    let text = "The harbour office books a berth for every vessel that arrives before the tide turns. ".repeat(500);
    let real = Run::of(s::file(&[s::header(), s::user("u1", s::ROOT, &text[..40_000])]));
    assert!(base64 >= 3 * context(&real, "s.jsonl")["tokens"]["counted"].as_u64().unwrap());
}

#[test]
fn c21_hangul() {
    let run = Run::with(&["cases/C21-hangul.jsonl", "cases/C21-hangul-turns.jsonl"]);
    let found = context(&run, "C21-hangul.jsonl");
    let count = tokens(&found, "u1");
    assert!((600..=1_000).contains(&count), "1,000 syllables count {count}");
    let cut = run.json(&["inspect", "C21-hangul-turns.jsonl", "--show", "cut", "--keep-recent-tokens", "500"]);
    let kept = cut["cut"]["keep"]["tokens"].as_u64().unwrap();
    assert!((250..=500).contains(&kept), "{cut}");
}

#[test]
fn c22_no_role_is_free() {
    let name = "C22-all-roles.jsonl";
    let run = Run::with(&["cases/C22-all-roles.jsonl"]);
    let found = context(&run, name);
    let roles: Vec<&str> = found["context"].as_array().unwrap().iter().map(|item| item["role"].as_str().unwrap()).collect();
    for role in ["custom", "bashExecution", "branchSummary", "developer"] {
        let item = found["context"].as_array().unwrap().iter().find(|item| item["role"] == role);
        let item = item.unwrap_or_else(|| panic!("{role} is not in {roles:?}"));
        assert!(item["tokens"].as_u64() > Some(500), "{item}");
    }
    // What a person ran for themselves is nobody else's business.
    let (_, entry) = compacted(&run, name, LITTLE);
    assert!(!entry.to_string().contains("PRIVATE-OUT"), "{entry}");
    let seen = run.go(&["inspect", name, "--show", "context,summary"]).ok();
    assert!(!seen.stdout().contains("PRIVATE-OUT"));
}
