import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// A link ends before the kernel pairs, for a bond or for better keys, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct EndBeforePairingTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var number: UInt16 { run.kernel.central }

    /// As while another program has its turn as bluetoothd's agent, the adapter isn't prepared for the pairing yet: the
    /// kernel would look for the peer anew then, for nothing or to pair over a link that nobody has.
    /// The Security Manager, which drops the link after a step that took too long, has no part in it then: another
    /// program may have dropped it.
    @Test(
        arguments: [true, false],
        [(1, .supervisionTimeout), (2, .closedLocally)] as [(UInt8, DisconnectReason.Kind)]
    )
    func `the end of a link that comes before the kernel pairs is told at once`(
        _ isAnew: Bool,
        end told: (reason: UInt8, kind: DisconnectReason.Kind)
    ) async throws {
        let (number, radio) = (number, try run.radio())
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        run.kernel.with { _ = $0.adapters[number]?.silent.insert(0x04) }
        let outcomes = FakeRun.Collector<Result<Bond?, BLEError>>()
        let raising =
            isAnew
            ? end.link.raise(to: .authenticated, asking: .accepting) { outcomes.add($0) }
            : radio.pair(with: .example, asking: .accepting) { outcomes.add($0) }
        await run.kernel.idle()
        run.kernel.with { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: told.reason) }
        }
        await run.kernel.idle()
        run.kernel.with { $0.answerInformation(of: number) }
        let began = run.timeline.now
        let outcome = try await outcomes.first("raising", in: run) { $0 }
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.code == .disconnected && error.reason?.kind == told.kind && !error.isFinal, "\(error)")
        #expect(run.timeline.now - began < .seconds(1))
        raising.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// The end is among events that were lost.
    @Test func `the end of a link that isn't told is noticed where its keys are to be made better`() async throws {
        let (number, radio) = (number, try run.radio())
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        run.kernel.with { _ = $0.adapters[number]?.silent.insert(0x04) }
        let outcomes = FakeRun.Collector<Result<Bond?, BLEError>>()
        let raising = end.link.raise(to: .authenticated, asking: .accepting) { outcomes.add($0) }
        await run.kernel.idle()
        await run.kernel.lose(on: number) { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, reason: 1) }
        }
        run.kernel.with { $0.answerInformation(of: number) }
        let outcome = try await outcomes.first("raising", in: run) { $0 }
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.code == .disconnected && !error.isFinal, "\(error)")
        raising.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// As while the store of bonds was being read from a slow disk.
    @Test func `a link that has ended already tells why it has`() async throws {
        let (number, radio) = (number, try run.radio())
        let end = FakeRun.End(try await run.connect(radio, to: .example))
        await run.kernel.idle()
        run.kernel.with { state in
            if let link = state.link(of: number, with: .example) { state.end(link.socket, error: ETIMEDOUT, reason: 1) }
        }
        await run.kernel.idle()
        let outcomes = FakeRun.Collector<Result<Bond?, BLEError>>()
        let raising = end.link.raise(to: .authenticated, asking: .accepting) { outcomes.add($0) }
        let outcome = try await outcomes.first("raising", in: run) { $0 }
        let error = try #require(#expect(throws: BLEError.self) { try outcome.get() })
        #expect(error.code == .disconnected && error.reason?.kind == .supervisionTimeout, "\(error)")
        raising.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }
}

extension FakeState {
    /// Answers the question for the adapter's settings, which was left open.
    fileprivate mutating func answerInformation(of number: UInt16) {
        adapters[number]?.silent = []
        let packet: [UInt8] = [0x04, 0, UInt8(number & 0xFF), UInt8(number >> 8), 0, 0]
        for (descriptor, object) in objects {
            if case .control? = object.hci?.channel { command(packet, from: descriptor) }
        }
    }
}
