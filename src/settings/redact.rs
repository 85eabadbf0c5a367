//! The tables of the config that say what exports mask besides: `[[redact]]`, each with what it is called and a pattern.

use toml::de::{DeTable, DeValue};

use crate::text::Own;

/// The key of the tables.
pub(super) const TABLE: &str = "redact";

/// Reads the tables; what is wrong comes with the byte of the config that it is about.
pub(super) fn read(config: &DeTable<'_>) -> Result<Vec<Own>, (usize, String)> {
    let Some((_, value)) = config.iter().find(|(key, _)| key.get_ref() == TABLE) else { return Ok(Vec::new()) };
    let DeValue::Array(tables) = value.get_ref() else {
        return Err((value.span().start, "redact: a list of tables is wanted, [[redact]]".to_owned()));
    };
    let one = |table: &toml::Spanned<DeValue<'_>>| pattern(table.get_ref()).map_err(|what| (table.span().start, format!("redact: {what}")));
    tables.iter().map(one).collect()
}

/// One table.
fn pattern(table: &DeValue<'_>) -> Result<Own, String> {
    let DeValue::Table(table) = table else { return Err("a list of tables is wanted, [[redact]]".to_owned()) };
    let text = |wanted: &str| match table.iter().find(|(key, _)| key.get_ref() == wanted).map(|(_, value)| value.get_ref()) {
        Some(DeValue::String(text)) => Ok(text.to_string()),
        _ => Err(format!("'{wanted}' is missing, or no text")),
    };
    if let Some((key, _)) = table.iter().find(|(key, _)| !["kind", "pattern"].contains(&key.get_ref().as_ref())) {
        return Err(format!("'{}' is unknown; a table has kind and pattern", key.get_ref()));
    }
    Own::new(&text("kind")?, &text("pattern")?).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn patterns_are_read_and_wrong_ones_are_told() {
        let read = |text: &str| read(DeTable::parse(text).unwrap().get_ref());
        assert_eq!(read("model = 'x'").unwrap().len(), 0);
        assert_eq!(read("[[redact]]\nkind = 'a'\npattern = 'x+'\n[[redact]]\nkind = 'b'\npattern = 'y'").unwrap().len(), 2);
        let rows = [
            ("redact = 1", "a list of tables"),
            ("redact = [1]", "a list of tables"),
            ("[[redact]]\nkind = 'a'", "'pattern' is missing"),
            ("[[redact]]\nkind = 'A b'\npattern = 'x'", "'A b' is no kind"),
            ("[[redact]]\nkind = 'a'\npattern = '('", "unclosed group"),
            ("[[redact]]\nkind = 'a'\npattern = 'x*'", "matches the empty text"),
            ("[[redact]]\nkind = 'a'\npattern = 'x'\nname = 1", "'name' is unknown"),
        ];
        for (text, want) in rows {
            let (_, what) = read(text).unwrap_err();
            assert!(what.contains(want), "{text}: {what}");
        }
    }
}
