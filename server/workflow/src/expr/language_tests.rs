//! What every trap of the language comes to, row by row. The values are those of Spring 7.0.9's rules.
#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;

use super::rows::answer;
use super::{Decimal, Env, ErrorKind, Expression, Map, Template, Value};

fn decimal(text: &str) -> Value {
    Value::Decimal(text.parse::<Decimal>().unwrap())
}

fn map(entries: &[(&str, Value)]) -> Value {
    Value::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect::<Map>())
}

fn list(items: &[Value]) -> Value {
    Value::List(items.to_vec())
}

fn env() -> Env {
    let position = |article: &str, price: &str, centre: Value| {
        map(&[("artikel", article.into()), ("preis", decimal(price)), ("kst", centre)])
    };
    Env::new()
        .with("d", decimal("10.50"))
        .with("n", Value::Null)
        .with("big", Value::BigInt("12345678901234567890".parse().unwrap()))
        .with("s", "Müller GmbH".into())
        .with("l", list(&[Value::Int(3), Value::Int(1), Value::Int(2)]))
        .with("m", map(&[("z", Value::Int(1)), ("a", Value::Int(2)), ("kosten-stelle", "4711".into())]))
        .with("pos", list(&[position("A-1", "5.00", "4711".into()), position("B-2", "120.00", Value::Null)]))
}

/// Kind and text of the value, or kind and place of the error; refused parts fail where they are reached.
fn outcome(source: &str) -> String {
    match Expression::parse_like_spring(source).and_then(|expression| expression.eval(&env())) {
        Ok(Value::Int(value)) => format!("int {value}"),
        Ok(Value::Long(value)) => format!("long {value}"),
        Ok(Value::Double(_)) => {
            format!("double {}", Expression::parse_like_spring(source).unwrap().eval(&env()).unwrap())
        }
        Ok(value) => format!("{} {value}", value.kind()),
        Err(error) => format!("{} {}", error.kind.name(), error.span.start),
    }
}

#[track_caller]
fn all(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(source, want)| outcome(source) != *want)
        .map(|(source, want)| format!("{source}: {} instead of {want}", outcome(source)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers() {
    all(&[
        ("0.5 / 2", "double 0.25"),
        ("#d / 3", "decimal 3.50"),
        ("#d / 100 * 19", "decimal 1.90"),
        ("#d * 19 / 100", "decimal 2.00"),
        ("#d * #d", "decimal 110.2500"),
        ("#d + 1", "decimal 11.50"),
        ("#d - #d", "decimal 0.00"),
        ("#d % 3", "decimal 1.50"),
        ("-#d % 3", "decimal -1.50"),
        ("#d ^ 2.9", "decimal 110.2500"),
        ("#d ^ -1", "arithmetic 0"),
        ("#d / 0", "arithmetic 0"),
        ("#d + 0.1", "decimal 10.60"),
        ("#d == 10.5", "boolean true"),
        ("25000 / 7", "int 3571"),
        ("-7 / 2", "int -3"),
        ("-7 % 3", "int -1"),
        ("7 / 2.0", "double 3.5"),
        ("1 / 0", "arithmetic 0"),
        ("1 / 0.0", "double Infinity"),
        ("0.0 / 0", "double NaN"),
        ("0.0 / 0 < 1", "boolean false"),
        ("0.0 / 0 >= 1", "boolean false"),
        ("#d + 1.0 / 0", "conversion 0"),
        ("2147483647 + 1", "int -2147483648"),
        ("2147483647L + 1", "long 2147483648"),
        ("9223372036854775807L + 1", "long -9223372036854775808"),
        ("2147483648", "syntax 0"),
        ("0x1F", "int 31"),
        ("0x1FL", "long 31"),
        ("1.5e2", "double 150.0"),
        ("1e10", "double 1.0E10"),
        ("1.5f + 1", "number 2.5"),
        ("0.1f + 0.2f", "number 0.3"),
        ("2 ^ 3", "int 8"),
        ("2 ^ -1", "int 0"),
        ("2 ^ 31", "long 2147483648"),
        ("10 ^ 19", "long 9223372036854775807"),
        ("-2 ^ 2", "int 4"),
        ("2 ^ 3 ^ 2", "syntax 6"),
        ("#big + 1", "whole number 12345678901234567891"),
        ("#big * #big", "whole number 152415787532388367501905199875019052100"),
        ("#big > 1.5f", "boolean true"),
        ("- - -1", "int -1"),
        ("1--1", "syntax 3"),
        ("1 - -1", "int 2"),
        ("5 div 2", "int 2"),
        ("5 MOD 2", "int 1"),
    ]);
}

#[test]
fn logic_and_null() {
    all(&[
        ("null < 1", "boolean true"),
        ("1 < null", "boolean false"),
        ("null == null", "boolean true"),
        ("null + 1", "operator 0"),
        ("null + 'x'", "text nullx"),
        ("#nobody", "null null"),
        ("#m.missing", "property 3"),
        ("#m['missing']", "null null"),
        ("#n?.a", "null null"),
        ("#n?.a.b", "null 0"),
        ("#n?.a?.b", "null null"),
        ("#n?.[0]", "null null"),
        ("#n?.size()", "null null"),
        ("#n.size()", "null 3"),
        ("#n ?: 'x'", "text x"),
        ("'' ?: 'x'", "text x"),
        ("{} ?: 'x'", "list []"),
        ("0 ?: 5", "int 0"),
        ("not 1 == 2", "conversion 4"),
        ("not (1 == 2)", "boolean true"),
        ("1 < 2 < 3", "syntax 6"),
        ("'yes' and true", "boolean true"),
        ("' OFF ' or false", "boolean false"),
        ("1 and true", "conversion 0"),
        ("null and true", "conversion 0"),
        ("'' and true", "conversion 0"),
        ("{true, 1} and true", "boolean true"),
        ("false and 1 / 0 == 1", "boolean false"),
        ("true or #n.x", "boolean true"),
        ("TRUE AND Not FALSE", "boolean true"),
        ("1 eq 1.0", "boolean true"),
        ("'a' LT 'b'", "boolean true"),
        ("'a' < 1", "compare 0"),
        ("{1} < {2}", "compare 0"),
        ("1 == '1'", "boolean false"),
        ("true ? 1 : 2", "int 1"),
        ("false ? 1 : true ? 2 : 3", "int 2"),
        ("1 ? 1 : 2", "conversion 0"),
        ("5 between {1, 5}", "boolean true"),
        ("5 between {6, 1}", "boolean false"),
        ("1 between {null, 2}", "boolean true"),
        ("1 between {1, 2, 3}", "between 10"),
        ("'b' between {'a', 'c'} and true", "boolean true"),
    ]);
}

#[test]
fn items_and_maps() {
    all(&[
        ("{10, 20}.contains(10.0)", "boolean false"),
        ("{1L}.contains(1)", "boolean false"),
        ("{1, 'a', null}", "list [1, a, null]"),
        ("{a: 1, 'b c': {x: 2}}", "map {a=1, b c={x=2}}"),
        ("{:}", "map {}"),
        ("{a: 1, a: 2}", "map {a=2}"),
        ("{1: 'one'}[1]", "text one"),
        ("{(a): 1}.a", "int 1"),
        ("{and: 1}", "map {and=1}"),
        ("{,1}", "syntax 1"),
        ("{1,}", "syntax 3"),
        ("{a: 1, 2}", "syntax 8"),
        ("#m[a]", "int 2"),
        ("#m['kosten-stelle']", "text 4711"),
        ("#m.kosten-stelle", "property 3"),
        ("#m[true]", "null null"),
        ("#m[null]", "index 2"),
        ("#m.![key]", "list [z, a, kosten-stelle]"),
        ("#m.?[value == 2]", "map {a=2}"),
        ("#m.^[true].![key]", "list [z]"),
        ("#m.$[true].![value]", "list [4711]"),
        ("#m.keySet()", "set [z, a, kosten-stelle]"),
        ("#m.values().size()", "int 3"),
        ("#m.entrySet().![value]", "list [1, 2, 4711]"),
        ("#l[0]", "int 3"),
        ("#l['1']", "int 1"),
        ("#l[1.9]", "int 1"),
        ("#l[3]", "index 2"),
        ("#l[-1]", "argument 2"),
        ("#l[]", "syntax 2"),
        ("#l.?[#this > 1]", "list [3, 2]"),
        ("#l.^[#this < 3]", "int 1"),
        ("#l.$[#this < 3]", "int 2"),
        ("#l.^[#this > 9]", "null null"),
        ("#l.![#this * 10]", "list [30, 10, 20]"),
        ("#l.?['x']", "selection 5"),
        ("#l.?[]", "syntax 3"),
        ("5.?[true]", "selection 2"),
        ("#n.![#this]", "selection 3"),
        ("#n?.![#this]", "null null"),
        ("#pos.?[preis > 100].![artikel]", "list [B-2]"),
        ("#pos.^[kst == null]?.artikel", "text B-2"),
        ("#pos.![artikel.substring(artikel.indexOf('-') + 1)]", "list [1, 2]"),
        ("#pos.![{a: artikel}][1]['a']", "text B-2"),
        ("#l.indexOf(2)", "int 2"),
        ("#l.containsAll({1, 2})", "boolean true"),
        ("#l.get(7)", "argument 3"),
        ("#l.subList(1, 3)", "list [1, 2]"),
        ("{1, 2} == {1, 2}", "boolean true"),
        ("#l.clear()", "method 3"),
        ("#m.put('a', 1)", "method 3"),
    ]);
}

#[test]
fn texts() {
    all(&[
        ("'it''s'", "text it's"),
        ("\"a 'b'\"", "text a 'b'"),
        ("'abc", "syntax 0"),
        ("'a' + 1 + 2", "text a12"),
        ("1 + 2 + 'a'", "text 3a"),
        ("'a' + {1, 2}", "text a1,2"),
        ("'a' + #d", "text a10.50"),
        ("'ab' * 2", "text abab"),
        ("'x' * -1", "operator 4"),
        ("'x' * 1000000000", "limit 6"),
        ("'x'.repeat(1000000000)", "limit 4"),
        ("'abc'[1]", "text b"),
        ("'abc'.charAt(0) == 'a'", "boolean false"),
        ("#s.length()", "int 11"),
        ("'😀'.length()", "int 2"),
        ("'😀'[0]", "unsupported 3"),
        ("'abcdef'.substring(2, 4)", "text cd"),
        ("'abcdef'.substring(7)", "argument 9"),
        ("'abcdef'.substring('x')", "argument 9"),
        ("'abc'.startsWith('b', 1)", "boolean true"),
        ("'abc'.contains(1)", "method 6"),
        ("'abc'.contains(null)", "null 6"),
        ("'abc'.Length()", "method 6"),
        ("'straße'.toUpperCase()", "text STRASSE"),
        ("'a,b,,'.split(',')", "array [a, b]"),
        ("'abc'.replaceAll('(a)(b)', '$2$1')", "text bac"),
        ("'a'.compareTo('z')", "int -25"),
        ("'%s: %d'.formatted('x', 5)", "text x: 5"),
        ("'DE89' matches '[A-Z]{2}\\d{2}'", "boolean true"),
        ("'DE89x' matches '[A-Z]{2}\\d{2}'", "boolean false"),
        ("'Müller' matches '\\w+'", "boolean false"),
        ("'٣' matches '\\d'", "boolean false"),
        ("'acc' matches '[a-c&&[^b]]+'", "boolean true"),
        ("'A' matches '\\p{Lu}'", "boolean true"),
        ("'a' matches 1", "regex 12"),
        ("null matches 'a'", "regex 0"),
        ("'a' matches '['", "regex 12"),
        ("'ab' matches 'a(?=b)b'", "unsupported 13"),
        ("12.5 matches '\\d+\\.\\d'", "boolean true"),
    ]);
}

#[test]
fn what_is_refused_fails_where_it_is_reached() {
    all(&[
        ("T(java.lang.Runtime)", "forbidden 0"),
        ("true or T(java.lang.Runtime)", "boolean true"),
        ("T", "syntax 1"),
        ("T(a.b", "syntax 5"),
        ("new String('a')", "forbidden 0"),
        ("new int[2]{1, 2}", "forbidden 0"),
        ("new Foo", "syntax 7"),
        ("@bean.run()", "forbidden 1"),
        ("&factory", "forbidden 0"),
        ("'x' instanceof T(String)", "forbidden 0"),
        ("#d = 5", "assign 3"),
        ("3 ?: #d = 5", "int 3"),
        ("#d++", "assign 2"),
        ("--#d", "assign 0"),
        ("''.getClass()", "method 3"),
        ("#m.class", "property 3"),
        ("#f(1)", "function 0"),
        ("#d(1)", "function 0"),
        ("fldX", "null 0"),
        ("#root", "null null"),
    ]);
    for source in ["true or T(String)", "3 ?: #d = 5", "#l.clear()", "#root", "fldX", "#f()", "'a' matches '('"] {
        let error = Expression::parse(source).unwrap_err();
        let kinds = [ErrorKind::Forbidden, ErrorKind::Assign, ErrorKind::Unsupported, ErrorKind::Regex];
        assert!(kinds.contains(&error.kind), "{source}: {error:?}");
    }
}

#[test]
fn templates_are_text_or_the_value_of_their_only_expression() {
    let eval = |source: &str| Template::parse(source).and_then(|template| template.eval(&env()));
    assert_eq!(eval("#{#d}").unwrap(), decimal("10.50"));
    assert_eq!(eval("a #{1 + 1} b #{#n}c").unwrap(), "a 2 b c".into());
    assert_eq!(eval("#{'}' + \"{\"}").unwrap(), "}{".into());
    assert_eq!(eval("no expression }").unwrap(), "no expression }".into());
    for source in ["#{", "#{1", "#{}", "a #{ }", "#{(1]}", "#{'a}"] {
        assert_eq!(eval(source).unwrap_err().kind, ErrorKind::Syntax, "{source}");
    }
}

#[test]
fn rows_keep_their_digits() {
    let line =
        r##"{"id":"a","expr":"#x","vars":{"x":{"b":[1,3000000000,12345678901234567890,10.50,1e3,"x\"",null]}}}"##;
    assert_eq!(
        answer(line).line,
        r#"{"id":"a","ok":{"b":[1,3000000000,12345678901234567890,10.50,1E+3,"x\"",null]},"type":"map"}"#
    );
    let line = r##"{"id":1,"expr":"a + #this.b","root":{"a":0.1,"b":0.2},"num":"double"}"##;
    assert_eq!(answer(line).line, r#"{"id":1,"ok":0.30000000000000004,"type":"double","text":"0.30000000000000004"}"#);
    let line = r##"{"expr":"'no'","want":"bool"}"##;
    assert_eq!(answer(line).line, r#"{"id":null,"ok":false,"type":"bool"}"#);
    let line = r##"{"id":2,"expr":"'😀' + #m.x","vars":{"m":{}}}"##;
    assert!(answer(line).line.starts_with(r#"{"id":2,"err":"property","code":"EL1008E""#), "{}", answer(line).line);
    assert!(answer(line).line.contains(r#""pos":10,"#), "{}", answer(line).line);
    for line in ["", "[]", "{\"expr\":1}", "{\"expr\":\"1\"} x", "{\"expr\":\"1\",\"vars\":[1]}", "{\"a\":01}"] {
        assert!(answer(line).line.starts_with(r#"{"id":null,"err":"input","message":"#), "{line}");
        assert!(!answer(line).readable);
    }
}

#[test]
fn nothing_nests_or_works_without_a_bound() {
    let kind = |source: &str| match Expression::parse_like_spring(source).and_then(|expression| expression.eval(&env()))
    {
        Ok(_) => "fine",
        Err(error) => error.kind.name(),
    };
    for (open, close) in [("(", ")"), ("{", "}"), ("#l[", "]"), ("#l.?[", "]"), ("'a'.concat(", ")"), ("{a:", "}")] {
        assert_eq!(kind(&format!("{}1{}", open.repeat(900), close.repeat(900))), "limit", "{open}");
        assert_ne!(kind(&format!("{}1{}", open.repeat(60), close.repeat(60))), "limit", "{open}");
        assert_ne!(kind(&open.repeat(900)), "fine");
    }
    assert_eq!(kind(&format!("1{}", "+1".repeat(4_999))), "fine");
    assert_eq!(kind(&format!("{}1", "-".repeat(9_000))), "assign");
    assert_eq!(kind(&format!("{}1", "- ".repeat(4_900))), "fine");
    assert_eq!(kind(&format!("{}true", "!".repeat(9_000))), "fine");
    assert_eq!(kind(&format!("#m{}", "?.x".repeat(3_000))), "property");
    assert_eq!(kind(&"true?".repeat(900)), "limit");
    assert_eq!(kind(&format!("{}1", "null?:".repeat(400))), "fine");
    assert_eq!(kind(&" ".repeat(10_001)), "limit");
    // A value that doubles with every step is stopped by its work.
    assert_eq!(kind(&format!("#l{}", ".![{#this,#this}]".repeat(500))), "limit");
    assert_eq!(kind("#big ^ 9"), "fine");
    assert_eq!(kind("(#big ^ 9999) ^ 9999"), "limit");
    assert_eq!(kind(&format!("'a'{}", " + 'b'".repeat(1_000))), "fine");
    assert_eq!(kind("#d ^ 10000"), "fine");
}

#[derive(Debug, Clone)]
struct Source(String);

fn sources() -> impl Strategy<Value = Source> {
    let leaf = prop::sample::select(vec![
        "1",
        "0",
        "-2",
        "2147483647",
        "3L",
        "9223372036854775807L",
        "1.5",
        "1e300",
        "0.1f",
        "'a'",
        "''",
        "'1'",
        "\"x y\"",
        "null",
        "true",
        "false",
        "#d",
        "#n",
        "#big",
        "#s",
        "#l",
        "#m",
        "#pos",
        "#nobody",
        "#this",
        "#root",
        "{}",
        "{:}",
        "{1, 'a', null}",
        "{a: 1, b: {2}}",
        "'[a-z]+'",
        "T(String)",
        "artikel",
        "key",
    ]);
    leaf.prop_map(|leaf| Source(leaf.to_owned())).prop_recursive(6, 60, 3, |inner| {
        let ops = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", "matches", "between", "?:",
            "mod",
        ]);
        let tails = prop::sample::select(vec![
            ".size()",
            ".length()",
            ".toString()",
            ".hashCode()",
            ".a",
            "?.a",
            ".![#this]",
            ".![{#this, #this}]",
            ".?[true]",
            ".^[#this != null]",
            ".$[true]",
            "[0]",
            "['a']",
            "[a]",
            ".keySet()",
            ".values()",
            ".isEmpty()",
            ".abs()",
            ".setScale(1)",
            ".split('a')",
            ".chars()",
            ".trim()",
        ]);
        let calls = prop::sample::select(vec![
            "contains",
            "indexOf",
            "equals",
            "compareTo",
            "concat",
            "substring",
            "get",
            "pow",
            "divide",
            "repeat",
            "split",
            "replaceAll",
            "containsAll",
            "startsWith",
            "setScale",
            "charAt",
            "lastIndexOf",
            "formatted",
        ]);
        prop_oneof![
            (inner.clone(), ops, inner.clone()).prop_map(|(a, op, b)| Source(format!("({}) {op} ({})", a.0, b.0))),
            (inner.clone(), tails).prop_map(|(a, tail)| Source(format!("({}){tail}", a.0))),
            (inner.clone(), calls.clone(), inner.clone())
                .prop_map(|(a, call, b)| Source(format!("({}).{call}({})", a.0, b.0))),
            (inner.clone(), calls, inner.clone(), inner.clone())
                .prop_map(|(a, call, b, c)| Source(format!("({}).{call}({}, {})", a.0, b.0, c.0))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Source(format!("({}).![{}]", a.0, b.0))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Source(format!("({}).?[{}]", a.0, b.0))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Source(format!("({})[{}]", a.0, b.0))),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| Source(format!("({}) ? ({}) : ({})", a.0, b.0, c.0))),
            inner.clone().prop_map(|a| Source(format!("!({})", a.0))),
            inner.prop_map(|a| Source(format!("-({})", a.0))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_expression_has_a_value_or_an_error_with_a_place(source in sources()) {
        let length = source.0.chars().count();
        match Expression::parse_like_spring(&source.0).and_then(|expression| expression.eval(&env())) {
            Ok(value) => prop_assert!(!value.kind().is_empty()),
            Err(error) => prop_assert!(error.span.start <= length && error.span.end <= length, "{:?}", error),
        }
        let row = format!("{{\"id\":1,\"expr\":{}}}", serde_json::Value::from(source.0.as_str()));
        prop_assert!(answer(&row).readable);
    }

    #[test]
    fn no_line_makes_the_rows_panic(line in "[\\[\\]{}\":,a-e0-9.\\-+eE\\\\u expr]{0,60}") {
        let line = answer(&line).line;
        prop_assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{}", line);
    }

    #[test]
    fn no_template_makes_it_panic(source in "[#{}'\"()\\[\\]a1+ ]{0,30}") {
        let _ = Template::parse(&source).and_then(|template| template.eval(&env()));
    }
}
