//! What makes inference need less.

use whyoom_memory::Category;

use crate::{diagnosis::Diagnosis, finding::Remedy, seen_code, training::is_training};

/// A cache that has this share of the peak is what to make smaller.
const MUCH: f64 = 0.25;

/// Returns what helps a model that generates: there is nothing to recompute in backward.
pub(crate) fn for_inference() -> Vec<Remedy> {
    vec![
        Remedy::example(
            "attn_implementation=\"sdpa\"",
            "do not materialize the attention matrix, if that is the large tensor",
        ),
        Remedy::advice("use fewer sequences at once or a shorter context"),
    ]
}

/// What makes the KV cache smaller, where it is much of the memory or what was being made. In training it is a
/// part of the activations.
pub(crate) fn for_kv_cache(diagnosis: &Diagnosis<'_>) -> Option<Vec<Remedy>> {
    let asked = diagnosis.incident.is_some_and(|incident| incident.category == Category::KvCache);
    if is_training(diagnosis) || !asked && diagnosis.share_at_peak(Category::KvCache) < MUCH {
        return None;
    }
    if seen_code::any_named(diagnosis, &["/vllm/"]) {
        return Some(of_vllm());
    }
    let mut remedies = vec![Remedy::advice(
        "use fewer sequences at once or a shorter context: the KV cache grows with both",
    )];
    let of_transformers = seen_code::any_named(diagnosis, &["transformers/cache_utils.py"]);
    let is_quantized = seen_code::any_frame(diagnosis, |frame| {
        frame.file.contains("transformers/cache_utils.py") && frame.function.contains("uantize")
    });
    if of_transformers && !is_quantized {
        remedies.push(Remedy::example(
            "model.generate(..., cache_implementation=\"quantized\")",
            "keep keys and values in fewer bits, which needs hqq or optimum-quanto (\"offloaded\" keeps \
             them in host memory)",
        ));
    }
    Some(remedies)
}

/// vLLM fills its fraction of the GPU with the cache, whatever the requests need.
fn of_vllm() -> Vec<Remedy> {
    vec![
        Remedy::advice(
            "lower --gpu-memory-utilization: vLLM makes the KV cache as large as that fraction allows",
        ),
        Remedy::advice(
            "lower --max-model-len or --max-num-seqs, so that a smaller KV cache is enough; \
             --kv-cache-dtype fp8 takes half the bytes of a cache in 16 bits",
        ),
    ]
}
