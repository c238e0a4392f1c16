//! The demo's objects, one line each.
//!
//! Invariant: every branch of the example blueprints has some: up to 500 EUR, over 10 000 EUR, between, exactly on and
//! one cent above both limits; one receipt is missing, one is no PDF, one is broken; one object has no cost centre.

use super::suppliers::{
    BERGMANN, FOERSTER, GRUENWALD, HANSEN, KRUEGER, LUEDERS, MOELLER, OEZTUERK, STADTWERKE, Supplier, WEISSMUELLER,
};

/// What lies under the receipt's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paper {
    /// A good PDF.
    Pdf,
    /// Nothing.
    Missing,
    /// A web server's error page that was saved as PDF.
    Html,
    /// A PDF that was cut off on its way.
    CutOff,
}

/// One object with its receipt.
pub(super) struct Row {
    pub(super) number: &'static str,
    pub(super) supplier: &'static Supplier,
    pub(super) invoice: &'static str,
    /// ISO date of the invoice.
    pub(super) date: &'static str,
    /// Cents.
    pub(super) net: i64,
    /// Percent.
    pub(super) tax: i64,
    /// Lines on the invoice.
    pub(super) lines: usize,
    pub(super) cost_centre: Option<&'static str>,
    /// Whether 2 % may be taken off within 14 days.
    pub(super) discount: bool,
    pub(super) purpose: &'static str,
    /// First note for the workflow.
    pub(super) note: Option<&'static str>,
    pub(super) paper: Paper,
}

impl Row {
    const fn new(number: &'static str, supplier: &'static Supplier, invoice: &'static str, date: &'static str) -> Self {
        Self {
            number,
            supplier,
            invoice,
            date,
            net: 0,
            tax: 19,
            lines: 3,
            cost_centre: Some("1000"),
            discount: true,
            purpose: "",
            note: None,
            paper: Paper::Pdf,
        }
    }

    const fn of(mut self, net: i64, lines: usize, cost_centre: &'static str, purpose: &'static str) -> Self {
        self.net = net;
        self.lines = lines;
        self.cost_centre = Some(cost_centre);
        self.purpose = purpose;
        self
    }

    const fn reduced_tax(mut self) -> Self {
        self.tax = 7;
        self
    }

    const fn no_discount(mut self) -> Self {
        self.discount = false;
        self
    }

    const fn no_cost_centre(mut self) -> Self {
        self.cost_centre = None;
        self
    }

    const fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }

    const fn paper(mut self, paper: Paper) -> Self {
        self.paper = paper;
        self
    }

    /// Whether it is a credit note.
    pub(super) fn is_credit(&self) -> bool {
        self.number.starts_with("GU")
    }

    /// Tax in cents, rounded half up as invoices do.
    pub(super) const fn tax_cents(&self) -> i64 {
        (self.net * self.tax + 50) / 100
    }

    /// Gross in cents.
    pub(super) const fn gross(&self) -> i64 {
        self.net + self.tax_cents()
    }
}

pub(super) static MUSTER_M1: [Row; 13] = [
    Row::new("ER-1001", &HANSEN, "RE-2026-4711", "2026-11-16").of(100_000, 27, "1000", "Büromaterial November"),
    Row::new("ER-1002", &STADTWERKE, "26-0088731", "2026-11-12")
        .of(7_555, 2, "2000", "Abschlag Fernwärme")
        .no_discount(),
    Row::new("ER-1003", &MOELLER, "MD 26/1180", "2026-11-17")
        .of(2_381_308, 5, "3000", "Handbücher Baureihe 7")
        .reduced_tax()
        .note("Auflage wurde im Oktober von der Geschäftsleitung bestellt."),
    Row::new("ER-1004", &OEZTUERK, "2026-11-0214", "2026-11-10").of(42_017, 3, "2000", "Reinigung Verwaltung"),
    Row::new("ER-1005", &KRUEGER, "R26-30598", "2026-11-18").of(
        1_260_000,
        58,
        "3000",
        "Drehteile und Bleche Auftrag 2611-07\nTeillieferung 2 von 3",
    ),
    Row::new("ER-1006", &BERGMANN, "F-260917", "2026-11-09").of(840_336, 6, "4000", "Notebooks Konstruktion"),
    Row::new("ER-1007", &LUEDERS, "LU/26/55120", "2026-11-19").of(42_018, 4, "3000", "Frachten KW 46").no_discount(),
    Row::new("ER-1008", &WEISSMUELLER, "11/2026-38", "2026-11-20")
        .of(61_250, 9, "1000", "Verpflegung Hausmesse")
        .reduced_tax()
        .no_cost_centre()
        .note("Kostenstelle fehlt noch, bitte ergänzen."),
    Row::new("ER-1009", &FOERSTER, "F26-7741", "2026-11-13")
        .of(128_460, 5, "3000", "Fräser und Bohrer")
        .paper(Paper::Missing),
    Row::new("ER-1010", &GRUENWALD, "2026/1904", "2026-11-14")
        .of(314_900, 5, "2000", "Hallenbeleuchtung Tor 3")
        .paper(Paper::Html),
    Row::new("ER-1011", &LUEDERS, "LU/26/55236", "2026-11-21")
        .of(96_730, 4, "3000", "Frachten KW 47")
        .paper(Paper::CutOff),
    Row::new("GU-2001", &HANSEN, "GS-2026-0310", "2026-11-18")
        .of(12_000, 3, "1000", "Rückgabe Druckerpapier")
        .no_discount(),
    Row::new("GU-2002", &KRUEGER, "G26-1102", "2026-11-20")
        .of(84_500, 2, "3000", "Minderung Teillieferung 1")
        .no_discount(),
];

pub(super) static MUSTER_M2: [Row; 6] = [
    Row::new("ER-1001", &GRUENWALD, "2026/1877", "2026-11-11").of(186_400, 5, "2000", "Geräteprüfung DGUV V3"),
    Row::new("ER-1002", &FOERSTER, "F26-7689", "2026-11-06").of(38_720, 4, "3000", "Messmittel"),
    Row::new("ER-1003", &BERGMANN, "F-260931", "2026-11-16").of(
        1_743_000,
        7,
        "4000",
        "Serververlängerung und Monitore",
    ),
    Row::new("ER-1004", &STADTWERKE, "26-0089004", "2026-11-12").of(214_380, 3, "2000", "Strom Oktober").no_discount(),
    Row::new("ER-1005", &HANSEN, "RE-2026-4802", "2026-11-23").of(23_115, 8, "1000", "Büromaterial Service"),
    Row::new("GU-2001", &BERGMANN, "GF-260044", "2026-11-19").of(31_900, 1, "4000", "Rückgabe Monitor").no_discount(),
];

pub(super) static NORD_A: [Row; 6] = [
    Row::new("ER-1001", &LUEDERS, "LU/26/54877", "2026-11-05").of(412_800, 6, "3000", "Frachten Oktober").no_discount(),
    Row::new("ER-1002", &WEISSMUELLER, "11/2026-21", "2026-11-13")
        .of(18_640, 5, "1000", "Bewirtung Lieferantentag")
        .reduced_tax(),
    Row::new("ER-1003", &KRUEGER, "R26-30477", "2026-11-02").of(840_337, 21, "3000", "Regalkonsolen"),
    Row::new("ER-1004", &OEZTUERK, "2026-11-0198", "2026-11-09").of(67_300, 4, "2000", "Glasreinigung Verkaufsraum"),
    Row::new("ER-1005", &HANSEN, "RE-2026-4655", "2026-11-10").of(35_990, 12, "1000", "Kassenrollen und Ordner"),
    Row::new("GU-2001", &LUEDERS, "LUG/26/0412", "2026-11-17").of(9_280, 2, "3000", "Fehlfracht KW 44").no_discount(),
];

pub(super) static NORD_B: [Row; 5] = [
    Row::new("ER-1001", &FOERSTER, "F26-7802", "2026-11-24").of(215_700, 6, "3000", "Werkstatt Staplerpark"),
    Row::new("ER-1002", &STADTWERKE, "26-0089377", "2026-11-12")
        .of(1_180_450, 3, "2000", "Fernwärme Lagerhallen")
        .no_discount(),
    Row::new("ER-1003", &GRUENWALD, "2026/1922", "2026-11-18").of(41_250, 3, "2000", "Reparatur Rolltor"),
    Row::new("ER-1004", &BERGMANN, "F-260955", "2026-11-25").of(278_600, 5, "4000", "Scanner-Netz Halle 2"),
    Row::new("GU-2001", &FOERSTER, "FG26-0091", "2026-11-22")
        .of(15_870, 2, "3000", "Rücknahme Kühlschmierstoff")
        .no_discount(),
];
