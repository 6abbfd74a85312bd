//! What commands print is what their schemas say, key by key.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::process::Command;

use serde_json::{Map, Value};
use whyoom_report::{
    FitAnswer, FitFrontier, FitFrontierRow, FitLargest, FitPoint, FitVary, write_fit_json,
};

fn whyoom(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_whyoom")).args(words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks a value. A key that the schema does not have is an error here, though readers must ignore it; so is a
/// keyword of the schema that is not checked.
fn check(schema: &Value, value: &Value, root: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{at}: {what}: {value}"));
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" | "required" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#").unwrap();
                check(root.pointer(name).unwrap(), value, root, at)?;
            }
            "type" if !is_of(rule, value) => return wrong(format!("is not {rule}")),
            "const" if rule != value => return wrong(format!("is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                return wrong(format!("is none of {rule}"));
            }
            "minimum" if value.as_i64().is_some_and(|value| value < rule.as_i64().unwrap()) => {
                return wrong(format!("is below {rule}"));
            }
            "type" | "const" | "enum" | "minimum" => {}
            "anyOf" => {
                let mut kinds = rule.as_array().unwrap().iter();
                let errors: Vec<String> =
                    kinds.by_ref().map_while(|kind| check(kind, value, root, at).err()).collect();
                if errors.len() == rule.as_array().unwrap().len() {
                    return Err(errors.join("; or "));
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, root, &format!("{at}[{index}]"))?;
                }
            }
            "properties" => {
                if let Some(object) = value.as_object() {
                    check_object(schema, rule, object, root, at)?;
                }
            }
            "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    check(rule, value, root, &format!("{at}.{key}"))?;
                }
            }
            other => return Err(format!("{at}: this test does not know the keyword {other}")),
        }
    }
    Ok(())
}

fn check_object(
    schema: &Value,
    properties: &Value,
    object: &Map<String, Value>,
    root: &Value,
    at: &str,
) -> Result<(), String> {
    for key in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(key.as_str().unwrap()) {
            return Err(format!("{at}: {key} is missing"));
        }
    }
    for (key, value) in object {
        let rule = properties.get(key).ok_or(format!("{at}: {key} is not in the schema"))?;
        check(rule, value, root, &format!("{at}.{key}"))?;
    }
    Ok(())
}

fn is_of(kinds: &Value, value: &Value) -> bool {
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        _ => false,
    };
    match kinds {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
        kind => is(kind.as_str().unwrap()),
    }
}

/// A document is as the schema that it names says.
fn holds(words: &[&str]) {
    let document = whyoom(words);
    let schema = whyoom(&["schema", document["schema"].as_str().unwrap()]);
    holds_by(&schema, words, &document);
}

fn holds_by(schema: &Value, words: &[&str], document: &Value) {
    assert_eq!(check(schema, document, schema, "$"), Ok(()), "{words:?}");
}

/// Files beside the fixtures, and one that is refused in words.
const NO_INPUT: [&str; 4] = [".py", ".md", ".json", "nsys-without-memory.sqlite"];

#[test]
fn every_verdict_on_a_fixture_is_as_its_schema_says() {
    let schema = whyoom(&["schema", "why"]);
    let mut checked = 0;
    for folder in ["snapshots", "logs", "imports"] {
        let entries =
            std::fs::read_dir(format!("../../tests/fixtures/{folder}")).unwrap().flatten();
        for entry in entries.filter(|entry| entry.path().is_file()) {
            let path = entry.path();
            let name = path.to_str().unwrap();
            if NO_INPUT.iter().any(|end| name.ends_with(end)) {
                continue;
            }
            let words = ["why", "--json", "--timeline", name, "--live"];
            holds_by(&schema, &words, &whyoom(&words));
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn other_answers_are_as_their_schemas_say() {
    let snapshot = "../../tests/fixtures/snapshots/fragmented-oom.pickle";
    holds(&["replay", "--json", "--sweep", snapshot]);
    holds(&["replay", "--json", "../../tests/fixtures/snapshots/healthy.pickle"]);
    let healthy = "../../tests/fixtures/snapshots/healthy.pickle";
    holds(&["diff", "--json", snapshot, healthy]);
    let growth = "../../tests/fixtures/snapshots/growth.pickle";
    holds(&["diff", "--json", "--fail-if", "peak>1TiB", healthy, growth]);
    holds(&["report", "--json", snapshot]);
    holds(&["report", "--json", "../../tests/fixtures/logs/four-ranks.log"]);
    holds(&["causes", "--json"]);
    holds(&["causes", "--json", "reserved"]);
    holds(&["lab", "list", "--json"]);
    holds(&["doctor", "--json"]);
}

/// Without its libraries beside the executable the lab does not start: `cargo build --workspace` puts them there.
fn has_lab() -> bool {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let output = lab.args(["lab", "run", "--", "true"]).output().unwrap();
    !String::from_utf8_lossy(&output.stderr).contains("libraries are not next to")
}

#[test]
fn answers_about_gpus_are_as_their_schemas_say() {
    if !has_lab() {
        return;
    }
    let whyoom = env!("CARGO_BIN_EXE_whyoom");
    let on_lab = ["lab", "run", "--gpu", "t4", "--fault", "orphan=1GiB", "--", whyoom];
    holds(&[&on_lab[..], &["who", "--json", "--alert", "free<2KiB"]].concat());
    holds(&[&on_lab[..], &["lab", "calibrate", "--json"]].concat());
    holds(&[&on_lab[..], &["doctor", "--json"]].concat());
    holds(&[
        "fit",
        "--gpu",
        "t4,l4",
        "--json",
        "--assert",
        "peak<1TiB",
        "--",
        whyoom,
        "lab",
        "calibrate",
    ]);
}

/// What no run is made for here: a search, and one over several parameters.
#[test]
fn answers_about_values_are_as_their_schema_says() {
    let largest = |value: Option<u64>| FitLargest {
        gpu: "Tesla T4",
        room_bytes: 14 << 30,
        value,
        peak_reserved_bytes: value,
        releases_cache: false,
        run: true,
        confirmed: true,
        implied: false,
        is_last: false,
    };
    let both = || vec![largest(Some(7)), largest(None)];
    let answer = FitAnswer {
        command: "python train.py --batch {batch} --seq {seq}".to_owned(),
        gpus: Vec::new(),
        peaks: Vec::new(),
        vary: Some(FitVary {
            name: "batch".to_owned(),
            largest: both(),
            curve: vec![FitPoint { value: 7, peak_reserved_bytes: 7 }],
            runs: vec![7, 8],
            predicts_runs: true,
        }),
        frontier: Some(FitFrontier {
            name: "batch".to_owned(),
            by: vec!["seq".to_owned()],
            rows: vec![FitFrontierRow { values: vec![512], largest: both(), runs: vec![7, 8] }],
            runs: 2,
            predicts_runs: true,
        }),
        generation: None,
        growth_bytes_per_step: 0,
        stopped_after_steps: None,
        assertions: Vec::new(),
        notes: Vec::new(),
    };
    let mut text = Vec::new();
    write_fit_json(&answer, &mut text).unwrap();
    let document = serde_json::from_slice(&text).unwrap();
    holds_by(&whyoom(&["schema", "fit"]), &["fit"], &document);
}

#[test]
fn every_schema_names_its_draft_and_its_document() {
    let output = Command::new(env!("CARGO_BIN_EXE_whyoom")).arg("schema").output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> =
        list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 11, "{list}");
    for name in names {
        let schema = whyoom(&["schema", name]);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["properties"]["schema"]["const"], format!("whyoom.{name}"));
    }
}

#[test]
fn what_differs_from_a_schema_is_found() {
    let schema = whyoom(&["schema", "causes"]);
    let document = whyoom(&["causes", "--json"]);
    let check = |document: &Value| check(&schema, document, &schema, "$");
    assert_eq!(check(&document), Ok(()));
    for (pointer, value) in [("/version", "2".into()), ("/causes/0/id", 7.into())] {
        let mut broken = document.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        assert!(check(&broken).is_err(), "{pointer}");
    }
    let mut more = document.clone();
    more["more"] = true.into();
    assert!(check(&more).is_err());
    let mut less = document;
    less.as_object_mut().unwrap().remove("glossary");
    assert!(check(&less).is_err());
}
