//! What is remembered, and how it survives.
//!
//! Invariant: a change is on disk before anybody sees it: the file is written beside the old one, synced, renamed over
//! it, and the folder synced. A change that can't be saved has not happened.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::model::{CHANGED_FIELD, SimObject, SimValue, kind_of};
use super::{SimError, SimTenant};

/// Version of the state file.
const SCHEMA: u32 = 1;
/// Name of the state file in the data folder.
const FILE: &str = "erp.json";
/// The first row version: above 2^53, so that a reader that takes it for a float is found out.
const FIRST_LSN: u64 = 9_007_199_254_740_993;

/// One tenant's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TenantState {
    pub(super) customer: String,
    pub(super) tenant: String,
    /// The GraphQL interface answers 503.
    pub(super) down: bool,
    /// The row version given last.
    lsn: u64,
    pub(super) objects: BTreeMap<String, SimObject>,
}

impl TenantState {
    fn next_lsn(&mut self) -> u64 {
        self.lsn += 1;
        self.lsn
    }

    /// Saves fields of one object as the ERP does: new row version, new stamp. None where there is no such object.
    pub(super) fn save(&mut self, number: &str, fields: Vec<(String, SimValue)>) -> Option<SimObject> {
        let lsn = self.next_lsn();
        let object = self.objects.get_mut(number)?;
        object.fields.extend(fields);
        object.fields.insert(CHANGED_FIELD.into(), SimValue::Text(now()));
        object.lsn = lsn;
        Some(object.clone())
    }
}

fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Everything {
    schema: u32,
    tenants: Vec<TenantState>,
}

/// The state with its file.
pub(super) struct State {
    path: PathBuf,
    current: Mutex<Everything>,
}

impl State {
    /// Reads the file where there is one; objects that it doesn't have yet are added from the settings.
    pub(super) fn open(data_dir: &Path, tenants: &mut [SimTenant]) -> Result<Self, SimError> {
        let io = |path: &Path, error: std::io::Error| SimError::Disk {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        fs::create_dir_all(data_dir).map_err(|error| io(data_dir, error))?;
        let path = data_dir.join(FILE);
        let mut saved = match fs::read(&path) {
            Ok(bytes) => read(&path, &bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(&path, error)),
        };
        let mut states = Vec::new();
        for settings in tenants {
            let same = |state: &TenantState| state.customer == settings.customer && state.tenant == settings.tenant;
            let mut state = match saved.iter().position(same) {
                Some(index) => saved.swap_remove(index),
                None => TenantState {
                    customer: settings.customer.clone(),
                    tenant: settings.tenant.clone(),
                    down: false,
                    lsn: FIRST_LSN,
                    objects: BTreeMap::new(),
                },
            };
            for object in std::mem::take(&mut settings.objects) {
                add(&mut state, object)?;
            }
            states.push(state);
        }
        let current = Everything { schema: SCHEMA, tenants: states };
        write(&path, &current)?;
        Ok(Self { path, current: Mutex::new(current) })
    }

    fn lock(&self) -> MutexGuard<'_, Everything> {
        // The value is replaced as a whole, so a panic elsewhere never leaves it half changed.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at one tenant.
    pub(super) fn look<T>(&self, tenant: usize, look: impl FnOnce(&TenantState) -> T) -> Result<T, SimError> {
        self.lock().tenants.get(tenant).map(look).ok_or(SimError::NoTenant)
    }

    /// Changes one tenant and saves; blocks on the disk.
    pub(super) fn change<T>(
        &self,
        tenant: usize,
        change: impl FnOnce(&mut TenantState) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        let mut current = self.lock();
        let mut next = current.clone();
        let state = next.tenants.get_mut(tenant).ok_or(SimError::NoTenant)?;
        let result = change(state)?;
        write(&self.path, &next)?;
        *current = next;
        Ok(result)
    }
}

fn add(state: &mut TenantState, mut object: SimObject) -> Result<(), SimError> {
    if let Some(field) = object.fields.keys().find(|field| kind_of(field).is_none()) {
        return Err(SimError::Field { field: field.clone(), reason: "the table doesn't have it".into() });
    }
    if state.objects.contains_key(&object.number) {
        return Ok(());
    }
    object.lsn = state.next_lsn();
    object.fields.entry(CHANGED_FIELD.into()).or_insert_with(|| SimValue::Text(now()));
    state.objects.insert(object.number.clone(), object);
    Ok(())
}

fn read(path: &Path, bytes: &[u8]) -> Result<Vec<TenantState>, SimError> {
    let unreadable = |reason: String| SimError::StateFile { path: path.display().to_string(), reason };
    let everything: Everything = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
    if everything.schema != SCHEMA {
        return Err(unreadable(format!("its schema is {}, {SCHEMA} is understood", everything.schema)));
    }
    Ok(everything.tenants)
}

fn write(path: &Path, everything: &Everything) -> Result<(), SimError> {
    let disk = |error: std::io::Error| SimError::Disk { path: path.display().to_string(), reason: error.to_string() };
    let bytes = serde_json::to_vec(everything).map_err(|error| disk(error.into()))?;
    let beside = path.with_extension("json.new");
    let mut file = fs::File::create(&beside).map_err(disk)?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(disk)?;
    fs::rename(&beside, path).map_err(disk)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(disk)
}
