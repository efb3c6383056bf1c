import BLEProtocol
import Testing

@Suite struct ConnectionLimitsTests {
    @Test func `limits are within what a link can have`() {
        #expect(throws: BLEError.self) {
            try ConnectionParameters.Limits(interval: .milliseconds(7) ... .milliseconds(30))
        }
        #expect(throws: BLEError.self) { try ConnectionParameters.Limits(latency: 500) }
        #expect(throws: BLEError.self) {
            try ConnectionParameters.Limits(supervisionTimeout: .seconds(1) ... .seconds(33))
        }
        #expect(throws: BLEError.self) { try ConnectionParameters.Limits(corrections: -1) }
        #expect(throws: Never.self) { try ConnectionParameters.Limits() }
    }

    @Test func `parameters that are beyond their own limits are refused, with both named`() throws {
        let limits = try ConnectionParameters.Limits(interval: .milliseconds(40) ... .milliseconds(100))
        do throws(BLEError) {
            _ = try ConnectionParameters.balanced.limited(to: limits)
            Issue.record("taken")
        } catch {
            #expect(error.code == .invalidArgument)
            #expect(error.object.contains("0.03"))
        }
        let limited = try ConnectionParameters.lowPower.limited(to: ConnectionParameters.Limits(latency: 2))
        #expect(limited.limits?.latency == 2)
        #expect(limited.interval == ConnectionParameters.lowPower.interval)
        #expect("\(limited)".hasSuffix("limited"))
    }

    @Test func `another timeout differs by one step, and is one that a link can have`() throws {
        #expect(ConnectionParameters.fast.withAnotherTimeout.supervisionTimeout == .milliseconds(5010))
        let longest = try ConnectionParameters(
            interval: .milliseconds(30) ... .milliseconds(30),
            supervisionTimeout: .seconds(32)
        )
        #expect(longest.withAnotherTimeout.supervisionTimeout == .milliseconds(31_990))
    }
}
