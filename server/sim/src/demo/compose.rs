//! The lines of an invoice: what a supplier sells, in amounts that add up to the net total to the cent.

use super::data::Row;

/// Tenths of the average line.
const WEIGHTS: [i64; 7] = [4, 13, 8, 15, 5, 10, 12];

/// One line.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) count: i64,
    /// Price of one, in cents.
    pub(super) price: i64,
}

impl Line {
    /// Cents.
    pub(super) fn total(&self) -> i64 {
        self.count * self.price
    }
}

/// The lines of a receipt; their totals add up to its net amount.
pub(super) fn lines(row: &Row) -> Vec<Line> {
    let supplier = row.supplier;
    let mut rest = row.net;
    let mut lines = Vec::new();
    // Starting elsewhere in the catalogue for every receipt, so that no two look alike.
    let start: usize = row.invoice.bytes().map(usize::from).sum();
    let wanted = row.lines.saturating_sub(1);
    let articles = supplier.articles.len();
    for i in 0..wanted * 3 {
        let left = i64::try_from(wanted - lines.len()).unwrap_or(1);
        if left <= 0 || rest <= 0 {
            break;
        }
        let place = start + i;
        let article = &supplier.articles[place % articles];
        let round = place / articles;
        // A tenth stays for the closing line; some lines are larger than others.
        let most = rest - rest / 10;
        let share = (most / left * WEIGHTS[place % WEIGHTS.len()] / 10).min(most);
        let count = share / article.cents;
        if count == 0 && article.cents > rest / 2 {
            continue;
        }
        let count = count.max(1);
        rest -= count * article.cents;
        let variant = supplier.variants[round % supplier.variants.len()];
        let name = if variant.is_empty() { article.name.to_owned() } else { format!("{}, {variant}", article.name) };
        lines.push(Line { name, unit: article.unit, count, price: article.cents });
    }
    if rest > 0 {
        lines.push(Line { name: supplier.closing.to_owned(), unit: "pausch.", count: 1, price: rest });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::data::{MUSTER_M1, MUSTER_M2, NORD_A, NORD_B};
    use super::*;

    #[test]
    fn lines_add_up_to_the_cent() {
        for row in MUSTER_M1.iter().chain(&MUSTER_M2).chain(&NORD_A).chain(&NORD_B) {
            let lines = lines(row);
            assert_eq!(lines.iter().map(Line::total).sum::<i64>(), row.net, "{} {}", row.number, row.invoice);
            assert!(lines.iter().all(|line| line.total() > 0 && line.count > 0), "{} {}", row.number, row.invoice);
        }
    }
}
