//! Doubles, a simulator and conformance suites. Feature `testing`; outside semver.

pub mod suites;
