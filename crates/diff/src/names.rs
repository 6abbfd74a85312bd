//! Categories, phases and roles as the words that people read, in saved profiles too.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use whyoom_memory::{Category, Phase};
use whyoom_trace::ModuleRole;

/// Declares how a kind with `ALL` and `name()` is saved and read.
macro_rules! by_name {
    ($module:ident, $kind:ty) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(
                kind: &$kind,
                out: S,
            ) -> Result<S::Ok, S::Error> {
                out.serialize_str(kind.name())
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$kind, D::Error> {
                let name = String::deserialize(from)?;
                let found = <$kind>::ALL.into_iter().find(|kind| kind.name() == name);
                found.ok_or_else(|| D::Error::custom(format!("unknown: {name}")))
            }
        }
    };
}

by_name!(category, Category);
by_name!(phase, Phase);

/// A role, where memory has one.
pub(crate) mod role {
    use super::*;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(
        role: &Option<ModuleRole>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match role {
            Some(role) => out.serialize_some(role.name()),
            None => out.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<ModuleRole>, D::Error> {
        let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let found = ModuleRole::ALL.into_iter().find(|role| role.name() == name);
        found.map(Some).ok_or_else(|| D::Error::custom(format!("unknown role: {name}")))
    }
}
