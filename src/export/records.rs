//! The session's own records as JSON Lines: as they are, or masked.
//!
//! As they are, the copy is a session again, with the same tree. Masked it is one for reading only: its header has another
//! type, so that neither this program nor an agent goes on from text with holes in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::frames::Pages;
use super::mask::Mask;
use super::{Counts, Options, Row, Subject};
use crate::session::edit::{Edit, with_parent};
use crate::session::{Ix, Json, Kind, REDACTED_TYPE, Session};
use crate::text::Redactor;

/// Writes the records; `all` is the whole file, else the header and the path.
///
/// # Errors
/// When reading or writing fails.
pub fn write(
    subject: &Subject<'_>,
    options: &Options,
    rows: &[Row],
    redactor: Option<&Redactor>,
    out: &mut dyn Write,
) -> io::Result<(u64, Counts)> {
    match redactor {
        None if options.branches => {
            // A copy carries no references: its archives are not there.
            let edit = subject.session.without_archives(Edit::default())?;
            subject.session.write_edited(&edit, out)?;
            Ok((subject.session.nodes().count() as u64 - edit.removed.len() as u64, Counts::new()))
        }
        None => Ok((path(subject.session, rows, out)?, Counts::new())),
        Some(redactor) => masked(subject, rows, redactor, out),
    }
}

/// The header and the entries of a path, byte for byte but for parents that were references of ours.
fn path(session: &Session, rows: &[Row], out: &mut dyn Write) -> io::Result<u64> {
    let bare: Edit = session.without_archives(Edit::default())?;
    let mut line = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.write_all(b"\n"));
    for (ix, _) in session.all().take_while(|(_, e)| matches!(e.kind, Kind::Header | Kind::Title)) {
        line(session.read(ix)?.bytes())?;
    }
    let mut entries = 0;
    for ix in rows.iter().map(|row| row.entry).filter(|ix| !bare.removed.contains(ix)) {
        match bare.replaced.get(&ix) {
            Some(record) => line(record)?,
            None => line(session.read(ix)?.bytes())?,
        }
        entries += 1;
    }
    Ok(entries)
}

fn masked(subject: &Subject<'_>, rows: &[Row], redactor: &Redactor, out: &mut dyn Write) -> io::Result<(u64, Counts)> {
    let session = subject.session;
    let mask = Mask::new(session, Some(redactor));
    let mut line = |text: &str| out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    line(&header(session, &mask)?)?;
    // In the order of the file, so that a parent comes before its children.
    let mut order: Vec<Ix> = rows.iter().map(|row| row.entry).collect();
    order.sort_unstable();
    let gone: BTreeSet<Ix> =
        order.iter().copied().filter(|ix| session[*ix].kind == Kind::Archive || session.type_name(*ix) == "credential_pin").collect();
    let mut entries = 0;
    for ix in order.iter().copied().filter(|ix| !gone.contains(ix)) {
        let payload = session.read(ix)?;
        let text = payload.text();
        let Ok(record) = Json::parse(&text) else { continue };
        // What the pictures of it show is known before they are written.
        let _read = Pages::of(&record, subject.blobs, &mask);
        let mut text = mask.json(&record).to_text();
        if session.parent(ix).is_some_and(|parent| gone.contains(&parent)) {
            let parent = session.parent_that_stays(ix, &gone).map(|id| mask.whole(id));
            text = with_parent(&text, parent.as_deref()).unwrap_or(text);
        }
        line(&text)?;
        entries += 1;
    }
    Ok((entries, mask.counts()))
}

/// The header with another type; the title comes into it.
fn header(session: &Session, mask: &Mask<'_>) -> io::Result<String> {
    let payload = session.header_entry().map(|ix| session.read(ix)).transpose()?;
    let text = payload.as_ref().map(|p| p.text()).unwrap_or_default();
    let record = Json::parse(&text).unwrap_or(Json::Null);
    let mut members: BTreeMap<usize, (String, Json<'_>)> = BTreeMap::new();
    members.insert(0, ("type".to_owned(), Json::Str(REDACTED_TYPE.into())));
    let masked = mask.json(&record);
    let rest = masked.members().iter().filter(|(key, _)| key != "type" && key != "title");
    members.extend(rest.enumerate().map(|(at, (key, value))| (at + 1, (key.clone().into_owned(), value.clone()))));
    if let Some(title) = session.header()?.title {
        members.insert(members.len(), ("title".to_owned(), Json::Str(mask.text(&title).into())));
    }
    Ok(Json::Object(members.into_values().map(|(key, value)| (key.into(), value)).collect()).to_text())
}
