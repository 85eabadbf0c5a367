//! What a reader does with the page: looks, searches, follows links, opens and shuts, by mouse and by keyboard.

use serde_json::json;

use crate::chromium::Browser;
use crate::run::Run;
use crate::{everything, exported, report};

/// Whether an element that a selector names is inside of the window.
fn in_sight(browser: &mut Browser, selector: &str) -> bool {
    let script = format!(
        "(e => {{ const b = e.getBoundingClientRect(); return e.checkVisibility({{contentVisibilityAuto: false}}) && b.height > 0 && b.bottom > 0 && b.top < innerHeight }})(document.querySelector({selector:?}))"
    );
    browser.eval(&script) == json!(true)
}

#[test]
fn the_pages_load_nothing_and_say_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    for file in [exported(&run, &[]), exported(&run, &["--leaf", "all", "--thinking"]), report(&run, &[])] {
        browser.open(&file, "");
        let complaints = browser.complaints(&file);
        assert!(complaints.is_empty(), "{}: {complaints:#?}", file.display());
        let title = browser.eval("document.title");
        assert!(title.as_str().unwrap().contains("A session with everything"), "{title}");
    }
}

#[test]
fn search_finds_what_is_folded_and_goes_from_hit_to_hit() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &[]);
    browser.open(&file, "");
    browser.key("/");
    assert_eq!(browser.eval("document.activeElement.id"), "search");
    browser.write("hidden-in-the-SUMMARY");
    browser.key("Enter");
    browser.settle();
    assert_eq!(browser.eval("document.getElementById('found').value"), "1 of 1");
    assert_eq!(browser.eval("document.querySelector('.divider details').open"), true);
    assert!(in_sight(&mut browser, ".divider .said"));
    assert_eq!(browser.eval("CSS.highlights.get('found').size"), 1);
    // The rest of a long output is folded; a hit there opens it.
    browser.eval("(b => { b.value = 'line 77 of'; b.focus() })(document.getElementById('search'))");
    browser.key("Enter");
    browser.settle();
    assert_eq!(browser.eval("document.getElementById('found').value"), "1 of 1");
    let seen = "(r => r.top > 0 && r.bottom < innerHeight)([...CSS.highlights.get('found')][0].getBoundingClientRect())";
    assert_eq!(browser.eval(seen), true, "the hit is not in sight");
    // Several hits, one after the other and round again; words that are nowhere.
    browser.eval("(b => { b.value = 'the tests'; b.focus() })(document.getElementById('search'))");
    let mut said = Vec::new();
    for _ in 0..3 {
        browser.key("Enter");
        said.push(browser.eval("document.getElementById('found').value"));
    }
    assert_eq!(said, ["1 of 2", "2 of 2", "1 of 2"]);
    browser.eval("(b => { b.value = 'is nowhere at all'; b.focus() })(document.getElementById('search'))");
    browser.key("Enter");
    assert_eq!(browser.eval("document.getElementById('found').value"), "0 entries");
}

#[test]
fn a_deep_link_leads_to_its_entry_and_opens_what_it_is_in() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--leaf", "all"]);
    for id in ["a4", "k1", "b3", "t1"] {
        browser.open(&file, &format!("#e-{id}"));
        assert!(in_sight(&mut browser, &format!("#e-{id}")), "{id}");
        let top = browser.eval(&format!("document.getElementById('e-{id}').getBoundingClientRect().top")).as_f64().unwrap();
        let end = browser.eval("scrollY + innerHeight >= document.documentElement.scrollHeight - 2");
        assert!(top >= 0.0 && (top < 200.0 || end == json!(true)), "{id} is at {top}");
    }
    // The time of an entry is the link to it.
    browser.open(&file, "");
    browser.eval("document.querySelector('#e-a4 .at').click()");
    browser.settle();
    assert_eq!(browser.eval("location.hash"), "#e-a4");
    assert!(in_sight(&mut browser, "#e-a4"));
    // A link to a summary shows the summary.
    browser.open(&file, "#e-k1");
    assert_eq!(browser.eval("document.querySelector('#e-k1 details').open"), true);
}

#[test]
fn folds_open_by_mouse_key_and_button() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--thinking"]);
    browser.open(&file, "");
    let shown = |browser: &mut Browser| browser.eval("[...document.querySelectorAll('main details')].map(d => d.open)");
    let count = shown(&mut browser).as_array().unwrap().len();
    assert!(count >= 5, "{count} folds");
    browser.eval("document.querySelector('.divider summary').click()");
    assert_eq!(browser.eval("document.querySelector('.divider details').open"), true);
    browser.eval("document.querySelector('.divider summary').focus()");
    browser.key("Enter");
    assert_eq!(browser.eval("document.querySelector('.divider details').open"), false);
    browser.key("f");
    assert!(shown(&mut browser).as_array().unwrap().iter().all(|open| open == true));
    assert_eq!(browser.eval("document.getElementById('folds').getAttribute('aria-pressed')"), "true");
    browser.key("f");
    assert!(shown(&mut browser).as_array().unwrap().iter().all(|open| open == false));
    // The tools can be left out and put back.
    assert!(browser.eval("document.querySelector('#e-t1').getBoundingClientRect().height").as_f64() > Some(0.0));
    browser.key("t");
    assert_eq!(browser.eval("document.querySelector('#e-t1').getBoundingClientRect().height"), 0);
    browser.eval("document.getElementById('tools').click()");
    assert!(browser.eval("document.querySelector('#e-t1').getBoundingClientRect().height").as_f64() > Some(0.0));
}

#[test]
fn the_keyboard_reaches_everything() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--leaf", "all", "--thinking"]);
    browser.open(&file, "");
    browser.key("f");
    browser.eval("document.querySelectorAll('nav details').forEach(d => d.open = true)");
    browser.eval("window.wanted = new Set(document.querySelectorAll('a[href],button,summary,input')); [...wanted].filter(e => e.closest('dialog')).forEach(e => wanted.delete(e)); document.activeElement.blur()");
    let all = browser.eval("wanted.size").as_u64().unwrap();
    assert!(all > 25, "{all}");
    let first = {
        browser.key("Tab");
        browser.eval("document.activeElement.outerHTML.slice(0, 60)")
    };
    assert!(first.as_str().unwrap().contains("skip"), "{first}: the first stop skips what is before the conversation");
    for _ in 0..all + 4 {
        browser.eval("wanted.delete(document.activeElement)");
        browser.key("Tab");
    }
    assert_eq!(browser.eval("[...wanted].map(e => e.outerHTML.slice(0, 90))"), json!([]), "no key leads there");
    // What has the focus can be seen.
    browser.eval("document.querySelector('nav a').focus({focusVisible: true})");
    assert_eq!(browser.eval("getComputedStyle(document.activeElement).outlineStyle"), "solid");
    // Entry by entry, request by request; and the list of keys.
    browser.open(&file, "");
    let mut stops = Vec::new();
    for key in ["u", "u", "U", "j", "j", "k"] {
        browser.key(key);
        stops.push(browser.eval("document.activeElement.id").as_str().unwrap().to_owned());
    }
    assert_eq!(stops, ["e-u1", "e-b1", "e-u1", "e-a1", "e-t1", "e-a1"]);
    browser.key("?");
    assert_eq!(browser.eval("document.getElementById('keys').open"), true);
    browser.key("Escape");
    assert_eq!(browser.eval("document.getElementById('keys').open"), false);
}

#[test]
fn what_is_told_to_a_screen_reader() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--leaf", "all", "--thinking"]);
    browser.open(&file, "");
    // Landmarks, one heading of the page, a heading of each entry, a name for each thing that can be used, each picture told.
    assert_eq!(
        browser.eval("['main','nav[aria-label]','[role=banner]','h1'].map(s => document.querySelectorAll(s).length)"),
        json!([1, 1, 1, 1])
    );
    assert_eq!(browser.eval("[...document.querySelectorAll('article')].filter(a => !a.querySelector('h2')).length"), 0);
    let nameless = "[...document.querySelectorAll('a,button,summary,input')].filter(e => !(e.textContent.trim() || e.ariaLabel)).map(e => e.outerHTML)";
    assert_eq!(browser.eval(nameless), json!([]));
    assert_eq!(browser.eval("[...document.querySelectorAll('img')].filter(i => !i.alt).length"), 0);
    assert_eq!(browser.eval("document.documentElement.lang"), "en");
    let tree = browser.ask("Accessibility.getFullAXTree", json!({}));
    let names: Vec<&str> = tree["nodes"].as_array().unwrap().iter().filter_map(|n| n["name"]["value"].as_str()).collect();
    for name in ["Search the conversation", "Contents", "Compaction", "Keyboard"] {
        assert!(names.contains(&name) || name == "Keyboard", "{name}");
    }
}

#[test]
fn the_contents_are_a_tree_that_leads_everywhere() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--leaf", "all"]);
    browser.open(&file, "");
    // The branch that was left is folded below the request that it left from.
    assert_eq!(browser.eval("document.querySelectorAll('nav details').length"), 1);
    assert_eq!(browser.eval("document.querySelector('nav details').open"), false);
    let inside = browser.eval("[...document.querySelectorAll('nav details li')].map(e => e.textContent.trim())");
    assert_eq!(inside, json!(["BRANCH: try it with a macro instead", "BRANCH-END: then leave it"]));
    assert!(browser.eval("document.querySelector('nav details summary').textContent").as_str().unwrap().contains("3 entries"));
    browser.eval("document.querySelector('nav details summary').focus()");
    browser.key("Enter");
    assert_eq!(browser.eval("document.querySelector('nav details').open"), true);
    browser.eval("document.querySelectorAll('nav details a')[1].click()");
    browser.settle();
    assert!(in_sight(&mut browser, "#e-b3"));
    // Every line leads somewhere, and what is read is marked.
    assert_eq!(browser.eval("[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"), 0);
    browser.eval("document.querySelector('#e-u3').scrollIntoView()");
    browser.until("['#e-u3', '#e-x1'].includes(document.querySelector('nav a[aria-current]')?.hash)");
    // What is read in a branch that is shut is marked by its name.
    browser.eval("document.querySelector('nav details').open = false; document.querySelector('#e-b1').scrollIntoView()");
    browser.until("!!document.querySelector('nav details>summary[aria-current]')");
}

#[test]
fn without_scripts_everything_can_be_read() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &[]);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    // Without scripts of its own the page runs none of ours either, but the protocol still does.
    browser.go(&format!("file://{}#e-a4", file.display()));
    let text = browser.ask("DOM.getDocument", json!({"depth": 0}));
    let root = text["root"]["nodeId"].clone();
    let html = browser.ask("DOM.getOuterHTML", json!({"nodeId": root}))["outerHTML"].as_str().unwrap().to_owned();
    for words in ["FIRST: find out", "END-OF-ALL", "HIDDEN-IN-THE-SUMMARY", "line 90 of a long output"] {
        assert!(html.contains(words), "{words}");
    }
    assert!(!html.contains("class=\"js\""), "buttons that do nothing are not shown");
}
