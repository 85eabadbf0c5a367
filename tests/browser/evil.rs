//! Whatever a session holds stays text: scripts, attributes, addresses and pictures planted in every kind of field.

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::run::Run;
use crate::sessions::{self, ROOT};
use crate::{exported, report};

/// Ways to make a page run something; each would leave a mark behind.
const ATTACKS: &[&str] = &[
    "<script>window.pwned='SCRIPT'</script>",
    "</script><script>window.pwned='CLOSE'</script>",
    "</style><script>window.pwned='STYLE'</script>",
    "</pre></code></details></title></textarea><img src=x onerror=\"window.pwned='IMG'\">",
    "\" onfocus=\"window.pwned='ATTR'\" autofocus tabindex=1 x=\"",
    "' onmouseover='window.pwned=1' x='",
    "<svg onload=\"window.pwned='SVG'\"><animate onbegin=\"window.pwned=1\"></svg>",
    "[go](javascript:window.pwned='LINK')",
    "[go](  JaVaScRiPt&colon;window.pwned='LINK2')",
    "[go](data:text/html,<script>window.pwned=1</script>)",
    "<javascript:window.pwned='AUTO'>",
    "![p](http://pixel.invalid/p.png) ![q](//pixel.invalid/q.png)",
    "<iframe srcdoc=\"<script>parent.pwned='FRAME'</script>\"></iframe>",
    "<link rel=stylesheet href=http://pixel.invalid/x.css><meta http-equiv=refresh content=\"0;url=http://pixel.invalid/\">",
    "<base href=http://pixel.invalid/><form action=http://pixel.invalid/><button>go</button></form>",
    "```html\n<script>window.pwned='FENCE'</script>",
    "{{title}}{% raw %}${window.pwned='TEMPLATE'}",
    "<!--><script>window.pwned='COMMENT'</script>--!><![CDATA[<script>window.pwned=1</script>]]>",
    "]]></svg><style>body{display:none}</style>",
    "<details open ontoggle=\"window.pwned='TOGGLE'\"><summary>x</summary></details>",
];

/// One attack in every field of every kind of entry.
fn planted(attack: &str) -> Vec<u8> {
    let e = attack;
    let image = json!({"type": "image", "mimeType": e, "data": sessions::base64(e.as_bytes())});
    let svg = json!({"type": "image", "mimeType": "image/svg+xml", "data": sessions::base64(b"<svg xmlns='http://www.w3.org/2000/svg' onload='top.pwned=1'/>")});
    let args = json!({"path": e, e: e, "oldText": e, "newText": format!("{e}\n{e}"), "deep": [{"k": e}]});
    let blocks = json!([sessions::tx(e), {"type": "thinking", "thinking": e}, sessions::call(e, e, args), image, svg, {"type": e, e: e}]);
    let header = json!({"type": "session", "version": 3, "id": e, "timestamp": e, "cwd": e, "title": e, "parentSession": e}).to_string();
    let mut lines = vec![header, sessions::user(e, ROOT, json!([sessions::tx(e), image]))];
    let mut parent = e.to_owned();
    let mut put = |line: &dyn Fn(&str, &str) -> String| {
        let id = format!("x{}{e}", lines.len());
        lines.push(line(&id, &parent));
        parent = id;
    };
    for role in sessions::ROLES.into_iter().chain([e]) {
        let message = json!({"role": role, "content": blocks, "toolCallId": e, "toolName": e, "command": e, "code": e, "output": format!("{e}\n").repeat(30), "customType": e,
            "details": {"diff": format!("--- a\n@@ -1 +1 @@\n-{e}\n+{e}")}, "provider": e, "model": e, "errorMessage": e, "summary": e, "stopReason": if role == "assistant" { "error" } else { e }});
        put(&|id, parent| sessions::entry_at("message", id, parent, e, json!({"message": message})));
    }
    for kind in sessions::KINDS.into_iter().chain([e]) {
        let fields = json!({"summary": e, "shortSummary": e, "fromId": e, "firstKeptEntryId": e, "method": e, "tokensBefore": 5, "customType": e, "content": e, "data": {e: e}, "model": e, "provider": e, "modelId": e,
            "thinkingLevel": e, "mode": e, "serviceTier": e, "name": e, "title": e, "targetId": "x3", "label": e, "replacement": {"content": e},
            "preserveData": {"snapcompact": {"text": e, "frames": [{"data": e, "mimeType": e, "cols": 1, "rows": 1, "chars": 1}]}}});
        put(&|id, parent| sessions::entry_at(kind, id, parent, e, fields.clone()));
    }
    // Another branch, and a damaged end.
    lines.push(sessions::user("other", e, e));
    lines.push(sessions::label("mark", "other", "other"));
    let mut bytes = sessions::file(&lines);
    bytes.extend_from_slice(format!("{{\"type\":\"message\",\"id\":\"{}", "torn").as_bytes());
    bytes
}

#[test]
fn nothing_that_a_session_holds_runs_or_loads() {
    let Some(mut browser) = Browser::start() else { return };
    for attack in ATTACKS {
        let run = Run::of(planted(attack));
        let pages = [exported(&run, &["--leaf", "all", "--thinking"]), report(&run, &[])];
        for file in &pages {
            browser.open(file, "");
            browser.eval("document.querySelectorAll('details').forEach(d => d.open = true); document.querySelectorAll('main *').forEach(e => e.dispatchEvent(new MouseEvent('mouseover')))");
            browser.settle();
            assert_eq!(browser.eval("window.pwned ?? null"), Value::Null, "{attack} in {}", file.display());
            let complaints = browser.complaints(file);
            assert!(complaints.is_empty(), "{attack} in {}: {complaints:#?}", file.display());
            let acting = "[...document.querySelectorAll('body *')].flatMap(e => [...e.attributes].filter(a => /^on|^style$|^srcdoc$/.test(a.name) || /^(href|src)$/.test(a.name) && !/^(#|https?:\\/\\/|mailto:|data:image\\/(png|jpeg|gif|webp);base64,)/.test(a.value)).map(a => a.name + '=' + a.value))";
            assert_eq!(browser.eval(acting), json!([]), "{attack}");
            let kinds = "['iframe','object','embed','base','link','form:not([method=dialog])','style','meta[http-equiv=refresh]','math','foreignObject'].filter(s => document.body.querySelector(s))";
            assert_eq!(browser.eval(kinds), json!([]), "{attack}");
            assert!(browser.eval("document.scripts.length").as_u64() <= Some(1), "{attack}");
            assert_eq!(browser.eval("getComputedStyle(document.body).display"), "block", "{attack}");
        }
    }
}

#[test]
fn the_policy_stops_what_escaping_would_have_missed() {
    let Some(mut browser) = Browser::start() else { return };
    let run = Run::of(crate::everything());
    for file in [exported(&run, &[]), report(&run, &[])] {
        browser.open(&file, "");
        browser.eval(
            "(() => {
              const put = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
              put('script', { textContent: 'window.pwned = 1' });
              put('style', { textContent: 'body { display: none }' });
              put('img', { src: 'http://pixel.invalid/p.png' });
              put('iframe', { src: 'data:text/html,x' });
              put('link', { rel: 'stylesheet', href: 'http://pixel.invalid/x.css' });
              put('base', { href: 'http://pixel.invalid/' });
              document.body.insertAdjacentHTML('beforeend', '<a id=bad onclick=\"window.pwned=2\">x</a><p style=\"color:red\">x</p>');
              document.getElementById('bad').click();
              fetch('http://pixel.invalid/f').catch(() => 0);
            })()",
        );
        browser.settle();
        assert_eq!(browser.eval("window.pwned ?? null"), Value::Null);
        assert_eq!(browser.eval("getComputedStyle(document.body).display"), "block");
        assert!(!browser.eval("document.baseURI").as_str().unwrap().contains("pixel.invalid"));
        let violations = browser.eval("violations.map(v => v.split(' ')[0]).sort()");
        for directive in
            ["script-src-elem", "script-src-attr", "style-src-elem", "style-src-attr", "img-src", "frame-src", "base-uri", "connect-src"]
        {
            assert!(violations.as_array().unwrap().contains(&json!(directive)), "{directive} is not refused: {violations}");
        }
        let loaded = browser.loaded();
        assert!(loaded.iter().all(|url| url.starts_with("file:") || url.starts_with("data:image/")), "{loaded:?}");
        assert!(browser.complaints(&file).len() >= 8, "what is refused would not be seen");
    }
}
