//! The glyph files below assets/fonts, derived from the font files of named packages, never drawn by hand.
//!
//! | file | package | what is taken |
//! |---|---|---|
//! | 5x8, 6x12, 8x13 | Debian xfonts-base 1:1.0.5+nmu1 | every glyph of the PCF of that name |
//! | 8x8 | Python package unscii 0.1.1 | the 8 x 8 glyphs of unscii-8 |
//! | unifont | Debian unifont 1:15.0.01-2 | every glyph of unifont.hex but control codes |
//!
//! A glyph file is zstd over sections of one glyph size each: width and height (1 byte each), the number of glyphs (4),
//! their code points (2 each, ascending), then all bitmaps, rows from the top, the leftmost pixel in the highest bit.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Glyphs of one size: code point and rows of packed bits.
struct Section {
    width: u8,
    height: u8,
    glyphs: Vec<(u16, Vec<u8>)>,
}

/// Makes the glyph files from the packages installed below `root`; `unscii` is the module file of that package. Returns
/// name and content before compression.
pub(crate) fn derive(root: &Path, unscii: &Path) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let pcf = |name: &str| root.join("usr/share/fonts/X11/misc").join(format!("{name}.pcf.gz"));
    Ok(vec![
        ("5x8.glyphs", pack(vec![read_pcf(&pcf("5x8"), 5, 8)?])),
        ("6x12.glyphs", pack(vec![read_pcf(&pcf("6x12"), 6, 12)?])),
        ("8x13.glyphs", pack(vec![read_pcf(&pcf("8x13"), 8, 13)?])),
        ("8x8.glyphs", pack(vec![read_unscii(unscii)?])),
        ("unifont.glyphs", pack(read_hex(&root.join("usr/share/unifont/unifont.hex"))?)),
    ])
}

/// Writes the files, compressed; returns how many.
pub(crate) fn write(root: &Path, unscii: &Path, dir: &Path) -> Result<usize> {
    let files = derive(root, unscii)?;
    for (name, bytes) in &files {
        let path = dir.join(format!("{name}.zst"));
        std::fs::write(&path, zstd::encode_all(bytes.as_slice(), 19)?).with_context(|| path.display().to_string())?;
    }
    Ok(files.len())
}

fn pack(sections: Vec<Section>) -> Vec<u8> {
    let mut out = Vec::new();
    for mut section in sections {
        section.glyphs.sort();
        out.extend([section.width, section.height]);
        out.extend((section.glyphs.len() as u32).to_le_bytes());
        out.extend(section.glyphs.iter().flat_map(|(code, _)| code.to_le_bytes()));
        out.extend(section.glyphs.iter().flat_map(|(_, rows)| rows.iter().copied()));
    }
    out
}

/// Whether a code point is printed at all.
fn is_printed(code: u32) -> bool {
    char::from_u32(code).is_some_and(|c| !c.is_control())
}

/// GNU Unifont's own format: `CODE:BITMAP`, 8 or 16 pixels wide, 16 high.
fn read_hex(path: &Path) -> Result<Vec<Section>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut sections = [(8, 32), (16, 64)].map(|(width, digits)| (digits, Section { width, height: 16, glyphs: Vec::new() }));
    for line in text.lines() {
        let (code, bitmap) = line.split_once(':').with_context(|| format!("{}: {line}", path.display()))?;
        let code = u32::from_str_radix(code, 16)?;
        if !is_printed(code) {
            continue;
        }
        let rows: Vec<u8> =
            bitmap.as_bytes().chunks(2).map(|two| Ok(u8::from_str_radix(std::str::from_utf8(two)?, 16)?)).collect::<Result<_>>()?;
        let Some((_, section)) = sections.iter_mut().find(|(digits, _)| *digits == bitmap.len()) else {
            bail!("{line}: no glyph size of Unifont")
        };
        section.glyphs.push((u16::try_from(code)?, rows));
    }
    Ok(sections.into_iter().map(|(_, section)| section).collect())
}

/// Glyphs that unscii's author corrected after the package was made (in it, É is an A): code point and rows, as the recorded
/// pictures of the reference show them.
const CORRECTED: &[(u16, [u8; 8])] = &[
    (0xb8, [0, 0, 0, 0, 0, 0, 0x08, 0x18]),
    (0xbc, [0x40, 0xc6, 0x4c, 0x5a, 0x36, 0x6a, 0xcf, 0x02]),
    (0xbe, [0xc0, 0x26, 0x6c, 0x3a, 0xf6, 0x6a, 0xcf, 0x02]),
    (0xc8, [0x70, 0, 0xfe, 0xc0, 0xf8, 0xc0, 0xfe, 0]),
    (0xc9, [0x0e, 0, 0xfe, 0xc0, 0xf8, 0xc0, 0xfe, 0]),
    (0xcb, [0x66, 0, 0xfe, 0xc0, 0xf8, 0xc0, 0xfe, 0]),
];

/// The 8 x 8 glyphs of the unscii package: lines ` CODE: [a, b, …],` of one dictionary.
fn read_unscii(path: &Path) -> Result<Section> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let (_, body) = text.split_once("unscii_8_bytes = {").context("no table of glyphs in the module")?;
    let mut section = Section { width: 8, height: 8, glyphs: Vec::new() };
    for item in body.split(']') {
        let Some((code, rows)) = item.split_once('[') else { continue };
        let code: u32 = code.trim_matches(|c: char| !c.is_ascii_digit()).parse()?;
        let rows: Vec<u8> = rows.split(',').map(|row| Ok(row.trim().parse()?)).collect::<Result<_>>()?;
        if rows.len() == 8
            && is_printed(code)
            && let Ok(code) = u16::try_from(code)
        {
            let corrected = CORRECTED.iter().find(|(other, _)| *other == code).map(|(_, rows)| rows.to_vec());
            section.glyphs.push((code, corrected.unwrap_or(rows)));
        }
    }
    ensure!(section.glyphs.len() > 1_900, "only {} glyphs in the module", section.glyphs.len());
    Ok(section)
}

/// X11's portable compiled format, of a font whose glyphs all have one size.
fn read_pcf(path: &Path, width: u8, height: u8) -> Result<Section> {
    let output = Command::new("gzip").arg("-dc").arg(path).output().context("gzip")?;
    ensure!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    let data = output.stdout;
    let take = |at: usize, len: usize| data.get(at..at + len).context("the file is too short");
    let little = |at: usize| Ok::<_, anyhow::Error>(u32::from_le_bytes(take(at, 4)?.try_into()?) as usize);
    let table = |wanted: usize| -> Result<usize> {
        for n in 0..little(4)? {
            if little(8 + 16 * n)? == wanted {
                return little(8 + 16 * n + 12);
            }
        }
        bail!("{}: no table {wanted}", path.display())
    };
    // Every table says in its first word (little-endian) how the rest of it is stored.
    let big = |format: usize| format & 4 != 0;
    let word = |format: usize, at: usize| -> Result<usize> {
        let bytes: [u8; 4] = take(at, 4)?.try_into()?;
        Ok((if big(format) { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }) as usize)
    };
    let short = |format: usize, at: usize| -> Result<usize> {
        let bytes: [u8; 2] = take(at, 2)?.try_into()?;
        Ok(usize::from(if big(format) { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }))
    };
    let metrics = table(4)?;
    let format = little(metrics)?;
    ensure!(format & 0x100 != 0, "{}: the metrics are not of the compressed kind", path.display());
    let count = short(format, metrics + 4)?;
    for glyph in 0..count {
        let of: [u8; 5] = take(metrics + 6 + 5 * glyph, 5)?.try_into()?;
        let [left, right, _, ascent, descent] = of.map(|value| i16::from(value) - 128);
        ensure!(
            left == 0 && right == i16::from(width) && ascent + descent == i16::from(height),
            "{}: glyph {glyph} has another size",
            path.display()
        );
    }
    let bitmaps = table(8)?;
    let format = little(bitmaps)?;
    // Rows are padded to 1, 2, 4 or 8 bytes, the leftmost pixel in the highest bit.
    ensure!(format & 8 != 0 && (big(format) || format & 0x30 == 0), "{}: an order of bits that is not read here", path.display());
    let pad = 1 << (format & 3);
    let first = bitmaps + 8 + 4 * count + 16;
    let rows = |glyph: usize| -> Result<Vec<u8>> {
        let at = first + word(format, bitmaps + 8 + 4 * glyph)?;
        Ok(take(at, pad * usize::from(height))?.iter().step_by(pad).copied().collect())
    };
    let encodings = table(32)?;
    let format = little(encodings)?;
    let [low, last_low, high, last_high] = [4, 6, 8, 10].map(|at| short(format, encodings + at));
    let (low, last_low, high, last_high) = (low?, last_low?, high?, last_high?);
    let mut section = Section { width, height, glyphs: Vec::new() };
    for (n, code) in (high..=last_high).flat_map(|h| (low..=last_low).map(move |l| h << 8 | l)).enumerate() {
        let glyph = short(format, encodings + 14 + 2 * n)?;
        if glyph != 0xffff && is_printed(code as u32) {
            section.glyphs.push((u16::try_from(code)?, rows(glyph)?));
        }
    }
    Ok(section)
}
