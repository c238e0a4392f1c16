//! One operation id per intent of a person.
//!
//! Invariant: sending the same thing again after a lost answer repeats the id, so that the server answers as the first
//! time; sending anything else, or anything after a clear answer, takes a fresh one.

use contract::{AppError, vocab::OperationId};

/// The intent whose answer is not known yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intents {
    open: Option<(String, OperationId)>,
}

impl Intents {
    /// The id for sending `content`; `fresh` makes a new one.
    pub(crate) fn id_for(&mut self, content: String, fresh: impl FnOnce() -> OperationId) -> OperationId {
        match &self.open {
            Some((open, id)) if *open == content => id.clone(),
            _ => {
                let id = fresh();
                self.open = Some((content, id.clone()));
                id
            }
        }
    }

    /// The answer is here. Whether it was done is unclear after `Unavailable` and `Internal`, so the id stays.
    pub(crate) fn answered(&mut self, error: Option<&AppError>) {
        let unclear = matches!(error, Some(AppError::Unavailable { .. } | AppError::Internal { .. }));
        if !unclear {
            self.open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_repeats_the_id_and_a_new_intent_does_not() {
        let mut intents = Intents::default();
        let id = |text: &str| OperationId::new(text);
        assert_eq!(intents.id_for("approve".to_owned(), || id("1")), id("1"));
        intents.answered(Some(&AppError::Unavailable { what: "server".to_owned(), retry_s: 5 }));
        assert_eq!(intents.id_for("approve".to_owned(), || id("2")), id("1"));
        assert_eq!(intents.id_for("approve, corrected".to_owned(), || id("3")), id("3"));
        intents.answered(Some(&AppError::NotFound));
        assert_eq!(intents.id_for("approve, corrected".to_owned(), || id("4")), id("4"));
        intents.answered(None);
        assert_eq!(intents.id_for("approve, corrected".to_owned(), || id("5")), id("5"));
    }
}
