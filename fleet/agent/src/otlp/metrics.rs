//! The figures, read from the text that Prometheus scrapes: each is defined once, there.

use super::proto::{Data, DataPoint, Gauge, KeyValue, Metric, Number, Sum, attribute, text};

/// Sums count from the agent's start.
const CUMULATIVE: i32 = 2;

/// When the agent started, and now, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start: u64,
    pub(super) now: u64,
}

/// All metrics that have a value.
pub(super) fn metrics(openmetrics: &str, times: Times) -> Vec<Metric> {
    let mut families: Vec<Family> = Vec::new();
    for line in openmetrics.lines() {
        match line.strip_prefix("# ") {
            Some(comment) => describe(&mut families, comment),
            None => {
                let points = families.last_mut().map(|family| &mut family.points);
                let point = point(line, times);
                if let (Some(points), Some(point)) = (points, point) {
                    points.push(point);
                }
            }
        }
    }
    let told = families.into_iter().filter(|family| !family.points.is_empty());
    told.map(Family::metric).collect()
}

/// What is said of a metric before its values.
#[derive(Debug, Default)]
struct Family {
    name: String,
    help: String,
    is_counter: bool,
    is_bytes: bool,
    points: Vec<DataPoint>,
}

fn describe(families: &mut Vec<Family>, comment: &str) {
    let mut words = comment.splitn(3, ' ');
    let (Some(what), Some(name), Some(said)) = (words.next(), words.next(), words.next()) else {
        return;
    };
    if families.last().is_none_or(|family| family.name != name) {
        families.push(Family { name: name.to_owned(), ..Family::default() });
    }
    let Some(family) = families.last_mut() else { return };
    match what {
        "HELP" => said.clone_into(&mut family.help),
        "TYPE" => family.is_counter = said == "counter",
        "UNIT" => family.is_bytes = said == "bytes",
        _ => {}
    }
}

impl Family {
    fn metric(self) -> Metric {
        // The unit is no part of OpenTelemetry's name. Prometheus adds it again when it receives OTLP.
        let name = match self.is_bytes {
            true => self.name.trim_end_matches("_bytes"),
            false => &self.name,
        };
        let mut data_points = self.points;
        let data = match self.is_counter {
            true => {
                let (aggregation_temporality, is_monotonic) = (CUMULATIVE, true);
                Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic })
            }
            false => {
                data_points.iter_mut().for_each(|point| point.start_time_unix_nano = 0);
                Data::Gauge(Gauge { data_points })
            }
        };
        Metric {
            // whyoom_agent_log_files is whyoom.agent.log_files: what, of whom, and the figure.
            name: name.splitn(3, '_').collect::<Vec<_>>().join("."),
            description: self.help,
            unit: if self.is_bytes { "By" } else { "" }.to_owned(),
            data: Some(data),
        }
    }
}

/// A line with a value: `NAME VALUE` or `NAME{LABEL="TEXT",…} VALUE`.
fn point(line: &str, times: Times) -> Option<DataPoint> {
    let begin = line.find(['{', ' '])?;
    let (attributes, value) = match line[begin..].strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), &line[begin..]),
    };
    let value = value.trim();
    let whole = value.parse().map(Number::Int);
    let value = whole.or_else(|_| value.parse().map(Number::Double)).ok()?;
    let (start_time_unix_nano, time_unix_nano) = (times.start, times.now);
    Some(DataPoint { start_time_unix_nano, time_unix_nano, value: Some(value), attributes })
}

/// Labels, and what follows their end.
fn labels(mut rest: &str) -> Option<(Vec<KeyValue>, &str)> {
    let mut labels = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (key, quoted) = rest.split_once("=\"")?;
        let (value, after) = unescaped(quoted)?;
        labels.push(attribute(key, text(&value)));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// A text up to its closing quote, and what follows that.
fn unescaped(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{journal::some_incident, metrics::Metrics};

    const TIMES: Times = Times { start: 1, now: 2 };

    /// Every value that Prometheus gets, and no other.
    #[test]
    fn all_that_is_scraped_is_told() {
        let figures = Metrics::new();
        let mut incident = some_incident();
        let odd = "a\"},\\ {b=\"\nc";
        incident.workload = Some(odd.to_owned());
        figures.count(&incident);
        figures.failed("upload");
        figures.look_at(&serde_json::json!({"devices": [{"index": 0, "residual_bytes": 5}]}));
        let openmetrics = figures.text();
        let metrics = metrics(&openmetrics, TIMES);
        let points = |metric: &Metric| match metric.data.clone() {
            Some(Data::Sum(sum)) => sum.data_points,
            Some(Data::Gauge(gauge)) => gauge.data_points,
            None => Vec::new(),
        };
        let values = openmetrics.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(metrics.iter().map(|one| points(one).len()).sum::<usize>(), values);
        let find = |name: &str| metrics.iter().find(|one| one.name == name).unwrap();
        let oom = &points(find("whyoom.oom"))[0];
        assert_eq!(oom.value, Some(Number::Int(1)));
        assert_eq!((oom.start_time_unix_nano, oom.time_unix_nano), (1, 2));
        assert!(oom.attributes.contains(&attribute("workload", text(odd))), "{oom:?}");
        assert!(matches!(find("whyoom.oom").data, Some(Data::Sum(ref sum)) if sum.is_monotonic));
        let left = find("whyoom.gpu.unaccounted");
        assert_eq!(left.unit, "By");
        assert_eq!(points(left)[0].value, Some(Number::Double(5.0)));
        assert!(matches!(left.data, Some(Data::Gauge(_))));
        assert_eq!(find("whyoom.agent.log_files").unit, "");
    }
}
