import Testing

/// What the package was made for, a suite for each part of its mission: `swift test --filter Acceptance`.
///
/// Each test composes the parts as a program would. The details have tests of their own next to the parts.
@Suite struct Acceptance {}
