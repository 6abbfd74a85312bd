//! The page, without a browser; `cargo xtask fleet report` opens it in one.

use serde_json::{Value, json};
use whyoom_incident::Incident;

use super::*;
use crate::passed_over::Damaged;

const HOSTILE: &str = "</code></table><script>alert(1)</script><img src=x onerror='a()'>\"\u{202e}";

fn incident(number: usize, changes: &Value) -> Incident {
    let mut document = json!({
        "id": number.to_string(), "time": 1_792_368_000_000_000_i64, "cluster": "", "node": "n", "source": "snapshot",
        "file": "f", "cause": "growth", "strength": "explains", "headline": "h", "version": "0", "verdict": "{}",
        "has_history": false,
    });
    for (key, value) in changes.as_object().unwrap() {
        document[key] = value.clone();
    }
    serde_json::from_value(document).unwrap()
}

fn page_of(changes: &[Value], rows: usize) -> String {
    let incidents: Vec<Incident> =
        changes.iter().enumerate().map(|(number, one)| incident(number, one)).collect();
    let clusters = incidents.iter().map(|one| one.cluster.clone()).filter(|one| !one.is_empty());
    let made = "2026-11-18".parse().unwrap();
    let about = About { clusters: clusters.collect(), from: None, to: None, made };
    page(&Figures::of(&incidents), &about, rows)
}

/// Between the tags of a page.
fn heading(page: &str) -> &str {
    page.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0
}

#[test]
fn the_answer_is_one_sentence() {
    let [plain, served] = [json!({}), json!({ "has_history": true, "served_by": "expandable" })];
    let none = json!({ "has_history": true, "served_by": "" });
    assert_eq!(
        heading(&page_of(&[plain.clone(), served.clone(), none.clone()], 10)),
        "3 incidents on 1 node; the most frequent cause is growth (100.0\u{a0}%); setting expandable would have served \
         50.0\u{a0}% of those 2 with a history"
    );
    assert!(heading(&page_of(&[plain], 10)).ends_with("no setting could be tried"));
    assert!(heading(&page_of(&[none], 10)).contains("no setting would have served"));
}

#[test]
fn an_archive_without_incidents_has_a_page() {
    let page = page_of(&[], 10);
    assert_eq!(heading(&page), "No incident in these days");
    assert!(!page.contains("<table>") && page.ends_with("</html>\n"));
}

#[test]
fn damaged_objects_are_counted_on_the_page() {
    let made = "2026-11-18".parse().unwrap();
    let about = About { clusters: [].into(), from: None, to: None, made };
    let mut figures = Figures::of(&[]);
    figures.damaged_objects = Damaged::of(&["incidents/a".to_owned()]);
    assert!(page(&figures, &about, 10).contains("1 objects left out"));
    assert!(!page_of(&[], 10).contains("objects left out"));
}

#[test]
fn no_name_is_markup() {
    let hostile = json!({
        "cluster": HOSTILE, "node": HOSTILE, "cause": HOSTILE, "namespace": HOSTILE, "workload": HOSTILE,
        "user": HOSTILE, "remedy": HOSTILE, "has_history": true, "served_by": HOSTILE,
    });
    let page = page_of(&[hostile.clone(), hostile.clone(), hostile], 10);
    for forbidden in ["<script", "<img", "onerror='", "\u{202e}", "alert(1)</"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // Title and header, sentence, chart, causes, workloads, repeat offenders, users and fixes.
    assert!(page.matches("&lt;script&gt;").count() > 12);
    assert_eq!(page.matches("<h1>").count(), 1);
}

#[test]
fn nothing_is_fetched() {
    let page = page_of(&[json!({})], 10);
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline';"));
    for forbidden in ["http:", "https:", "url(", "@import", "src=", "<script", "<link"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_table_says_what_it_leaves_out() {
    let users: Vec<Value> = (0..12).map(|user| json!({ "user": format!("u{user}") })).collect();
    assert!(page_of(&users, 10).contains("the first 10 of 12 rows"));
    assert!(!page_of(&users, 12).contains("the first"));
}

#[test]
fn causes_beyond_the_colours_are_one_series() {
    let causes: Vec<Value> =
        (0..12).map(|cause| json!({ "cause": format!("c{cause:02}") })).collect();
    let page = page_of(&causes, 20);
    assert!(page.contains("other causes (5)") && page.contains("5 other causes of 12 incidents"));
    assert!(page.contains("class=\"swatch s7\"") && !page.contains("class=\"swatch s8\""));
}
