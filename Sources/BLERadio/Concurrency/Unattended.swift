/// Begins an activity that runs to its answer even if no caller waits for it, and keeps it until then.
///
/// - Parameters:
///   - begin: begins the activity; the answer comes once, perhaps before this returns.
///   - answer: called with the answer.
package func unattended<Answer: Sendable>(
    _ begin: (@escaping @Sendable (Answer) -> Void) -> RadioActivity,
    answer: @escaping @Sendable (Answer) -> Void
) {
    let over = Ending<Void>()
    let activity = begin {
        answer($0)
        over.end()
    }
    over.cancel(activity)
}
