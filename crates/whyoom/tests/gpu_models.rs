//! The models that a line to paste may name are those of `whyoom lab list`.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;

use whyoom_causes::GPU_MODELS;
use whyoom_lab_core::models::MODELS;

#[test]
fn lines_name_the_models_of_the_table() {
    let table: BTreeSet<&str> = MODELS.iter().flat_map(|model| model.aliases).copied().collect();
    assert_eq!(BTreeSet::from(GPU_MODELS), table);
    // A recording names a model by its first alias.
    assert!(MODELS.iter().all(|model| !model.aliases.is_empty()));
}
