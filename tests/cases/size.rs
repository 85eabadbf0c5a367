//! Size repair: what each measure takes out, what it leaves, and what it tells.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::answer;
use crate::prune::{ALL, Talk, prune};
use crate::run::{Run, codes, ids};
use crate::sessions as s;

const CHARS: &[&str] = &["--tokenizer", "heuristic"];

/// The row of a measure.
fn row<'r>(receipt: &'r Value, measure: &str) -> &'r Value {
    let rows = receipt["prune"]["size"].as_array().unwrap_or_else(|| panic!("{receipt}"));
    rows.iter().find(|row| row["measure"] == measure).unwrap_or_else(|| panic!("{receipt}"))
}

/// What stands in the file by id; references to archives are left out.
fn entries(run: &Run) -> BTreeMap<String, Value> {
    let lines = run.lines("s.jsonl").into_iter().filter(|line| line["customType"] != "epitome.archive");
    lines.filter_map(|line| Some((line["id"].as_str()?.to_owned(), line))).collect()
}

fn context(run: &Run) -> Value {
    run.json(&["inspect", "s.jsonl", "--show", "context", "--tokenizer", "heuristic"])["context"].clone()
}

fn check(run: &Run) -> Vec<String> {
    codes(&run.json(&["inspect", "--check", "s.jsonl"])).into_iter().map(str::to_owned).collect()
}

/// Runs measures and checks what holds of all of them: a dry run tells the same and writes nothing, the receipt's numbers are
/// those of the file, entries whose bytes changed are counted, no new problem, the file's last entry stays, and another run
/// has nothing to do.
fn repaired(run: &Run, args: &[&str]) -> Value {
    let all = [args, CHARS].concat();
    let (before, names, problems, old) = (run.bytes("s.jsonl"), run.names(), check(run), entries(run));
    let leaf = run.json(&["inspect", "s.jsonl"])["leaf"].clone();
    let dry = prune(run, &[&all, &["-n"]]);
    assert!(run.bytes("s.jsonl") == before && run.names() == names, "a dry run wrote");
    let receipt = prune(run, &[&all]);
    assert_eq!((&receipt["action"], &receipt["prune"]["would_prune"]), (&json!("pruned"), &json!(true)), "{receipt}");
    assert_eq!((&dry["prune"]["size"], &dry["dropped"]), (&receipt["prune"]["size"], &receipt["dropped"]));
    for row in receipt["prune"]["size"].as_array().unwrap() {
        let changes = row["changes"].as_array().unwrap();
        let sum = |key: &str| changes.iter().map(|change| change[key].as_i64().unwrap()).sum::<i64>();
        assert_eq!(
            (changes.len() as u64, sum("bytes"), sum("tokens")),
            (row["entries"].as_u64().unwrap(), row["bytes"].as_i64().unwrap(), row["tokens"].as_i64().unwrap()),
            "{row}"
        );
    }
    let after = run.bytes("s.jsonl");
    assert_eq!((&receipt["bytes_before"], &receipt["bytes_after"]), (&json!(before.len()), &json!(after.len())));
    if after.len() < before.len() {
        assert_eq!(receipt["prune"]["saved_bytes"], before.len() - after.len());
    }
    let reference: usize =
        String::from_utf8_lossy(&after).lines().filter(|line| line.contains("epitome.archive")).map(|line| line.len() + 1).sum();
    let parents = |all: &BTreeMap<String, Value>| all.values().map(|e| e["parentId"].to_string().len()).sum::<usize>() as i64;
    let new = entries(run);
    let new_parents: i64 = parents(&new)
        - old.iter().filter(|(id, _)| new.contains_key(*id)).map(|(_, e)| e["parentId"].to_string().len() as i64).sum::<i64>();
    let rows = receipt["prune"]["size"].as_array().unwrap();
    if receipt["pruned_results"] == 0 {
        let freed: i64 = rows.iter().map(|row| row["bytes"].as_i64().unwrap()).sum();
        assert_eq!(freed, before.len() as i64 - after.len() as i64 + reference as i64 + new_parents, "{reference} {new_parents} {receipt}");
        let without_parent = |entry: Option<&Value>| {
            entry.cloned().map(|mut entry| {
                entry.as_object_mut().unwrap().remove("parentId");
                entry
            })
        };
        let changed = old.iter().filter(|(id, entry)| without_parent(new.get(*id)) != without_parent(Some(entry)));
        let counted: u64 = rows.iter().map(|row| row["entries"].as_u64().unwrap()).sum();
        assert!(changed.count() as u64 <= counted, "{receipt}");
    }
    let dropped = receipt["dropped"].as_array().unwrap();
    let missing: Vec<&str> = old.keys().filter(|id| !new.contains_key(*id)).map(String::as_str).collect();
    let mut told: Vec<&str> = dropped.iter().map(|gone| gone["id"].as_str().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, missing, "{receipt}");
    let count = |list: &[String], code: &String| list.iter().filter(|c| *c == code).count();
    let now = check(run);
    assert!(now.iter().all(|code| count(&now, code) <= count(&problems, code)), "{now:?} after {problems:?}");
    assert_eq!(run.json(&["inspect", "s.jsonl"])["leaf"], leaf);
    let again = prune(run, &[&all]);
    assert_eq!((&again["action"], &again["reason"]), (&json!("nothing"), &json!("nothing_to_prune")), "{again}");
    assert!(run.bytes("s.jsonl") == after);
    receipt
}

/// A talk whose only call has this result.
fn with_result(content: Value, extra: Value) -> Run {
    let mut talk = Talk::new();
    talk.put("a1", |parent| s::assistant("a1", parent, json!([s::th("hm", "signed"), s::call("c1", "shot", json!({}))])));
    talk.put("t1", |parent| s::tool_result_with("t1", parent, "c1", "shot", content, extra));
    talk.run()
}

#[test]
fn p08_details_go_and_no_token_of_the_context() {
    let run = with_result(json!([s::tx("0123456789")]), json!({"details": {"log": s::words(400_000), "exit": 0}, "n": 1.0}));
    // No ordinary run touches them, and inspect names them.
    assert_eq!(prune(&run, &[ALL])["action"], "nothing");
    let sizes = run.json(&["inspect", "s.jsonl", "--show", "sizes"]);
    assert_eq!(sizes["sizes"]["largest"][0]["id"], "t1");
    let seen = context(&run);
    let receipt = repaired(&run, &["--details"]);
    assert_eq!((&row(&receipt, "details")["entries"], &row(&receipt, "details")["tokens"]), (&json!(1), &json!(0)));
    assert!(row(&receipt, "details")["bytes"].as_u64() > Some(400_000));
    let line = run.text("s.jsonl").lines().find(|line| line.contains("\"t1\"")).unwrap().to_owned();
    assert!(line.len() < 2_000 && line.contains("\"n\":1.0") && !line.contains("details"), "{line}");
    assert_eq!(context(&run), seen);
    // Few bytes stay: agents show an exit code.
    let run = with_result(json!([s::tx("short")]), json!({"details": {"exitCode": 1}}));
    assert_eq!(prune(&run, &[&["--details"]])["reason"], "nothing_to_prune");
}

/// A result that a person wants to keep keeps all of itself, whatever would make it smaller.
#[test]
fn what_is_protected_is_changed_by_no_measure() {
    let image = s::image(4_000);
    for (flag, value) in [("--details", None), ("--images", Some("drop")), ("--max-result", Some("1k"))] {
        let run = with_result(json!([s::tx(&s::words(100_000)), image]), json!({"details": {"log": s::words(40_000)}}));
        let measure: Vec<&str> = [flag].into_iter().chain(value).collect();
        let kept = [measure.as_slice(), &["--protect", "tool:shot"], CHARS].concat();
        assert_eq!(prune(&run, &[&kept])["reason"], "nothing_to_prune", "{flag}");
        assert_eq!(row(&prune(&run, &[&measure, CHARS]), flag.trim_start_matches('-'))["entries"], 1, "{flag}");
    }
}

/// Twelve images: two that providers refuse, in results and requests, on the path and off it.
fn pictures() -> Run {
    let mut talk = Talk::new();
    for n in 1..=10_u32 {
        let png = s::png_of_len(8, 8 * n, 4_000);
        let id = format!("i{n}");
        talk.put(&id, |parent| s::user(&id, parent, json!([s::tx(&format!("picture {n}")), s::image_block(&png, "image/png")])));
    }
    talk.put("a1", |parent| s::assistant("a1", parent, json!([s::call("c1", "shot", json!({}))])));
    let wide = s::image_block(&s::png(2_162, 322), "image/png");
    let long = s::image_block(&s::png(9_000, 10), "image/jpeg");
    talk.put("t1", |parent| s::tool_result_with("t1", parent, "c1", "shot", json!([s::tx("two"), wide, long]), json!({})));
    talk.run()
}

#[test]
fn p15_images_give_way_to_notes_that_tell_what_they_were() {
    let run = pictures();
    let named = run.json(&["inspect", "--check", "s.jsonl"]);
    let bad: Vec<&str> =
        named["problems"].as_array().unwrap().iter().filter(|p| p["code"] == "bad-image").map(|p| p["id"].as_str().unwrap()).collect();
    assert_eq!(bad, ["t1", "t1"], "{named}");
    let before = entries(&run);
    let tokens = |run: &Run| context(run).as_array().unwrap().iter().map(|m| m["tokens"].as_i64().unwrap()).sum::<i64>();
    let counted = tokens(&run);
    let bytes = run.bytes("s.jsonl");
    let receipt = prune(&run, &[&["--images", "drop"], CHARS]);
    assert_eq!((&receipt["action"], &row(&receipt, "images")["entries"]), (&json!("pruned"), &json!(11)), "{receipt}");
    assert_eq!(row(&receipt, "images")["tokens"], counted - tokens(&run));
    assert_eq!(receipt["prune"]["saved_tokens"], counted - tokens(&run));
    assert_eq!(check(&run), [""; 0]);
    let text = run.text("s.jsonl");
    assert!(!text.contains("\"image\"") && text.contains("picture 10"));
    let notes = entries(&run)["t1"]["message"]["content"].clone();
    assert_eq!(notes[0], s::tx("two"));
    let hash = |n: usize| {
        let data = before["t1"]["message"]["content"][n]["data"].as_str().unwrap().to_owned();
        HEXLOWER.encode(&Sha256::digest(data_encoding::BASE64.decode(data.as_bytes()).unwrap()))[..12].to_owned()
    };
    let len = s::png(9_000, 10).len();
    assert_eq!(notes[2], s::tx(&format!("[Image dropped: image/png, 9000 x 10 pixels, {len} bytes, sha256 {}]", hash(2))));
    assert!(notes[1]["text"].as_str().unwrap().contains("2162 x 322"));
    assert_eq!(prune(&run, &[&["--images", "drop"]])["reason"], "nothing_to_prune");
    // The file as it was comes back.
    prune(&run, &[&["--restore", "1"]]);
    let restored = run.text("s.jsonl");
    let lines: Vec<&str> = restored.lines().filter(|line| !line.contains("epitome.archive")).collect();
    assert_eq!(lines[..lines.len() - 1], String::from_utf8(bytes).unwrap().lines().collect::<Vec<_>>()[..lines.len() - 1]);
}

#[test]
fn p15_the_newest_images_of_the_path_are_kept() {
    let with_image = |run: &Run| {
        let images = |e: &Value| e["message"]["content"].as_array().into_iter().flatten().filter(|b| b["type"] == "image").count();
        entries(run).into_iter().filter(|(_, e)| images(e) > 0).map(|(id, e)| (id, images(&e))).collect::<Vec<_>>()
    };
    for (keep, want) in [("0", vec![]), ("1", vec![("t1", 1)]), ("2", vec![("t1", 2)]), ("4", vec![("i10", 1), ("i9", 1), ("t1", 2)])] {
        let run = pictures();
        prune(&run, &[&["--images", &format!("keep-last={keep}")], CHARS]);
        let want: Vec<(String, usize)> = want.into_iter().map(|(id, n)| (id.to_owned(), n)).collect();
        assert_eq!(with_image(&run), want, "{keep}");
    }
    // Of the last entry that keeps any, the last ones stay.
    let run = pictures();
    prune(&run, &[&["--images", "keep-last=1"], CHARS]);
    assert_eq!(entries(&run)["t1"]["message"]["content"][2]["type"], "image");
    let run = pictures();
    assert_eq!(prune(&run, &[&["--images", "keep-last=12"]])["reason"], "nothing_to_prune");
}

#[test]
fn p15_images_are_moved_to_files_that_are_named_by_their_content() {
    let run = pictures();
    let before = entries(&run);
    let dry = prune(&run, &[&["--images", "extract=pictures", "-n"]]);
    assert!(!run.path("pictures").exists() && dry["prune"]["would_prune"] == true);
    repaired(&run, &["--images", "extract=pictures"]);
    let names: Vec<String> = fs::read_dir(run.path("pictures")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    for name in &names {
        let bytes = run.bytes(&format!("pictures/{name}"));
        assert_eq!(*name, format!("{}.png", HEXLOWER.encode(&Sha256::digest(&bytes))));
        assert_eq!(fs::metadata(run.path("pictures").join(name)).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(run.text("s.jsonl").contains(&format!("[Image moved to pictures/{name}: image/png, ")));
    }
    assert!(names.contains(&format!("{}.png", HEXLOWER.encode(&Sha256::digest(s::png(9_000, 10))))));
    assert_eq!(before["i3"]["message"]["content"][0], entries(&run)["i3"]["message"]["content"][0]);
    // A file of that name with other bytes, or none at all, stops the run; the session is what it was.
    for spoil in ["other bytes", "link"] {
        let run = pictures();
        let bytes = run.bytes("s.jsonl");
        fs::create_dir(run.path("pictures")).unwrap();
        let place = run.path("pictures").join(&names[0]);
        if spoil == "link" {
            std::os::unix::fs::symlink("/tmp/nowhere-at-all", &place).unwrap()
        } else {
            fs::write(&place, spoil).unwrap()
        }
        let failed = run.go(&["prune", "s.jsonl", "--images", "extract=pictures"]);
        assert_eq!(failed.code, 1, "{failed}");
        assert!(failed.stderr().contains(&names[0]) && failed.stderr().contains("hint: name another folder"), "{failed}");
        assert!(run.bytes("s.jsonl") == bytes);
        assert_eq!(fs::read(&place).ok(), (spoil != "link").then(|| spoil.as_bytes().to_vec()));
    }
    for bad in ["all", "extract=", "keep-last=", "keep-last=-1", "extract"] {
        assert_eq!(run.go(&["prune", "s.jsonl", "--images", bad]).code, 2, "{bad}");
    }
}

#[test]
fn r28_blobs_are_references_and_are_moved_only_when_they_are_there() {
    let png = s::png(30, 20);
    let hash = HEXLOWER.encode(&Sha256::digest(&png));
    let blob = |hash: &str| json!({"type": "image", "mimeType": "image/png", "data": format!("blob:sha256:{hash}")});
    let session = || with_result(json!([s::tx("see"), blob(&hash), blob(&"0".repeat(64)), blob("../../etc/passwd")]), json!({}));
    let run = session();
    prune(&run, &[&["--images", "drop"]]);
    let notes = entries(&run)["t1"]["message"]["content"].clone();
    assert_eq!(notes[1], s::tx(&format!("[Image dropped: image/png, blob {hash}]")));
    assert!(notes[3]["text"].as_str().unwrap().contains("not of the form"), "{notes}");
    let run = session();
    run.put(&format!("blobs/{hash}"), &png);
    let receipt = prune(&run, &[&["--images", "extract=out", "--blob-dir", "blobs"]]);
    assert_eq!(run.bytes(&format!("out/{hash}.png")), png);
    assert_eq!(run.bytes(&format!("blobs/{hash}")), png, "blobs are never removed");
    let blocks = entries(&run)["t1"]["message"]["content"].clone();
    assert_eq!((&blocks[1]["type"], &blocks[2]["type"], &blocks[3]["type"]), (&json!("text"), &json!("image"), &json!("image")));
    assert_eq!(receipt["warnings"].as_array().unwrap().len(), 2, "{receipt}");
}

#[test]
fn p21_data_that_cannot_be_decoded_is_named_and_dropped() {
    let image = |data: &str, mime: &str| json!({"type": "image", "mimeType": mime, "data": data});
    let jpeg = s::image_block(b"\xff\xd8\xff\xe0 a jpeg", "image/png");
    let session = || with_result(json!([s::tx("x"), image("abcde", "image/png"), jpeg, image("", "image/png")]), json!({}));
    let run = session();
    assert_eq!(check(&run), ["bad-image"; 3]);
    prune(&run, &[&["--images", "drop"]]);
    assert_eq!(check(&run), [""; 0]);
    // Moving it to a file would need its bytes: it stays, and that is said.
    let run = session();
    let receipt = prune(&run, &[&["--images", "extract=out"]]);
    assert_eq!(receipt["warnings"].as_array().unwrap().len(), 2, "{receipt}");
    assert_eq!(check(&run), ["bad-image"; 2]);
    let names: Vec<String> = fs::read_dir(run.path("out")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.len() == 1 && names[0].ends_with(".jpg"), "by what it is, not by what it is called: {names:?}");
}

#[test]
fn p07_arguments_of_old_writes_are_cut_and_stay_whole_calls() {
    let mut talk = Talk::new();
    for n in 0..20 {
        let text = s::words_from(n * 100_000, 30_000);
        let args = match n {
            1 => json!({"path": "f1", "edits": [{"oldText": text, "newText": "\u{e9}\"\\".repeat(2_000)}], "flag": 1.5}),
            _ => json!({"path": format!("f{n}"), "content": text}),
        };
        talk.call(if n == 1 { "edit" } else { "write" }, args, 10);
    }
    let long = s::words_from(9, 30_000);
    talk.call("bash", json!({"command": long}), 10);
    let run = talk.run();
    let before = entries(&run);
    let tokens = |run: &Run| context(run).as_array().unwrap().iter().map(|m| m["tokens"].as_i64().unwrap()).sum::<i64>();
    let counted = tokens(&run);
    let receipt = repaired(&run, &["--args"]);
    let after = entries(&run);
    let cut: Vec<&str> = (1..=21).map(|n| format!("a{n}")).filter(|id| before[id] != after[id]).map(|id| id.leak() as &str).collect();
    // The newest 40,000 tokens are those of the command and five writes, and the one that straddles the limit.
    let want: Vec<String> = (1..=15).map(|n| format!("a{n}")).collect();
    assert_eq!(cut, want);
    assert_eq!(row(&receipt, "args")["entries"], 15);
    assert_eq!(row(&receipt, "args")["tokens"], counted - tokens(&run));
    for id in cut {
        let (old, new) = (&before[id]["message"]["content"][0], &after[id]["message"]["content"][0]);
        assert_eq!((&old["id"], &old["name"], &old["arguments"]["path"]), (&new["id"], &new["name"], &new["arguments"]["path"]));
        assert_eq!(old["arguments"]["flag"], new["arguments"]["flag"]);
        let (was, is) = match id {
            "a2" => (&old["arguments"]["edits"][0]["oldText"], &new["arguments"]["edits"][0]["oldText"]),
            _ => (&old["arguments"]["content"], &new["arguments"]["content"]),
        };
        let (was, is) = (was.as_str().unwrap(), is.as_str().unwrap());
        assert!(is.len() < 700 && is.contains(" characters cut …]"), "{is}");
        assert!(was.starts_with(&is[..200]) && was.ends_with(&is[is.len() - 200..]), "{is}");
    }
    // All are old when nothing is protected.
    let run = Run::of(run.bytes("s.jsonl"));
    assert_eq!(row(&prune(&run, &[&["--args", "--protect-tokens", "0"], CHARS]), "args")["entries"], 5);
}

/// A file that a cut name does not lead to, and a call that a provider signed as it is.
#[test]
fn p07_names_of_files_and_signed_calls_are_not_cut() {
    let mut signed = s::call("c2", "write", json!({"path": "f", "content": s::words(30_000)}));
    signed["thoughtSignature"] = json!("sig");
    let mut talk = Talk::new();
    talk.call("write", json!({"path": "p".repeat(3_000), "content": "short"}), 10);
    talk.put("a2", |parent| s::assistant("a2", parent, json!([signed])));
    talk.put("t2", |parent| s::tool_result("t2", parent.unwrap(), "c2", "write", "done"));
    talk.calls = 2;
    talk.call("write", json!({"path": "f", "content": s::words(30_000)}), 10);
    let run = talk.run();
    let before = entries(&run);
    let receipt = prune(&run, &[&["--args", "--protect-tokens", "0"], CHARS]);
    assert_eq!(ids(&row(&receipt, "args")["changes"]), ["a3"], "{receipt}");
    let after = entries(&run);
    assert_eq!((&after["a1"], &after["a2"]), (&before["a1"], &before["a2"]));
}

#[test]
fn p09_data_of_an_extension_is_emptied_and_keeps_its_keys() {
    let mut talk = Talk::new();
    for n in 0..20 {
        let id = format!("x{n}");
        let data = json!({"page": s::words(100_000), "list": vec!["item"; 1_000], "map": {"long": s::words(100)}, "n": 1.5, "on": true, "name": "short"});
        let kind = if n % 2 == 0 { "web-access" } else { "other" };
        talk.put(&id, |parent| s::entry("custom", &id, parent, json!({"customType": kind, "data": data, "more": [1.0]})));
    }
    let run = talk.run();
    let before = entries(&run);
    let receipt = repaired(&run, &["--custom", "web-access", "--custom", "nothing-of-this-type"]);
    assert_eq!((&row(&receipt, "custom")["entries"], &row(&receipt, "custom")["tokens"]), (&json!(10), &json!(0)));
    let after = entries(&run);
    let want = json!({"page": "", "list": [], "map": {}, "n": 1.5, "on": true, "name": "short"});
    assert_eq!((&after["x0"]["data"], &after["x0"]["more"]), (&want, &json!([1.0])));
    assert_eq!(after["x1"], before["x1"]);
    assert_eq!(run.go(&["prune", "s.jsonl", "--custom", "epitome.archive"]).code, 2);
}

#[test]
fn p19_a_result_over_the_limit_is_cut_even_when_it_is_the_newest() {
    let mut talk = Talk::new();
    talk.call("bash", json!({"command": "ls"}), 3_000);
    talk.ask();
    talk.call("bash", json!({"command": "cat all"}), 11_000_000);
    let run = talk.run();
    let found = run.json(&["inspect", "--check", "s.jsonl"]);
    let huge = found["problems"].as_array().unwrap().iter().find(|p| p["code"] == "huge-line").unwrap();
    assert_eq!(huge["id"], "t2");
    assert!(huge["message"].as_str().unwrap().contains("11000000 characters"), "{huge}");
    let whole = entries(&run)["t2"]["message"]["content"][0]["text"].as_str().unwrap().to_owned();
    let before = entries(&run);
    let receipt = prune(&run, &[&["--max-result", "1k"], CHARS]);
    assert_eq!(row(&receipt, "max-result")["entries"], 1, "{receipt}");
    let after = entries(&run);
    assert_eq!(after["t1"], before["t1"]);
    let cut = after["t2"]["message"]["content"][0]["text"].as_str().unwrap();
    assert!(cut.len().div_ceil(4) <= 1_000 && cut.len() > 3_500, "{}", cut.len());
    let (head, tail) = (&cut[..1_000], &cut[cut.len() - 1_000..]);
    assert!(whole.starts_with(head) && whole.ends_with(tail) && cut.contains(" characters cut …]"));
    assert!(after["t2"]["message"]["prunedAt"].is_null());
    assert_eq!(check(&run), [""; 0]);
    assert_eq!(prune(&run, &[&["--max-result", "1k"], CHARS])["reason"], "nothing_to_prune");
    assert_eq!(run.go(&["prune", "s.jsonl", "--max-result", "10"]).code, 2);
    // What tells of an image that went is no text to be cut.
    let note = s::tx("[Image dropped: image/png, 8 x 8 pixels, 400 bytes, sha256 0123456789ab]");
    let run = with_result(json!([note, s::tx(&s::words(100_000))]), json!({}));
    assert_eq!(row(&prune(&run, &[&["--max-result", "1k"], CHARS]), "max-result")["entries"], 1);
    assert_eq!(entries(&run)["t1"]["message"]["content"][0], note);
    // A result that was asked to stay stays.
    let mut talk = Talk::new();
    talk.call("bash", json!({"command": "cat all"}), 100_000);
    let run = talk.run();
    assert_eq!(prune(&run, &[&["--max-result", "1k", "--protect", "tool:bash"], CHARS])["reason"], "nothing_to_prune");
    assert_eq!(prune(&run, &[&["--max-result", "1k", "--protect-last-turn"], CHARS])["reason"], "nothing_to_prune");
}

#[test]
fn p17_of_equal_results_the_newest_stays() {
    let texts = ["one", "one", "one", "two", "two", "two"].map(|name| format!("{name} {}", s::words(4_000)));
    let mut talk = Talk::new();
    for (n, text) in texts.iter().enumerate() {
        let (call, reply, id) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        talk.put(&reply, |parent| s::assistant(&reply, parent, json!([s::call(&call, "bash", json!({"command": "cat f"}))])));
        // One of the copies has another block beside its text.
        let content = if n == 1 { json!([s::tx(text), s::image(200)]) } else { json!([s::tx(text)]) };
        talk.put(&id, |parent| s::tool_result_with(&id, parent, &call, "bash", content, json!({})));
    }
    let run = talk.run();
    let before = entries(&run);
    let receipt = repaired(&run, &["--dedupe"]);
    let after = entries(&run);
    let text = |id: &str| after[id]["message"]["content"][0]["text"].as_str().unwrap().to_owned();
    for (id, holder) in [("t0", "t2"), ("t1", "t2"), ("t3", "t5"), ("t4", "t5")] {
        assert_eq!(text(id), format!("[Same output as in entry {holder}]"));
        assert!(after[id]["message"]["prunedAt"].is_u64());
    }
    assert_eq!((&after["t2"], &after["t5"]), (&before["t2"], &before["t5"]));
    assert_eq!(after["t1"]["message"]["content"][1], before["t1"]["message"]["content"][1], "the image stays");
    assert_eq!(row(&receipt, "dedupe")["entries"], 4);
    assert_eq!(row(&receipt, "dedupe")["tokens"], 4 * (1_001 - "[Same output as in entry t2]".len().div_ceil(4)));
}

#[test]
fn p17_a_result_in_the_context_is_not_replaced_by_one_outside() {
    let text = s::words(4_000);
    let mut talk = Talk::new();
    let put = |talk: &mut Talk, n: usize, stop: &str| {
        let (call, reply, id) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        talk.put(&reply, |parent| {
            s::assistant_with(&reply, parent, json!([s::call(&call, "bash", json!({}))]), json!({"stopReason": stop}))
        });
        talk.put(&id, |parent| s::tool_result(&id, parent, &call, "bash", &text));
    };
    put(&mut talk, 1, "stop");
    put(&mut talk, 2, "stop");
    // A failed turn: readers leave it and its result out of the context.
    put(&mut talk, 3, "error");
    let run = talk.run();
    let before = entries(&run);
    prune(&run, &[&["--dedupe"], CHARS]);
    let after = entries(&run);
    assert_eq!(after["t1"]["message"]["content"][0]["text"], "[Same output as in entry t2]");
    assert_eq!((&after["t2"], &after["t3"]), (&before["t2"], &before["t3"]));
}

/// What stands for another entry on one path is not itself replaced on another, where something newer says the same.
#[test]
fn p17_what_stands_for_another_keeps_its_text() {
    let text = s::words(4_000);
    let result = |n: usize, parent: &str| {
        let (a, t, c) = (format!("a{n}"), format!("t{n}"), format!("c{n}"));
        [s::assistant(&a, parent, json!([s::call(&c, "bash", json!({}))])), s::tool_result(&t, a.as_str(), &c, "bash", &text)]
    };
    let lines = [
        vec![s::header(), s::user("u1", s::ROOT, "go")],
        result(1, "u1").into(),
        result(2, "t1").into(),
        vec![answer("x", "t2", "one way")],
        result(3, "t2").into(),
        // The model sees none of them.
        vec![answer("b", "u1", "another way")],
    ];
    let run = Run::of(s::file(&lines.concat()));
    let before = entries(&run);
    prune(&run, &[&["--dedupe", "--leaf", "all"], CHARS]);
    let after = entries(&run);
    assert_eq!(after["t1"]["message"]["content"][0]["text"], "[Same output as in entry t2]");
    assert_eq!((&after["t2"], &after["t3"]), (&before["t2"], &before["t3"]));
}

/// Two branches: one is left, with names and a summary that refer to it.
fn branches() -> Run {
    let image = s::image(4_000);
    let mut lines = vec![s::header(), s::user("u1", s::ROOT, "go")];
    lines.push(s::assistant("d1", "u1", json!([s::call("c1", "bash", json!({})), s::call("c2", "bash", json!({}))])));
    lines.push(s::tool_result_with("d2", "d1", "c1", "bash", json!([s::tx(&s::words(9_000)), image]), json!({})));
    lines.push(s::tool_result("d3", "d2", "c2", "bash", "named"));
    lines.push(s::entry("session_info", "d4", "d3", json!({"name": "the name"})));
    lines.push(answer("d5", "d4", &s::words(5_000)));
    lines.push(answer("d6", "d5", "where it was left"));
    lines.push(s::label("d7", "d6", "u1"));
    lines.push(s::label("d8", "d7", "d5"));
    lines.push(answer("l1", "u1", "living"));
    lines.push(s::branch_summary("l2", "l1", "d6", "what the branch learnt"));
    lines.push(s::label("l3", "l2", "d3"));
    lines.push(s::user("l4", "l3", "on"));
    lines.push(answer("l5", "l4", "done"));
    Run::of(s::file(&lines))
}

#[test]
fn dead_branches_go_but_for_what_something_living_names() {
    let run = branches();
    let seen = context(&run);
    let receipt = repaired(&run, &["--dead-branches"]);
    // d3 has a name: its call and the call's other result stay with it. d4 names the session, d6 is named by the summary, d7
    // names a living entry. d8 names one that goes, and goes with it.
    let left: Vec<String> = entries(&run).into_keys().collect();
    assert_eq!(left, ["d1", "d2", "d3", "d4", "d6", "d7", "l1", "l2", "l3", "l4", "l5", "s1", "u1"]);
    assert_eq!((ids(&row(&receipt, "dead-branches")["changes"]), &row(&receipt, "dead-branches")["tokens"]), (vec!["d5", "d8"], &json!(0)));
    assert_eq!(receipt["dropped"], json!([{"id": "d5", "why": "dead-branches"}, {"id": "d8", "why": "dead-branches"}]));
    assert_eq!(entries(&run)["d6"]["parentId"], "d4");
    assert_eq!(context(&run), seen);
    // What the leaf that is asked for needs is alive.
    let run = branches();
    assert_eq!(prune(&run, &[&["--dead-branches", "--leaf", "d8"]])["reason"], "nothing_to_prune");
    let run = branches();
    assert_eq!(run.go(&["prune", "s.jsonl", "--dead-branches", "--leaf", "all"]).code, 2);
}

/// Readers take the later of two entries with one id; without it they would take the earlier.
#[test]
fn copies_of_what_goes_go_with_it() {
    let mut lines: Vec<String> = branches().lines("s.jsonl").iter().map(Value::to_string).collect();
    let at = lines.iter().position(|line| line.contains(r#""id":"d5""#)).unwrap();
    lines.insert(at, lines[at].clone());
    let run = Run::of(s::file(&lines));
    let receipt = prune(&run, &[&["--dead-branches"]]);
    assert_eq!(ids(&row(&receipt, "dead-branches")["changes"]), ["d5", "d8"], "{receipt}");
    assert!(!entries(&run).contains_key("d5"));
}

#[test]
fn r13_behind_a_gap_no_branch_is_called_dead() {
    let lines = [s::header(), s::user("u1", s::ROOT, "lost"), answer("a2", "gone", "found"), s::user("u3", "a2", "on")];
    let run = Run::of(s::file(&lines));
    let failed = run.json(&["prune", "s.jsonl", "--dead-branches"]);
    assert_eq!(failed["error"]["code"], "dangling-parent", "{failed}");
    assert!(run.lines("s.jsonl").len() == 4);
}

/// Twelve turns, of which a compaction keeps the last two.
fn compacted() -> Vec<String> {
    let mut talk = Talk::new();
    for n in 0..6 {
        talk.call("read", json!({"path": format!("f{n}")}), 4_000);
        talk.ask();
    }
    talk.put("x1", |parent| s::entry("custom", "x1", parent, json!({"customType": "state", "data": 1})));
    // What pi puts before the conversation is a setting: later ones change parts of it.
    talk.put("y1", |parent| s::entry("message", "y1", parent, json!({"message": {"role": "system", "content": "be brief"}})));
    talk.put("m1", |parent| s::entry("model_change", "m1", parent, json!({"model": "anthropic/claude-sonnet-4-5"})));
    talk.put("l1", |parent| s::label("l1", parent, "t2"));
    talk.call("read", json!({"path": "late"}), 4_000);
    talk.put("k1", |parent| s::compaction("k1", parent, "what was done", "u6"));
    talk.put("end", |parent| answer("end", parent.unwrap(), "done"));
    talk.lines
}

/// Two thousand entries, of which an old compaction summarized most: header, the last of each setting and all that is in the
/// context stay, and the file is whole.
#[test]
fn c37_the_last_of_each_setting_stays_when_old_entries_go() {
    let setting = |kind: &str, id: &str, parent: &str, fields: Value| s::entry(kind, id, parent, fields);
    let mut lines = vec![s::header(), s::user("u0", None, "begin")];
    for (n, model) in ["old-model", "new-model"].into_iter().enumerate() {
        let parent = lines.last().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()).unwrap();
        let ids = ["m", "t", "n", "y"].map(|kind| format!("{kind}{n}"));
        lines.push(setting("model_change", &ids[0], &parent, json!({"provider": "anthropic", "modelId": model})));
        lines.push(setting("thinking_level_change", &ids[1], &ids[0], json!({"thinkingLevel": "high"})));
        lines.push(setting("session_info", &ids[2], &ids[1], json!({"name": format!("name {n}")})));
        lines.push(setting("mode_change", &ids[3], &ids[2], json!({"mode": "plan"})));
    }
    let mut parent = "y1".to_owned();
    for n in 1..1_000 {
        let (ask, say) = (format!("u{n}"), format!("a{n}"));
        lines.push(s::user(&ask, parent.as_str(), "go on"));
        lines.push(answer(&say, &ask, "done"));
        parent = say;
        if n == 900 {
            lines.push(s::compaction("k1", parent.as_str(), "## Goal\n- go on", "u890"));
            parent = "k1".to_owned();
        }
    }
    let run = Run::of(s::file(&lines));
    let leaf = || run.json(&["inspect", "s.jsonl"])["leaf"].clone();
    let (seen, end) = (context(&run), leaf());
    repaired(&run, &["--summarized", "--dead-branches"]);
    let left = entries(&run);
    assert!(left.len() < 300, "{}", left.len());
    for id in ["m1", "t1", "n1", "y1", "k1", "u890", "u999"] {
        assert!(left.contains_key(id), "{id} went");
    }
    assert_eq!((&run.lines("s.jsonl")[0]["type"], leaf()), (&json!("session"), end));
    assert_eq!((&left["m1"]["modelId"], &left["n1"]["name"]), (&json!("new-model"), &json!("name 1")));
    assert_eq!((context(&run), check(&run)), (seen, vec![]));
}

#[test]
fn what_a_compaction_summarized_goes_but_for_what_is_named() {
    let run = Run::of(s::file(&compacted()));
    let seen = context(&run);
    let receipt = repaired(&run, &["--summarized"]);
    let left: Vec<String> = entries(&run).into_keys().collect();
    assert_eq!(left, ["a2", "a6", "a7", "end", "k1", "l1", "m1", "s1", "t2", "t6", "t7", "u6", "u7", "x1", "y1"]);
    assert_eq!((&row(&receipt, "summarized")["entries"], &row(&receipt, "summarized")["tokens"]), (&json!(13), &json!(0)));
    assert_eq!(context(&run), seen);
    assert_eq!((&entries(&run)["a2"]["parentId"], &entries(&run)["t2"]["parentId"]), (&Value::Null, &json!("a2")));
    // A branch that knows nothing of the compaction needs all of it, unless it is dead.
    let mut lines = compacted();
    let at = lines.len() - 1;
    lines.insert(at, answer("b1", "u3", "another way"));
    let session = || Run::of(s::file(&lines));
    let run = session();
    repaired(&run, &["--summarized"]);
    assert!(entries(&run).contains_key("u1") && entries(&run).contains_key("u3") && !entries(&run).contains_key("a3"));
    // A compaction that holds the whole prompt leaves the earlier part of it out of the context, not out of the file.
    let prompt = json!({"role": "system", "content": "WHOLE", "timestamp": 1});
    let whole: Vec<String> = compacted()
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["id"] == "k1" {
                line["systemMessage"] = prompt.clone();
            }
            line.to_string()
        })
        .collect();
    let run = Run::of(s::file(&whole));
    repaired(&run, &["--summarized"]);
    assert!(entries(&run).contains_key("y1") && !entries(&run).contains_key("a3"));
    let run = session();
    let receipt = repaired(&run, &["--summarized", "--dead-branches"]);
    assert_eq!((&row(&receipt, "dead-branches")["entries"], &row(&receipt, "summarized")["entries"]), (&json!(1), &json!(13)));
}

#[test]
fn r13_one_gap_does_not_become_many() {
    // Two branches have compacted what hangs in a gap; without it each of them would hang there.
    let half = |n: usize| {
        let (k, u, a) = (format!("k{n}"), format!("v{n}"), format!("w{n}"));
        [s::compaction(&k, "u2", "done", &k), s::user(&u, k.as_str(), "on"), answer(&a, &u, "on it")]
    };
    let lines =
        [vec![s::header(), s::user("u1", "lost", s::words(4_000)), answer("u2", "u1", &s::words(4_000))], half(1).into(), half(2).into()];
    let run = Run::of(s::file(&lines.concat()));
    repaired(&run, &["--summarized"]);
    let left: Vec<String> = entries(&run).into_keys().filter(|id| id.starts_with('u')).collect();
    assert_eq!(left, ["u1"]);
    let checked = run.json(&["inspect", "--check", "s.jsonl"]);
    assert_eq!(checked["problems"].as_array().unwrap().iter().filter(|p| p["code"] == "dangling-parent").count(), 1, "{checked}");
}

#[test]
fn r13_what_stays_at_a_gap_keeps_its_results() {
    let half = |n: usize| {
        let (k, u, a) = (format!("k{n}"), format!("v{n}"), format!("w{n}"));
        [s::compaction(&k, "u3", "done", &k), s::user(&u, k.as_str(), "on"), answer(&a, &u, "on it")]
    };
    let lines = [
        vec![
            s::header(),
            s::assistant("u1", "lost", json!([s::call("c1", "bash", json!({}))])),
            s::tool_result("u2", "u1", "c1", "bash", &s::words(4_000)),
            answer("u3", "u2", &s::words(4_000)),
        ],
        half(1).into(),
        half(2).into(),
    ];
    let run = Run::of(s::file(&lines.concat()));
    repaired(&run, &["--summarized"]);
    let left: Vec<String> = entries(&run).into_keys().filter(|id| id.starts_with('u')).collect();
    assert_eq!(left, ["u1", "u2"]);
}

#[test]
fn p13_size_repair_shrinks_what_is_out_of_the_context_and_on_other_branches() {
    let image = || json!([s::tx("see"), s::image(4_000)]);
    let lines = [
        s::header(),
        s::user("u1", s::ROOT, image()),
        s::user("b1", "u1", image()),
        s::user("u2", "u1", image()),
        s::compaction("k1", "u2", "a summary", "u2"),
        answer("end", "k1", "done"),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = repaired(&run, &["--images", "drop"]);
    assert_eq!(row(&receipt, "images")["entries"], 3);
    let note = entries(&run)["u2"]["message"]["content"][1]["text"].as_str().unwrap().len() as u64;
    assert_eq!(row(&receipt, "images")["tokens"], 1_200 - note.div_ceil(4), "only what the model sees frees tokens");
}

#[test]
fn p20_measures_and_pruning_are_one_rewrite() {
    let mut talk = Talk::new();
    for n in 0..4 {
        let (call, reply, id) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        talk.put(&reply, |parent| s::assistant(&reply, parent, json!([s::call(&call, "bash", json!({}))])));
        let content = json!([s::tx(&s::words_from(n * 1_000, 8_000)), s::image(4_000)]);
        talk.put(&id, |parent| s::tool_result_with(&id, parent, &call, "bash", content, json!({"details": {"log": s::words(5_000)}})));
    }
    let session = s::file(&talk.lines);
    let run = Run::of(&session);
    // Alone a measure prunes no result.
    repaired(&run, &["--details"]);
    assert!(!run.text("s.jsonl").contains("Output truncated"));
    let run = Run::of(&session);
    let receipt = prune(
        &run,
        &[&["--details", "--images", "drop", "--max-result", "1k", "--dedupe", "--protect-tokens", "3000", "--min-savings", "0"], CHARS],
    );
    assert_eq!(ids(&receipt["prune"]["results"]), ["t0", "t1", "t2"], "{receipt}");
    assert_eq!((&receipt["pruned_results"], &receipt["archive_revision"]), (&json!(3), &json!(1)));
    assert_eq!((&row(&receipt, "details")["entries"], &row(&receipt, "images")["entries"]), (&json!(4), &json!(4)));
    assert_eq!(row(&receipt, "max-result")["entries"], 1, "what is pruned is not cut as well");
    let after = entries(&run);
    let blocks = after["t0"]["message"]["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 2);
    assert!(
        blocks[0]["text"].as_str().unwrap().starts_with("[Output truncated - ")
            && blocks[1]["text"].as_str().unwrap().starts_with("[Image dropped: ")
    );
    assert!(after["t0"]["message"]["details"].is_null() && after["t0"]["message"]["prunedAt"].is_u64());
    assert_eq!(receipt["prune"]["saved_bytes"], session.len() - run.bytes("s.jsonl").len());
    assert_eq!(check(&run), [""; 0]);
    let revisions = run.json(&["inspect", "s.jsonl", "--show", "revisions"]);
    assert_eq!(revisions["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn p14_every_branch_is_pruned_when_all_leaves_are_asked_for() {
    let text = |n: usize| s::words_from(n * 10_000, 8_000);
    let mut lines = vec![s::header(), s::user("u1", s::ROOT, "go")];
    lines.push(s::assistant("a0", "u1", json!([s::call("c0", "bash", json!({}))])));
    lines.push(s::tool_result("t0", "a0", "c0", "bash", &text(0)));
    let mut parent;
    for (branch, results) in [(1, 3), (2, 1)] {
        parent = "t0".to_owned();
        for n in 0..results {
            let (call, reply, result) = (format!("c{branch}{n}"), format!("a{branch}{n}"), format!("t{branch}{n}"));
            lines.push(s::assistant(&reply, &*parent, json!([s::call(&call, "bash", json!({}))])));
            lines.push(s::tool_result(&result, &*reply, &call, "bash", &text(branch * 10 + n)));
            parent = result;
        }
        lines.push(answer(&format!("end{branch}"), &parent, "done"));
    }
    let run = Run::of(s::file(&lines));
    let args: &[&str] = &["--tokenizer", "heuristic", "--protect-tokens", "3000", "--min-savings", "0", "--leaf"];
    // On the shorter branch both results are new, on the longer one the older two are not.
    let receipt = prune(&run, &[args, &["end1", "-n"]]);
    assert_eq!(ids(&receipt["prune"]["results"]), ["t0", "t10"]);
    let receipt = prune(&run, &[args, &["all"]]);
    assert_eq!(ids(&receipt["prune"]["results"]), ["t10"], "what one branch still needs stays");
    assert_eq!(prune(&run, &[args, &["all"]])["reason"], "nothing_to_prune");
    assert_eq!(run.json(&["inspect", "s.jsonl"])["leaf"], "end2");
    let all = prune(&run, &[ALL, &["--leaf", "all"]]);
    assert_eq!(ids(&all["prune"]["results"]), ["t0", "t11", "t12", "t20"]);
}

#[test]
fn nothing_is_written_that_makes_nothing_smaller() {
    let mut talk = Talk::new();
    talk.put("x", |parent| s::entry("custom", "x", parent, json!({"customType": "state", "data": {"list": vec![1; 40]}})));
    let run = talk.run();
    let before = run.bytes("s.jsonl");
    let receipt = prune(&run, &[&["--custom", "state"]]);
    assert_eq!(
        (&receipt["action"], &receipt["reason"]),
        (&json!("nothing"), &json!("no_gain")),
        "80 bytes are less than a reference to the archive"
    );
    assert_eq!(receipt["prune"]["would_prune"], false);
    assert!(run.bytes("s.jsonl") == before && run.names() == ["s.jsonl"]);
    let receipt = prune(&run, &[&["--custom", "state", "--no-archive", "--yes"]]);
    assert_eq!(receipt["action"], "pruned", "without an archive they are a gain");
    assert!(run.bytes("s.jsonl").len() < before.len());
    // What did not go is not listed as gone.
    let run = Run::of(s::file(&[s::header(), s::user("u1", s::ROOT, "go"), answer("d1", "u1", "no"), answer("a1", "u1", "yes")]));
    let receipt = prune(&run, &[&["--dead-branches"]]);
    assert_eq!((&receipt["reason"], &receipt["dropped"]), (&json!("no_gain"), &json!([])), "{receipt}");
}

#[test]
fn r27_a_measure_on_an_old_version_writes_the_whole_file_as_version_3() {
    let lines = [
        r#"{"type":"session","id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        json!({"type": "message", "timestamp": "t", "message": {"role": "user", "content": [s::tx("see"), s::image(4_000)], "timestamp": 1}}).to_string(),
        json!({"type": "message", "timestamp": "t", "message": {"role": "user", "content": "on", "timestamp": 2}}).to_string(),
    ];
    let run = Run::of(s::file(&lines));
    let receipt = prune(&run, &[&["--images", "drop"], CHARS]);
    assert_eq!(receipt["action"], "pruned", "{receipt}");
    let after = run.lines("s.jsonl");
    assert_eq!((&after[0]["version"], &after[3]["parentId"], &after[2]["parentId"]), (&json!(3), &after[2]["id"], &after[1]["id"]));
    assert!(after[1]["message"]["content"][1]["text"].as_str().unwrap().starts_with("[Image dropped"));
    assert_eq!(check(&run), [""; 0]);
}

#[test]
fn r20_text_with_half_a_surrogate_pair_is_cut_and_other_bytes_stay() {
    let mut talk = Talk::new();
    talk.call("bash", json!({"command": "x"}), 100);
    let long = s::words(40_000);
    let line = s::tool_result("t9", "t1", "c1", "bash", &format!("LONE{long}")).replace("LONE", "\\ud83d ");
    talk.put("t9", |_| line);
    talk.put("x9", |parent| s::user("x9", parent, "on"));
    let run = Run::of(s::file(&talk.lines));
    prune(&run, &[&["--max-result", "1k", "--details"], CHARS]);
    let text = run.text("s.jsonl");
    assert!(text.contains("\u{fffd} alpha1") && text.contains("characters cut"), "{}", &text[..2_000.min(text.len())]);
}

#[test]
fn a_dry_run_lists_where_each_measure_frees_most() {
    let mut talk = Talk::new();
    for n in 0..12 {
        let (call, reply, id) = (format!("c{n}"), format!("a{n}"), format!("t{n}"));
        talk.put(&reply, |parent| s::assistant(&reply, parent, json!([s::call(&call, "bash", json!({}))])));
        let details = json!({"details": {"log": s::words(1_000 * (n + 1))}});
        talk.put(&id, |parent| s::tool_result_with(&id, parent, &call, "bash", json!([s::tx("short")]), details));
    }
    let run = talk.run();
    let out = run.go(&["prune", "s.jsonl", "-n", "--details", "--dedupe"]).ok().stdout();
    let listed = |out: &str| {
        let ids = out.lines().skip_while(|line| *line != "details").filter(|line| line.contains("toolResult"));
        ids.map(|line| line.split_whitespace().find(|word| word.starts_with('t')).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all: Vec<String> = (0..12).rev().map(|n| format!("t{n}")).collect();
    assert_eq!(listed(&out), all[..10], "{out}");
    assert!(out.contains("… and 2 more: -v lists them"), "{out}");
    assert_eq!(listed(&run.go(&["prune", "s.jsonl", "-n", "-v", "--details"]).ok().stdout()), all);
    let out = run.go(&["prune", "s.jsonl", "--details"]).ok().stdout();
    assert!(listed(&out).is_empty() && out.contains("details "), "{out}");
}
