//! Flags of frames.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Compact;

/// How history is put on frames
#[derive(Debug, Args)]
#[command(next_help_heading = "Frames")]
pub struct Framing {
    /// The shape of frames: auto (dense), legible, or a name such as 8on16-bw [default: auto]
    #[arg(long, value_name = "NAME")]
    pub shape: Option<String>,
    /// The interface that carries requests to the model, such as openai-responses [default: the session's]
    #[arg(long, value_name = "NAME")]
    pub api: Option<String>,
    /// Most frames; older ones give way, and what is newest stays text [default: 8, or what the provider takes]
    #[arg(long, value_name = "N")]
    pub max_frames: Option<String>,
    /// Width and greatest height of a frame, in pixels [default: the shape's]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(16..=16384))]
    pub frame_size: Option<u32>,
    /// Draw zeros without their slash [default: off]
    #[arg(long)]
    pub plain_zero: bool,
    /// Write the frames that are made as PNG files into DIR, too [default: none]
    #[arg(long, value_name = "DIR")]
    pub frames_dir: Option<PathBuf>,
    /// Print even when more than 5 % of the text cannot be drawn [default: off]
    #[arg(long)]
    pub allow_unreadable: bool,
    /// How frames reach the model: auto, preserve-data, message [default: auto, by the session's owner]
    #[arg(long, value_enum, default_value_t = CarrierName::Auto, value_name = "HOW", hide_default_value = true, hide_possible_values = true)]
    pub carrier: CarrierName,
    /// Characters of a tool result that are printed [default: 2000]
    #[arg(long, value_name = "N")]
    pub tool_result_chars: Option<usize>,
    /// Characters of one argument of a call that are printed [default: 500]
    #[arg(long, value_name = "N")]
    pub tool_arg_chars: Option<usize>,
    /// Characters of all arguments of a call that are printed [default: 2000]
    #[arg(long, value_name = "N")]
    pub tool_call_chars: Option<usize>,
    /// Share of what is cut that is kept from its start, 0 to 1 [default: 0.6]
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    pub head_ratio: Option<f64>,
    /// Print tool results black instead of gray [default: off]
    #[arg(long)]
    pub no_dim: bool,
}

fn ratio(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| "a number from 0 to 1 is wanted".to_owned())
}

impl Framing {
    /// The settings that were given, by key.
    #[must_use]
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let all = [("snapcompact.shape", &self.shape), ("snapcompact.max_frames", &self.max_frames)];
        all.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect()
    }
}

/// How frames reach the model
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CarrierName {
    /// As the owner of the session reads them
    Auto,
    /// In the compaction, as oh-my-pi reads them
    PreserveData,
    /// In a message behind the compaction, which every reader sends
    Message,
}

/// Put older history on pictures that a model with vision reads back; the same as compact --strategy snapcompact
///
/// Every frame is decoded and read back before anything is written. With --text, any file is printed into --frames-dir.
#[derive(Debug, Args)]
pub struct Snapcompact {
    /// The flags of compact
    #[command(flatten)]
    pub compact: Compact,
    /// Print FILE, or - for standard input, into --frames-dir instead of compacting a session [default: none]
    #[arg(long, value_name = "FILE", requires = "frames_dir", conflicts_with = "sessions", help_heading = "Frames")]
    pub text: Option<PathBuf>,
}
