//! Results that hold the same text: the newest stays, older ones tell which entry that is.
//!
//! Only a later entry of the same path can stand for a result, and only one that the model sees when it sees the result.

use std::collections::{BTreeMap, HashMap};
use std::io;

use sha2::{Digest, Sha256};

use crate::session::{Block, Ix, Map, Role, Session, Set};

/// Bytes of text below which a repetition costs less than the notice is worth.
const LEAST: usize = 100;

/// The notices for results whose text a later result of the same path holds as well.
pub(super) fn notices(
    session: &Session,
    paths: &[Vec<Ix>],
    in_context: &Set<Ix>,
    skip: &dyn Fn(Ix) -> bool,
) -> io::Result<BTreeMap<Ix, String>> {
    let mut notices: BTreeMap<Ix, String> = BTreeMap::new();
    let mut holders: Set<Ix> = Set::default();
    let mut known: Map<Ix, Option<[u8; 32]>> = Map::default();
    for path in paths {
        // The newest entry with a text, and the newest that is in the context.
        let mut newest: HashMap<[u8; 32], (Ix, Option<Ix>)> = HashMap::new();
        for ix in path.iter().rev().copied() {
            let entry = &session[ix];
            if entry.role != Role::ToolResult || !entry.is_message() || entry.flags.pruned() || skip(ix) || notices.contains_key(&ix) {
                continue;
            }
            let digest = match known.get(&ix) {
                Some(digest) => *digest,
                None => {
                    let digest = digest(session, ix)?;
                    known.insert(ix, digest);
                    digest
                }
            };
            let Some(digest) = digest else { continue };
            let seen = in_context.contains(&ix);
            let holder = newest.get(&digest).and_then(|(any, shown)| if seen { *shown } else { Some(*any) });
            // What stands for another entry on some path keeps its text.
            if let Some(holder) = holder.filter(|_| !holders.contains(&ix)) {
                holders.insert(holder);
                notices.insert(ix, format!("[Same output as in entry {}]", session.id(holder)));
                continue;
            }
            let place = newest.entry(digest).or_insert((ix, None));
            if seen && place.1.is_none() {
                place.1 = Some(ix);
            }
        }
    }
    Ok(notices)
}

/// The digest of a result's texts, when they are long enough.
fn digest(session: &Session, ix: Ix) -> io::Result<Option<[u8; 32]>> {
    session.with_message(ix, |message| {
        let mut hash = Sha256::new();
        let mut len = 0;
        for block in &message.blocks {
            if let Block::Text(text) = block {
                len += text.len();
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
        }
        (len >= LEAST).then(|| hash.finalize().into())
    })
}
