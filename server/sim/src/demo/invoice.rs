//! Draws a receipt: letterhead, address, lines, totals, terms of payment, as many pages as it takes.
//!
//! Invariant: the totals on paper are the object's amounts.

use chrono::{Days, NaiveDate};

use super::DemoTenant;
use super::compose::{Line, lines};
use super::data::Row;
use super::pdf::{GREY, PAGE_HEIGHT, PALE, Page, Style, document};
use super::suppliers::Supplier;
use crate::erp::german_amount;

const LEFT: f64 = 56.0;
const RIGHT: f64 = 540.0;
/// Base line of the lowest line of a table.
const BOTTOM: f64 = 118.0;
/// Points from line to line.
const LINE_HEIGHT: f64 = 16.0;
/// Points the totals and terms need below the last line.
const CLOSING_HEIGHT: f64 = 130.0;
/// Right edges of the columns after the name.
const COUNT_X: f64 = 350.0;
const UNIT_X: f64 = 358.0;
const PRICE_X: f64 = 468.0;
/// Days to pay, and to pay with 2 % off.
const DAYS_TO_PAY: u64 = 30;
pub(super) const DAYS_OF_DISCOUNT: u64 = 14;
const COLUMN_HEADS: [(&str, f64); 2] = [("Pos.", LEFT), ("Bezeichnung", LEFT + 32.0)];

/// Cents as canonical decimal text.
pub(super) fn decimal(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn euro(cents: i64) -> String {
    german_amount(&decimal(cents))
}

/// `2026-11-16` as a date.
pub(super) fn date(iso: &str) -> NaiveDate {
    NaiveDate::parse_from_str(iso, "%Y-%m-%d").unwrap_or_default()
}

/// Days later.
pub(super) fn later(day: NaiveDate, days: u64) -> NaiveDate {
    day.checked_add_days(Days::new(days)).unwrap_or(day)
}

fn german(day: NaiveDate) -> String {
    day.format("%d.%m.%Y").to_string()
}

/// The receipt as PDF.
pub(super) fn draw(row: &Row, tenant: &DemoTenant) -> Vec<u8> {
    let lines = lines(row);
    let title = if row.is_credit() { "Gutschrift" } else { "Rechnung" };
    let mut sheets = vec![first_page(row, tenant, title)];
    let mut y = 424.0;
    let mut sum = 0;
    for (i, line) in lines.iter().enumerate() {
        let last = i + 1 == lines.len();
        let needed = if last { BOTTOM + CLOSING_HEIGHT } else { BOTTOM + LINE_HEIGHT };
        if y < needed {
            if let Some(sheet) = sheets.last_mut() {
                carry(sheet, y, sum);
            }
            let mut sheet = next_page(row, title);
            y = PAGE_HEIGHT - 130.0;
            carry(&mut sheet, y, sum);
            y -= LINE_HEIGHT;
            sheets.push(sheet);
        }
        if let Some(sheet) = sheets.last_mut() {
            draw_line(sheet, y, i + 1, line);
        }
        sum += line.total();
        y -= LINE_HEIGHT;
    }
    if let Some(sheet) = sheets.last_mut() {
        totals(sheet, y, row);
    }
    let count = sheets.len();
    for (i, sheet) in sheets.iter_mut().enumerate() {
        footer(sheet, row.supplier, i + 1, count);
    }
    document(&format!("{title} {} {}", row.invoice, row.supplier.name), &sheets)
}

fn letterhead(page: &mut Page, supplier: &Supplier) {
    let top = PAGE_HEIGHT - 62.0;
    page.fill(LEFT, top - 8.0, 34.0, 34.0, supplier.colour);
    page.text_centred(LEFT + 17.0, top + 3.0, Style::bold(16.0).in_colour((1.0, 1.0, 1.0)), &initial(supplier.name));
    page.text(LEFT + 44.0, top + 11.0, Style::bold(17.0).in_colour(supplier.colour), supplier.name);
    page.text(LEFT + 44.0, top - 5.0, Style::regular(9.0).in_colour(GREY), supplier.trade);
    page.rule(LEFT, RIGHT, top - 20.0, 1.2, supplier.colour);
}

/// First letter of the name proper: the word after the trade, or the trade's.
fn initial(name: &str) -> String {
    name.split(' ').nth(1).unwrap_or(name).chars().take(1).collect()
}

fn first_page(row: &Row, tenant: &DemoTenant, title: &str) -> Page {
    let supplier = row.supplier;
    let mut page = Page::default();
    letterhead(&mut page, supplier);
    let small = Style::regular(7.0).in_colour(GREY);
    let sender = format!("{} · {} · {}", supplier.name, supplier.street, supplier.town);
    page.text(LEFT, 718.0, small, &sender);
    page.rule(LEFT, LEFT + small.width(&sender), 714.5, 0.4, GREY);
    let body = Style::regular(10.5);
    for (i, text) in [tenant.company, "Rechnungseingang", tenant.street, tenant.town].into_iter().enumerate() {
        page.text(LEFT, 698.0 - 14.0 * i as f64, body, text);
    }
    let day = date(row.date);
    let facts = [
        (format!("{title}snummer"), row.invoice.to_owned()),
        (format!("{title}sdatum"), german(day)),
        ("Leistungsdatum".into(), german(day.checked_sub_days(Days::new(3)).unwrap_or(day))),
        ("Kundennummer".into(), tenant.customer_number.to_owned()),
        ("Telefon".into(), supplier.phone.to_owned()),
    ];
    for (i, (label, value)) in facts.iter().enumerate() {
        let y = 698.0 - 14.0 * i as f64;
        page.text(372.0, y, Style::regular(9.0).in_colour(GREY), label);
        page.text_right(RIGHT, y, Style::regular(9.5), value);
    }
    stamp(&mut page, row);
    page.text(LEFT, 528.0, Style::bold(15.0), &format!("{title} {}", row.invoice));
    page.text(LEFT, 502.0, body, "Sehr geehrte Damen und Herren,");
    let opening = if row.is_credit() {
        "wir schreiben Ihnen die folgenden Positionen gut:"
    } else {
        "für unsere Lieferungen und Leistungen berechnen wir Ihnen:"
    };
    page.text(LEFT, 486.0, body, opening);
    table_head(&mut page, 450.0, supplier);
    page
}

/// The stamp that the recipient's post room put on it.
fn stamp(page: &mut Page, row: &Row) {
    let ink = (0.15, 0.25, 0.55);
    let received = german(later(date(row.date), 2));
    page.turned(396.0, 548.0, 3.5, |page| {
        page.frame(0.0, 0.0, 138.0, 52.0, 1.4, ink);
        page.text_centred(69.0, 36.0, Style::bold(11.0).in_colour(ink), "EINGEGANGEN");
        page.text_centred(69.0, 22.0, Style::regular(10.0).in_colour(ink), &received);
        page.text_centred(69.0, 8.0, Style::bold(10.0).in_colour(ink), &format!("Beleg {}", row.number));
    });
}

fn next_page(row: &Row, title: &str) -> Page {
    let mut page = Page::default();
    letterhead(&mut page, row.supplier);
    let text = format!("{title} {} vom {}", row.invoice, german(date(row.date)));
    page.text_right(RIGHT, PAGE_HEIGHT - 51.0, Style::regular(9.0).in_colour(GREY), &text);
    table_head(&mut page, PAGE_HEIGHT - 106.0, row.supplier);
    page
}

fn table_head(page: &mut Page, y: f64, supplier: &Supplier) {
    let style = Style::bold(9.0);
    for (text, x) in COLUMN_HEADS {
        page.text(x, y, style, text);
    }
    page.text_right(COUNT_X, y, style, "Menge");
    page.text(UNIT_X, y, style, "Einheit");
    page.text_right(PRICE_X, y, style, "Einzelpreis");
    page.text_right(RIGHT, y, style, "Gesamt EUR");
    page.rule(LEFT, RIGHT, y - 6.0, 0.9, supplier.colour);
}

fn draw_line(page: &mut Page, y: f64, position: usize, line: &Line) {
    let style = Style::regular(9.5);
    page.text(LEFT, y, style.in_colour(GREY), &position.to_string());
    page.text(LEFT + 32.0, y, style, &line.name);
    page.text_right(COUNT_X, y, style, &german_amount(&line.count.to_string()));
    page.text(UNIT_X, y, style, line.unit);
    page.text_right(PRICE_X, y, style, &euro(line.price));
    page.text_right(RIGHT, y, style, &euro(line.total()));
    page.rule(LEFT, RIGHT, y - 4.5, 0.3, PALE);
}

fn carry(page: &mut Page, y: f64, sum: i64) {
    let style = Style::regular(9.5).in_colour(GREY);
    page.text_right(PRICE_X, y, style, "Übertrag");
    page.text_right(RIGHT, y, style, &euro(sum));
}

fn totals(page: &mut Page, y: f64, row: &Row) {
    let body = Style::regular(10.0);
    let y = y - 8.0;
    let amounts = [("Nettobetrag".to_owned(), row.net), (format!("zzgl. {} % USt.", row.tax), row.tax_cents())];
    for (i, (label, cents)) in amounts.iter().enumerate() {
        let y = y - 15.0 * i as f64;
        page.text_right(PRICE_X, y, body, label);
        page.text_right(RIGHT, y, body, &euro(*cents));
    }
    let label = if row.is_credit() { "Gutschriftsbetrag EUR" } else { "Rechnungsbetrag EUR" };
    page.rule(PRICE_X - 130.0, RIGHT, y - 21.5, 0.9, row.supplier.colour);
    page.text_right(PRICE_X, y - 35.0, Style::bold(11.0), label);
    page.text_right(RIGHT, y - 35.0, Style::bold(11.0), &euro(row.gross()));
    let day = date(row.date);
    let terms = if row.is_credit() {
        ["Den Betrag verrechnen wir mit Ihrer nächsten Zahlung.".to_owned(), String::new()]
    } else {
        let due = german(later(day, DAYS_TO_PAY));
        let off = (row.gross() * 2 + 50) / 100;
        let until = german(later(day, DAYS_OF_DISCOUNT));
        let discount = format!("Bei Zahlung bis {until} gewähren wir 2 % Skonto (= {} EUR).", euro(off));
        [format!("Zahlbar ohne Abzug bis {due}."), if row.discount { discount } else { String::new() }]
    };
    for (i, text) in terms.iter().enumerate() {
        page.text(LEFT, y - 62.0 - 14.0 * i as f64, body, text);
    }
}

fn footer(page: &mut Page, supplier: &Supplier, number: usize, count: usize) {
    let style = Style::regular(7.5).in_colour(GREY);
    page.rule(LEFT, RIGHT, 84.0, 0.5, PALE);
    let columns = [
        (LEFT, [supplier.name, supplier.street, supplier.town, supplier.mail]),
        (232.0, [supplier.manager, supplier.register, supplier.vat_id, ""]),
        (412.0, [supplier.bank, supplier.iban, "", ""]),
    ];
    for (x, texts) in columns {
        for (i, text) in texts.into_iter().filter(|text| !text.is_empty()).enumerate() {
            page.text(x, 72.0 - 10.0 * i as f64, style, text);
        }
    }
    page.text_right(RIGHT, 28.0, style, &format!("Seite {number} von {count}"));
}
