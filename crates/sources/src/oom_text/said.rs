//! What people say around a message, for where its figures do not decide. To add a way of saying it: a row here.
//!
//! Each row that a text matches counts for what it says; what counts most is what the text says.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::facts::Said;

use super::{amount::regex, nvidia_smi};

/// Words that say something, and how much they count.
struct Row {
    said: Said,
    counts: u32,
    /// In the verbose form: blanks are written `\s`.
    words: &'static str,
}

const fn row(said: Said, counts: u32, words: &'static str) -> Row {
    Row { said, counts, words }
}

/// What counts less is a guess.
const ENOUGH: u32 = 2;

const ROWS: &[Row] = &[
    row(
        Said::Grows,
        2,
        r"memory[\s-]leak | leak(?:s|ed|ing)?\s(?:of\s)?(?:the\s)?(?:(?:gpu|device|cuda|video|host)\s)?(?:memory|vram)
        | (?:memory|vram|gpu)(?:\s\w+){0,4}\s(?:leaks|leaked|is\sleaking)\b
        | (?:内存|显存)(?:泄[漏露]|一直在?(?:增|上涨|涨)|不断(?:增|上涨)|持续(?:增|上涨)|越来越)
        | 메모리\s?누수 | утечк\w+\s(?:видео)?памяти | メモリ\s?リーク | fuite\sm[ée]moire | speicherleck",
    ),
    row(
        Said::Grows,
        2,
        r"(?:memory|vram|usage|consumption|footprint|ram)\b[^.!?]{0,40}?\b(?:keeps?|kept|keeping|continues?|starts?|gradually|slowly|steadily|constantly|continuously|incrementally|always|just)\s(?:on\s|to\s)?(?:increas|grow|ris|climb|accumulat|going\sup|creep)\w*
        | (?:memory|vram|usage|consumption|footprint|ram)\b[^.!?]{0,30}?\b(?:increas|grow|ris|climb|accumulat|creep)\w*\s(?:incrementally|gradually|steadily|continuously|constantly|slowly|linearly|over\stime|with\s(?:each|every|time)|(?:after|in|on|at|for)?\s?(?:each|every)\s|until|as\s(?:the\s)?(?:training|time|it)|by\s\d|from\s\d)
        | \b(?:slowly|gradually|steadily|continuously)\s(?:grow|increas|ris|fill|eat|consum)\w*
        | \b(?:slow|steady|constant|gradual|continuous|linear)\s(?:and\s\w+\s)?(?:increase|growth|rise|climb)\b
        | \baccumulat\w*\s(?:\w+\s){0,2}?(?:memory|vram)\b | \b(?:fill|eat)(?:s|ing)?\sup\s(?:all\s)?(?:the\s|my\s)?(?:\w+\s)?ram\b
        | \bas\stime\s(?:increases|goes|passes)\b | \bfills?\sup\s(?:the\s)?(?:entire|whole|all)",
    ),
    row(
        Said::Grows,
        2,
        r"(?:never|not|n't)\s(?:being\s)?(?:released|freed|cleared|deallocated|garbage.collected)\b[^!?]{0,60}\b(?:runs?|ran|running)\sout
        | \bfirst\s(?:few|couple|several|two|three|\d+)\s(?:of\s)?(?:\w+\s)?(?:cycles?|iterations?|steps?|epochs?|batches|images?|frames?|runs?|requests?|times?|calls?|prompts?|generations?)\b[^.!?]{0,30}\b(?:normal|fine|ok|okay|work|works|worked|good|no\sproblem)
        | \b(?:crash\w*|fail\w*|oom|out\sof\smemory)\b[^.!?]{0,40}\bafter\s(?:we\s|i\s)?(?:run|call|repeat)\w*\s(?:\w+\s){0,3}(?:couple|few|several|many|multiple)
        | \b(?:call|run|train)ing\s(?:\w+\s){0,3}(?:several|multiple|many)\stimes
        | \b(?:correctly|fine|normally|well|ok)\s(?:in|at)\s(?:the\s)?(?:begin\w*|first|start)\b
        | \bat\s(?:the\s)?(?:beginning|start|first)\b[^?]{0,100}\b(?:memory|vram|usage)\b[^?]{0,100}\bafter\s(?:\w+\s)?\d+
        | \bfill(?:s|ed|ing)?\sup\s(?:the\s)?(?:gpu\s|device\s|video\s)?(?:memory|vram)
        | \bafter\s(?:~|about\s|around\s)?[\d.,]+\s?(?:k|m|thousand|million|billion)\s(?:steps|iterations|requests|calls|frames)",
    ),
    row(
        Said::Grows,
        1,
        r"\bafter\s(?:a\swhile|some\stime|(?:a\sfew|several|some|many|about|around|~)?\s?\d*\s?(?:hours?|days?|epochs?|iterations?|steps|cycles|minutes))\b
        | \bover\stime\b | \beventually\b | \bin\sa\s(?:for\s)?loop\b | \bone\safter\sanother\b | \bevery\s(?:epoch|iteration|step|call|run)\b",
    ),
    row(
        Said::TooLarge,
        2,
        r"\b(?:reduc|lower|decreas|shrink|fewer|smaller|less|halv)\w*\b[^.!?]{0,60}?[,;:]?\s(?:and\s|then\s|now\s)?(?:it\s|that\s|this\s|everything\s)?(?:works|worked|runs|ran|fits|fixed|solved|solves|helped|helps|is\sfine|was\sfine)\b
        | \b(?:works?|worked|runs?|fits|succeeds?|trains?)\s(?:\w+\s){0,3}?(?:with|when|for|if|using|on|at)\s(?:\w+\s){0,4}?(?:smaller|fewer|less|lower|reduced|small|tiny|short|shorter)\b
        | \b(?:batch(?:\s|_|-)?size|batch|bs|resolution|image\ssize|(?:max_)?seq\w*(?:\slen\w*)?|context(?:\slength)?)\b\s?(?:of|to|=|:|is|设置成|设为|改为|改成)?\s?\d+[^.!?]{0,30}?(?:\b(?:works|worked|runs|ran|fits|fine|ok)\b|可以跑|能跑|可以运行|正常|跑起来)",
    ),
    row(
        Said::TooLarge,
        2,
        r"(?:\bnot|n't|\bnever|\bcannot|\bbarely|\bhardly)\s(?:\w+\s){0,2}?fit\b
        | \b(?:needs?|requires?|takes?)\s(?:about|around|at\sleast|up\sto|~)?\s?\d+(?:\.\d+)?\s?(?:gb|gib|g)\b
        | \bmore\s(?:\w+\s){0,3}?than\s(?:the|my|this|your)\s(?:card|gpu|device)\b | \bworking\sset\b
        | (?:显存|内存)(?:不够|不足|太小) | 需要\s?\d+\s?g | нужно\s\w*\s?\d+\s?g | не\sхватает",
    ),
    row(
        Said::TooLarge,
        1,
        r"\b(?:too|very|quite|so|really)\s(?:large|big|long|huge)\b
        | \b(?:large|big|huge|giant|massive)\s(?:\w+\s){0,2}?(?:model|input|batch|image|scene|mesh|dataset|data|matrix|graph|file|system|csv|tensor|array|volume|buffer)s?\b",
    ),
    row(Said::TooLarge, 1, r"\b\d+\s?(?:g|gb|gib)\s(?:vram|memory|gpu|card|of\svram|of\smemory)\b"),
    row(
        Said::EachProcess,
        2,
        r"\b(?:each|every|any|per)\s(?:\w+\s){0,2}?(?:process|worker|rank|thread|instance)\b[^.!?]{0,80}?\b\d+\s?(?:mb|mib|m)\b
        | \b\d+\s?(?:mb|mib|m)\b\s(?:\w+\s){0,4}?(?:per|each|for\seach|for\severy|by\seach)\s(?:process|worker|rank|instance)\b",
    ),
    row(
        Said::EachProcess,
        1,
        r"\bcuda\scontexts?\b | cuctxcreate | \bnum_workers\b | multi-?process",
    ),
    row(
        Said::StrayContexts,
        2,
        r"\b(?:all|every|each)\s(?:of\s)?(?:the\s)?(?:available\s|other\s|visible\s)?(?:gpus?|devices?)\b[^.!?]{0,60}\b(?:alloc|reserv|memory|context|consum)\w*
        | \b(?:alloc|reserv|memory|context|consum)\w*\b[^.!?]{0,60}\b(?:in|on)\s(?:all|every|each)\s(?:of\s)?(?:the\s)?(?:available\s|other\s)?(?:gpus|devices|gpu)\b
        | \b(?:still|also|always|additional\w*|extra)\b[^.!?]{0,60}\b(?:gpu|device|cuda)[\s:_-]?0\b
        | \b(?:gpu|device|cuda)[\s:_-]?0\b[^.!?]{0,60}\b(?:additional|extra|also|even\sthough|although)\b
        | \b(?:more|extra|additional)\smemory\s(?:on|in|of)\s(?:gpu|device|cuda)[\s:_-]?0\b | \bloaded\s(?:on)?to\s(?:gpu|device|cuda)[\s:_-]?0\b
        | \bprocess(?:es)?\b[^.!?]{0,60}\b(?:gpus?|devices?|ranks?)\s[1-9][^.!?]{0,80}\b(?:on|of)\s(?:gpu|device|cuda)[\s:_-]?0\b",
    ),
    row(
        Said::StrayContexts,
        1,
        r"cudasetdevice | set_device | map_location | cuda_visible_devices | \blinger\w* | local_rank",
    ),
    row(
        Said::Pinned,
        2,
        r"pin_memory\s?=\s?false | \bwithout\spin | pin_memory\(\) | \bpin-?mem\b | cudahostregister | cudahostalloc | cudamallochost | page-?locked",
    ),
    row(Said::Pinned, 1, r"pinned\s(?:host\s|system\s)?memory | pin_memory"),
    row(
        Said::OtherProcess,
        2,
        r"\b(?:other|another|second|different|someone\selse's)\s(?:\w+\s){0,2}?(?:process|program|user|job|kernel|notebook|instance|container|application|task|training|session)\w*\b[^.!?]{0,60}\b(?:hold|us(?:e|es|ed|ing)|occup|tak(?:e|es|ing)|running|runs|consum)
        | \b(?:two|2|three|3|multiple|several|both)\s(?:jupyter\s|python\s)?(?:kernels|notebooks|instances|sessions)\b
        | \b\d+(?:st|nd|rd|th)\s(?:instance|process|worker|copy)\b
        | \b(?:hold|holds|holding|occup\w+)\s(?:the\s)?gpu\smemory\b | 被占用 | 其他进程",
    ),
    row(
        Said::OtherProcess,
        1,
        r"\b(?:already|being|currently)\s(?:in\suse|used|occupied|taken|high|full)\b",
    ),
    row(
        Said::LeftBehind,
        2,
        r"\b(?:still|keeps?)\s(?:hold|occup|us|tak|consum|retain)\w*[^.!?]{0,40}\b(?:memory|vram|gpu)\b
        | \b(?:interrupt|ctrl|stop|kill|abort|quit)\w*\b[^!?]{0,80}\b(?:memory|vram)\b[^.!?]{0,30}\b(?:not|never|n't)\s(?:being\s)?(?:de-?allocated|freed|released|cleared)
        | \bctrl\W{0,3}c\b[^!?]{0,80}\bstill\s(?:hold|occup|us|tak)\w*
        | \bno\ssuch\sprocess\b | \bzombie\b | \bdefunct\b | \bstuck\son\sgpu | \bprocess\sstuck\b | \borphan\w*\b | \bhung\sprocess | \bstale\sprocess",
    ),
    row(
        Said::LeftBehind,
        1,
        r"\bkill\s-9\b | \bafter\s(?:stopping|killing|terminat|ctrl|exiting|closing) | \breboot",
    ),
    row(
        Said::Unseen,
        2,
        r"\bno\s(?:running\s)?process(?:es)?\s(?:found|running|listed|shown)\b | \bnot\s(?:detect|show|list|see)\s(?:\w+\s){0,4}?(?:pid|process)
        | \bwithout\s(?:any\s)?process",
    ),
    row(
        Said::Unseen,
        3,
        r"\bnothing\s(?:appears|is\slisted|is\sshown|shows?|runs|is\srunning)\s(?:up\s)?(?:in|on|by)\s`?nvidia-smi\b | \bnvidia-smi\b[^.!?]{0,60}\b(?:shows?|lists?)\s(?:no\s(?:running\s)?process\w*|nothing)\b",
    ),
    row(
        Said::SharedMemory,
        3,
        r"/dev/shm | shm-size | shm_size | shared\smemory\s(?:segment|limit|file)s? | out\sof\sshared\smemory | nccl-shm | shmmax",
    ),
    row(
        Said::InAdvance,
        2,
        r"memory_fraction\s?=\s?(?:1\b|0\.9) | \b(?:takes?|took|allocates?|grabs?|reserves?|uses?|eats?|hogs?|occup\w+|consumes?)\s(?:up\s|over\s)?(?:all|almost\sall|nearly\sall|the\sentire|the\swhole|most\sof)\s(?:of\s)?(?:the\s|my\s)?(?:available\s|free\s)?(?:gpu\s|device\s|video\s)?(?:memory|vram|card)",
    ),
    row(
        Said::InAdvance,
        2,
        r"\btensorflow\b[^.!?]{0,40}\bnot\s(?:to\s)?(?:use|see|touch|take)\s(?:the\s|any\s)?gpus? | \bmax\stokens\sin\spaged\skv\scache\b
        | \b(?:upon|just|merely|simply|when|after)\simporting\b[^!?]{0,80}\b(?:gpu|memory|vram)\b",
    ),
    row(
        Said::InAdvance,
        1,
        r"memory_fraction | gpu_memory_utilization | gpu-memory-utilization | mem_fraction_static | xla_python_client | allow_growth | set_memory_growth | \bpre-?allocat\w+",
    ),
    row(
        Said::PoolKeeps,
        2,
        r"\bpool\susage\b | \bpool\s(?:keeps|holds|grew|has\sgrown|never|grows) | \bstill\sholding\s(?:on\s)?to\b
        | \bnever\s(?:gives?|returns?)\s(?:\w+\s){0,2}?back | \bnot\s(?:returned|released|given\sback)\sto\sthe\s(?:os|device|system|driver|gpu)
        | \boutside\s(?:of\s)?the\spool",
    ),
    row(
        Said::Cap,
        2,
        r"memory_fraction\s?=\s?0\.[0-4] | \bcapped\sat\b | \b(?:over|above|reached|exceed\w*|hits?|hit)\s(?:the\s|a\s|its\s)?(?:\w+\s){0,2}?(?:limit|cap|quota|maximum)\b | too\smuch\sshared\sdata
        | \ballow\w*\s(?:you\s|us\s)?only\s\d+ | \bonly\s(?:allows?\s)?\d+\s(?:concurrent\s)?sessions | max_map_count | \bthere\sis\sa\scap\b | allocation\slimit\sis",
    ),
    row(
        Said::DeviceHeap,
        2,
        r"\bmalloc\sheap\b | \bcuda\sheap\b | device-?\s?side\smalloc | in-?kernel\smalloc | cudalimitmallocheapsize | malloc\w*\(?\)?\s(?:call\s)?(?:in|inside|from)\s(?:the\s|a\s)?(?:kernel|device\scode) | malloc\(?\)?s?\sreturn\w*\s(?:a\s)?null",
    ),
    row(
        Said::Unchecked,
        2,
        r"\bnot\scheck(?:ed|ing)?\s(?:for\s|the\s)?(?:the\s)?(?:\W?cudaerror|\W?hiperror|error|return) | \bunchecked\b | \bno\serror\sis\s(?:surfaced|reported|returned|raised) | \bsilently\b[^.!?]{0,40}\b(?:fail|wrong|crash|garbage)",
    ),
    row(
        Said::HostMemory,
        2,
        r"\b(?:killed|terminated|reaped)\sby\s(?:the\s)?(?:kernel|system|os|oom|linux)\b | \boom[\s-]?kill | \bslurm\b[^.!?]{0,40}\b(?:oom|out[\s-]of[\s-]memory)\b
        | \b(?:all|out\sof|not\senough|insufficient|exhaust\w*)\s(?:available\s|the\s|my\s)?(?:ram|(?:system|host|cpu|main)\s(?:memory|ram))\b
        | \b(?:system|host|cpu|main)\s(?:memory|ram)\b[^.!?]{0,40}\b(?:runs?\sout|ran\sout|exhaust\w*|is\sfull|fills\sup|100\s?%)",
    ),
    row(
        Said::InEvaluation,
        2,
        r"\b(?:in|during|on|at|when|while|for|only)\s(?:the\s)?(?:\w+\s){0,2}?(?:validation|evaluation|validating|evaluating|eval|`?\[?`?validate(?:\(\))?`?)\b
        | \btrain\w*\b[^.!?]{0,40}\b(?:fine|works|normal\w*|perfectly|stable|correctly|ok)\b[^!?]{0,120}\b(?:validat|evaluat)\w+",
    ),
    row(
        Said::SetTooLate,
        3,
        r"\b(?:after|behind)\s`?import\s(?:jax|torch|tensorflow|tf)\b | \b(?:settings?|configuration|variables?|environ\w*)\b[^.!?]{0,80}\bignored\b",
    ),
    row(
        Said::Waits,
        3,
        r"\b(?:after|with|add(?:ed|ing)?)\s(?:a\s|the\s)?(?:\w+\s)?[`\w.:]*synchroniz\w*[`()]*[^.!?]{0,80}\b(?:succeed\w*|pass\w*|works?|worked|fix\w*|solv\w*|gone|helps?)\b",
    ),
];

static WORDS: LazyLock<Vec<(&'static Row, Regex)>> =
    LazyLock::new(|| ROWS.iter().map(|row| (row, regex(&format!("(?ix){}", row.words)))).collect());

/// Words before it that turn what is said into its opposite, or into advice.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:not|no|never|without|nor|don't|doesn't|didn't|isn't|won't|cannot|can't|whether|unless|if (?:you|yes|there|another|other|any))\b|n't\b|无法|不能|没有|是否",
    )
});
/// The same inside of what is said.
static DENIED_INSIDE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:doesn't|didn't|isn't|won't|does not|did not)\s(?:work|help|run|fit|leak)|nothing works|\b(?:not|never|neither)\s(?:\w+\s){0,2}(?:help|work|fix|solv)|也?无法|不能",
    )
});

/// How far before it such words may stand.
const REACH: usize = 24;
/// How much of what is said is kept.
const QUOTED: usize = 160;
/// Words to which a denial belongs: what does not fit, what is not freed.
const DENIES_ITSELF: [Said; 5] =
    [Said::Unseen, Said::Unchecked, Said::PoolKeeps, Said::Pinned, Said::LeftBehind];

/// Lines in which nobody speaks: what programs print, tables, code, commands.
static PRINTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?x) ^\s*(?:\||\+[-=]|\$\s|%|>>>|File\s"|at\s\w+[.(]|import\s|from\s\S+\simport|def\s|class\s|return\b|with\s\w+\.|for\s\w+\sin\s|docker\s|python3?\s|pip\s|export\s|sudo\s|srun\s|mpirun\s|\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|\[\d+\])
        | ^\s*[\w.:]*(?:Error|Exception|Warning)\b\s?: | Warning:\s | \w\([^)\s]*=\s?\w | ^\s*[\w.\[\]"']+\s*=\s | [;{}]\s*$
        | \s--?[a-z][\w-]+[=\s] | ^\s*[\w./]+:\d+[:\s]"#,
    )
});

/// What a log's collector writes before each line.
static STAMP: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\s"));

/// Whether somebody speaks in a line: at least a few words of a sentence.
fn speaks(line: &str) -> bool {
    let has_words = || line.split_whitespace().filter(|word| is_word(word)).count() >= 3;
    let written_without_blanks = || line.chars().filter(|letter| *letter > '\u{2e7f}').count() >= 4;
    !PRINTED.is_match(line) && (has_words() || written_without_blanks())
}

fn is_word(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| letter.is_ascii_punctuation());
    !word.is_empty() && word.chars().all(|letter| letter.is_alphabetic() || "'’-".contains(letter))
}

/// What people say in a text, on one line: without what was printed, and with single blanks.
fn spoken(text: &str) -> String {
    let bare = |line| STAMP.find(line).map_or(line, |stamp| &line[stamp.end()..]);
    // Stamps on some lines are a program's; on all of them they were put before whatever was there.
    let all_stamped = text.lines().all(|line| line.trim().is_empty() || STAMP.is_match(line));
    let lines = text.lines().map(|line| if all_stamped { bare(line) } else { line });
    let lines = lines.map(|line| line.trim_start_matches(['>', ' ', '*', '\t']));
    let words = lines.filter(|line| speaks(line)).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

/// What people say most in a text, and the first words that say it.
pub(super) fn said(text: &str) -> Option<(Said, String)> {
    let text = spoken(text);
    // Most texts are what programs print; the words are then not even made ready.
    if text.is_empty() {
        return None;
    }
    let mut found: Vec<(Said, u32, String)> = Vec::new();
    for (row, words) in WORDS.iter() {
        let Some(quote) = first_that_stands(row.said, words, &text) else { continue };
        match found.iter_mut().find(|(said, ..)| *said == row.said) {
            Some((_, counts, _)) => *counts += row.counts,
            None => found.push((row.said, row.counts, quote)),
        }
    }
    found.retain(|(_, counts, _)| *counts >= ENOUGH);
    // Of equals the first of the table.
    let most = found.iter().map(|(_, counts, _)| *counts).max()?;
    found.into_iter().find(|(_, counts, _)| *counts == most).map(|(said, _, quote)| (said, quote))
}

/// The first place with such words that nothing before or in it denies.
fn first_that_stands(said: Said, words: &Regex, text: &str) -> Option<String> {
    let stands = |found: &regex::Match<'_>| {
        let from = floor(text, found.start().saturating_sub(REACH));
        // What another sentence denies is not this.
        let before = &text[from..found.start()];
        let before = before.rfind(['.', '!', '?', '。']).map_or(before, |end| &before[end..]);
        let denied =
            DENIED.is_match(before) && !DENIES_ITSELF.contains(&said) && !fits_not(said, before);
        !denied && !DENIED_INSIDE.is_match(found.as_str())
    };
    let found = words.find_iter(text).find(stands)?;
    Some(text[found.start()..floor(text, found.end().min(found.start() + QUOTED))].to_owned())
}

/// Of what does not fit, the denial is what is said.
fn fits_not(said: Said, before: &str) -> bool {
    let before = before.trim_end().to_lowercase();
    said == Said::TooLarge
        && ["not", "n't", "cannot", "can't"].iter().any(|end| before.ends_with(end))
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
    let empty = |(used, total): &(u64, u64)| *used <= total / 10;
    let (used, total) = *rows.first().filter(|_| rows.iter().all(empty))?;
    Some(format!("{used} MiB of {total} MiB in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<Said> {
        said(text).map(|(said, _)| said)
    }

    #[test]
    fn what_people_say_is_known() {
        for (text, wanted) in [
            ("I suspect a memory leak in the loader", Said::Grows),
            ("the gpu memory usage keeps increasing until it crashes", Said::Grows),
            ("memory consumption increases incrementally by 2MiB", Said::Grows),
            ("The first few cycles are normal, but then", Said::Grows),
            ("buffers are never cleared and memory runs out", Said::Grows),
            ("训练时显存一直在增加", Said::Grows),
            ("Reduce the number of features, it works in that case", Said::TooLarge),
            ("it works with a smaller model", Said::TooLarge),
            ("with batch size 4 it works", Said::TooLarge),
            ("batch size 设置成16后，程序可以跑起来", Said::TooLarge),
            ("the scene does not fit on the card", Said::TooLarge),
            ("each worker contributes 400MB for each GPU", Said::EachProcess),
            ("once I set pin_memory=False I can use all of it", Said::Pinned),
            ("a training job of another user is holding GPU memory", Said::OtherProcess),
            ("kill says no such process", Said::LeftBehind),
            ("it ran out of shared memory\r\nsegments, I guess", Said::SharedMemory),
            ("> there is a memory\r\n> leak somewhere here", Said::Grows),
            (
                "2026-11-02T09:14:33.1Z we have a memory\n2026-11-02T09:14:33.1Z leak in here",
                Said::Grows,
            ),
        ] {
            assert_eq!(told(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_they_deny_is_not() {
        for text in [
            "this is not a memory leak",
            "I reduced the batch size and it does not help, nothing works",
            "减小 batch size 也无法解决",
            "memory is released as it should be",
            "with batch size 1 it doesn't work either",
            "Please check whether any other process is using it",
            "It should easily fit in my GPU memory",
            "Reducing the batch size to 1 has not helped",
            "docker run --gpus all --shm-size 1g server",
            "loader = DataLoader(ds, pin_memory=False)",
            "cudaMallocAsync failed: out of memory",
            "UserWarning: using create_graph=True can cause a memory leak",
            "I run out of GPU RAM in the first step",
            "there is not enough video RAM on the card",
            "I set PYTORCH_CUDA_ALLOC_CONF before importing torch and it still fails",
            "nvidia-smi shows no memory in use before I start",
        ] {
            assert_eq!(told(text), None, "{text}");
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
