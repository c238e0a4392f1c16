//! The receipt beside the form.
//!
//! Purpose: puts `<receipt-viewer>` on the page with its texts and listens to what became of it.
//! Invariant: the viewer's code is loaded here and nowhere else; whether the receipt was seen is known before approving.
//! Never: draws a page itself.

use std::collections::BTreeMap;

use contract::{DocumentState, DocumentView};
use leptos::{ev::Custom, prelude::*};
use leptos_meta::Link;

use super::model::{Model, Receipt};
use crate::{
    texts::{self, Locale, fill, say},
    ui::icons::{self, Icon},
};

/// The module that defines `<receipt-viewer>`.
const VIEWER: &str = "/receipt-viewer.mjs";

/// The pane: one receipt at a time, tabs where there are several.
#[component]
pub(crate) fn ReceiptPane(model: Model) -> impl IntoView {
    let locale = model.locale;
    let documents = Memo::new(move |_| model.detail.with(|detail| detail.documents.clone()));
    let chosen = RwSignal::new(0_u32);
    let at = move |index: u32| usize::try_from(index).unwrap_or(0);
    let current = Memo::new(move |_| documents.with(|documents| documents.get(at(chosen.get())).cloned()));
    let tabs = move || {
        documents.with(|documents| {
            let tab = |(index, document): (u32, &DocumentView)| {
                view! {
                    <button
                        type="button"
                        class="tab"
                        aria-pressed=move || if chosen.get() == index { "true" } else { "false" }
                        on:click=move |_| chosen.set(index)
                    >
                        {document.name.clone()}
                    </button>
                }
            };
            (documents.len() > 1).then(|| {
                let tabs = (0_u32..).zip(documents).map(tab).collect_view();
                view! { <div class="tabs receipt-tabs" role="group" aria-label=say!(locale, task.receipts)>{tabs}</div> }
            })
        })
    };
    view! {
        <section class="receipt-pane" aria-label=say!(locale, task.receipt)>
            {tabs}
            {move || match current.get() {
                Some(document) => {
                    let decisive = chosen.get() == 0;
                    view! { <Document model document decisive /> }.into_any()
                }
                None => {
                    view! {
                        <p class="receipt-none" data-testid="receipt-none">
                            {say!(locale, receipt.none)}
                        </p>
                    }
                        .into_any()
                }
            }}
            <Acknowledge model />
        </section>
    }
}

/// One receipt. Only the first one decides whether approving waits.
#[component]
fn Document(model: Model, document: DocumentView, decisive: bool) -> impl IntoView {
    let locale = model.locale;
    let cant = match &document.state {
        DocumentState::Pdf { .. } => None,
        DocumentState::Missing => Some(say!(locale, receipt.missing).to_owned()),
        DocumentState::Unavailable => Some(say!(locale, receipt.unavailable).to_owned()),
        DocumentState::NotPdf { seems, .. } => {
            Some(fill(say!(locale, receipt.not_pdf), &[("seems", texts::seems(locale, seems))]))
        }
    };
    if let Some(text) = cant {
        let original = matches!(document.state, DocumentState::NotPdf { .. }).then(|| document.url.clone());
        Effect::new(move |_| {
            if decisive {
                became(model, Receipt::Failed);
            }
        });
        return view! {
            <div class="receipt-cant" data-testid="receipt" data-state="failed" role="alert">
                <Icon path=icons::DOCUMENT />
                <p>{text}</p>
                {original
                    .map(|url| {
                        view! {
                            <p>
                                <a class="button" href=url rel="external noopener" target="_blank">
                                    {say!(locale, receipt.open_original)}
                                </a>
                            </p>
                        }
                    })}
            </div>
        }
        .into_any();
    }
    view! { <Viewer model document decisive /> }.into_any()
}

#[component]
fn Viewer(model: Model, document: DocumentView, decisive: bool) -> impl IntoView {
    let locale = model.locale;
    let size = match document.state {
        DocumentState::Pdf { size } => size,
        DocumentState::NotPdf { .. } | DocumentState::Missing | DocumentState::Unavailable => 0,
    };
    // Defined only once the page is awake, so that it never adds children before hydration has looked.
    Effect::new(move |_| load_viewer());
    let shown: Custom<web_sys::Event> = Custom::new("receipt-shown");
    let failed: Custom<web_sys::Event> = Custom::new("receipt-failed");
    let element = leptos::html::custom("receipt-viewer")
        .attr("src", document.url)
        .attr("name", document.name)
        .attr("size", size.to_string())
        .attr("lang", locale.to_string())
        .attr("messages", messages(locale))
        .attr("data-testid", "receipt")
        .class("receipt-viewer")
        .on(shown, move |_| {
            if decisive {
                became(model, Receipt::Shown);
            }
        })
        .on(failed, move |_| {
            if decisive {
                became(model, Receipt::Failed);
            }
        });
    view! {
        <Link rel="modulepreload" href=VIEWER />
        {element}
    }
    .into_any()
}

fn became(model: Model, receipt: Receipt) {
    // Who acknowledged a failure needn't do it again when the viewer reports it again.
    let stays = receipt == Receipt::Failed && model.receipt.get_untracked() == Receipt::Acknowledged;
    if !stays {
        model.receipt.set(receipt);
    }
}

fn load_viewer() {
    let document = document();
    if document.query_selector("script[data-receipt-viewer]").ok().flatten().is_some() {
        return;
    }
    let added = document.create_element("script").and_then(|script| {
        script.set_attribute("type", "module")?;
        script.set_attribute("src", VIEWER)?;
        script.set_attribute("data-receipt-viewer", "")?;
        document.head().map(|head| head.append_child(&script)).transpose()
    });
    if added.is_err() {
        leptos::logging::error!("the receipt viewer could not be loaded from {VIEWER}");
    }
}

#[component]
fn Acknowledge(model: Model) -> impl IntoView {
    let locale = model.locale;
    move || match model.receipt.get() {
        Receipt::Failed => view! {
            <p class="receipt-ack">
                <button
                    type="button"
                    class="button"
                    data-testid="receipt-acknowledge"
                    on:click=move |_| model.receipt.set(Receipt::Acknowledged)
                >
                    {say!(locale, receipt.acknowledge)}
                </button>
            </p>
        }
        .into_any(),
        Receipt::Acknowledged => view! {
            <p class="receipt-ack" role="status">
                <Icon path=icons::WARN />
                {say!(locale, receipt.acknowledged)}
            </p>
        }
        .into_any(),
        Receipt::None | Receipt::Loading | Receipt::Shown => ().into_any(),
    }
}

/// The viewer's texts, as its `messages` attribute.
fn messages(locale: Locale) -> String {
    let texts: BTreeMap<&str, &str> = BTreeMap::from([
        ("loading", say!(locale, receipt.loading)),
        ("previous", say!(locale, receipt.previous)),
        ("next", say!(locale, receipt.next)),
        ("page", say!(locale, receipt.page)),
        ("of", say!(locale, receipt.of)),
        ("zoomIn", say!(locale, receipt.zoom_in)),
        ("zoomOut", say!(locale, receipt.zoom_out)),
        ("fitWidth", say!(locale, receipt.fit_width)),
        ("fitPage", say!(locale, receipt.fit_page)),
        ("zoom", say!(locale, receipt.zoom)),
        ("rotate", say!(locale, receipt.rotate)),
        ("search", say!(locale, receipt.search)),
        ("searchPrevious", say!(locale, receipt.search_previous)),
        ("searchNext", say!(locale, receipt.search_next)),
        ("searchNone", say!(locale, receipt.search_none)),
        ("searchHits", say!(locale, receipt.search_hits)),
        ("openOriginal", say!(locale, receipt.open_original)),
        ("toolbar", say!(locale, receipt.toolbar)),
        ("document", say!(locale, receipt.document)),
        ("pageLabel", say!(locale, receipt.page_label)),
        ("acroForm", say!(locale, receipt.acro_form)),
        ("missing", say!(locale, receipt.missing)),
        ("unavailable", say!(locale, receipt.unavailable)),
        ("broken", say!(locale, receipt.broken)),
        ("password", say!(locale, receipt.password)),
        ("network", say!(locale, receipt.network)),
        ("blank", say!(locale, receipt.blank)),
        ("timeout", say!(locale, receipt.timeout)),
        ("retry", say!(locale, receipt.retry)),
    ]);
    serde_json::to_string(&texts).unwrap_or_default()
}
