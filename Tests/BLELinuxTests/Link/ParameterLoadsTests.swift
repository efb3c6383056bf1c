import BLEProtocol
import Testing

@testable import BLELinux

/// What the kernel is told, so that it changes a link: it compares with the intervals of the link's beginning.
@Suite struct ParameterLoadsTests {
    private func link(_ timeout: Duration, latency: Int = 0) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.supervisionTimeout = timeout
        conditions.latency = latency
        return conditions
    }

    @Test func `a link that is to have what it was made with is told another timeout`() {
        let loads = ConnectionParameters.balanced.loads(for: link(.seconds(5)), madeWith: .balanced)
        #expect(loads.count == 2)
        // Nothing that the kernel would act on, then what differs.
        #expect(loads[0] == .balanced)
        #expect(loads[1].interval == ConnectionParameters.balanced.interval)
        #expect(loads[1].supervisionTimeout == .milliseconds(5010))
        let again = ConnectionParameters.balanced.loads(for: link(.milliseconds(5010)), madeWith: .balanced)
        #expect(again[1] == .balanced)
    }

    @Test func `the first load says what the link has`() {
        let loads = ConnectionParameters.fast.loads(for: link(.seconds(6), latency: 2), madeWith: .balanced)
        #expect(loads[0].interval == ConnectionParameters.balanced.interval)
        #expect(loads[0].latency == 2)
        #expect(loads[0].supervisionTimeout == .seconds(6))
        #expect(loads[1] == .fast)
    }

    @Test func `where nothing is known of the link one of two timeouts is another one`() {
        let loads = ConnectionParameters.fast.loads(for: nil, madeWith: .fast)
        #expect(loads.map(\.supervisionTimeout) == [.milliseconds(5010), .milliseconds(5010), .seconds(5)])
    }
}
