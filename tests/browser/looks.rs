//! How the pages look where it matters: narrow, on paper, in the dark. Pictures are not compared; what they come from is.

use std::path::Path;

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::run::Run;
use crate::{everything, exported, report};

/// The least contrast of text to what is behind it (WCAG 2, level AA).
const LEAST: f64 = 4.5;

/// For every text that is shown: its contrast to the colours that are painted behind it, `opacity` counted.
const CONTRASTS: &str = r#"(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const v = c[i] / 255;
    return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(at);
    return chain.reduce((under, at) => over(parse(getComputedStyle(at).backgroundColor), under), [255, 255, 255, 1]);
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || /^(SCRIPT|STYLE|TITLE)$/i.test(element.tagName) || element.closest("dialog:not([open])")) continue;
    if (!element.checkVisibility() || element.closest(".skip")) continue;
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement;
    const ground = behind(element);
    let ink = parse(drawn ? style.fill : style.color);
    for (let at = element; at; at = at.parentElement) ink[3] *= +getComputedStyle(at).opacity;
    ink = over(ink, ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const name = element.tagName.toLowerCase() + "." + (element.getAttribute("class") || element.parentElement.getAttribute("class") || "");
    const contrast = Math.round(((a + 0.05) / (b + 0.05)) * 100) / 100;
    if (!found.has(name) || found.get(name)[0] > contrast) found.set(name, [contrast, node.data.trim().slice(0, 40)]);
  }
  return [...found].map(([name, [contrast, text]]) => ({ name, contrast, text }));
})()"#;

#[test]
fn text_is_readable_by_day_and_by_night() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let pages = [exported(&run, &["--leaf", "all", "--thinking"])];
    let mut checked = 0;
    let reports = [report(&run, &["--keep-recent-tokens", "200", "--context-window", "20k"])];
    for file in pages.iter().chain(&reports) {
        for scheme in ["light", "dark"] {
            browser.open(file, "");
            browser.media("screen", scheme);
            browser.eval("document.querySelectorAll('details').forEach(d => d.open = true)");
            browser.settle();
            let dark = browser.eval("getComputedStyle(document.body).backgroundColor").as_str().unwrap().contains("(20, 22, 26");
            assert_eq!(dark, scheme == "dark", "{}", file.display());
            let pairs = browser.eval(CONTRASTS);
            let low: Vec<&Value> = pairs.as_array().unwrap().iter().filter(|p| p["contrast"].as_f64() < Some(LEAST)).collect();
            assert!(low.is_empty(), "{} {scheme}: {low:#?}", file.display());
            checked += pairs.as_array().unwrap().len();
        }
    }
    assert!(checked > 60, "only {checked} kinds of text");
    // A person may choose otherwise than the machine does.
    browser.open(&pages[0], "");
    browser.key("d");
    assert!(browser.eval("getComputedStyle(document.body).backgroundColor").as_str().unwrap().contains("(20, 22, 26"));
    browser.key("d");
    assert!(!browser.eval("getComputedStyle(document.body).backgroundColor").as_str().unwrap().contains("(20, 22, 26"));
}

#[test]
fn nothing_is_wider_than_a_narrow_window() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    for file in [exported(&run, &["--leaf", "all", "--thinking"]), report(&run, &[])] {
        for width in [320, 400, 800] {
            browser.size(width, 800);
            browser.open(&file, "");
            browser.eval("document.querySelectorAll('details').forEach(d => d.open = true)");
            browser.settle();
            let wide = browser.eval("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(wide <= u64::from(width), "{}: {wide} in a window of {width}", file.display());
            let over = "[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && !e.closest('.scroll,.skip,dialog,svg,table') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))";
            assert_eq!(browser.eval(over), json!([]), "{} at {width}", file.display());
        }
    }
}

/// The text of the pages of a PDF is compressed; what a page shows on paper is asked from its layout.
fn on_paper(browser: &mut Browser, selector: &str) -> Value {
    browser.eval(&format!(
        "[...document.querySelectorAll({selector:?})].map(e => e.getBoundingClientRect().height > 0 && e.checkVisibility({{contentVisibilityAuto: false}}))"
    ))
}

#[test]
fn paper_shows_all_of_it() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(everything());
    let file = exported(&run, &["--leaf", "all", "--thinking"]);
    browser.open(&file, "");
    browser.media("print", "dark");
    browser.settle();
    for gone in [".bar", "nav"] {
        assert_eq!(on_paper(&mut browser, gone), json!([false]), "{gone}");
    }
    // No click opens a fold on paper: they are open, with a script or without.
    let folded = on_paper(&mut browser, "main details>:not(summary)");
    let all = folded.as_array().unwrap();
    assert!(all.len() >= 5 && all.iter().all(|shown| *shown == json!(true)), "{folded}");
    let (ink, ground) =
        (browser.eval("getComputedStyle(document.body).color"), browser.eval("getComputedStyle(document.body).backgroundColor"));
    assert_eq!((ink.as_str(), ground.as_str()), (Some("rgb(0, 0, 0)"), Some("rgb(255, 255, 255)")), "a dark page wastes ink");
    // And a whole PDF comes of it, with more than one page.
    browser.media("", "light");
    let pdf = browser.ask("Page.printToPDF", json!({"printBackground": true}));
    let pdf = data_encoding::BASE64.decode(pdf["data"].as_str().unwrap().as_bytes()).unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pages(&pdf) >= 2, "{} pages", pages(&pdf));
    keep("print.pdf", &pdf);
}

fn pages(pdf: &[u8]) -> usize {
    let (all, tree) = (b"/Type /Page".as_slice(), b"/Type /Pages".as_slice());
    let count = |what: &[u8]| pdf.windows(what.len()).filter(|w| *w == what).count();
    count(all) - count(tree)
}

/// For a person who wants to look: files go where `EPITOME_TEST_PICTURES` says.
fn keep(name: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("EPITOME_TEST_PICTURES") {
        std::fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}
