//! What people say around a message, for where its figures do not decide. To add one: a row here, and its sample in
//! the tests below.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::facts;

use super::{amount::regex, nvidia_smi};

/// Words that say so.
struct Row {
    fact: &'static str,
    words: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        fact: facts::SAID_GROWS,
        words: r"memory[\s-]leak | leak(?:s|ed|ing)?\s(?:of\s)?(?:the\s)?(?:(?:gpu|device|cuda|video|host)\s)?(?:memory|vram)
            | (?:memory|vram|gpu|显存|内存)(?:\s\w+){0,4}\s(?:leaks|leaked|is\sleaking)\b
            | (?:内存|显存)(?:泄[漏露]|一直[在]?(?:增|上涨|涨)|不断(?:增|上涨)|持续(?:增|上涨)|越来越)
            | 메모리\s?누수 | утечк\w+\s(?:видео)?памяти | メモリ\s?リーク | fuite\sm[ée]moire | speicherleck",
    },
    Row {
        fact: facts::SAID_GROWS,
        words: r"(?:memory|vram|usage|consumption|footprint)\b[^.!?\n]{0,40}?\b(?:keeps?|kept|continues?|starts?|gradually|slowly|steadily|constantly|continuously|incrementally|always|just)\s(?:on\s|to\s)?(?:increas|grow|ris|climb|accumulat|going\sup|creep)\w*
            | (?:memory|vram|usage|consumption|footprint)\b[^.!?\n]{0,30}?\b(?:increas|grow|ris|climb|accumulat|creep)\w*\s(?:incrementally|gradually|steadily|continuously|constantly|slowly|linearly|over\stime|with\s(?:each|every)|(?:after|in|on|at|for)?\s?(?:each|every)\s|until|as\s(?:the\s)?(?:training|time|it)|by\s\d)",
    },
    Row {
        fact: facts::SAID_GROWS,
        words: r"(?:never|not|n't)\s(?:being\s)?(?:released|freed|cleared|deallocated|garbage.collected)\b[^!?\n]{0,60}\b(?:runs?|ran|running)\sout
            | \bfirst\s(?:few|couple|several|two|three|\d+)\s(?:of\s)?(?:\w+\s)?(?:cycles?|iterations?|steps?|epochs?|batches|images?|frames?|runs?|requests?|times?|calls?|prompts?|generations?)\b[^.!?\n]{0,30}\b(?:normal|fine|ok|okay|work|works|worked|good|no\sproblem)",
    },
    Row {
        fact: facts::SAID_LESS_WORKS,
        words: r"\b(?:reduc|lower|decreas|shrink|fewer|smaller|less|halv)\w*\b[^.!?\n]{0,60}?[,;:]?\s(?:and\s|then\s|now\s)?(?:it\s|that\s|this\s|everything\s)?(?:works|worked|runs|ran|fits|fixed|solved|solves|helped|helps|is\sfine|was\sfine)\b
            | \b(?:works?|worked|runs?|fits|succeeds?|trains?)\s(?:\w+\s){0,3}?(?:with|when|for|if|using|on|at)\s(?:\w+\s){0,4}?(?:smaller|fewer|less|lower|reduced|small|tiny|short|shorter)\b
            | \b(?:batch(?:\s|_|-)?size|batch|bs|resolution|image\ssize|(?:max_)?seq\w*(?:\slen\w*)?|context(?:\slength)?)\b\s?(?:of|to|=|:|is|设置成|设为|改为|改成)?\s?\d+[^.!?\n]{0,30}?(?:\b(?:works|worked|runs|ran|fits|fine|ok)\b|可以跑|能跑|可以运行|正常|跑起来)",
    },
    Row {
        fact: facts::SAID_EACH_PROCESS,
        words: r"\b(?:each|every|any|per)\s(?:\w+\s){0,2}?(?:process|worker|rank|thread|instance)\b[^.!?\n]{0,80}?\b\d+\s?(?:MB|MiB|M)\b
            | \b\d+\s?(?:MB|MiB|M)\b\s(?:\w+\s){0,4}?(?:per|each|for\seach|for\severy|by\seach)\s(?:process|worker|rank|gpu\sprocess|instance)\b",
    },
];

static WORDS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    ROWS.iter().map(|row| (row.fact, regex(&format!(r"(?ix){}", row.words)))).collect()
});

/// Words that turn what is said into its opposite.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:not|no|never|without|nor|don't|doesn't|didn't|isn't|won't|cannot|can't)\b|n't\b|无法|不能|没有|не |ない",
    )
});

/// How far before it such words may stand.
const REACH: usize = 24;
/// How much of what is said is kept.
const QUOTED: usize = 160;

/// What a text says, each with the words.
pub(super) fn said(text: &str) -> Vec<(&'static str, String)> {
    let text = text.replace(['\n', '\r'], " ");
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for (fact, words) in WORDS.iter() {
        let known = found.iter().any(|(known, _)| known == fact);
        if let Some(quote) = (!known).then(|| first_that_stands(words, &text)).flatten() {
            found.push((fact, quote));
        }
    }
    found
}

/// The first place with such words that nothing before or in it denies.
fn first_that_stands(words: &Regex, text: &str) -> Option<String> {
    let stands = |found: &regex::Match<'_>| {
        let from = floor(text, found.start().saturating_sub(REACH));
        // What another sentence denies is not this.
        let from =
            text[from..found.start()].rfind(['.', '!', '?', '。']).map_or(from, |end| from + end);
        // Of what is freed "never" is what is said, not its denial.
        let own = found.as_str();
        let inside =
            !own.starts_with("never") && !own.starts_with("not") && !own.starts_with("n't");
        !DENIED.is_match(&text[from..found.start()]) && !(inside && DENIED.is_match(own))
    };
    let found = words.find_iter(text).find(stands)?;
    Some(text[found.start()..floor(text, found.end().min(found.start() + QUOTED))].to_owned())
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What nvidia-smi's tables say where every GPU in them was all but empty.
pub(super) fn idle(text: &str) -> Option<String> {
    let rows = nvidia_smi::rows(text);
    let empty = |(used, total): &(u64, u64)| used * 10 <= *total;
    let (used, total) = *rows.first().filter(|_| rows.iter().all(empty))?;
    Some(format!("{used} MiB of {total} MiB in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(text: &str) -> Vec<&'static str> {
        said(text).into_iter().map(|(fact, _)| fact).collect()
    }

    #[test]
    fn what_people_say_is_known() {
        for text in [
            "I suspect a memory leak in the loader",
            "the gpu memory usage keeps increasing until it crashes",
            "memory consumption increases incrementally by 2MiB",
            "The first few cycles are normal, but then",
            "buffers are never cleared and memory runs out",
            "训练时显存一直在增加",
        ] {
            assert_eq!(facts_of(text), [facts::SAID_GROWS], "{text}");
        }
        for text in [
            "Reduce the number of features, it works in that case",
            "it works with a smaller model",
            "with batch size 4 it works",
            "batch size 设置成16后，程序可以跑起来",
        ] {
            assert_eq!(facts_of(text), [facts::SAID_LESS_WORKS], "{text}");
        }
        let text = "each worker contributes 400MB for each GPU";
        assert_eq!(facts_of(text), [facts::SAID_EACH_PROCESS]);
    }

    #[test]
    fn what_they_deny_is_not() {
        for text in [
            "this is not a memory leak",
            "I reduced the batch size and it does not help, nothing works",
            "减小 batch size 也无法解决",
            "memory is released as it should be",
            "with batch size 1 it doesn't work either",
        ] {
            assert_eq!(facts_of(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn only_tables_of_empty_gpus_are_idle() {
        let row =
            |used: u32| format!("| 22%  40C  P8  16W / 250W |  {used}MiB / 12205MiB |  1% |\n");
        assert!(idle(&row(100)).is_some() && idle(&[row(100), row(4)].concat()).is_some());
        assert!(idle(&[row(100), row(9000)].concat()).is_none() && idle("no table").is_none());
    }
}
