/// Makes a link safe to use on which an earlier program may have left a request unanswered.
///
/// A peer answers requests in their order. So once it has answered ours, no answer to an earlier one is due any more.
/// Ours can't be confused with an earlier one, since its answers, the response and the error, repeat a handle at which
/// no discovery begins. Everything that comes before is ignored. Exchange MTU would not do: its response repeats
/// nothing, and may be one to the earlier program. Waiting until an earlier request has timed out would take 30 s.
///
/// A peer that ends the link because of the second request had one open, and can be connected to again.
/// Source: Core Specification, Vol 3, Part F, 3.3.2 and 3.4.3.1.
package struct SettleBearer: GATTProcedure {
    /// The requested handle: after all services of any real device, and before the end of all ranges.
    package static let mark: UInt16 = 0xFFFE

    package init() {}

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        .request(GATTRequest(findingInformationAt: Self.mark))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> {
        .finished(())
    }
}
