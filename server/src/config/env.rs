//! Environment variables over the file: `CONNECTWORKFLOW__STORE__PATH` is `store.path`, a tenant is named by its place
//! (`CONNECTWORKFLOW__TENANT__0__ERP__TOKEN`).
//!
//! Invariant: a variable means exactly one key and is never ignored; a secret and its `_file` replace each other.

use std::path::Path;

use toml::{Table, Value};

use super::ConfigError;

/// What our variables begin with.
pub(super) const PREFIX: &str = "CONNECTWORKFLOW__";
/// Parts a key may have.
const DEPTH_MAX: usize = 6;

/// Keys whose value is a number.
const NUMBERS: [&str; 8] = [
    "triggers_per_minute",
    "timeout_s",
    "poll_s",
    "recovery_s",
    "max_lifetime_s",
    "connect_timeout_s",
    "attempt_timeout_s",
    "operation_timeout_s",
];
/// Keys whose value is yes or no.
const SWITCHES: [&str; 1] = ["path_style"];
/// Keys whose value is a list: `["a", "b"]` or `a,b`.
const LISTS: [&str; 4] = ["scopes", "api_key_hashes", "allowed_ips", "trusted_proxies"];
/// Keys under which every key is a list.
const LIST_TABLES: [&str; 2] = ["groups", "roles"];
/// Keys whose value is a path.
const PATH_SUFFIX: &str = "_file";

/// This process' variables with our prefix.
pub(super) fn variables() -> Result<Vec<(String, String)>, ConfigError> {
    std::env::vars_os()
        .filter_map(|(name, value)| name.into_string().ok().filter(|name| name.starts_with(PREFIX)).zip(Some(value)))
        .map(|(name, value)| match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(_) => Err(ConfigError::Variable { variable: name, reason: "its value is not UTF-8".to_owned() }),
        })
        .collect()
}

/// Makes the file's relative paths relative to the file.
pub(super) fn anchor_paths(table: &mut Table, folder: &Path) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => anchor_paths(inner, folder),
            Value::Array(items) => {
                for item in items {
                    if let Value::Table(inner) = item {
                        anchor_paths(inner, folder);
                    }
                }
            }
            Value::String(path) if key == "path" || key.ends_with(PATH_SUFFIX) => {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
        }
    }
}

/// Lays the variables over the table.
pub(super) fn overlay(table: &mut Table, variables: &[(String, String)]) -> Result<(), ConfigError> {
    let mut ours: Vec<(&str, Vec<String>, &str)> = variables
        .iter()
        .filter_map(|(name, value)| {
            let path = name.strip_prefix(PREFIX)?.split("__").map(str::to_lowercase).collect();
            Some((name.as_str(), path, value.as_str()))
        })
        .collect();
    // Numbers padded, so that tenant 2 comes before tenant 10.
    ours.sort_by_key(|(_, path, _)| path.iter().map(|part| format!("{part:0>8}")).collect::<Vec<_>>());
    for (name, path, value) in &ours {
        let fail = |reason: String| ConfigError::Variable { variable: (*name).to_owned(), reason };
        if path.len() < 2 || path.len() > DEPTH_MAX || path.iter().any(String::is_empty) {
            return Err(fail(format!("write it as {PREFIX}SECTION__KEY")));
        }
        let twin = twin_name(name);
        if ours.iter().any(|(other, _, _)| *other == twin) {
            return Err(fail(format!("`{twin}` is set as well: set one of the two")));
        }
        set(table, path, value).map_err(fail)?;
    }
    Ok(())
}

/// The variable that says the same thing by file, or without.
fn twin_name(name: &str) -> String {
    name.strip_suffix("_FILE").map_or_else(|| format!("{name}_FILE"), str::to_owned)
}

fn set(table: &mut Table, path: &[String], text: &str) -> Result<(), String> {
    let Some((leaf, parents)) = path.split_last() else {
        return Err("the key is empty".to_owned());
    };
    let mut place = table;
    let mut rest = parents;
    while let [name, after @ ..] = rest {
        if name == "tenant" {
            let [index, deeper @ ..] = after else {
                return Err(format!("name the tenant by its place, e.g. {PREFIX}TENANT__0__CUSTOMER"));
            };
            place = tenant(place, index)?;
            rest = deeper;
        } else {
            let entry = place.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            place = entry.as_table_mut().ok_or_else(|| format!("`{name}` is not a section"))?;
            rest = after;
        }
    }
    match leaf.strip_suffix(PATH_SUFFIX) {
        Some(stem) => place.remove(stem),
        None => place.remove(&format!("{leaf}{PATH_SUFFIX}")),
    };
    let parent = parents.last().map_or("", String::as_str);
    place.insert(leaf.clone(), value(parent, leaf, text)?);
    Ok(())
}

fn tenant<'t>(table: &'t mut Table, index: &str) -> Result<&'t mut Table, String> {
    let list = table.entry("tenant").or_insert_with(|| Value::Array(Vec::new()));
    let list = list.as_array_mut().ok_or("`tenant` must be written [[tenant]]")?;
    let index: usize = index.parse().map_err(|_error| format!("`{index}` is not a tenant's place: 0, 1, 2 …"))?;
    if index > list.len() {
        return Err(format!("there is no tenant {index}: the next free place is {}", list.len()));
    }
    if index == list.len() {
        list.push(Value::Table(Table::new()));
    }
    list.get_mut(index).and_then(Value::as_table_mut).ok_or_else(|| "`tenant` must hold tables".to_owned())
}

fn value(parent: &str, leaf: &str, text: &str) -> Result<Value, String> {
    if LISTS.contains(&leaf) || LIST_TABLES.contains(&parent) {
        if text.trim_start().starts_with('[') {
            return literal(text).ok_or_else(|| format!("`{text}` is not a list: write [\"a\", \"b\"] or a,b"));
        }
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()));
    }
    if NUMBERS.contains(&leaf) {
        return text.trim().parse().map(Value::Integer).map_err(|_error| format!("`{text}` is not a whole number"));
    }
    if SWITCHES.contains(&leaf) {
        return text.trim().parse().map(Value::Boolean).map_err(|_error| format!("`{text}` is neither true nor false"));
    }
    Ok(Value::String(text.to_owned()))
}

fn literal(text: &str) -> Option<Value> {
    let mut table: Table = format!("value = {text}").parse().ok()?;
    table.remove("value").filter(|_| table.is_empty())
}
