//! Server functions over HTTP: what a request that can't be read is told, and who may do what.
#![cfg(feature = "demo")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that can't set up must fail loudly")]

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

#[path = "support/world.rs"]
mod world;
use world::{Person, decision, operation, world};

const JSON: Option<&str> = Some("application/json");

async fn refused(person: &Person, method: Method, path: &str, kind: Option<&str>, body: &str) -> (StatusCode, Value) {
    let answer = person.raw(method, path, kind, body.to_owned()).await;
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: no JSON but {text}")))
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_told_why() {
    let person = world().await.sign_in("einkauf").await;
    let list = "/api/fn/listTasks";
    let decide = "/api/fn/decideTask";
    let filter = |status: &str| json!({ "filter": { "status": status, "mine": false, "done": false } }).to_string();
    let revision = json!({ "request": {
        "task_id": "x", "operation": "1", "decision": "approve", "revision": -1, "visit": 1, "claim_id": "c",
        "shown": {}, "changes": {}, "comment": null,
    } });
    let mut wrong_decision = revision.clone();
    wrong_decision["request"]["revision"] = json!(1);
    wrong_decision["request"]["decision"] = json!("perhaps");
    let large = json!({ "filter": { "q": "x".repeat(3_000_000), "mine": false, "done": false } }).to_string();
    let cases: [(Method, &str, Option<&str>, String, u16, &str, &str); 11] = [
        (Method::POST, list, JSON, "{".to_owned(), 400, "syntax", "no JSON"),
        (Method::POST, list, JSON, String::new(), 400, "syntax", "no JSON"),
        (Method::POST, list, JSON, "{}".to_owned(), 422, "value", "filter"),
        (Method::POST, list, JSON, filter("vielleicht"), 422, "value", "filter.status"),
        (Method::POST, decide, JSON, revision.to_string(), 422, "value", "request.revision"),
        (Method::POST, decide, JSON, wrong_decision.to_string(), 422, "value", "request.decision"),
        (Method::POST, list, JSON, large, 413, "too-large", "1048576 bytes"),
        (Method::POST, list, Some("text/plain"), filter("open"), 415, "not-json", "application/json"),
        (Method::POST, list, None, String::new(), 415, "not-json", "application/json"),
        (Method::GET, list, None, String::new(), 405, "wrong-method", "POST"),
        (Method::POST, "/api/fn/nichts", JSON, "{}".to_owned(), 404, "no-such-function", "/api/fn/nichts"),
    ];
    for (method, path, kind, body, status, fault, word) in cases {
        let what = format!("{method} {path} {body:.60}");
        let (got, error) = refused(&person, method, path, kind, &body).await;
        assert_eq!((got.as_u16(), &error["error"]), (status, &json!("bad-request")), "{what}: {error}");
        assert_eq!(error["fault"], fault, "{what}");
        assert!(error["detail"].as_str().unwrap().contains(word), "{what}: {error}");
    }
    let (status, _) = person.call("listTasks", json!({ "filter": { "mine": false, "done": false } })).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn an_operation_id_has_a_form() {
    let person = world().await.sign_in("einkauf").await;
    for bad in [String::new(), "x".repeat(5_000), "a/b".to_owned()] {
        for name in ["claimTask", "unclaimTask", "leaveFeedback", "decideTask"] {
            let request = json!({
                "task_id": "x", "operation": bad, "claim_id": "c", "visit": 1, "text": "x", "decision": "approve",
                "revision": 1, "shown": {}, "changes": {}, "comment": null,
            });
            let (status, error) = person.call(name, json!({ "request": request })).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{name}: {error}");
            let detail = error["detail"].as_str().unwrap();
            assert!(detail.contains("request.operation") && detail.contains("1 to 64"), "{detail}");
        }
    }
}

/// DESIGN §5 "Rights": an operator reads the log, an auditor reads all of it; §8: 404 not yours, 403 not yours to do.
#[tokio::test]
async fn who_may_only_read_is_told_the_same_everywhere() {
    let world = world().await;
    let object = ["muster", "m1", "ER-1003"];
    world.trigger(object).await;
    let clerk = world.sign_in("einkauf").await;
    let task = clerk.task(object).await.unwrap()["task_id"].clone();
    let detail = clerk.claim(&task).await;

    for (user, expected) in [("operator", 404), ("einkauf", 200), ("auditor", 403), ("admin", 404)] {
        let person = world.sign_in(user).await;
        let (log, answer) = person.call("getExecutionLog", json!({ "instance_id": detail["instance_id"] })).await;
        assert_eq!(log, if user == "admin" { 404 } else { 200 }, "{user}: {answer}");
        let (seen, answer) = person.call("getTaskMetadata", json!({ "task_id": task })).await;
        assert_eq!(seen, if expected == 404 { 404 } else { 200 }, "{user}: {answer}");
        let feedback =
            json!({ "task_id": task, "operation": operation(), "visit": detail["visit"], "text": "Hinweis" });
        let claim = json!({ "task_id": task, "operation": operation() });
        let mut acts = vec![("claimTask", claim), ("leaveFeedback", feedback)];
        if user != "einkauf" {
            let unclaim = json!({ "task_id": task, "operation": operation(), "claim_id": detail["claim_id"] });
            acts.push(("decideTask", decision(&detail, "approve", None)));
            acts.push(("unclaimTask", unclaim));
        }
        for (name, request) in acts {
            let (status, answer) = person.call(name, json!({ "request": request })).await;
            // Who sees the task and can't hold it is told who does.
            let held = name == "unclaimTask" && expected == 403;
            assert_eq!(status.as_u16(), if held { 409 } else { expected }, "{user} {name}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_conflict_says_who_did_what_and_when() {
    let world = world().await;
    let object = ["muster", "m1", "ER-1006"];
    world.trigger(object).await;
    let (first, second) = (world.sign_in("einkauf").await, world.sign_in("einkauf2").await);
    let task = first.task(object).await.unwrap()["task_id"].clone();
    let detail = first.claim(&task).await;
    let conflict = |answer: (StatusCode, Value), who: &str, what: &str| {
        let (status, error) = answer;
        assert_eq!((status, &error["error"]), (StatusCode::CONFLICT, &json!("stale")), "{error}");
        assert_eq!((&error["who"]["name"], &error["what"]), (&json!(who), &json!(what)), "{error}");
        assert!(error["at"]["text"].as_str().is_some_and(|at| at.len() == "30.11.2026 14:05".len()), "{error}");
    };

    let late = json!({ "task_id": task, "operation": operation() });
    conflict(second.call("claimTask", json!({ "request": late })).await, "Erika Einkauf", "claimed");

    // A remark that was not on the screen stops the decision until it was read.
    let remark = json!({ "task_id": task, "operation": operation(), "visit": detail["visit"], "text": "Bitte warten" });
    assert_eq!(second.call("leaveFeedback", json!({ "request": remark })).await.0, StatusCode::OK);
    let request = decision(&detail, "approve", None);
    conflict(first.call("decideTask", json!({ "request": request })).await, "Emil Einkauf", "remarked");
    let (_, fresh) = first.call("getTaskMetadata", json!({ "task_id": task })).await;
    let (status, answer) = first.call("decideTask", json!({ "request": decision(&fresh, "approve", None) })).await;
    assert_eq!(status, StatusCode::OK, "{answer}");

    let late = json!({ "task_id": task, "operation": operation() });
    conflict(second.call("claimTask", json!({ "request": late })).await, "Erika Einkauf", "approved");
}

#[tokio::test]
async fn what_is_not_there_is_said_in_our_words() {
    let world = world().await;
    let person = world.sign_in("einkauf").await;
    for (method, path, status) in [
        (Method::GET, "/api/instances/x/documents/x", 404),
        (Method::GET, "/api/instances/%ff/documents/0", 404),
        (Method::GET, "/api/instances/x/documents/99999999999999999999", 404),
        (Method::GET, "/api/nichts", 404),
        (Method::GET, "/nichts", 404),
        (Method::POST, "/aufgaben", 405),
        (Method::POST, "/healthz", 405),
        (Method::GET, "/ws", 400),
    ] {
        let answer = person.raw(method.clone(), path, None, String::new()).await;
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!((answer.status().as_u16(), kind.as_str()), (status, "application/problem+json"), "{method} {path}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["status"], status, "{problem}");
    }
    // Whoever reads gets a page.
    let (status, page) = person.page("/nichts").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(page.contains("Diese Seite gibt es nicht") && page.contains("Erika Einkauf"), "{page:.2000}");
}

#[tokio::test]
async fn a_draft_is_its_authors_alone_and_ends_with_the_decision() {
    let world = world().await;
    let object = ["muster", "m1", "ER-1007"];
    world.trigger(object).await;
    let (author, other) = (world.sign_in("einkauf").await, world.sign_in("einkauf2").await);
    let task = author.task(object).await.unwrap()["task_id"].clone();
    let detail = author.claim(&task).await;
    assert_eq!(detail["draft"], Value::Null);
    let save = |claim: &Value, comment: &str| {
        json!({ "request": {
            "task_id": task, "claim_id": claim,
            "draft": { "typed": { "fldKostenstelle": "keine Zahl", "fldGesamtBrutto": "1" }, "comment": comment },
        } })
    };
    let (status, answer) = author.call("saveDraft", save(&detail["claim_id"], "noch nicht fertig")).await;
    assert_eq!((status, &answer["draft"]), (StatusCode::OK, &json!("saved")), "{answer}");
    assert!(answer["at"]["text"].is_string(), "{answer}");
    let (_, answer) = author.call("saveDraft", save(&detail["claim_id"], "gleich danach")).await;
    assert_eq!(answer["draft"], "too-soon", "at most one write in 5 s: {answer}");
    assert!(answer["retry_ms"].as_u64().is_some_and(|wait| (1..=5_000).contains(&wait)), "{answer}");

    // There again in any browser of its author, with what the step lets be edited, and nobody else's.
    let elsewhere = world.sign_in("einkauf").await;
    let (_, there) = elsewhere.call("getTaskMetadata", json!({ "task_id": task })).await;
    let kept = json!({ "typed": { "fldKostenstelle": "keine Zahl" }, "comment": "noch nicht fertig" });
    assert_eq!(there["draft"]["draft"], kept);
    let (_, theirs) = other.call("getTaskMetadata", json!({ "task_id": task })).await;
    assert_eq!(theirs["draft"], Value::Null);
    let (status, answer) = other.call("saveDraft", save(&detail["claim_id"], "fremd")).await;
    assert_eq!((status, &answer["what"]), (StatusCode::CONFLICT, &json!("claimed")), "{answer}");
    let (status, _) = world.sign_in("operator").await.call("saveDraft", save(&detail["claim_id"], "fremd")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    // Given back, taken by somebody else: not theirs either. Taken again: there again.
    let unclaim = json!({ "task_id": task, "operation": operation(), "claim_id": detail["claim_id"] });
    let (status, given_back) = author.call("unclaimTask", json!({ "request": unclaim })).await;
    assert_eq!((status, &given_back["draft"]), (StatusCode::OK, &Value::Null));
    let (status, answer) = author.call("saveDraft", save(&detail["claim_id"], "zu spät")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    let again = author.claim(&task).await;
    assert_eq!(again["draft"]["draft"], kept);

    let (status, answer) = author.call("decideTask", json!({ "request": decision(&again, "approve", None) })).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let (_, after) = author.call("getTaskMetadata", json!({ "task_id": task })).await;
    assert_eq!(after["draft"], Value::Null);
    let (status, answer) = author.call("saveDraft", save(&again["claim_id"], "zu spät")).await;
    assert_eq!((status, &answer["what"]), (StatusCode::CONFLICT, &json!("approved")), "{answer}");
}

#[tokio::test]
async fn a_page_is_in_the_language_its_reader_chose() {
    let person = world().await.sign_in("einkauf").await;
    let (_, german) = person.page("/aufgaben").await;
    assert!(german.contains("<html lang=\"de\"") && german.contains("Zum Inhalt springen"), "{german:.600}");
    person.cookie("lang", "en");
    let (_, english) = person.page("/aufgaben").await;
    assert!(english.contains("<html lang=\"en\"") && !english.contains("Zum Inhalt springen"), "{english:.600}");
    person.cookie("lang", "xx");
    let (_, unknown) = person.page("/aufgaben").await;
    assert!(unknown.contains("<html lang=\"de\""), "{unknown:.600}");
}
