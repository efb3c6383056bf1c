/// Agrees on ATT_MTU; succeeds with the one in force.
///
/// It stays as it is if a server refuses, answers with nonsense or doesn't answer in time. Once an exchange has taken
/// place, from either side, nothing is sent: each device offers the same number in both directions, so asking again
/// gains nothing.
/// Source: Core Specification, Vol 3, Part G, 4.3.1.
package struct ExchangeMTU: GATTProcedure {
    package init() {}

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Int> {
        guard !context.isMTUExchanged else { return .finished(context.mtu) }
        return .send(ATTExchangeMTURequest(clientMTU: UInt16(clamping: context.maximumMTU)))
    }

    package func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure) -> GATTStep<Int> {
        .finished(context.mtu)
    }
}
