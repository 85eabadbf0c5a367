//! Secrets are put together at run time so that no secret-shaped literal stands in the repository.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]
use super::*;
use proptest::prelude::*;

/// A random-looking token of `len` letters and digits.
fn noise(len: usize) -> String {
    let alphabet = b"aZ3kQ9mB7xW2pL5rT8vN4cJ6hD1gF0sYeUiO";
    (0..len).map(|i| char::from(alphabet[(i * 11 + i / 7) % alphabet.len()])).collect()
}

fn upper(len: usize) -> String {
    noise(len).to_uppercase()
}

fn redact(s: &str) -> Redacted<'_> {
    Redactor::secrets().redact(s)
}

/// Each text has its secret between `«` and `»`; exactly that is masked, as the kind given.
fn check(kind: &str, marked: &str) {
    let (before, rest) = marked.split_once('«').unwrap();
    let (secret, after) = rest.split_once('»').unwrap();
    let text = format!("{before}{secret}{after}");
    let redacted = redact(&text);
    assert_eq!(redacted.text, format!("{before}[redacted {kind}]{after}"), "{text}");
    assert_eq!(redacted.counts.values().sum::<usize>(), 1, "{text}");
    assert_eq!(redact(&redacted.text).text, redacted.text);
}

fn pem(lines: usize, separator: &str) -> String {
    let body = vec![noise(64); lines].join(separator);
    format!("-----BEGIN RSA PRIVATE{0} KEY-----{separator}{body}{separator}{1}=={separator}-----END RSA PRIVATE{0} KEY-----", "", noise(20))
}

#[test]
fn every_expression_compiles() {
    let redactor = Redactor::new(rules::SECRETS.iter().chain(rules::PERSON).chain(rules::EMAIL).collect());
    assert!(redactor.anchors.is_some());
    for rule in rules::SECRETS {
        if let Finder::Regex { pattern, .. } = rule.finder {
            Regex::new(pattern).unwrap();
        }
    }
}

#[test]
fn c25_tokens_of_known_shape_are_masked() {
    for (kind, prefix, body) in [
        ("api-key", "sk-", noise(48)),
        ("api-key", "sk-or-v1-", noise(64)),
        ("anthropic-key", "sk-ant-", format!("api03-{}_{}-AA", noise(40), noise(40))),
        ("openai-key", "sk-proj-", format!("{}_{}", noise(40), noise(30))),
        ("stripe-key", "sk_live_", noise(24)),
        ("github-token", "ghp_", noise(36)),
        ("github-token", "gho_", "a".repeat(36)),
        ("github-token", "ghs_", noise(36)),
        ("github-token", "github_pat_", format!("{}_{}", noise(22), noise(59))),
        ("gitlab-token", "glpat-", noise(20)),
        ("slack-token", "xoxb-", format!("123456789012-{}", noise(24))),
        ("aws-key-id", "AKIA", upper(16)),
        ("aws-key-id", "ASIA", upper(16)),
        ("google-key", "AIza", noise(35)),
        ("huggingface-token", "hf_", noise(34)),
        ("npm-token", "npm_", noise(36)),
        ("pypi-token", "pypi-", format!("AgEIcHlwaS5vcmc{}", noise(60))),
        ("digitalocean-token", "dop_v1_", "0123456789abcdef".repeat(4)),
        ("sendgrid-key", "SG.", format!("{}.{}", noise(22), noise(43))),
        ("jwt", "eyJ", format!("{}.eyJ{}.{}", noise(20), noise(40), noise(43))),
    ] {
        for context in ["«{}»", "use «{}», please", "x=\"«{}»\"", "\\n«{}»\\n", "(«{}»)", "https://h/«{}»/x"] {
            check(kind, &context.replace("{}", &format!("{prefix}{body}")));
        }
    }
    check("slack-webhook", &format!("https://hooks.slack{}/services/«T012/B034/{}»", ".com", noise(24)));
}

#[test]
fn private_keys_are_masked_whole_and_torn() {
    let layouts = ["\n", "\r\n", "\\n", "\\\\n", " ", "\n    ", "\n> ", "\n  12→", "\n12\t", "\\n\" +\n  \""];
    for separator in layouts {
        check("private-key", &format!("key:\n«{}»\nafter it", pem(6, separator)));
    }
    let whole = pem(6, "\n");
    let torn = &whole[..whole.len() - 60];
    check("private-key", &format!("a «{torn}»"));
    let lines = whole.lines().take(4).collect::<Vec<_>>().join("\n");
    check("private-key", &format!("«{lines}»\nDone\nand more text"));
    let json = pem(4, "\\n");
    check("private-key", &format!("{{\"private_key\": \"«{json}»\\n\", \"n\": 1}}"));
}

#[test]
fn headers_and_urls_keep_what_is_no_secret() {
    let token = noise(30);
    check("authorization", &format!("-H 'Authorization: Bearer «{token}»'"));
    check("authorization", &format!("authorization: «{token}»\nAccept: */*"));
    check("authorization", &format!("\"Authorization\": \"Basic «{}==»\"", noise(18)));
    check("authorization", &format!("\\\"authorization\\\":\\\"token «{token}»\\\""));
    check("bearer-token", &format!("it sent Bearer «{token}» twice"));
    check("key", &format!("x-api-key: «{token}»"));
    check("url-password", "postgres://u:«p4ss»@h/db");
    check("url-password", "see https://user:«hunter»@example.com:8080/x?y=1.");
    check("url-password", "redis://:«p/a@ss»@h:6379");
    check("url-password", "amqp://u:«ab/c1»@h");
    check("url-password", &format!("https://«{}»@github.com/a/b", noise(40)));
}

#[test]
fn e05_passwords_of_command_lines_are_masked() {
    for (kind, text) in [
        ("command-password", "curl -s -u me:«S3cretJjj» https://h/x"),
        ("command-password", "curl -u 'me:«S3cretJjj»' https://h/x"),
        ("command-password", r#"{"command":"curl --user \"me:«S3cretKkk»\" h"}"#),
        ("command-password", "curl --proxy-user=me:«S3cretKkk» h"),
        ("command-password", "sshpass -p '«S3cretAaa»' ssh h"),
        ("command-password", "docker login -u me -p «S3cretDdd» registry.example"),
        ("command-password", "redis-cli -h h -a «S3cretGgg» ping"),
        ("command-password", "mysql -u root -p«secretpw99» db"),
        ("command-password", "mysqldump -p«secretpw99» db"),
        ("netrc-password", "machine api.example.com login u password «netrcpass77»"),
        ("netrc-password", r"machine h\nlogin u\npassword «netrcpass77»\nmachine i"),
        ("element-password", "<user>u</user><password>«S3cretIii»</password>"),
        ("cookie", "Set-Cookie: «sid=S3cretQqq0123456789abcdef; Path=/; HttpOnly»"),
        ("cookie", "-H 'Cookie: «session=0123456789abcdef0123456789abcdef; a=b»'"),
        ("url-signature", "https://b.s3.example/k?X-Amz-Date=2&X-Amz-Signature=«0123456789abcdef0123456789abcdef»&x=1"),
        ("telegram-token", "https://api.telegram.example/bot«123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawq»/getMe"),
    ] {
        check(kind, text);
    }
    for plain in [
        "docker run -u 1000:1000 image",
        "curl -u $USER:$PASS h",
        "curl -u me:<password> h",
        "git push -u origin main",
        "pytest -u tests/a.py::b",
        "docker login -p $TOKEN",
        "ssh login@h -p 2222",
        "mysql -u root -p db",
        "psql -p 5432",
        "cookie: a sweet thing",
        "document.cookie = name + value",
        "Set-Cookie: theme=dark",
        "robot12:34",
        "the machine has a login and a password",
    ] {
        assert_eq!(redact(plain).text, plain);
    }
}

#[test]
fn assignments_to_secret_names_are_masked() {
    let token = noise(24);
    for (kind, text) in [
        ("key", format!("export OPENAI_API_KEY=«{token}»\n")),
        ("key", format!("SOME_KEY=«{token}»")),
        ("key", format!("aws_secret_access_key = «{token}/+{token}»")),
        ("key", format!("{{\"apiKey\":\"«{token}»\"}}")),
        ("key", format!("api-key: «{token}»")),
        ("token", format!("GITHUB_TOKEN='«{token}»'")),
        ("token", format!("https://h/p?access_token=«{token}»&page=2")),
        ("token", format!("const authToken = \"«{token}»\";")),
        ("token", format!("login --token «{token}» --verbose")),
        ("token", format!("NPM_TOKEN=«{token}»\\nNEXT=1")),
        ("secret", format!("CLIENT_SECRET=«{token}»")),
        ("secret", format!("client_secret: str = \"«{token}»\"")),
        ("password", "PASSWORD=«hunter»".into()),
        ("password", "DB_PASS=«abc123»".into()),
        ("password", "MYSQL_ROOT_PASSWORD=«a\\b(c»".into()),
        ("password", "\"password\": \"«hunter»\",".into()),
        ("password", "  password: «hunter2»\n".into()),
        ("password", "\\\"password\\\":\\\"«hunter»\\\",\\\"n\\\":1".into()),
        ("password", "cfg['password'] = '«it\\'s me!»'".replace(" me", "me")),
        ("password", "spring.datasource.password=«s3cr3t»".into()),
        ("password", "--password=«s3cr3t» x".into()),
        ("password", "pass: '«s3cr3t!»'".into()),
        ("password", "password: «p@ss&w|rd1»".into()),
    ] {
        check(kind, &text);
    }
    let both = format!("TOKEN=ghp_{}", noise(36));
    assert_eq!(redact(&both).text, "TOKEN=[redacted github-token]");
}

#[test]
fn e05_look_alikes_stay() {
    let hash = "3f2a9c1e5b7d8f604a2c9e1b3d5f7a8c6e0b2d4f";
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    for text in [
        "pip install sk-learn",
        "the task-runner and disk-usage tools",
        "sk-learn-0-24-2-user-guide-page",
        &format!("commit {hash}"),
        &format!("id {uuid}"),
        &format!("session_token: {uuid}"),
        &format!("sha256:{hash}{hash}"),
        "API_KEY=$OPENAI_API_KEY",
        "TOKEN=${TOKEN:-none}",
        "curl -H \"Authorization: Bearer $TOKEN\"",
        "TOKEN=$(cat t)",
        "API_KEY=<your-key>",
        "api_key = \"your-api-key-1\"",
        "API_KEY=xxxxxxxxxxxxxxxx",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-...",
        "password: ********",
        "const key = process.env.API_KEY",
        "apiKey: process.env.API_KEY2,",
        "token = os.environ['TOKEN']",
        "password: string;",
        "token: Token2Type[]",
        "password = read_password()",
        "if (token === null) {}",
        "max_tokens: 4096, token_count=12345678",
        "\"token\": \"the\"",
        "primary_key=user_id1",
        "public_key: 8f3a9b1c2d4e5f60",
        "monkey=abc12345678",
        "key: value12345678",
        "PRIVATE_KEY_PATH=/etc/ssl/a1.pem",
        "SSH_KEY=/home/u/.ssh/id_ed25519",
        "private_key: ./certs/key1.pem",
        "PWD=/srv/dir1",
        "hf_hub_download(repo_id)",
        "npm_config_registry=https://r.example/1",
        "AKIA1234",
        "--- PASS: TestParser2 (0.00s)",
        "first_pass: step2xyz",
        "bearer token-based-auth-v2",
        "Authorization: Basic authentication",
        "http://localhost:4873/@scope/pkg",
        "ssh://git@github.com/a/b",
        "git@github.com:a/b.git",
        "https://h/a:b@c",
        "text.contains(\"-----BEGIN PRIVATE KEY-----\")",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "\"minipass\": \"^7.0.4\", \"csrf-token\": \"^1.2.3-beta.1\"",
        "credentials: 'include'",
        "postgres://u:$PASS@h/db",
        "postgres://u:<password>@h/db",
        "eyJust an.example.of prose",
        "secret: my-app-tls-v2",
        "password: {{ vault_password }}",
        "password: !vault x1y2",
        "\"password\": \"password\"",
        "\"password\": \"Must have at least 8 characters\"",
        "token=token1&x=2",
        "keyword=abc123def456",
        "CACHE_KEY=linux-abc123",
        "secret = hmac.new(k1, b)",
        "tokenizer: o200k_base1",
        "password: required",
        "API_KEY=OTHER_API_KEY",
    ] {
        let redacted = redact(text);
        assert_eq!(redacted.text, text);
        assert!(redacted.counts.is_empty() && matches!(redacted.text, Cow::Borrowed(_)));
    }
}

#[test]
fn counts_are_by_kind_and_text_between_stays() {
    let text = format!("a ghp_{0} b ghp_{0} c postgres://u:p@h d", noise(36));
    let redacted = redact(&text);
    assert_eq!(redacted.text, "a [redacted github-token] b [redacted github-token] c postgres://u:[redacted url-password]@h d");
    assert_eq!(redacted.counts, BTreeMap::from([("github-token", 2), ("url-password", 1)]));
}

#[test]
fn very_long_tokens_are_masked_to_their_end() {
    check("jwt", &format!("«eyJ{}.{}.{}» end", noise(20), noise(12_000), noise(40)));
}

#[test]
fn beginnings_of_secrets_over_and_over_are_masked_once() {
    for unit in ["http://a:", "TOKEN=", "authorization:", "sk-", "-----BEGIN PRIVATE KEY-----", "password=\\\"", "eyJaaaaaa."] {
        let text = unit.repeat(100);
        let once = redact(&text);
        assert_eq!(redact(&once.text).text, once.text, "{unit}");
    }
}

proptest! {
    #[test]
    fn redaction_is_idempotent(parts in proptest::collection::vec(prop_oneof![
        Just("TOKEN=".to_owned()), Just("password: ".into()), Just("\"secret\":\"".into()), Just("\"".into()),
        Just("Authorization: ".into()), Just("Bearer ".into()), Just("://u:".into()), Just("@h/".into()),
        Just(format!("ghp_{}", noise(36))), Just(format!("sk-{}", noise(30))), Just(format!("AKIA{}", upper(16))),
        Just(pem(2, "\n")), Just(pem(2, "\\n")[..100].to_owned()), Just(format!("eyJ{0}.{0}.{0}", noise(12))),
        Just("\\n".into()), Just("\n".into()), Just(" ".into()), Just("-".into()), Just("é".into()), Just(noise(14)),
        Just("/".into()), Just("$X".into()), Just("[redacted ".into()), Just("_KEY=".into()), any::<String>(),
    ], 0..12)) {
        let text = parts.concat();
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.counts.is_empty());
        prop_assert_eq!(once.counts.is_empty(), once.text == text);
    }
}
