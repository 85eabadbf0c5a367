//! What of a path is no message and must outlive its messages: the model that works, how much it thinks, what the session
//! is called. Without them an agent would go on with its defaults.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};

use crate::session::{Ix, Json, Kind, Owner, Role, Session};

/// What is carried over.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// Entries that stay, in path order.
    pub entries: Vec<Ix>,
    /// A model that no entry of these names: members of a `model_change` that has to be made.
    pub model: Option<Value>,
}

/// The latest model (of each role), thinking level and session name of a path.
///
/// The agents take a model from answers too. Where the latest answer tells another model than what stays would, that one is
/// told by a new entry, in the form that the file's agent reads.
///
/// # Errors
/// When an entry cannot be read.
pub fn carried(session: &Session, path: &[Ix]) -> io::Result<Carried> {
    let mut latest: HashMap<String, Ix> = HashMap::new();
    let mut chosen: Option<(usize, String, bool)> = None;
    let mut answered: Option<(usize, String)> = None;
    for (at, ix) in path.iter().copied().enumerate() {
        let kind = session[ix].kind;
        let name = session.type_name(ix);
        match (kind, name) {
            (Kind::ModelChange, _) => {
                let payload = session.read(ix)?;
                let text = payload.text();
                let record = Json::parse(&text).unwrap_or(Json::Null);
                let role = record.get("role").str().unwrap_or("default").to_owned();
                if role == "default" {
                    let whole = record.get("model").str().map(str::to_owned);
                    let parts = record.get("provider").str().zip(record.get("modelId").str()).map(|(p, m)| format!("{p}/{m}"));
                    let by_path = whole.is_some();
                    chosen = whole.or(parts).map(|model| (at, model, by_path));
                }
                latest.insert(format!("model {role}"), ix);
            }
            (_, "thinking_level_change" | "session_info" | "title_change") => {
                latest.insert(name.to_owned(), ix);
            }
            (Kind::Message, _) if session[ix].role == Role::Assistant => {
                let model = session.with_message(ix, |message| message.model.clone())?;
                answered = model.filter(|model| model.contains('/')).map(|model| (at, model)).or(answered);
            }
            _ => {}
        }
    }
    let mut entries: Vec<Ix> = latest.into_values().collect();
    entries.sort_by_key(|ix| path.iter().position(|p| p == ix));
    let by_path = chosen.as_ref().map_or(session.owner() == Owner::Omp, |(.., by_path)| *by_path);
    let model = answered.filter(|(at, model)| match &chosen {
        None => session.owner() != Owner::Unknown,
        // oh-my-pi never lets an answer win over a choice.
        Some((choice, chosen, by_path)) => !by_path && choice < at && chosen != model,
    });
    let model = model.and_then(|(_, model)| {
        let (provider, id) = model.split_once('/')?;
        Some(if by_path { json!({"model": model}) } else { json!({"provider": provider, "modelId": id}) })
    });
    Ok(Carried { entries, model })
}
