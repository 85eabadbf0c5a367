//! Settings: flag, environment, config file, default, in this order; errors name the place.

use serde_json::Value;

use crate::run::{NOW, Run};

fn value(run: &Run, args: &[&str], env: &[(&str, &str)], key: &str) -> (Value, String) {
    let mut command = run.bare(&[&["inspect", "--show", "settings", "--json"], args].concat());
    let out = run.end(command.envs(env.iter().copied()).spawn().unwrap()).ok();
    let settings = out.json()["settings"].clone();
    let row = settings.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone();
    (row["value"].clone(), row["source"].as_str().unwrap().replace(&run.path("").display().to_string(), ""))
}

#[test]
fn the_nearest_place_wins() {
    let run = Run::new();
    let key = "keep_recent_tokens";
    let of = |args: &[&str], env: &[(&str, &str)]| value(&run, args, env, key);
    let want = |value: &str, source: &str| (Value::from(value), source.to_owned());
    assert_eq!(of(&[], &[]), want("20000", "default"));
    run.put("home/config/epitome/config.toml", "# mine\nkeep_recent_tokens = 1000\n");
    assert_eq!(of(&[], &[]), want("1000", "home/config/epitome/config.toml:2"));
    assert_eq!(of(&["--no-config"], &[]), want("20000", "default"));
    run.put("named.toml", "keep_recent_tokens = \"2k\"\n");
    assert_eq!(of(&[], &[("EPITOME_CONFIG", "named.toml")]), want("2k", "named.toml:1"));
    run.put("flag.toml", "keep_recent_tokens = 3000\n");
    assert_eq!(of(&["--config", "flag.toml"], &[("EPITOME_CONFIG", "named.toml")]), want("3000", "flag.toml:1"));
    let env = [("EPITOME_KEEP_RECENT_TOKENS", "4k"), ("EPITOME_CONFIG", "named.toml")];
    assert_eq!(of(&[], &env), want("4k", "EPITOME_KEEP_RECENT_TOKENS"));
    assert_eq!(of(&["--keep-recent-tokens", "5k"], &env), want("5k", "--keep-recent-tokens"));
    // Set to nothing is not set.
    assert_eq!(of(&[], &[("EPITOME_KEEP_RECENT_TOKENS", "")]), want("1000", "home/config/epitome/config.toml:2"));
}

#[test]
fn a_setting_that_is_not_set_is_null() {
    let run = Run::new();
    assert_eq!(value(&run, &[], &[], "threshold"), (Value::Null, "default".to_owned()));
}

#[test]
fn the_config_of_the_home_folder_is_found() {
    let run = Run::new();
    run.put("home/.config/epitome/config.toml", "tokenizer = \"heuristic\"\n");
    let mut command = run.bare(&["inspect", "--show", "settings"]);
    let out = run.end(command.env_remove("XDG_CONFIG_HOME").spawn().unwrap()).ok();
    assert!(out.stdout().lines().any(|line| line.contains("heuristic") && line.contains("config.toml:1")), "{out}");
}

#[test]
fn settings_have_an_effect() {
    let run = Run::with(&["sessions/small.jsonl"]);
    let tokens = |args: &[&str]| run.json(&[&["inspect", "small.jsonl"], args].concat())["tokens"].clone();
    assert_eq!(tokens(&["--context-window", "100k"])["threshold"], 83_616);
    assert_eq!(tokens(&["--context-window", "1M", "--threshold", "80%"])["threshold"], 800_000);
    assert_eq!(tokens(&["--reserve-tokens", "50k"])["threshold"], 150_000);
    assert_ne!(tokens(&["--tokenizer", "heuristic"])["counted"], tokens(&[])["counted"]);
    let cut = |args: &[&str]| run.json(&[&["inspect", "small.jsonl", "--show", "cut"], args].concat())["cut"]["keep"]["messages"].clone();
    assert!(cut(&["--keep-recent-tokens", "5k"]).as_u64() < cut(&[]).as_u64());
}

#[test]
fn a_value_that_is_wrong_names_its_place() {
    let run = Run::with(&["sessions/small.jsonl"]);
    run.put("bad.toml", "# mine\n\nthreshold = \"80%\"\nsummary_tokens = 12\n");
    run.put("unknown.toml", "keep_recent = 12\n");
    run.put("broken.toml", "keep_recent_tokens = = 12\n");
    fn inspect<'a>(args: &[&'a str]) -> Vec<&'a str> {
        [&["inspect", "small.jsonl"], args].concat()
    }
    type Row<'a> = (&'a str, Vec<&'a str>, &'a [(&'a str, &'a str)]);
    let rows: &[Row<'_>] = &[
        ("flag", inspect(&["--keep-recent-tokens", "lots"]), &[]),
        ("flag_zero", inspect(&["--keep-recent-tokens", "0"]), &[]),
        ("flag_percent", inspect(&["--threshold", "100%"]), &[]),
        ("flag_tokenizer", inspect(&["--tokenizer", "gpt2"]), &[]),
        ("env", inspect(&[]), &[("EPITOME_THRESHOLD", "often")]),
        // A wrong value is told even where another one wins.
        ("env_behind_a_flag", inspect(&["--threshold", "80%"]), &[("EPITOME_THRESHOLD", "often")]),
        ("file", inspect(&["--config", "bad.toml"]), &[]),
        ("file_unknown_key", inspect(&["--config", "unknown.toml"]), &[]),
        ("file_broken", inspect(&["--config", "broken.toml"]), &[]),
        ("file_missing", inspect(&["--config", "nowhere.toml"]), &[]),
        ("file_missing_env", inspect(&[]), &[("EPITOME_CONFIG", "nowhere.toml")]),
        ("epoch", vec!["compact", "-n", "small.jsonl"], &[("SOURCE_DATE_EPOCH", "soon")]),
    ];
    for (name, args, env) in rows {
        let mut command = run.bare(args);
        let out = run.end(command.envs(env.iter().copied()).spawn().unwrap());
        assert_eq!(out.code, 2, "{args:?}\n{out}");
        insta::assert_snapshot!(format!("bad_{name}"), out.to_string());
    }
    let out = run.go_bare(&["compact", "-n", "small.jsonl", "--now", "yesterday"]);
    assert_eq!(out.code, 2);
    insta::assert_snapshot!("bad_now", out.to_string());
}

#[test]
fn the_clock_can_be_fixed() {
    let stamp = |args: &[&str], env: &[(&str, &str)]| {
        let run = Run::with(&["sessions/small.jsonl"]);
        let mut command = run.bare(&[&["compact", "small.jsonl"], args].concat());
        run.end(command.envs(env.iter().copied()).spawn().unwrap()).ok();
        (run.last("small.jsonl")["timestamp"].as_str().unwrap().to_owned(), run.bytes("small.jsonl"))
    };
    let (flag, bytes) = stamp(&["--now", NOW], &[]);
    assert_eq!(flag, "2026-01-31T12:00:00.000Z");
    let (epoch, same) = stamp(&[], &[("SOURCE_DATE_EPOCH", "1769860800")]);
    assert_eq!((epoch, same), (flag, bytes));
    assert_eq!(stamp(&["--now", "2026-01-31T13:00:00+01:00"], &[("SOURCE_DATE_EPOCH", "1")]).0, "2026-01-31T12:00:00.000Z");
    let (clock, _) = stamp(&[], &[]);
    assert!(clock.parse::<jiff::Timestamp>().is_ok_and(|time| time.duration_until(jiff::Timestamp::now()).as_secs() < 600), "{clock}");
}
