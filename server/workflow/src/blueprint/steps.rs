//! YAML to steps.
//!
//! Purpose: the step types of this version; those of DESIGN §7 that come later are named as such.
//! Invariant: every step keeps where it leads, with the place where that is written, also where the step itself is
//! broken, so that its ways can be checked.
//! Never: resolves a way; `graph` does.

use std::collections::BTreeSet;

use vocab::{GroupName, StepId, UserId};

use super::model::{Assignment, Case, ConditionStep, EndStatus, EndStep, StepDef, StepField, StepKind, UserStep};
use super::names::{ID_CHARS_MAX, is_step_id, nearest};
use super::parse::{FIELDS_MAX, NAME_CHARS_MAX, whole};
use super::problem::{Place, ProblemCode};
use super::reader::{Fields, Keys, Reader, Scope};
use super::yaml::Node;

/// Steps of a blueprint.
pub const STEPS_MAX: usize = 200;
/// Cases of a condition.
pub const CASES_MAX: usize = 100;
/// Groups, users or `notBy` steps of an assignment.
pub const ASSIGNEES_MAX: usize = 50;
/// Hint above a form, in characters.
pub const HINT_CHARS_MAX: usize = 2_000;

const STEP_TYPES: &[&str] = &["user", "condition", "end"];
const STEP_TYPES_LATER: &[&str] = &["branch", "function", "wait", "waitExternal", "hold"];

const USER: Keys = Keys {
    of: "a user step",
    known: &["id", "type", "title", "hint", "assign", "fields", "approve", "reject"],
    later: &["due", "remind", "escalate", "expire", "askBack"],
};
const CONDITION: Keys = Keys { of: "a condition", known: &["id", "type", "cases", "else"], later: &[] };
const END: Keys = Keys { of: "an end", known: &["id", "type", "status"], later: &[] };
const CASE: Keys = Keys { of: "a case", known: &["when", "next"], later: &[] };
const ASSIGN: Keys = Keys { of: "assign", known: &["groups", "users", "notBy"], later: &[] };
const FIELD: Keys =
    Keys { of: "a step's field", known: &["name", "visible", "editable", "required", "check"], later: &[] };
const APPROVE: Keys = Keys { of: "approve", known: &["next"], later: &[] };
const REJECT: Keys = Keys { of: "reject", known: &["next"], later: &[] };

const STATUSES: &[(&str, EndStatus)] = &[
    ("APPROVED", EndStatus::Approved),
    ("REJECTED", EndStatus::Rejected),
    ("COMPLETED", EndStatus::Completed),
    ("CANCELED", EndStatus::Canceled),
    ("EXPIRED", EndStatus::Expired),
];

/// The name of a step, where it is written.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) id: StepId,
    pub(super) at: Place,
}

/// What a step is, for the check of its ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// A person decides.
    User,
    /// Goes on by itself.
    System,
    End,
    /// Its type is not known, so neither are its ways.
    Unknown,
}

/// A step as it was read.
pub(super) struct Draft {
    pub(super) id: StepId,
    pub(super) at: Place,
    pub(super) sort: Sort,
    pub(super) targets: Vec<Target>,
    pub(super) not_by: Vec<Target>,
    /// Whether a way is missing that should be in `targets`.
    pub(super) incomplete: bool,
    /// The step, where nothing is wrong with it.
    pub(super) step: Option<StepDef>,
}

/// Reads the list of steps; false where a step is left out, so that not all ways are known.
pub(super) fn read(reader: &mut Reader, node: &Node) -> (Vec<Draft>, bool) {
    let items = reader.list(node, "steps", STEPS_MAX);
    if items.is_empty() && matches!(node, Node::List { .. }) {
        reader.problem(node.at(), ProblemCode::Missing, "there is no step", "a blueprint has at least one step");
    }
    let mut drafts: Vec<Draft> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut complete = true;
    for item in items {
        let Some(draft) = reader.step(item) else {
            complete = false;
            continue;
        };
        if ids.insert(draft.id.clone()) {
            drafts.push(draft);
        } else {
            complete = false;
            let message = format!("there is a second step `{}`", draft.id);
            reader.problem(draft.at, ProblemCode::DuplicateId, message, "ids are unique; rename one");
        }
    }
    (drafts, complete)
}

impl Reader {
    fn step(&mut self, node: &Node) -> Option<Draft> {
        let Node::Map { entries, at } = node else {
            let message = format!("a step must be a mapping, not {}", node.kind());
            self.problem(node.at(), ProblemCode::WrongType, message, "write - id: … and type: … below it");
            return None;
        };
        let find = |key: &str| entries.iter().find(|entry| entry.key.text == key).map(|entry| &entry.value);
        let id = match find("id") {
            Some(node) => self.step_id(node),
            None => {
                self.problem(*at, ProblemCode::Missing, "a step has no `id`", "write id: a-name");
                None
            }
        };
        let (sort, keys) = match find("type") {
            Some(kind) => self.step_type(kind),
            None => {
                self.problem(*at, ProblemCode::Missing, "a step has no `type`", "there are user, condition and end");
                (Sort::Unknown, None)
            }
        };
        let id = id?;
        let at = find("id").map_or(*at, Node::at);
        let mut draft = Draft { id, at, sort, targets: Vec::new(), not_by: Vec::new(), incomplete: false, step: None };
        let fields = match keys {
            Some(keys) => self.map(node, keys)?,
            None => return Some(draft),
        };
        let kind = match sort {
            Sort::User => self.user_step(&fields, &mut draft).map(StepKind::User),
            Sort::System => self.condition(&fields, &mut draft).map(StepKind::Condition),
            Sort::End => self.end(&fields).map(StepKind::End),
            Sort::Unknown => None,
        };
        draft.step = kind.map(|kind| StepDef { id: draft.id.clone(), kind });
        Some(draft)
    }

    fn step_id(&mut self, node: &Node) -> Option<StepId> {
        let help = format!("letters without umlauts, digits, - and _, at most {ID_CHARS_MAX}");
        self.formed(node, "step id", is_step_id, &help).map(|scalar| StepId::new(&scalar.text))
    }

    fn step_type(&mut self, node: &Node) -> (Sort, Option<&'static Keys>) {
        let Some(scalar) = self.scalar(node, "type") else { return (Sort::Unknown, None) };
        match scalar.text.as_str() {
            "user" => return (Sort::User, Some(&USER)),
            "condition" => return (Sort::System, Some(&CONDITION)),
            "end" => return (Sort::End, Some(&END)),
            later if STEP_TYPES_LATER.contains(&later) => {
                self.not_available(scalar.at, &format!("the step type `{later}`"));
            }
            unknown => {
                let help = match nearest(unknown, STEP_TYPES.iter().chain(STEP_TYPES_LATER).copied()) {
                    Some(near) => format!("write `{near}`"),
                    None => format!("there are {}", STEP_TYPES.join(", ")),
                };
                let message = format!("there is no step type `{unknown}`");
                self.problem(scalar.at, ProblemCode::BadValue, message, &help);
            }
        }
        (Sort::Unknown, None)
    }

    /// The name of a step, kept for the check of ways.
    fn target(&mut self, node: Option<&Node>, draft: &mut Draft) -> Option<StepId> {
        let Some(scalar) = node.and_then(|node| self.scalar(node, "the next step")) else {
            draft.incomplete = true;
            return None;
        };
        let id = StepId::new(&scalar.text);
        draft.targets.push(Target { id: id.clone(), at: scalar.at });
        Some(id)
    }

    fn user_step(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<UserStep> {
        let title = self.required(fields, "title", "write the title of the task");
        let title = title.and_then(|node| self.text(node, "title", NAME_CHARS_MAX));
        let hint = self.optional(fields, "hint").map(|node| self.text(node, "hint", HINT_CHARS_MAX));
        let assign = self.assignment(fields, draft);
        let step_fields = self.optional(fields, "fields").map(|node| self.step_fields(node)).unwrap_or_default();
        let approve = self.decision(fields, "approve", &APPROVE, draft);
        let reject = self.decision(fields, "reject", &REJECT, draft);
        Some(UserStep {
            title: title?,
            hint: whole(hint)?,
            assign: assign?,
            fields: step_fields,
            approve: approve?,
            reject: reject?,
        })
    }

    fn decision(&mut self, fields: &Fields<'_>, key: &str, keys: &Keys, draft: &mut Draft) -> Option<StepId> {
        let help = format!("write {key}: {{ next: STEP }}");
        let decision = self.required(fields, key, &help).and_then(|node| self.map(node, keys));
        let next = decision.and_then(|decision| self.required(&decision, "next", &help));
        self.target(next, draft)
    }

    fn assignment(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<Assignment> {
        let help = "write assign: { groups: [GROUP] }; a group is mandatory unless a user is named";
        let no_assignee = format!("nobody gets the step `{}`: it has no group and no user", draft.id);
        let Some(node) = self.optional(fields, "assign") else {
            self.problem(fields.at, ProblemCode::NoAssignee, no_assignee, help);
            return None;
        };
        let assign = self.map(node, &ASSIGN)?;
        let groups = self.optional(&assign, "groups").map(|node| self.unique_texts(node, "groups")).unwrap_or_default();
        let users = self.optional(&assign, "users").map(|node| self.unique_texts(node, "users")).unwrap_or_default();
        if groups.is_empty() && users.is_empty() {
            self.problem(assign.at, ProblemCode::NoAssignee, no_assignee, help);
        }
        let mut not_by = Vec::new();
        if let Some(node) = self.optional(&assign, "notBy") {
            for item in self.list(node, "notBy", ASSIGNEES_MAX) {
                let Some(scalar) = self.scalar(item, "an entry of notBy") else { continue };
                let id = StepId::new(&scalar.text);
                draft.not_by.push(Target { id: id.clone(), at: scalar.at });
                not_by.push(id);
            }
        }
        let groups = groups.into_iter().map(GroupName::new).collect();
        Some(Assignment { groups, users: users.into_iter().map(UserId::new).collect(), not_by })
    }

    fn unique_texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for item in self.list(node, what, ASSIGNEES_MAX) {
            let Some(text) = self.text(item, &format!("an entry of {what}"), NAME_CHARS_MAX) else { continue };
            if texts.contains(&text) {
                self.duplicate(item.at(), &format!("`{text}`"));
            } else {
                texts.push(text);
            }
        }
        texts
    }

    fn step_fields(&mut self, node: &Node) -> Vec<StepField> {
        let mut fields: Vec<StepField> = Vec::new();
        for item in self.list(node, "the step's fields", FIELDS_MAX) {
            let Some((field, at)) = self.step_field(item) else { continue };
            if fields.iter().any(|known| known.name == field.name) {
                self.duplicate(at, &format!("the field `{}`", field.name));
            } else {
                fields.push(field);
            }
        }
        fields
    }

    fn step_field(&mut self, node: &Node) -> Option<(StepField, Place)> {
        let fields = self.map(node, &FIELD)?;
        let name = self.required(&fields, "name", "write the name of a declared field");
        let name = name.and_then(|node| self.scalar(node, "the field's name"));
        let field = name.and_then(|scalar| self.declared_field(&scalar.text, scalar.at));
        let mut flag = |key: &str| {
            let node = self.optional(&fields, key);
            (node.map(|node| self.boolean(node, key)), node.map(Node::at))
        };
        let ((visible, _), (editable, editable_at), (required, _)) =
            (flag("visible"), flag("editable"), flag("required"));
        let check = self.optional(&fields, "check").map(|node| self.expression(node, "check", Scope::Check));
        let name = name?;
        let (visible, editable) = (whole(visible)?.unwrap_or(false), whole(editable)?.unwrap_or(false));
        if editable && !visible {
            let message = format!("the field `{}` is editable but not visible", name.text);
            self.problem(editable_at.unwrap_or(name.at), ProblemCode::NotVisible, message, "write visible: true");
        }
        let required = whole(required)?.unwrap_or(false);
        Some((StepField { name: field?, visible, editable, required, check: whole(check)? }, name.at))
    }

    fn condition(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<ConditionStep> {
        let mut cases = Vec::new();
        let mut sound = true;
        if let Some(node) = self.required(fields, "cases", "write cases: [{ when: \"…\", next: STEP }]") {
            let items = self.list(node, "cases", CASES_MAX);
            if items.is_empty() {
                self.problem(node.at(), ProblemCode::Missing, "a condition has no case", "write at least one");
            }
            for item in items {
                match self.case(item, draft) {
                    Some(case) => cases.push(case),
                    None => sound = false,
                }
            }
        }
        // Without a case the ways are not known; what depends on them stays unsaid.
        draft.incomplete |= cases.is_empty() && sound;
        let otherwise = self.required(fields, "else", "write else: STEP, for when no case holds");
        let otherwise = self.target(otherwise, draft)?;
        sound.then_some(ConditionStep { cases, otherwise })
    }

    fn case(&mut self, node: &Node, draft: &mut Draft) -> Option<Case> {
        let Some(fields) = self.map(node, &CASE) else {
            draft.incomplete = true;
            return None;
        };
        let when = self.required(&fields, "when", "write the condition, e.g. \"#object.fldX > 0\"");
        let when = when.and_then(|node| self.expression(node, "when", Scope::Condition));
        let next = self.required(&fields, "next", "write next: STEP");
        let next = self.target(next, draft);
        Some(Case { when: when?, next: next? })
    }

    fn end(&mut self, fields: &Fields<'_>) -> Option<EndStep> {
        let names = || STATUSES.iter().map(|(name, _)| *name);
        let all = format!("there are {}", names().collect::<Vec<_>>().join(", "));
        let node = self.required(fields, "status", &all)?;
        let scalar = self.scalar(node, "status")?;
        if let Some((_, status)) = STATUSES.iter().find(|(name, _)| *name == scalar.text) {
            return Some(EndStep { status: *status });
        }
        let help = nearest(&scalar.text, names()).map_or(all, |near| format!("write `{near}`"));
        self.problem(scalar.at, ProblemCode::BadValue, format!("a run can't end as `{}`", scalar.text), &help);
        None
    }
}
