//! From older layouts of the embedded store to the present one.
//!
//! Invariant: a migration is one transaction: a crash in it leaves the old layout, whole.
//! Never: a loss; every object that the old layout held is the current one afterwards, with its time and its etag.
//!
//! Format 1 had no versions: objects and their bytes were kept under (bucket, key). Each becomes its key's first version.

use redb::{Database, ReadableTable, TableDefinition};

use super::database::open_tables;
use super::tables::{BYTES_KEY, CONTENTS, CURRENT, LAST_VERSION_KEY, META, Row, VERSIONS};

/// The layout without versions.
pub(super) const FORMAT_1: u64 = 1;

/// (bucket, key) → etag, bytes, when it was written (µs since 1970, UTC), name of its blob if it has one.
pub(super) const OBJECTS_1: TableDefinition<'_, (&str, &str), (&str, u64, i64, Option<&str>)> =
    TableDefinition::new("objects");
/// (bucket, key) → the bytes of an object without blob.
pub(super) const BODIES_1: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("bodies");

/// Brings a database from format 1 to the present one; the number of its objects.
pub(super) fn from_format_1(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    open_tables(&transaction)?;
    let mut version = 0;
    {
        let (objects, bodies) = (transaction.open_table(OBJECTS_1)?, transaction.open_table(BODIES_1)?);
        let (mut current, mut versions) = (transaction.open_table(CURRENT)?, transaction.open_table(VERSIONS)?);
        let mut contents = transaction.open_table(CONTENTS)?;
        let mut held = 0;
        for entry in objects.iter()? {
            let (at, facts) = entry?;
            let (bucket, key) = at.value();
            let (etag, size, modified_us, blob) = facts.value();
            version += 1;
            let blob = blob.map(ToOwned::to_owned);
            let row = Row { etag: etag.to_owned(), size, modified_us, blob, number: 1, total: size, retired_us: None };
            if let Some(body) = bodies.get((bucket, key))? {
                contents.insert((bucket, key, version), body.value())?;
            }
            versions.insert((bucket, key, version), row.value())?;
            current.insert((bucket, key), version)?;
            held += row.footprint(bucket, key);
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(LAST_VERSION_KEY, version)?;
        meta.insert(BYTES_KEY, held)?;
    }
    transaction.delete_table(OBJECTS_1)?;
    transaction.delete_table(BODIES_1)?;
    transaction.commit()?;
    Ok(version)
}
