//! Maps of values.
//!
//! Purpose: keeps entries in the order in which they came (a projection of a map shows it) and finds them by key.
//! Invariant: no two keys are equal by Java's `equals`; the last value of a key wins and keeps the first one's place.
//! Never: hashes, so that the same map behaves the same everywhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::value::Value;

/// A map with the order of its entries.
#[derive(Debug, Clone, Default)]
pub struct Map {
    entries: Vec<(Value, Value)>,
    /// Positions of the entries in the order of their keys.
    sorted: Vec<usize>,
}

impl Map {
    /// Without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(|known| order_with_text(known, key)).ok().and_then(|at| self.value_at(at))
    }

    /// The value of any key.
    pub(super) fn get_value(&self, key: &Value) -> Option<&Value> {
        match key {
            Value::Text(key) => self.get(key),
            _ => self.find(|known| key_order(known, key)).ok().and_then(|at| self.value_at(at)),
        }
    }

    fn find(&self, compare: impl Fn(&Value) -> Ordering) -> Result<usize, usize> {
        let key = |at: &usize| self.entries.get(*at).map_or(Ordering::Less, |(key, _)| compare(key));
        self.sorted.binary_search_by(key).map(|found| self.sorted.get(found).copied().unwrap_or(0))
    }

    fn value_at(&self, at: usize) -> Option<&Value> {
        self.entries.get(at).map(|(_, value)| value)
    }

    /// Adds or replaces.
    pub fn insert(&mut self, key: Value, value: Value) {
        match self.find(|known| key_order(known, &key)) {
            Ok(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.1 = value;
                }
            }
            Err(place) => {
                self.sorted.insert(place, self.entries.len());
                self.entries.push((key, value));
            }
        }
    }

    /// Takes the value of a text key out of a map that is no longer needed.
    pub(super) fn into_value(mut self, key: &Value) -> Option<Value> {
        let at = match key {
            Value::Text(key) => self.find(|known| order_with_text(known, key)),
            _ => self.find(|known| key_order(known, key)),
        };
        at.ok().filter(|at| *at < self.entries.len()).map(|at| self.entries.swap_remove(at).1)
    }
}

impl PartialEq for Map {
    /// Regardless of the order, as in Java.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get_value(key) == Some(value))
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<T: IntoIterator<Item = (Value, Value)>>(entries: T) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(entries: T) -> Self {
        entries.into_iter().map(|(key, value)| (Value::Text(key), value)).collect()
    }
}

impl From<BTreeMap<String, Value>> for Map {
    fn from(entries: BTreeMap<String, Value>) -> Self {
        entries.into_iter().collect()
    }
}

fn order_with_text(known: &Value, key: &str) -> Ordering {
    match known {
        Value::Text(known) => known.as_str().cmp(key),
        other => rank(other).cmp(&TEXT_RANK),
    }
}

const TEXT_RANK: u8 = 9;

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Int(_) => 2,
        Value::Long(_) => 3,
        Value::Float(_) => 4,
        Value::Double(_) => 5,
        Value::BigInt(_) => 6,
        Value::Decimal(_) => 7,
        Value::Char(_) => 8,
        Value::Text(_) => TEXT_RANK,
        Value::List(_) | Value::Items(..) => 10,
        Value::Map(_) => 11,
        Value::Entry(_) => 12,
    }
}

/// A total order that calls equal what Java's `equals` does. Only used to find keys.
pub(super) fn key_order(left: &Value, right: &Value) -> Ordering {
    let lists = |left: &[Value], right: &[Value]| {
        let mut pairs = left.iter().zip(right).map(|(left, right)| key_order(left, right));
        pairs.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
    };
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Long(left), Value::Long(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.total_cmp(right),
        (Value::Double(left), Value::Double(right)) => left.total_cmp(right),
        (Value::BigInt(left), Value::BigInt(right)) => left.cmp(right),
        (Value::Decimal(left), Value::Decimal(right)) => {
            left.scale().cmp(&right.scale()).then_with(|| left.unscaled().cmp(right.unscaled()))
        }
        (Value::Char(left), Value::Char(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::List(left) | Value::Items(_, left), Value::List(right) | Value::Items(_, right)) => lists(left, right),
        (Value::Map(left), Value::Map(right)) => maps(left, right),
        (Value::Entry(left), Value::Entry(right)) => {
            key_order(&left.0, &right.0).then_with(|| key_order(&left.1, &right.1))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

/// In the order of keys, so that it doesn't matter in which order the entries came.
fn maps(left: &Map, right: &Map) -> Ordering {
    for (left_at, right_at) in left.sorted.iter().zip(&right.sorted) {
        let (Some(left), Some(right)) = (left.entries.get(*left_at), right.entries.get(*right_at)) else { continue };
        let order = key_order(&left.0, &right.0).then_with(|| key_order(&left.1, &right.1));
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}
