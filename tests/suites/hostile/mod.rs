//! Attacks: by other users of the machine, and by files that somebody sent. A file here is one place that is
//! attacked.

mod attach;
mod folders;
mod lab;
mod live;
mod made;
mod paste;
mod pickles;
mod proportion;
mod recording;
mod secrets;
mod startup;
mod symbols;
mod terminal;
mod variables;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = vec![
        Check::new("folders::made-by-another", folders::made_by_another),
        Check::new("folders::code-swapped", folders::code_swapped),
        Check::new("folders::current-folder-of-another", folders::current_folder_of_another),
        Check::new("folders::ordinary-folders", folders::ordinary_folders),
        Check::new("folders::modes", folders::modes),
        Check::new("folders::full-disk", folders::full_disk),
        Check::new("startup::empty-pythonpath", startup::empty_pythonpath),
        Check::new("startup::empty-variables", startup::empty_variables),
        Check::new("live::part-files", live::part_files),
        Check::new("live::cut-while-looked-at", live::cut_while_looked_at),
        Check::new("live::status-of-the-program", live::status_of_the_program),
        Check::new("live::fault-of-the-program", live::fault_of_the_program),
        Check::new("variables::pool-cap", variables::pool_cap),
        Check::new("attach::mounted-over", attach::mounted_over),
        Check::new("attach::swapped", attach::swapped),
        Check::new("attach::linked", attach::linked),
        Check::new("attach::holes", attach::holes),
        Check::new("attach::endless-names", attach::endless_names),
        Check::new("attach::endless-call", attach::endless_call),
        Check::new("attach::ended-meanwhile", attach::ended_meanwhile),
        Check::new("attach::variables-of-gdb", attach::variables_of_gdb),
        Check::new("attach::becomes-setuid", attach::becomes_setuid),
        Check::new("attach::becomes-setuid-in-the-call", attach::becomes_setuid_in_the_call),
        Check::new("attach::lines-in-its-command", attach::lines_in_its_command),
        Check::new("attach::long-to-judge", attach::long_to_judge),
        Check::new("lab::a-stranger-stays-out", lab::stays_out),
        Check::new("lab::any-bytes", lab::any_bytes),
        Check::new("lab::any-owner-of-the-lock", lab::owners),
        Check::new("lab::beside-others", lab::beside_others),
        Check::new("lab::modes", lab::modes),
        Check::new("lab::temporary-folder-of-another", lab::temporary_folder_of_another),
        Check::new("lab::temporary-folder-with-separators", lab::temporary_folder_with_separators),
        Check::new("pickles::refused", pickles::refused),
        Check::new("pickles::truncated", pickles::truncated),
        Check::new("recording::fifos", recording::fifos),
        Check::new("recording::devices", recording::devices),
        Check::new("recording::links", recording::links),
        Check::new("recording::holes", recording::holes),
        Check::new("recording::sparse-segments", recording::sparse_segments),
        Check::new("recording::many-files", recording::many_files),
        Check::new("recording::long-files", recording::long_files),
        Check::new("recording::looks", recording::looks),
        Check::new("recording::definitions", recording::definitions),
        Check::new("symbols::paths", symbols::paths),
        Check::new("symbols::names", symbols::names),
        Check::new("secrets::recorded", secrets::recorded),
        Check::new("secrets::quoted", secrets::quoted),
        Check::new("secrets::told", secrets::told),
        Check::new("terminal::files", terminal::files),
        Check::new("terminal::processes", terminal::processes),
    ];
    checks.extend(paste::checks());
    checks.extend(proportion::checks());
    Ok(checks)
}
