//! placeholder
use super::*;
/// x
#[derive(Debug, Clone, Copy)]
pub struct Offline;
impl Summarizer for Offline {
    fn name(&self) -> &'static str {
        "offline"
    }
    fn summarize(&self, request: &Request<'_>) -> Result<Summary, SummarizeError> {
        truncate::Truncate.summarize(request)
    }
}
