//! One field: read-only as the ERP says it, or an input of its kind.
//!
//! Invariant: the same name, label and place in both forms; a change shows old and new.
//! Never: rules about values; `values` reads, the server checks.

use contract::{
    FormField,
    vocab::{Action, FieldType, FieldValue},
};
use leptos::{ev, prelude::*};

use super::{
    draft::text_of,
    model::Model,
    values::{self, LINE_CHARS_MAX, TEXT_CHARS_MAX},
};
use crate::texts::{self, fill, say};

/// One field of the form. `first` marks the first input, for the focus after claiming.
#[component]
pub(crate) fn Field(model: Model, field: FormField, large: bool, first: bool) -> impl IntoView {
    let editable = field.editable;
    let name = field.name.clone();
    let editing = Memo::new(move |_| editable && model.may(Action::Edit));
    let field = StoredValue::new(field);
    let class = if large { "field field-large" } else { "field" };
    let invalid = {
        let name = name.clone();
        Memo::new(move |_| model.problems.with(|problems| problems.get(&name).copied()))
    };
    view! {
        <div class=class class:field-editable=editable data-field=name.as_str().to_owned()>
            {move || {
                let field = field.get_value();
                if editing.get() {
                    view! { <Editor model field first invalid /> }.into_any()
                } else {
                    view! { <Value model field /> }.into_any()
                }
            }}
            <Updated model field />
        </div>
    }
    .into_any()
}

fn testid(field: &FormField) -> String {
    format!("field-{}", field.name)
}

#[component]
fn Value(model: Model, field: FormField) -> impl IntoView {
    let locale = model.locale;
    let blank = field.text.is_empty();
    let text = if blank { say!(locale, app.empty).to_owned() } else { field.text.clone() };
    let class = match field.kind {
        FieldType::Money | FieldType::Number => "value value-number",
        FieldType::Multiline => "value value-multiline",
        _ => "value",
    };
    view! {
        <span class="label">{field.label.clone()}</span>
        <span class=class data-testid=testid(&field)>
            {text}
        </span>
    }
}

/// What the ERP changed while the page was open.
#[component]
fn Updated(model: Model, field: StoredValue<FormField>) -> impl IntoView {
    let name = field.with_value(|field| field.name.clone());
    let before = Memo::new(move |_| model.updated.with(|updated| updated.get(&name).cloned()));
    move || {
        before.get().map(|old| {
            view! {
                <span class="field-note field-updated">
                    {fill(say!(model.locale, task.now_in_erp), &[("old", &old)])}
                </span>
            }
        })
    }
}

#[component]
fn Editor(
    model: Model,
    field: FormField,
    first: bool,
    invalid: Memo<Option<contract::FieldProblemKind>>,
) -> impl IntoView {
    let locale = model.locale;
    let id = format!("input-{}", field.name);
    let note_id = format!("note-{}", field.name);
    let stored = StoredValue::new(field.clone());
    let start = values::initial(locale, &field);
    let typed = {
        let (name, start) = (field.name.clone(), start.clone());
        Memo::new(move |_| model.typed.with(|typed| typed.get(&name).cloned()).unwrap_or_else(|| start.clone()))
    };
    let put = move |value: FieldValue| stored.with_value(|field| model.type_field(field, value));
    let control = Control { id: id.clone(), note_id: note_id.clone(), typed, first, invalid, stored };
    let input = control.view(model, put);
    let required = field.required.then(|| {
        view! {
            <span class="required" title=say!(locale, task.required)>
                <span aria-hidden="true">"*"</span>
                <span class="sr">{say!(locale, task.required)}</span>
            </span>
        }
    });
    view! {
        <label class="label" for=id>
            {field.label.clone()}
            {required}
        </label>
        <div class="control">{input}{field.currency.clone().map(|code| view! { <span class="unit">{code}</span> })}</div>
        <div class="field-notes" id=note_id>
            <Notes model field typed invalid put=Callback::new(put) />
        </div>
    }
}

/// Old value, problem, and the question about an ambiguous amount.
#[component]
fn Notes(
    model: Model,
    field: FormField,
    typed: Memo<FieldValue>,
    invalid: Memo<Option<contract::FieldProblemKind>>,
    put: Callback<FieldValue>,
) -> impl IntoView {
    let locale = model.locale;
    let amount = matches!(field.kind, FieldType::Money | FieldType::Number);
    let start = values::initial(locale, &field);
    let stored = StoredValue::new(field);
    let old = Memo::new(move |_| {
        let typed = typed.get();
        stored.with_value(|field| values::is_changed(locale, field, &typed).then(|| field.text.clone()))
    });
    let readings = Memo::new(move |_| amount.then(|| values::readings(locale, &text_of(&typed.get()))).flatten());
    let undo = StoredValue::new(start);
    view! {
        {move || {
            old.get()
                .map(|old| {
                    let old = if old.is_empty() { say!(locale, app.empty).to_owned() } else { old };
                    view! {
                        <span class="field-note field-changed" data-testid="field-old">
                            {fill(say!(locale, task.was), &[("old", &old)])}
                            <button type="button" class="link" on:click=move |_| put.run(undo.get_value())>
                                {say!(locale, task.undo_edit)}
                            </button>
                        </span>
                    }
                })
        }}
        {move || {
            readings
                .get()
                .map(|readings| {
                    let choices = readings
                        .map(|reading| {
                            let text = reading.clone();
                            view! {
                                <button
                                    type="button"
                                    class="button button-small"
                                    on:click=move |_| put.run(FieldValue::Text(reading.clone()))
                                >
                                    {text}
                                </button>
                            }
                        });
                    view! {
                        <span class="field-note field-question" role="alert" data-testid="field-ambiguous">
                            {say!(locale, task.ambiguous)}
                            {choices.collect_view()}
                        </span>
                    }
                })
        }}
        {move || {
            invalid
                .get()
                .map(|kind| {
                    view! {
                        <span class="field-note field-problem" role="alert" data-testid="field-problem">
                            {texts::problem(locale, kind)}
                        </span>
                    }
                })
        }}
    }
}

/// What every kind of input shares.
struct Control {
    id: String,
    note_id: String,
    typed: Memo<FieldValue>,
    first: bool,
    invalid: Memo<Option<contract::FieldProblemKind>>,
    stored: StoredValue<FormField>,
}

impl Control {
    fn view(self, model: Model, put: impl Fn(FieldValue) + Copy + Send + Sync + 'static) -> AnyView {
        match self.stored.with_value(|field| field.kind) {
            FieldType::Text | FieldType::Lookup => self.line("text", "input", put),
            FieldType::Number | FieldType::Money => self.line("decimal", "input input-number", put),
            FieldType::Date => self.line("date", "input", put),
            FieldType::Multiline => self.lines(put),
            FieldType::Boolean => {
                let yes_no = vec![
                    ("true".to_owned(), say!(model.locale, app.yes).to_owned()),
                    ("false".to_owned(), say!(model.locale, app.no).to_owned()),
                ];
                self.select(model, yes_no, put)
            }
            FieldType::Choice => {
                let mut options = self.stored.with_value(|field| field.options.clone());
                // A value from before the options changed stays choosable, or it would be lost by looking at it.
                let current = self.stored.with_value(|field| field.value.as_text().map(ToOwned::to_owned));
                if let Some(current) = current.filter(|current| !current.is_empty() && !options.contains(current)) {
                    options.insert(0, current);
                }
                self.select(model, options.into_iter().map(|option| (option.clone(), option)).collect(), put)
            }
            FieldType::Choices => self.checks(put),
        }
    }

    fn line(self, kind: &'static str, class: &'static str, put: impl Fn(FieldValue) + 'static) -> AnyView {
        let Self { id, note_id, typed, first, invalid, stored } = self;
        let (kind, mode) = if kind == "decimal" { ("text", Some("decimal")) } else { (kind, None) };
        let start = text_of(&typed.get_untracked());
        view! {
            <input
                id=id
                class=class
                type=kind
                inputmode=mode
                autocomplete="off"
                maxlength=LINE_CHARS_MAX
                data-testid=stored.with_value(testid)
                data-first-input=first
                aria-describedby=note_id
                aria-invalid=move || invalid.get().map(|_| "true")
                aria-required=stored.with_value(|field| field.required).then_some("true")
                value=start
                prop:value=move || text_of(&typed.get())
                on:input=move |event| put(FieldValue::Text(event_target_value(&event)))
            />
        }
        .into_any()
    }

    fn lines(self, put: impl Fn(FieldValue) + 'static) -> AnyView {
        let Self { id, note_id, typed, first, invalid, stored } = self;
        view! {
            <textarea
                id=id
                class="input"
                rows="4"
                maxlength=TEXT_CHARS_MAX
                data-testid=stored.with_value(testid)
                data-first-input=first
                aria-describedby=note_id
                aria-invalid=move || invalid.get().map(|_| "true")
                prop:value=move || text_of(&typed.get())
                on:input=move |event| put(FieldValue::Text(event_target_value(&event)))
            ></textarea>
        }
        .into_any()
    }

    fn select(self, model: Model, options: Vec<(String, String)>, put: impl Fn(FieldValue) + 'static) -> AnyView {
        let Self { id, note_id, typed, first, invalid, stored } = self;
        let chosen = Memo::new(move |_| text_of(&typed.get()));
        let options = options.into_iter().map(|(value, text)| {
            let is = value.clone();
            view! {
                <option value=value selected=move || chosen.with(|chosen| *chosen == is)>
                    {text}
                </option>
            }
        });
        let picked = move |event: ev::Event| put(FieldValue::Text(event_target_value(&event)));
        view! {
            <select
                id=id
                class="input"
                data-testid=stored.with_value(testid)
                data-first-input=first
                aria-describedby=note_id
                aria-invalid=move || invalid.get().map(|_| "true")
                prop:value=move || chosen.get()
                on:change=picked
            >
                <option value="" selected=move || chosen.with(String::is_empty)>
                    {say!(model.locale, task.no_choice)}
                </option>
                {options.collect_view()}
            </select>
        }
        .into_any()
    }

    fn checks(self, put: impl Fn(FieldValue) + Copy + 'static) -> AnyView {
        let Self { id, note_id, typed, first, invalid: _, stored } = self;
        let chosen = move || match typed.get() {
            FieldValue::List(items) => items,
            FieldValue::Null | FieldValue::Bool(_) | FieldValue::Text(_) => Vec::new(),
        };
        let options = stored.with_value(|field| field.options.clone());
        let boxes = options.into_iter().enumerate().map(|(index, option)| {
            let (is, text) = (option.clone(), option.clone());
            let toggle = move |event: ev::Event| {
                let mut items = chosen();
                items.retain(|item| *item != option);
                if event_target_checked(&event) {
                    items.push(option.clone());
                }
                put(FieldValue::List(items));
            };
            view! {
                <label class="check">
                    <input
                        type="checkbox"
                        data-first-input=first && index == 0
                        prop:checked=move || chosen().contains(&is)
                        on:change=toggle
                    />
                    <span>{text}</span>
                </label>
            }
        });
        view! {
            <div id=id class="checks" role="group" data-testid=stored.with_value(testid) aria-describedby=note_id>
                {boxes.collect_view()}
            </div>
        }
        .into_any()
    }
}
