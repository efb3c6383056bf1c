import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Responses that belong to no request, or to another one than the one that waits.
@Suite(.timeLimit(.minutes(10))) struct StrayResponseTests {
    /// A peer whose every attribute holds its own handle. It takes 10 ms to answer.
    private static func holdingHandles(_ request: [UInt8]) -> ScriptedLink.Answers {
        switch request[0] {
        case 0x02: [(.milliseconds(10), [0x03, 0x05, 0x02])]
        case 0x0A: [(.milliseconds(10), [0x0B, request[1]])]
        case 0x04: [(.milliseconds(10), [0x01, 0x04, request[1], request[2], 0x0A])]
        default: []
        }
    }

    /// Answers, with something else in front of the answer to the first read.
    private static func strayFirst(
        _ strays: [[UInt8]],
        onOpcode opcode: UInt8 = 0x0A
    ) -> @Sendable ([UInt8]) -> ScriptedLink.Answers {
        let isFirst = First()
        return { request in
            let mine = request[0] == opcode && isFirst.take()
            return (mine ? strays.map { (.milliseconds(1), $0) } : []) + holdingHandles(request)
        }
    }

    private final class First: Sendable {
        private let isFirst = Mutex(true)

        func take() -> Bool {
            isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
        }
    }

    @Test(
        arguments: [
            [[0x13]], [[0x09, 0x02, 0x01, 0x00]], [[0x01, 0x12, 0x0B, 0x00, 0x03]], [[0x01]], [[0x03, 0x17, 0x00]],
            [[0x01, 0x0A, 0x63, 0x00, 0x01]], [[0x13], [0x19], [0x0D, 1, 2], [0x01, 0x0C, 0x0B, 0x00, 0x07]],
        ] as [[[UInt8]]]
    )
    func `six reads at once get their own values though a stray response comes first`(strays: [[UInt8]]) async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.strayFirst(strays))]
        } _: { link, peer in
            let values = try await withThrowingTaskGroup(of: (UInt16, [UInt8]).self) { group in
                for handle in UInt16(11)...16 {
                    group.addTask { (handle, Array(try await link.read(.handle(handle)))) }
                }
                return try await group.reduce(into: [UInt16: [UInt8]]()) { $0[$1.0] = $1.1 }
            }
            for handle in UInt16(11)...16 { #expect(values[handle] == [UInt8(handle)], "handle \(handle)") }
            #expect(link.ignoredPDUs == strays.count)
            #expect(peer.sent.count { $0.first == 0x0A } == 6)
        }
    }

    @Test func `nothing leaves before the pending request is answered`() async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time) { request in
                    // The stray comes at once, the true answer takes a second.
                    request[0] == 0x0A
                        ? [(.milliseconds(1), [0x13]), (.seconds(1), [0x0B, request[1]])]
                        : Self.holdingHandles(request)
                }
            ]
        } _: { link, peer in
            async let first = link.read(.handle(21))
            async let second = link.read(.handle(22))
            let values = [Array(try await first), Array(try await second)]
            #expect(values == [[21], [22]])
            #expect(link.ignoredPDUs == 2)
        }
    }

    @Test func `without the answer the bearer ends after 30 s, whatever else has come`() async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time) { request in
                    request[0] == 0x0A ? [(.milliseconds(1), [0x13])] : Self.holdingHandles(request)
                }
            ]
        } _: { link, peer in
            let error = await bleError { _ = try await link.read(.handle(21)) }
            #expect(error?.code == .timedOut && error?.reason?.kind == .transactionTimeout)
            #expect(peer.sent.count { $0.first == 0x0A } == 1)
        }
    }

    @Test func `an error that names another handle counts where nothing better comes`() async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time) { request in
                    request == [0x0A, 21, 0]
                        ? [(.milliseconds(1), [0x01, 0x0A, 0x77, 0x77, 0x02])] : Self.holdingHandles(request)
                }
            ]
        } _: { link, _ in
            let error = await bleError { _ = try await link.read(.handle(21)) }
            #expect(error?.attError == .readNotPermitted)
            let next = try await link.read(.handle(22))
            #expect(Array(next) == [22])
        }
    }
}

// MARK: - A link that is taken over from an earlier program

extension StrayResponseTests {
    /// What an earlier program's request may be answered with: as a value of another handle, an error, a descriptor,
    /// the end of a discovery, and what we have not asked at all.
    @Test(
        arguments: [
            [0x0B, 0x99], [0x01, 0x0A, 0x0B, 0x00, 0x02], [0x05, 0x01, 0x0B, 0x00, 0x02, 0x29],
            [0x01, 0x04, 0x0C, 0x00, 0x0A], [0x03, 0x05, 0x02], [0x13],
        ] as [[UInt8]]
    )
    func `a late answer to an earlier program is not taken for ours`(late: [UInt8]) async throws {
        try await ScriptedLink.run { time in
            let answers = Self.strayFirst([late], onOpcode: 0x04)
            return [ScriptedLink(time, isResumed: true, answers)]
        } _: { link, peer in
            let value = try await link.read(.handle(11))
            #expect(Array(value) == [11])
            #expect(peer.sent == [[0x04, 0xFE, 0xFF, 0xFE, 0xFF], [0x02, 0x05, 0x02], [0x0A, 11, 0]])
            #expect(link.ignoredPDUs == 1 && link.mtu == 517)
        }
    }

    /// A peer that answers the second exchange of the MTU, but keeps to the first one: 48.
    private static func cuttingAt47(_ request: [UInt8]) -> ScriptedLink.Answers {
        let value = (0..<100).map { UInt8($0) }
        let part: [UInt8]
        switch request[0] {
        case 0x0A: part = [0x0B] + value.prefix(47)
        case 0x0C: part = [0x0D] + value.dropFirst(Int(request[3])).prefix(47)
        default: return holdingHandles(request)
        }
        return [(.milliseconds(10), part)]
    }

    @Test func `a value that the peer cuts by the MTU of an earlier program is read to its end`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, isResumed: true, Self.cuttingAt47)]
        } _: { link, peer in
            let value = try await link.read(.handle(11))
            #expect(Array(value) == (0..<100).map { UInt8($0) } && link.mtu == 517)
            #expect(peer.sent.count { $0.first == 0x0C } == 2)
        }
    }

    @Test func `a peer that leaves the second exchange of the MTU unanswered is used with 23`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, isResumed: true) { $0[0] == 0x02 ? [] : Self.holdingHandles($0) }]
        } _: { link, peer in
            let value = try await link.read(.handle(11))
            #expect(Array(value) == [11] && link.mtu == 23)
        }
    }

    @Test(arguments: [[0x19], [0x01, 0x18, 0x00, 0x00, 0x06]] as [[UInt8]])
    func `what an earlier program has prepared is discarded once, before a value is written in parts`(
        answer: [UInt8]
    ) async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time, isResumed: true) { request in
                    switch (request[0], request[1]) {
                    case (0x02, _): [(.milliseconds(10), [0x03, 0x17, 0x00])]
                    case (0x16, _): [(.milliseconds(10), [0x17] + request.dropFirst())]
                    case (0x18, 0): [(.milliseconds(10), answer)]
                    case (0x18, _): [(.milliseconds(10), [0x19])]
                    default: Self.holdingHandles(request)
                    }
                }
            ]
        } _: { link, peer in
            for _ in 0..<2 { try await link.write([UInt8](repeating: 7, count: 30), to: .handle(11)) }
            let written = peer.sent.filter { [0x16, 0x18].contains($0[0]) }.map { Array($0.prefix(2)) }
            let one: [[UInt8]] = [[0x18, 0], [0x16, 11], [0x16, 11], [0x18, 1]]
            #expect(written == one + one.dropFirst())
        }
    }

    @Test(arguments: [0x04, 0x02] as [UInt8])
    func `a peer that breaks off such a link is connected to afresh`(opcode: UInt8) async throws {
        try await ScriptedLink.run { time in
            [
                ScriptedLink(time, isResumed: true, endsOn: opcode, Self.holdingHandles),
                ScriptedLink(time, Self.holdingHandles),
            ]
        } _: { link, peer in
            #expect(link.mtu == 517)
            let value = try await link.read(.handle(11))
            #expect(Array(value) == [11])
            #expect(peer.sent.first == [0x02, 0x05, 0x02])
        }
    }

    @Test func `on a fresh link nothing is asked before the exchange of the MTU`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.holdingHandles)]
        } _: { link, peer in
            _ = try await link.read(.handle(11))
            #expect(peer.sent == [[0x02, 0x05, 0x02], [0x0A, 11, 0]])
        }
    }
}
