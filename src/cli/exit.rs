//! Exit codes.

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done, or nothing to do.
    Done,
    /// Failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// Nothing to do, when `--exit-code` asks to be told so.
    Nothing,
    /// `inspect --check` found problems.
    Problems,
    /// Locked, or changed while working.
    Conflict,
}

impl Status {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Nothing => 3,
            Status::Problems => 4,
            Status::Conflict => 5,
        }
    }

    /// Of several sessions: the first of failed, conflict, problems that occurs; nothing only if it was so for every one.
    #[must_use]
    pub fn of_all(all: &[Status]) -> Status {
        let worst = [Status::Failed, Status::Conflict, Status::Problems].into_iter().find(|status| all.contains(status));
        match worst {
            Some(status) => status,
            None if !all.is_empty() && all.iter().all(|status| *status == Status::Nothing) => Status::Nothing,
            None => Status::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Status::{Conflict, Done, Failed, Nothing, Problems};
    use super::*;

    #[test]
    fn the_worst_of_several_counts() {
        let rows: &[(&[Status], Status)] = &[
            (&[], Done),
            (&[Done, Nothing], Done),
            (&[Nothing, Nothing], Nothing),
            (&[Problems, Conflict, Done], Conflict),
            (&[Conflict, Failed, Problems], Failed),
            (&[Problems, Nothing], Problems),
        ];
        for (all, want) in rows {
            assert_eq!(Status::of_all(all), *want, "{all:?}");
        }
    }
}
