//! The execution log, as a list that people can read.
//!
//! Invariant: every entry and every fact is shown, known kind or not, in the order of the chain.

use contract::{LogEntryView, LogFact, LogView};
use leptos::prelude::*;

use super::icons::{self, Icon};
use crate::texts::{self, Locale, say, use_locale};

/// Characters of a checksum that are shown; the whole is in the title.
const HASH_CHARS_SHOWN: usize = 12;

/// A run's entries.
#[component]
pub(crate) fn LogList(log: LogView) -> impl IntoView {
    let locale = use_locale();
    let empty = log.entries.is_empty();
    let pending = (!log.pending.is_empty()).then(|| {
        view! {
            <div class="box box-warn" data-testid="log-pending">
                <Icon path=icons::WARN />
                <div class="box-text">
                    <p>{say!(locale, log.pending)}</p>
                    <Facts facts=log.pending.clone() />
                </div>
            </div>
        }
    });
    let entries = log.entries.into_iter().map(|entry| view! { <Entry entry /> }).collect_view();
    view! {
        {pending}
        {empty.then(|| view! { <p class="hint">{say!(locale, log.none)}</p> })}
        <ol class="log">{entries}</ol>
    }
    .into_any()
}

/// Whether the chain holds.
#[component]
pub(crate) fn Chain(intact: bool) -> impl IntoView {
    let locale = use_locale();
    let (class, icon, text) = if intact {
        ("chain chain-good", icons::LOCK, say!(locale, log.intact))
    } else {
        ("chain chain-bad", icons::WARN, say!(locale, log.broken))
    };
    view! {
        <span class=class data-testid="log-chain" data-intact=intact.to_string()>
            <Icon path=icon />
            {text}
        </span>
    }
}

#[component]
fn Entry(entry: LogEntryView) -> impl IntoView {
    let locale = use_locale();
    let actor = entry.actor.as_ref().map_or(say!(locale, app.system).to_owned(), |actor| actor.name.clone());
    let step = entry.step_title.clone().or_else(|| entry.step.clone());
    let hash_short: String = entry.hash.chars().take(HASH_CHARS_SHOWN).collect();
    let (changed, others): (Vec<_>, Vec<_>) =
        entry.facts.into_iter().partition(|fact| matches!(fact.kind.as_str(), "changed" | "error" | "next"));
    let class = format!("log-entry log-{}", entry.kind);
    view! {
        <li class=class data-testid="log-entry" data-kind=entry.kind.clone() data-seq=entry.seq>
            <span class="log-mark">
                <Icon path=icons::of_log(&entry.kind) />
            </span>
            <div class="log-body">
                <p class="log-title">
                    <strong>{texts::log_kind(locale, &entry.kind)}</strong>
                    {step.map(|step| view! { <span class="log-step">{step}</span> })}
                </p>
                <p class="log-meta">
                    <span>{actor}</span>
                    <time datetime=entry.at.iso.clone() title=entry.at.iso.clone()>
                        {entry.at.text.clone()}
                    </time>
                </p>
                {entry.comment.map(|comment| view! { <blockquote class="log-comment">{comment}</blockquote> })}
                {(!changed.is_empty()).then(|| view! { <Facts facts=changed /> })}
                <details class="log-details">
                    <summary>{say!(locale, log.details)}</summary>
                    {(!others.is_empty()).then(|| view! { <Facts facts=others /> })}
                    <p class="log-hash">
                        {format!("#{} · {} ", entry.seq, say!(locale, log.hash))}
                        <code title=entry.hash.clone()>{hash_short}</code>
                    </p>
                </details>
            </div>
        </li>
    }
    .into_any()
}

#[component]
fn Facts(facts: Vec<LogFact>) -> impl IntoView {
    let locale = use_locale();
    let rows = facts.into_iter().map(|fact| fact_row(locale, fact)).collect_view();
    view! { <dl class="facts">{rows}</dl> }
}

fn fact_row(locale: Locale, fact: LogFact) -> impl IntoView {
    let kind = texts::fact_kind(locale, &fact.kind);
    let label = if fact.label.is_empty() { kind } else { format!("{kind} · {}", fact.label) };
    let value = if fact.kind == "next" { texts::target(locale, &fact.value) } else { fact.value };
    let old = fact.old.map(|old| view! { <del>{old}</del> " → " });
    view! {
        <div class=format!("fact fact-{}", fact.kind)>
            <dt>{label}</dt>
            <dd>{old} <span>{value}</span></dd>
        </div>
    }
}
