//! The step's fields, in the blueprint's order, the amount that matters large.
//!
//! Invariant: a refresh re-renders a field only when the field itself changed, so that focus and caret stay.

use contract::{FormField, vocab::Action};
use leptos::prelude::*;

use super::{field::Field, model::Model};
use crate::{
    texts::{fill, say},
    ui::icons::{self, Icon},
};

/// The form.
#[component]
pub(crate) fn Form(model: Model) -> impl IntoView {
    let locale = model.locale;
    let fields = Memo::new(move |_| model.detail.with(|detail| detail.fields.clone()));
    let missing = Memo::new(move |_| model.detail.with(|detail| detail.missing_fields.join(", ")));
    let hint = Memo::new(move |_| model.detail.with(|detail| detail.hint.clone()));
    let claim_first = Memo::new(move |_| {
        let editable = fields.with(|fields| fields.iter().any(|field| field.editable));
        editable && !model.may(Action::Edit) && model.may(Action::Claim)
    });
    let places = move || {
        fields.with(|fields| {
            let first = fields.iter().position(|field| field.editable);
            let place = |(index, field): (usize, &FormField)| (field.clone(), field.prominent, Some(index) == first);
            fields.iter().enumerate().map(place).collect::<Vec<_>>()
        })
    };
    view! {
        <section class="form" aria-labelledby="form-title">
            <h2 id="form-title" class="sr">
                {say!(locale, task.form)}
            </h2>
            {move || hint.get().map(|hint| view! { <p class="task-hint">{hint}</p> })}
            {move || {
                claim_first
                    .get()
                    .then(|| {
                        view! {
                            <p class="hint" data-testid="claim-to-edit">
                                <Icon path=icons::LOCK />
                                {say!(locale, act.claim_to_edit)}
                            </p>
                        }
                    })
            }}
            <div class="fields">
                <For each=places key=|place| place.clone().into_key() let:place>
                    <Field model field=place.0 large=place.1 first=place.2 />
                </For>
            </div>
            {move || {
                let text = missing.get();
                (!text.is_empty())
                    .then(|| {
                        view! {
                            <p class="box box-warn" data-testid="missing-fields">
                                <Icon path=icons::WARN />
                                <span>{fill(say!(locale, task.missing_fields), &[("fields", &text)])}</span>
                            </p>
                        }
                    })
            }}
        </section>
    }
}

/// A key that changes when the field itself does.
trait IntoKey {
    fn into_key(self) -> String;
}

impl IntoKey for (FormField, bool, bool) {
    fn into_key(self) -> String {
        let (field, large, first) = self;
        serde_json::to_string(&(field, large, first)).unwrap_or_default()
    }
}
