//! The demo's data: two customers with two tenants each, their ERP objects and the receipts that belong to them.
//!
//! Invariant: the same on every machine and day; what a receipt says is what its object says. Numbers start over in
//! every tenant, so that a mix-up of tenants shows at once.

mod compose;
mod data;
mod invoice;
mod pdf;
mod suppliers;

use self::data::{MUSTER_M1, MUSTER_M2, NORD_A, NORD_B, Paper, Row};
use self::invoice::{DAYS_OF_DISCOUNT, date, decimal, draw, later};
use crate::erp::{BLUEPRINT_FIELD, SimObject, SimValue, TRIGGER_GUID_FIELD};

/// Trigger definition of the example blueprint `rechnungsfreigabe`.
pub const INVOICE_TRIGGER_GUID: &str = "6f1b1c1e-6a0c-4a53-9d6e-0b8f6d1f7a10";
/// Trigger definition of the example blueprint `gutschrift`.
pub const CREDIT_TRIGGER_GUID: &str = "1c7d52a4-5e0c-4f7b-8f0a-2f3f0f6f9b21";

/// One tenant of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoTenant {
    /// Kunde.
    pub customer: &'static str,
    /// Mandant.
    pub tenant: &'static str,
    /// Company that receives the invoices.
    pub company: &'static str,
    /// Its street.
    pub street: &'static str,
    /// Its post code and town.
    pub town: &'static str,
    /// Its number at all suppliers.
    pub customer_number: &'static str,
}

/// All tenants.
pub const TENANTS: [DemoTenant; 4] = [
    DemoTenant {
        customer: "muster",
        tenant: "m1",
        company: "Muster Maschinenbau GmbH",
        street: "Werftstraße 100",
        town: "24143 Kiel",
        customer_number: "K-10417",
    },
    DemoTenant {
        customer: "muster",
        tenant: "m2",
        company: "Muster Service GmbH",
        street: "Werftstraße 102",
        town: "24143 Kiel",
        customer_number: "K-10418",
    },
    DemoTenant {
        customer: "nord",
        tenant: "a",
        company: "Nordlicht Handel GmbH",
        street: "Am Leuchtturm 8",
        town: "25761 Büsum",
        customer_number: "K-20930",
    },
    DemoTenant {
        customer: "nord",
        tenant: "b",
        company: "Nordlicht Logistik GmbH",
        street: "Deichstraße 44",
        town: "25761 Büsum",
        customer_number: "K-20931",
    },
];

fn rows(tenant: &DemoTenant) -> &'static [Row] {
    match (tenant.customer, tenant.tenant) {
        ("muster", "m1") => &MUSTER_M1,
        ("muster", "m2") => &MUSTER_M2,
        ("nord", "a") => &NORD_A,
        ("nord", "b") => &NORD_B,
        _ => &[],
    }
}

/// The tenant's ERP objects, none of them in a workflow yet.
pub fn objects(tenant: &DemoTenant) -> Vec<SimObject> {
    rows(tenant).iter().map(object).collect()
}

fn object(row: &Row) -> SimObject {
    let (kind, blueprint, guid) = if row.is_credit() {
        ("GU", "Gutschrift", CREDIT_TRIGGER_GUID)
    } else {
        ("ER", "Rechnungsfreigabe", INVOICE_TRIGGER_GUID)
    };
    let optional = |text: Option<&str>| text.map_or(SimValue::Null, SimValue::text);
    let discount_until = row.discount.then(|| later(date(row.date), DAYS_OF_DISCOUNT).format("%Y-%m-%d").to_string());
    SimObject::new(
        row.number,
        [
            ("fldBelegart", SimValue::text(kind)),
            ("fldLieferant", SimValue::text(row.supplier.name)),
            ("fldRechnungsNr", SimValue::text(row.invoice)),
            ("fldDat", SimValue::text(row.date)),
            ("fldGesamtNetto", SimValue::Text(decimal(row.net))),
            ("fldGesamtBrutto", SimValue::Text(decimal(row.gross()))),
            ("fldKostenstelle", optional(row.cost_centre)),
            ("fldSkontoBis", optional(discount_until.as_deref())),
            ("fldVerwendung", SimValue::text(row.purpose)),
            ("fldInExtBeaInfo", optional(row.note)),
            (BLUEPRINT_FIELD, SimValue::text(blueprint)),
            (TRIGGER_GUID_FIELD, SimValue::text(guid)),
        ],
    )
}

/// The tenant's receipts: store key and bytes. One object has none, one has a web page, one a PDF that is cut off.
pub fn receipts(tenant: &DemoTenant) -> Vec<(String, Vec<u8>)> {
    rows(tenant).iter().filter_map(|row| receipt(row, tenant)).collect()
}

fn receipt(row: &Row, tenant: &DemoTenant) -> Option<(String, Vec<u8>)> {
    let bytes = match row.paper {
        Paper::Missing => return None,
        Paper::Pdf => draw(row, tenant),
        Paper::Html => b"<!doctype html><html><head><title>502 Bad Gateway</title></head>\
            <body><h1>502 Bad Gateway</h1></body></html>\n"
            .to_vec(),
        Paper::CutOff => {
            let mut bytes = draw(row, tenant);
            bytes.truncate(bytes.len() * 3 / 5);
            bytes
        }
    };
    Some((format!("documents/{}.pdf", row.number), bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_branch_of_the_example_has_objects() {
        let all: Vec<SimObject> = TENANTS.iter().flat_map(objects).collect();
        assert_eq!(all.len(), 30);
        let gross = |object: &SimObject| object.value("fldGesamtBrutto").as_text().unwrap_or("").to_owned();
        let amounts: BTreeSet<String> = all.iter().map(gross).collect();
        for edge in ["89.90", "500.00", "500.01", "10000.00", "10000.01", "25480.00", "1190.00"] {
            assert!(amounts.contains(edge), "{edge} is missing in {amounts:?}");
        }
        assert!(all.iter().all(|object| object.state() == "none" && !object.external()));
    }

    #[test]
    fn the_first_invoice_is_as_promised() {
        let first = &objects(&TENANTS[0])[0];
        assert_eq!(first.number, "ER-1001");
        assert_eq!(first.value("fldGesamtBrutto"), SimValue::text("1190.00"));
        assert_eq!(first.value("fldKostenstelle"), SimValue::text("1000"));
        assert_eq!(first.value("fldLieferant"), SimValue::text("Bürobedarf Hansen GmbH"));
        let (key, bytes) = &receipts(&TENANTS[0])[0];
        assert_eq!(key, "documents/ER-1001.pdf");
        let text = String::from_utf8_lossy(bytes);
        assert!(text.contains("Beleg ER-1001") && text.contains("1.190,00"));
        assert!(text.contains("/Type /Pages /Count 2 "));
    }

    #[test]
    fn receipts_are_good_but_for_three() {
        let receipts: Vec<(String, Vec<u8>)> = receipts(&TENANTS[0]);
        assert_eq!(receipts.len(), objects(&TENANTS[0]).len() - 1);
        let whole = |bytes: &[u8]| bytes.starts_with(b"%PDF-1.4") && bytes.ends_with(b"%%EOF\n");
        let bad: Vec<&str> = receipts.iter().filter(|(_, bytes)| !whole(bytes)).map(|(key, _)| key.as_str()).collect();
        assert_eq!(bad, ["documents/ER-1010.pdf", "documents/ER-1011.pdf"]);
    }
}
