import BLEProtocol
import Testing

@Suite struct ConnectionParametersTests {
    private func refusal(
        _ interval: ClosedRange<Duration>,
        _ latency: Int,
        _ timeout: Duration
    ) -> BLEError? {
        do throws(BLEError) {
            _ = try ConnectionParameters(interval: interval, latency: latency, supervisionTimeout: timeout)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (.microseconds(7500) ... .seconds(4), 0, .seconds(32)),
            (.microseconds(7500) ... .microseconds(7500), 499, .seconds(32)),
            (.milliseconds(30) ... .milliseconds(50), 0, .milliseconds(110)),
        ] as [(ClosedRange<Duration>, Int, Duration)]
    )
    func `accepts what the specification allows`(_ interval: ClosedRange<Duration>, _ latency: Int, _ timeout: Duration)
    {
        #expect(refusal(interval, latency, timeout) == nil)
    }

    @Test(
        arguments: [
            (.milliseconds(7) ... .milliseconds(30), 0, .seconds(1), "interval"),
            (.milliseconds(30) ... .milliseconds(4001), 0, .seconds(32), "interval"),
            (.milliseconds(30) ... .milliseconds(50), -1, .seconds(1), "latency"),
            (.milliseconds(30) ... .milliseconds(50), 500, .seconds(32), "latency"),
            (.milliseconds(30) ... .milliseconds(30), 0, .milliseconds(99), "supervision timeout"),
            (.milliseconds(30) ... .milliseconds(30), 0, .milliseconds(32_001), "supervision timeout"),
            // Vol 6, Part B, 4.5.2: longer than (1 + latency) × interval × 2.
            (.milliseconds(30) ... .milliseconds(50), 0, .milliseconds(100), "interval"),
            (.milliseconds(30) ... .milliseconds(50), 9, .seconds(1), "latency"),
        ] as [(ClosedRange<Duration>, Int, Duration, String)]
    )
    func `refuses what no link can have, and says which`(
        _ interval: ClosedRange<Duration>,
        _ latency: Int,
        _ timeout: Duration,
        _ word: String
    ) {
        let error = refusal(interval, latency, timeout)
        #expect(error?.code == .invalidArgument)
        #expect(error?.object.contains(word) == true)
        #expect(error?.remedy.hasPrefix("Choose ") == true)
    }

    @Test(arguments: [ConnectionParameters.fast, .balanced, .lowPower])
    func `the profiles are within bounds`(_ profile: ConnectionParameters) throws {
        _ = try ConnectionParameters(
            interval: profile.interval,
            latency: profile.latency,
            supervisionTimeout: profile.supervisionTimeout
        )
        #expect(profile.supervisionTimeout >= .seconds(5))
    }

    @Test func `are written in the units of the air`() {
        let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let command = ManagementLoadConnectionParameters([.init(.balanced, for: address)])
        // Load Connection Parameters: one entry, LE Random, 24 to 40 times 1.25 ms, latency 0, 500 times 10 ms.
        #expect(
            command.packet(index: ManagementIndex(rawValue: 0)).encoded == [
                0x35, 0x00, 0x00, 0x00, 0x11, 0x00, 0x01, 0x00, 0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4, 0x02, 0x18, 0x00,
                0x28,
                0x00, 0x00, 0x00, 0xF4, 0x01,
            ]
        )
    }
}
