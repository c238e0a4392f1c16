//! YAML to a blueprint: everything above the steps.
//!
//! Purpose: the keys of DESIGN §7 in one pass that collects every problem.
//! Invariant: a blueprint comes back only where no problem was found.
//! Never: guesses what a wrong value might have meant.

use std::collections::BTreeSet;

use vocab::{FieldName, FieldType, TriggerGuid, WorkflowId};

use super::model::{Blueprint, DocumentTemplate, FieldDecl, ObjectRef, Trigger};
use super::names::{ERP_NAME_CHARS_MAX, ID_CHARS_MAX, is_erp_name, is_guid, is_workflow_id, nearest};
use super::problem::{Place, Problem, ProblemCode, Problems};
use super::reader::{Keys, Reader, Scope};
use super::yaml::{Node, Scalar, load};
use super::{graph, steps};

/// Declared fields.
pub const FIELDS_MAX: usize = 300;
/// Inbox columns (DESIGN §4 "Cost").
pub const SUMMARY_MAX: usize = 6;
/// Receipts of one object.
pub const DOCUMENTS_MAX: usize = 20;
/// Options of one choice.
pub const OPTIONS_MAX: usize = 1_000;
/// Names, titles and labels, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Key template of a receipt, in characters.
const DOCUMENT_KEY_CHARS_MAX: usize = 500;

const ROOT: Keys = Keys {
    of: "the blueprint",
    known: &["schema", "id", "name", "objectType", "trigger", "object", "documents", "fields", "summary", "steps"],
    later: &["outputs"],
};
const TRIGGER: Keys = Keys { of: "trigger", known: &["guid", "pollName", "filter"], later: &[] };
const OBJECT: Keys = Keys { of: "object", known: &["table", "key"], later: &[] };
const DOCUMENT: Keys = Keys { of: "a document", known: &["name", "key"], later: &[] };
const FIELD: Keys = Keys { of: "a field", known: &["label", "type", "currency", "options"], later: &[] };

const FIELD_TYPES: &[(&str, FieldType)] = &[
    ("text", FieldType::Text),
    ("multiline", FieldType::Multiline),
    ("number", FieldType::Number),
    ("money", FieldType::Money),
    ("date", FieldType::Date),
    ("boolean", FieldType::Boolean),
    ("choice", FieldType::Choice),
    ("choices", FieldType::Choices),
    ("lookup", FieldType::Lookup),
];

/// Reads a blueprint.
///
/// # Errors
/// [`Problems`]: everything that is wrong, each with its line, column and way out.
pub fn parse(yaml: &str) -> Result<Blueprint, Problems> {
    let mut problems = Vec::new();
    let blueprint = match load(yaml, &mut problems) {
        Err(problem) => {
            problems.push(problem);
            None
        }
        Ok((root, source)) => {
            let mut reader = Reader::new(source, std::mem::take(&mut problems));
            let blueprint = reader.blueprint(&root);
            problems = reader.into_problems();
            blueprint
        }
    };
    match (blueprint, Problems::collected(problems)) {
        (Some(blueprint), None) => Ok(blueprint),
        (_, Some(problems)) => Err(problems),
        (None, None) => Err(unexplained()),
    }
}

/// A part is missing and nobody said why: that would be a mistake of the reader, and is not passed over.
fn unexplained() -> Problems {
    Problems::one(Problem {
        line: 1,
        column: 1,
        code: ProblemCode::BadValue,
        message: "the blueprint could not be read".to_owned(),
        help: "report this blueprint to the makers of the product".to_owned(),
    })
}

impl Reader {
    fn blueprint(&mut self, node: &Node) -> Option<Blueprint> {
        let root = self.map(node, &ROOT)?;
        if let Some(schema) = self.required(&root, "schema", "write schema: 1") {
            self.schema(schema);
        }
        // Fields come first: everything else names them.
        let declared = self.required(&root, "fields", "declare the object's fields");
        let fields = declared.map(|node| self.fields(node)).unwrap_or_default();
        let id = self.required(&root, "id", "write id: a-name").and_then(|node| self.workflow_id(node));
        let name = self.required(&root, "name", "write the name that people see");
        let name = name.and_then(|node| self.text(node, "name", NAME_CHARS_MAX));
        let object_type = self.required(&root, "objectType", "write the kind of object, e.g. Eingangsrechnung");
        let object_type = object_type.and_then(|node| self.text(node, "objectType", NAME_CHARS_MAX));
        let trigger = self.required(&root, "trigger", "write trigger: { guid: … }").and_then(|node| self.trigger(node));
        let object = self.required(&root, "object", "write object: { table: tblTransactions, key: fldBelegNr }");
        let object = object.and_then(|node| self.object(node));
        let documents = self.optional(&root, "documents").map(|node| self.documents(node)).unwrap_or_default();
        let summary = self.optional(&root, "summary").map(|node| self.summary(node)).unwrap_or_default();
        let steps = match self.required(&root, "steps", "a blueprint has at least one step") {
            Some(node) => {
                let (drafts, complete) = steps::read(self, node);
                graph::check(self, &drafts, complete);
                drafts.into_iter().filter_map(|draft| draft.step).collect()
            }
            None => Vec::new(),
        };
        if !self.is_sound() {
            return None;
        }
        Some(Blueprint {
            id: id?,
            name: name?,
            object_type: object_type?,
            trigger: trigger?,
            object: object?,
            documents,
            fields,
            summary,
            steps,
        })
    }

    fn schema(&mut self, node: &Node) {
        let Some(scalar) = self.scalar(node, "schema") else { return };
        if scalar.text != "1" {
            let message = format!("this version reads schema 1, not `{}`", scalar.text);
            self.problem(scalar.at, ProblemCode::BadValue, message, "write schema: 1");
        }
    }

    /// A scalar of the form that `fits` checks.
    pub(super) fn formed<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        fits: fn(&str) -> bool,
        help: &str,
    ) -> Option<&'n Scalar> {
        let scalar = self.scalar(node, what)?;
        if fits(&scalar.text) {
            return Some(scalar);
        }
        let shown: String = scalar.text.chars().take(ERP_NAME_CHARS_MAX).collect();
        self.problem(scalar.at, ProblemCode::BadValue, format!("`{shown}` is not a valid {what}"), help);
        None
    }

    pub(super) fn erp_name<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Scalar> {
        let help =
            format!("letters without umlauts, digits and _, beginning with a letter; at most {ERP_NAME_CHARS_MAX}");
        self.formed(node, what, is_erp_name, &help)
    }

    fn workflow_id(&mut self, node: &Node) -> Option<WorkflowId> {
        let help = format!("a-z, 0-9 and -, at most {ID_CHARS_MAX} characters");
        self.formed(node, "id", is_workflow_id, &help).map(|scalar| WorkflowId::new(&scalar.text))
    }

    fn trigger(&mut self, node: &Node) -> Option<Trigger> {
        let fields = self.map(node, &TRIGGER)?;
        let guid = self.required(&fields, "guid", "write the GUID of the trigger definition in the ERP");
        let guid = guid
            .and_then(|node| self.formed(node, "guid", is_guid, "write it as 6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10"));
        let poll_name = self.optional(&fields, "pollName");
        let poll_name = poll_name.map(|node| self.text(node, "pollName", NAME_CHARS_MAX));
        let filter = self.optional(&fields, "filter").map(|node| self.expression(node, "filter", Scope::Filter));
        Some(Trigger {
            // GUIDs are compared as text; their case means nothing.
            guid: TriggerGuid::new(guid?.text.to_ascii_lowercase()),
            poll_name: whole(poll_name)?,
            filter: whole(filter)?,
        })
    }

    fn object(&mut self, node: &Node) -> Option<ObjectRef> {
        let fields = self.map(node, &OBJECT)?;
        let table = self.required(&fields, "table", "write the ERP's table, e.g. tblTransactions");
        let table = table.and_then(|node| self.erp_name(node, "table"));
        let key = self.required(&fields, "key", "write the table's key field, e.g. fldBelegNr");
        let key = key.and_then(|node| self.erp_name(node, "key"));
        Some(ObjectRef { table: table?.text.clone(), key: FieldName::new(&key?.text) })
    }

    fn documents(&mut self, node: &Node) -> Vec<DocumentTemplate> {
        let mut documents = Vec::new();
        for item in self.list(node, "documents", DOCUMENTS_MAX) {
            let Some(fields) = self.map(item, &DOCUMENT) else { continue };
            let name = self.required(&fields, "name", "write the name that people see");
            let name = name.and_then(|node| self.text(node, "the document's name", NAME_CHARS_MAX));
            let key = self.required(&fields, "key", "write key: \"documents/{objectNumber}.pdf\"");
            let key = key.and_then(|node| self.document_key(node));
            if let (Some(name), Some(key)) = (name, key) {
                documents.push(DocumentTemplate { name, key });
            }
        }
        documents
    }

    fn document_key(&mut self, node: &Node) -> Option<String> {
        let scalar = self.scalar(node, "the document's key")?;
        let key = self.text(node, "the document's key", DOCUMENT_KEY_CHARS_MAX)?;
        let wrong = if !key.starts_with("documents/") {
            Some("does not lie under documents/")
        } else if key.contains("..") {
            Some("contains ..")
        } else if key.contains(['\\', '?', '#', '\n', '\t']) {
            Some("contains a character that a key must not have (\\ ? # or a line end)")
        } else if key.ends_with('/') || key.contains("//") {
            Some("has an empty part")
        } else if !placeholders_are_known(&key) {
            Some("has a placeholder that does not exist")
        } else {
            None
        };
        let Some(wrong) = wrong else { return Some(key) };
        let help = "write documents/… with {objectNumber}, {customerID} and {tenantID}";
        self.problem(scalar.at, ProblemCode::BadValue, format!("the document's key `{key}` {wrong}"), help);
        None
    }

    fn fields(&mut self, node: &Node) -> Vec<FieldDecl> {
        let entries = self.entries(node, "fields", FIELDS_MAX);
        if entries.is_empty() && matches!(node, Node::Map { .. }) {
            self.problem(node.at(), ProblemCode::Missing, "no field is declared", "declare at least one");
        }
        let mut fields = Vec::new();
        for entry in entries {
            let key = Node::Scalar(entry.key.clone());
            let Some(name) = self.erp_name(&key, "field name").map(|scalar| FieldName::new(&scalar.text)) else {
                continue;
            };
            // Declared even where its details are wrong: one problem, not one for each use.
            self.declared.insert(name.clone());
            if let Some(field) = self.field(name, &entry.value) {
                fields.push(field);
            }
        }
        fields
    }

    fn field(&mut self, name: FieldName, node: &Node) -> Option<FieldDecl> {
        let fields = self.map(node, &FIELD)?;
        let label = self.required(&fields, "label", "write the name that people see");
        let label = label.and_then(|node| self.text(node, "label", NAME_CHARS_MAX));
        let kind = self.optional(&fields, "type").map(|node| self.field_type(node));
        let kind = whole(kind)?.unwrap_or_default();
        let currency = self.optional(&fields, "currency").map(|node| self.currency(node, kind));
        let is_choice = matches!(kind, FieldType::Choice | FieldType::Choices);
        let options = if is_choice {
            let node = self.required(&fields, "options", "write options: [\"…\", \"…\"]");
            node.map(|node| self.options(node))
        } else {
            if let Some(node) = self.optional(&fields, "options") {
                self.problem(
                    node.at(),
                    ProblemCode::BadValue,
                    "only choice and choices have options",
                    "remove them, or change the type",
                );
            }
            Some(Vec::new())
        };
        Some(FieldDecl { name, label: label?, kind, currency: whole(currency)?, options: options? })
    }

    fn field_type(&mut self, node: &Node) -> Option<FieldType> {
        let scalar = self.scalar(node, "type")?;
        if let Some((_, kind)) = FIELD_TYPES.iter().find(|(name, _)| *name == scalar.text) {
            return Some(*kind);
        }
        let names = || FIELD_TYPES.iter().map(|(name, _)| *name);
        let help = match nearest(&scalar.text, names()) {
            Some(near) => format!("write `{near}`"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.problem(scalar.at, ProblemCode::BadValue, format!("there is no field type `{}`", scalar.text), &help);
        None
    }

    fn currency(&mut self, node: &Node, kind: FieldType) -> Option<String> {
        let is_code = |text: &str| text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
        let scalar = self.formed(node, "currency", is_code, "write the three capital letters of ISO 4217, e.g. EUR")?;
        if kind != FieldType::Money {
            self.problem(
                scalar.at,
                ProblemCode::BadValue,
                "only a field of type money has a currency",
                "write type: money",
            );
            return None;
        }
        Some(scalar.text.clone())
    }

    fn options(&mut self, node: &Node) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        let items = self.list(node, "options", OPTIONS_MAX);
        if items.is_empty() {
            self.problem(
                node.at(),
                ProblemCode::Missing,
                "a choice without options can't be filled in",
                "write at least one",
            );
        }
        for item in items {
            let Some(option) = self.text(item, "an option", NAME_CHARS_MAX) else { continue };
            if options.contains(&option) {
                self.problem(
                    item.at(),
                    ProblemCode::DuplicateId,
                    format!("the option `{option}` stands here a second time"),
                    "remove it",
                );
            } else {
                options.push(option);
            }
        }
        options
    }

    fn summary(&mut self, node: &Node) -> Vec<FieldName> {
        let mut summary: Vec<FieldName> = Vec::new();
        let mut seen = BTreeSet::new();
        for item in self.list(node, "summary", SUMMARY_MAX) {
            let Some(scalar) = self.scalar(item, "an entry of summary") else { continue };
            let Some(field) = self.declared_field(&scalar.text, scalar.at) else { continue };
            if seen.insert(field.clone()) {
                summary.push(field);
            } else {
                self.duplicate(scalar.at, &format!("the field `{field}`"));
            }
        }
        summary
    }

    pub(super) fn duplicate(&mut self, at: Place, what: &str) {
        self.problem(
            at,
            ProblemCode::DuplicateId,
            format!("{what} stands here a second time"),
            "remove it, or rename it",
        );
    }
}

/// Nothing, or a whole thing; a broken one is `None` here and has left its problem.
pub(super) fn whole<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(Some(value)) => Some(Some(value)),
        Some(None) => None,
    }
}

fn placeholders_are_known(key: &str) -> bool {
    let rest = ["{objectNumber}", "{customerID}", "{tenantID}"]
        .iter()
        .fold(key.to_owned(), |rest, name| rest.replace(name, ""));
    !rest.contains(['{', '}'])
}
