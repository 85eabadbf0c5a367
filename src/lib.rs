//! placeholder
pub mod engine;
pub mod session;
pub mod store;
