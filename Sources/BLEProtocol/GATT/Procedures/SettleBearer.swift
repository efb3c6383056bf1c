/// Makes a link safe on which an earlier program may have left a request unanswered.
///
/// A peer answers requests in the order in which they came. So once it has answered ours, no answer to an earlier one is
/// due any more; and ours can't be confused with one, since its answers, the response and the error, repeat a handle
/// that no discovery begins at. Whatever comes before is let go. Exchange MTU would not do: a client sends it once on a
/// link, and an earlier program has. To wait until an earlier request has timed out would take 30 s.
///
/// A peer that breaks off the link because of the second request had one open, and can be connected to afresh.
/// Source: Core Specification, Vol 3, Part F, 3.3.2 and 3.4.3.1.
package struct SettleBearer: GATTProcedure {
    /// The handle that is asked for: behind all services of any real device, and before the end of all ranges.
    package static let mark: UInt16 = 0xFFFE

    package init() {}

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        .request(GATTRequest(findingInformationAt: Self.mark))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        .finished(())
    }
}
