//! Which agent a session file belongs to. It decides what a writer may assume of the readers.

use super::head::Head;

/// The agent whose file this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// pi
    Pi,
    /// oh-my-pi
    Omp,
    /// openclaw
    Openclaw,
    /// Nothing in the file tells.
    Unknown,
}

impl Owner {
    /// The name in JSON and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Owner::Pi => "pi",
            Owner::Omp => "omp",
            Owner::Openclaw => "openclaw",
            Owner::Unknown => "unknown",
        }
    }
}

/// Counts of what only one of the agents writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks {
    omp: u32,
    pi: u32,
    /// Those of pi's marks that versions before 1.0 do not write.
    pi_1x: u32,
    openclaw: u32,
}

impl Marks {
    pub(crate) fn see(&mut self, head: &Head<'_>) {
        match head.kind.as_deref().unwrap_or_default() {
            "title"
            | "credential_pin"
            | "ttsr_injection"
            | "service_tier_change"
            | "mode_change"
            | "session_init"
            | "title_change"
            | "reset_boundary"
            | "model_usage" => self.omp += 1,
            "model_change" if head.model_is_path => self.omp += 1,
            "model_change" if head.has_provider => self.pi += 1,
            "session_info" => self.pi += 1,
            "context_edit" | "usage" => {
                self.pi += 1;
                self.pi_1x += 1;
            }
            "message" if head.message.role.as_deref() == Some("system") => {
                self.pi += 1;
                self.pi_1x += 1;
            }
            _ => {}
        }
        if head.custom_type.as_deref().is_some_and(|t| t.starts_with("openclaw")) {
            self.openclaw += 1;
        }
    }

    pub(crate) fn add(&mut self, other: &Marks) {
        self.omp += other.omp;
        self.pi += other.pi;
        self.pi_1x += other.pi_1x;
        self.openclaw += other.openclaw;
    }

    /// Whether pi 1.x wrote to the file.
    pub(crate) fn is_pi_1x(self) -> bool {
        self.pi_1x > 0
    }

    pub(crate) fn owner(self) -> Owner {
        if self.openclaw > 0 {
            Owner::Openclaw
        } else if self.omp > 0 && self.omp >= self.pi {
            Owner::Omp
        } else if self.pi > 0 {
            Owner::Pi
        } else {
            Owner::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_that_left_more_marks_has_the_file_and_openclaw_before_both() {
        for (omp, pi, openclaw, owner) in [
            (0, 0, 0, Owner::Unknown),
            (1, 0, 0, Owner::Omp),
            (0, 1, 0, Owner::Pi),
            (2, 1, 0, Owner::Omp),
            (1, 1, 0, Owner::Omp),
            (1, 2, 0, Owner::Pi),
            (2, 1, 1, Owner::Openclaw),
        ] {
            assert_eq!(Marks { omp, pi, pi_1x: 0, openclaw }.owner(), owner, "{omp} {pi} {openclaw}");
        }
    }
}
