import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// What becomes of a program whose management socket had no room for some of the kernel's events, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct MissedEventsTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    @Test func `events that are missing behind the last one are told, once`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        await kernel.idle()
        let lost = FakeRun.Collector<Int>()
        let observation = management.observe({ _ in }, lost: { lost.add($0) })
        kernel.with { state in
            // More than one reading takes.
            for _ in 0...ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
            state.unheard { state in
                for _ in 0..<3 { state.tellOfDevice(kernel.central) }
            }
        }
        await kernel.idle()
        #expect(lost.all == [3])
        kernel.with { $0.tellOfDevice(kernel.central) }
        await kernel.idle()
        #expect(lost.all == [3])
        observation.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test func `they are told where the last reading was a full one`() async throws {
        let radio = try run.radio()
        let management = try #require(radio.management)
        await kernel.idle()
        let lost = FakeRun.Collector<Int>()
        let observation = management.observe({ _ in }, lost: { lost.add($0) })
        kernel.with { state in
            for _ in 0..<SocketDrain.fairShare * ReceiveBuffer.slots { state.tellOfDevice(kernel.central) }
            state.unheard { $0.tellOfDevice(kernel.central) }
        }
        await kernel.idle()
        #expect(lost.all == [1])
        observation.cancel()
        withExtendedLifetime(radio) {}
    }
}

extension FakeState {
    /// Tells of something that changes nothing: a device is received.
    fileprivate mutating func tellOfDevice(_ number: UInt16) {
        tell(number, 0x12, ManagementAddress(.example).octets + [0xC4, 0, 0, 0, 0, 0, 0])
    }
}
