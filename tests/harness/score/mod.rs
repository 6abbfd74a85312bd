//! The cases by which verdicts are examined.
