//! The tables of the config that are about models: `[[models]]`, what is known about some, and `[[promotion]]`, which to switch
//! to before a compaction is made. (`model` is a setting, the model to use, and TOML has one value a key.)

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{amount, at_least, switch};
use crate::models::{Api, Catalogue, ModelRow, Promotion};

/// What is wrong, and the byte of the config that it is about.
type Wrong = (usize, String);

type Table<'a> = Spanned<DeValue<'a>>;

/// Whether a key of the config is one of these tables, not a setting.
pub(super) fn is_table(key: &str) -> bool {
    key == "promotion" || key == "models"
}

/// Reads the tables.
pub(super) fn read(config: &DeTable<'_>) -> Result<Catalogue, Wrong> {
    let (mut rows, mut promotions, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in config {
        let key = key.get_ref().as_ref();
        if !is_table(key) {
            continue;
        }
        for table in tables(key, value)? {
            if key == "models" {
                rows.push(model(table)?);
            } else {
                let (promotion, at) = promotion(table)?;
                targets.push((promotion.to.clone(), at));
                promotions.push(promotion);
            }
        }
    }
    let catalogue = Catalogue::new(rows, promotions);
    for (to, at) in targets {
        // Without its window nobody could tell whether switching helps.
        if catalogue.window(&to).is_none() {
            return Err((at, format!("promotion.to: the window of '{to}' is not known; say it in a [[models]] row")));
        }
    }
    Ok(catalogue)
}

fn tables<'a, 'b>(key: &str, value: &'b Table<'a>) -> Result<Vec<&'b Table<'a>>, Wrong> {
    let rows = value.get_ref().as_array().map(|rows| rows.iter().collect::<Vec<_>>());
    let rows = rows.filter(|rows| rows.iter().all(|row| row.get_ref().is_table()));
    rows.ok_or_else(|| (value.span().start, format!("{key}: a list of tables is wanted, [[{key}]]")))
}

fn model(table: &Table<'_>) -> Result<ModelRow, Wrong> {
    let mut row = ModelRow::default();
    each(table, "models", &["pattern", "window", "vision", "api", "images"], |key, text| {
        match key {
            "pattern" => row.pattern = text.to_owned(),
            "window" => row.window = Some(at_least(1, amount(text)?)?),
            "vision" => row.vision = Some(switch(text)?),
            "api" => row.api = Some(family(text)?),
            _ => row.images = Some(u32::try_from(amount(text)?).map_err(|_| format!("{text} is out of range"))?),
        }
        Ok(())
    })?;
    if row.pattern.is_empty() {
        return Err((table.span().start, "models.pattern: which models? a beginning of their ids is wanted".to_owned()));
    }
    Ok(row)
}

fn promotion(table: &Table<'_>) -> Result<(Promotion, usize), Wrong> {
    let (mut from, mut to) = (None, None);
    let mut at = table.span().start;
    each(table, "promotion", &["from", "to"], |key, text| {
        match key {
            "from" => from = Some(text.to_owned()).filter(|text| !text.is_empty()),
            _ if text.split_once('/').is_none_or(|(provider, id)| provider.is_empty() || id.is_empty()) => {
                return Err(format!("'{text}' names no provider; use provider/id"));
            }
            _ => to = Some(text.to_owned()),
        }
        Ok(())
    })?;
    if let Some((key, _)) = table.get_ref().as_table().and_then(|keys| keys.iter().find(|(key, _)| key.get_ref() == "to")) {
        at = key.span().start;
    }
    let to = to.ok_or_else(|| (at, "promotion.to: the model to switch to is wanted, provider/id".to_owned()))?;
    Ok((Promotion { from, to }, at))
}

/// The family by name.
fn family(text: &str) -> Result<Api, String> {
    let api = Api::of(text);
    if api == Api::Unknown { Err(format!("'{text}' is no family of interfaces; use anthropic, openai or google")) } else { Ok(api) }
}

/// Hands each key of a table with its value as typed to `set`.
fn each(table: &Table<'_>, name: &str, keys: &[&str], mut set: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), Wrong> {
    for (key, value) in table.get_ref().as_table().into_iter().flatten() {
        let at = key.span().start;
        let key = key.get_ref().as_ref();
        if !keys.contains(&key) {
            return Err((at, format!("'{name}.{key}' is no setting; use {}", keys.join(", "))));
        }
        let text = super::plain(value.get_ref()).ok_or_else(|| (at, format!("{name}.{key}: a plain value is wanted")))?;
        set(key, &text).map_err(|what| (at, format!("{name}.{key}: {what}")))?;
    }
    Ok(())
}
