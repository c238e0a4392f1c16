//! Tests of this module.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use vocab::{FieldName, FieldType, FieldValue};

use super::{Decimal, Env, ErrorKind, Expression, Value, object_value, typed_value};
use crate::blueprint::FieldDecl;

fn decimal(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn invoice() -> Env {
    let object = map([
        ("fldBelegart", "ER".into()),
        ("fldGesamtBrutto", decimal("1190.00")),
        ("fldKostenstelle", "4711".into()),
        ("fldSkontoBis", Value::Null),
        ("kosten-stelle", "x".into()),
        ("lieferant", map([("ort", "Köln".into())])),
        ("tags", Value::List(vec!["eilig".into(), Value::Null])),
    ]);
    Env::new().with("object", object).with("value", "4711".into())
}

/// The value's text and kind.
#[track_caller]
fn check(source: &str, want: &str) {
    let got = match Expression::parse(source).and_then(|expression| expression.eval(&invoice())) {
        Ok(value) => format!("{} {value}", value.kind()),
        Err(error) => format!("{:?} {}", error.kind, error.span.start),
    };
    assert_eq!(got, want, "{source}");
}

#[test]
fn values_have_the_semantics_of_the_language() {
    for (source, want) in [
        ("#object.fldGesamtBrutto <= 500", "boolean false"),
        ("#object.fldGesamtBrutto le 1190", "boolean true"),
        ("#object['fldGesamtBrutto'] == 1190.0", "boolean true"),
        ("#object.lieferant.ort + '/' + 5", "text Köln/5"),
        ("#object['kosten-stelle']", "text x"),
        ("#object[fldBelegart]", "text ER"),
        ("#object.tags[0]", "text eilig"),
        ("#object.tags.contains('eilig')", "boolean true"),
        ("#object.missing", "Property 8"),
        ("#object['missing']", "null null"),
        ("#nobody", "null null"),
        ("#object.fldSkontoBis.x", "Null 0"),
        ("#object.fldSkontoBis?.x", "null null"),
        ("'it''s'", "text it's"),
        ("\"a 'b'\"", "text a 'b'"),
        ("1.00 / 3", "number 0.3333333333333333"),
        ("#object.fldGesamtBrutto / 7", "decimal 170.00"),
        ("#object.fldGesamtBrutto * 19 / 100", "decimal 226.10"),
        ("#object.fldGesamtBrutto * 0.1", "decimal 119.000"),
        ("-#object.fldGesamtBrutto % 7", "decimal 0.00"),
        ("7 / 2", "whole number 3"),
        ("7 / 0", "Arithmetic 0"),
        ("2147483647 + 1", "whole number -2147483648"),
        ("2147483648", "Syntax 0"),
        ("2147483648L", "whole number 2147483648"),
        ("null < 1", "boolean true"),
        ("null + 1", "Operator 0"),
        ("not 1 == 2", "Conversion 4"),
        ("not (1 == 2)", "boolean true"),
        ("NOT false AND True oR false", "boolean true"),
        ("'yes' and true", "boolean true"),
        ("1 and true", "Conversion 0"),
        ("false and 1 / 0 == 1", "boolean false"),
        ("'' ?: 'x'", "text x"),
        ("{} ?: 'x'", "list []"),
        ("false ? 1 : true ? 2 : 3", "whole number 2"),
        ("1 between {1, 5}", "boolean true"),
        ("1 between {1}", "Between 10"),
        ("'a' < 1", "Compare 0"),
        ("1 == '1'", "boolean false"),
        ("{10, 20}.contains(10.0)", "boolean false"),
        ("'Größe'.length()", "whole number 5"),
        ("'x' * 1000000000", "Limit 6"),
    ] {
        check(source, want);
    }
}

#[test]
fn patterns_match_fully_and_as_java_does() {
    for (source, want) in [
        ("#value matches '[0-9]{4}'", "boolean true"),
        ("#value matches '[0-9]{3}'", "boolean false"),
        ("'Müller' matches '\\w+'", "boolean false"),
        ("'٣' matches '\\d'", "boolean false"),
        ("'DE12' matches '(?i)de\\d+'", "boolean true"),
        ("'\u{212A}' matches '(?i)k'", "boolean false"),
        ("'a-b' matches '[\\w-]+'", "boolean true"),
        ("'a--b' matches '[a--b]+'", "Regex 15"),
        ("'a~~b' matches '[a~b]+'", "boolean true"),
        ("'ab' matches 'a(?=b)b'", "Unsupported 13"),
        ("'ab' matches '(a)\\1'", "Unsupported 13"),
        ("'ab' matches 'a++b'", "Unsupported 13"),
        ("'ab' matches '['", "Regex 13"),
        ("'ab' matches 'a{2,1}'", "Regex 13"),
        ("null matches 'a'", "Regex 0"),
    ] {
        check(source, want);
    }
    let long = format!("'a' matches '{}'", "a".repeat(1001));
    check(&long, "Limit 12");
}

#[test]
fn what_is_not_part_of_the_language_is_refused_with_its_place() {
    for (source, want) in [
        ("T(java.lang.Runtime).getRuntime()", "Forbidden 0"),
        ("1 + new String('a')", "Forbidden 4"),
        ("@bean.run()", "Forbidden 1"),
        ("&factory", "Forbidden 0"),
        ("#object instanceof T(String)", "Forbidden 19"),
        ("#object.fldBelegart = 'ER'", "Assign 20"),
        ("#value++", "Assign 6"),
        ("--#value", "Assign 0"),
        ("1--1", "Syntax 3"),
        ("#object.tags.clear()", "Unsupported 13"),
        ("#object.getClass()", "Unsupported 8"),
        ("fldBelegart == 'ER'", "Unsupported 0"),
        ("#f(1)", "Unsupported 0"),
        ("#this", "Unsupported 0"),
        ("1 < 2 < 3", "Syntax 6"),
        ("1 2", "Syntax 2"),
        ("(1", "Syntax 2"),
        ("'abc", "Syntax 0"),
        ("", "Syntax 0"),
        ("#object.", "Syntax 7"),
        ("a § b", "Syntax 2"),
    ] {
        check(source, want);
    }
    check(&format!("{}1{}", "(".repeat(101), ")".repeat(101)), "Limit 101");
    check(&" ".repeat(10_001), "Limit 0");
    check(&format!("1{}", "+1".repeat(4_900)), "whole number 4901");
}

#[test]
fn a_condition_is_true_or_false_or_an_error() {
    let holds = |source: &str| {
        let outcome = Expression::parse(source).unwrap().eval_bool(&invoice());
        outcome.map_err(|error| error.kind)
    };
    assert_eq!(holds("#object.fldGesamtBrutto > 500"), Ok(true));
    assert_eq!(holds("#object.fldSkontoBis"), Err(ErrorKind::NotBoolean));
    assert_eq!(holds("'true'"), Err(ErrorKind::NotBoolean));
    assert_eq!(holds("#object.fldSkontoBis < '2026-12-01'"), Err(ErrorKind::NullOrder));
    assert_eq!(holds("#object.fldSkontoBis between {'2026-01-01', '2026-12-01'}"), Err(ErrorKind::NullOrder));
    assert_eq!(holds("#object.fldSkontoBis == null or #object.fldSkontoBis < '2026'"), Ok(true));
    let error = Expression::parse("#nobody <= 500").unwrap().eval_bool(&invoice()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "null is ordered against the whole number 500, which would be decided silently; \
         say what null means, e.g. with == null or ?: (column 1)"
    );
}

#[test]
fn the_named_fields_and_their_values_are_known() {
    let expression =
        Expression::parse("#object.fldA > 1 and #object['fldGesamtBrutto'] > 1 or #object[fldC].x == #value").unwrap();
    let names: BTreeSet<FieldName> = ["fldA", "fldGesamtBrutto", "fldC"].into_iter().map(FieldName::from).collect();
    assert_eq!(expression.object_fields(), names);
    let compared: Vec<String> =
        expression.compared(&invoice()).into_iter().map(|(path, value)| format!("{path} = {value}")).collect();
    assert_eq!(
        compared,
        ["#object.fldA = null", "#object.fldGesamtBrutto = 1190.00", "#object.fldC.x = null", "#value = 4711"]
    );
}

#[test]
fn field_values_get_the_type_of_their_declaration() {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let typed = |kind, value| typed_value(kind, &value).map_err(|error| error.kind);
    assert_eq!(typed(FieldType::Money, text("500")).unwrap().kind(), "decimal");
    assert_eq!(typed(FieldType::Money, text("1190.50")).unwrap().to_string(), "1190.50");
    assert_eq!(typed(FieldType::Money, text("1.190,50")), Err(ErrorKind::Conversion));
    assert_eq!(typed(FieldType::Number, text("1e5")), Err(ErrorKind::Conversion));
    assert_eq!(typed(FieldType::Money, text("")), Ok(Value::Null));
    assert_eq!(typed(FieldType::Date, text("2026-11-30")), Ok("2026-11-30".into()));
    assert_eq!(typed(FieldType::Date, text(" ")), Ok(Value::Null));
    assert_eq!(typed(FieldType::Boolean, FieldValue::Bool(true)), Ok(Value::Bool(true)));
    assert_eq!(typed(FieldType::Boolean, text("ja")), Err(ErrorKind::Conversion));
    assert_eq!(typed(FieldType::Text, text("")), Ok("".into()));
    let choices = FieldValue::List(vec!["a".to_owned()]);
    assert_eq!(typed(FieldType::Choices, choices), Ok(Value::List(vec!["a".into()])));

    let field = |name: &str, kind| FieldDecl {
        name: FieldName::from(name),
        label: name.to_owned(),
        kind,
        currency: None,
        options: Vec::new(),
    };
    let fields = [field("fldA", FieldType::Money), field("fldB", FieldType::Text)];
    let mut values = BTreeMap::from([(FieldName::from("fldA"), text("5.00")), (FieldName::from("fldX"), text("no"))]);
    let object = object_value(&fields, &values).unwrap();
    assert_eq!(object, map([("fldA", decimal("5.00")), ("fldB", Value::Null)]));
    values.insert(FieldName::from("fldA"), text("5,00"));
    let error = object_value(&fields, &values).unwrap_err();
    assert!(error.message.starts_with("field fldA: the text '5,00' is no number"), "{error}");
}

#[test]
fn decimals_never_round_silently() {
    let env = Env::new()
        .with("a", decimal("79228162514264337593543950335"))
        .with("b", decimal("0.0000000000000000000000000001"));
    for (source, want) in [
        ("#a + 1", "79228162514264337593543950336"),
        ("#a + #b", "79228162514264337593543950335.0000000000000000000000000001"),
        ("#b * #b", "1E-56"),
        ("#a < 1e40", "true"),
        ("#b / 3", "0E-28"),
    ] {
        assert_eq!(Expression::parse(source).unwrap().eval(&env).unwrap().to_string(), want, "{source}");
    }
    let huge = Expression::parse("#a ^ 1000000").unwrap().eval(&env);
    assert_eq!(huge.map_err(|error| error.kind), Err(ErrorKind::Limit));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(source in "\\PC{0,60}") {
        let _ = Expression::parse(&source).and_then(|expression| expression.eval(&invoice()));
    }

    #[test]
    fn no_soup_of_tokens_makes_it_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "#object", ".fldGesamtBrutto", ".tags", "['x']", "[", "]", "(", ")", "{", "}", ",", "1", "2.5", "'a'", "null",
        "true", "and", "or", "not", "+", "-", "*", "/", "%", "==", "<", ">=", "?", ":", "?:", "?.", "matches",
        "between", "'[a-z]+'", ".contains(", ".length()", "9223372036854775807L", "#value", "++", "^", "!",
    ]), 0..25)) {
        if let Ok(expression) = Expression::parse(&tokens.join(" ")) {
            let _ = expression.eval(&invoice());
            let _ = expression.eval_bool(&invoice());
            let _ = expression.compared(&invoice());
        }
    }

    #[test]
    fn no_pattern_makes_it_panic(pattern in "[\\[\\]()a-c*+?{}0-9|^$.\\\\dwpi:<>,&-]{0,20}") {
        let _ = Expression::parse("#value matches #p").unwrap()
            .eval(&Env::new().with("value", "abc".into()).with("p", Value::Text(pattern)));
    }

    #[test]
    fn decimal_sums_are_exact(a in -1_000_000_000_i64..1_000_000_000, b in -1_000_000_000_i64..1_000_000_000, s in 0_u32..6, t in 0_u32..6) {
        let (x, y): (Decimal, Decimal) = (rust_decimal::Decimal::new(a, s).into(), rust_decimal::Decimal::new(b, t).into());
        let env = Env::new().with("x", Value::Decimal(x)).with("y", Value::Decimal(y));
        let value = Expression::parse("#x + #y - #y == #x and #x * #y == #y * #x").unwrap().eval_bool(&env);
        prop_assert_eq!(value, Ok(true));
    }
}
