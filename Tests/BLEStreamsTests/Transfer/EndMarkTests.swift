import BLESimulator
import BLEStreams
import Testing

/// Messages with their end marks, from one end of a link to the other.
@Suite(.timeLimit(.minutes(10))) struct EndMarkTests {
    @Test func `a message of which a full chunk ends in the mark arrives whole`() async throws {
        // Chunks of 20 octets, of which the second one ends in "EOM".
        let message = String(repeating: "x", count: 37) + "EOM" + String(repeating: "y", count: 27)
        try await MessageBench.run(mtu: 23) { bench in
            let server = bench.server
            let received = try await bench.serving { central in
                try await server.send(message.utf8, of: MessageBench.outbound, to: central)
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage("EOM"))
                    .first()
            }
            #expect(String(decoding: received, as: UTF8.self) == message)
        }
    }

    @Test func `a message of which a chunk is the mark arrives whole`() async throws {
        // The last chunk would be "EOM", and the end of the message with it.
        let message = String(repeating: "x", count: 20) + "EOM"
        try await MessageBench.run(mtu: 23) { bench in
            let server = bench.server
            let received = try await bench.serving { central in
                try await server.send(message.utf8, of: MessageBench.outbound, to: central)
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: .endOfMessage("EOM"))
                    .first()
            }
            #expect(String(decoding: received, as: UTF8.self) == message)
        }
    }

    // MARK: - Both directions

    /// A message of few letters, in which the marks stand often.
    private static func message(_ random: inout Chance) -> [UInt8] {
        (0..<random.below(300)).flatMap { _ in [Array("EOM".utf8), [69], [79], [77], [88]][random.below(5)] }
    }

    private static let marks: [EndMark] = [
        .endOfMessage(), .endOfMessage(atEndOfChunk: "EOM"), .endOfMessage("EOMEOM"),
        .endOfMessage(atEndOfChunk: "MEOM"),
        .lengthPrefix(octets: 4),
    ]

    @Test(arguments: 1...24) func `random messages arrive as they were sent, in both directions`(seed: UInt64)
        async throws
    {
        var random = Chance(seed: seed)
        let messages = (0..<4).map { _ in Self.message(&random) }
        let mark = Self.marks[random.below(Self.marks.count)]
        try await MessageBench.run(mtu: 23 + random.below(495)) { bench in
            let server = bench.server
            let notified = try await bench.serving { central in
                for message in messages {
                    try await server.send(message, of: MessageBench.outbound, to: central, endingWith: mark)
                }
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound).assembled(until: mark).collect(4)
            }
            #expect(notified == messages, "\(mark)")

            async let written = server.writes(to: MessageBench.inbound).onEach { $0.accept() }.map(\.value)
                .assembled(until: mark).collect(4)
            for (number, message) in messages.enumerated() {
                let kind: Link.WriteKind = number.isMultiple(of: 2) ? .withResponse : .withoutResponse
                try await bench.link.send(message, to: MessageBench.inbound, endingWith: mark, kind)
            }
            #expect(try await written == messages, "\(mark)")
        }
    }

    @Test func `chunks carry no more than an attribute value holds, whatever the MTU`() async throws {
        let message = [UInt8](repeating: 7, count: 1500)
        try await MessageBench.run(mtu: 517) { bench in
            let server = bench.server
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await write in server.writes(to: MessageBench.inbound) { write.accept() } }
                defer { group.cancelAll() }
                try await bench.link.send(message, to: MessageBench.inbound, .withoutResponse)
                try await bench.link.send(message, to: MessageBench.inbound)
            }
            // Four of the one, four of the other; nothing was prepared.
            #expect(bench.chunks(from: .central).map(\.count) == [512, 512, 476, 3, 512, 512, 476, 3])
        }
    }

    @Test func `what can't be sent with its mark is refused before anything is sent`() async throws {
        try await MessageBench.run(mtu: 23) { bench in
            let server = bench.server
            let refused = Recorder<BLEError>()
            try await bench.serving { central in
                for (message, mark) in [
                    ("!", EndMark.endOfMessage("!")), ("x", .endOfMessage(String(repeating: "m", count: 21))),
                    ("a\nb", .delimiter("\n")), (String(repeating: "x", count: 256), .lengthPrefix(octets: 1)),
                    (String(repeating: "!", count: 30), .endOfMessage(atEndOfChunk: "!")),
                ] as [(String, EndMark)] {
                    let error = await bleError {
                        try await server.send(message.utf8, of: MessageBench.outbound, to: central, endingWith: mark)
                    }
                    if let error { refused.add(error) }
                }
                try await server.send("end".utf8, of: MessageBench.outbound, to: central)
            } _: {
                let values = bench.link.notifications(of: MessageBench.outbound)
                let message = try await values.assembled(until: .endOfMessage()).first()
                #expect(message == Array("end".utf8))
            }
            #expect(
                refused.all.map(\.code) == [
                    .invalidArgument, .overflow, .invalidArgument, .invalidArgument, .invalidArgument,
                ]
            )
            #expect(refused.all.allSatisfy { $0.operation == "send" && !$0.remedy.isEmpty })
            let written = await bleError {
                try await bench.link.send("!".utf8, to: MessageBench.inbound, endingWith: .endOfMessage("!"))
            }
            #expect(written?.code == .invalidArgument && bench.chunks(from: .central).isEmpty)
        }
    }

    @Test func `a message of a sender that puts the mark behind it is taken by the other name`() async throws {
        try await MessageBench.run(mtu: 23) { bench in
            let server = bench.server
            let received = try await bench.serving { central in
                // The message, cut after every twenty octets: the mark is split.
                for chunk in ["12345678901234567890", "123456789012345678EO", "M"] {
                    try await server.notify(Array(chunk.utf8), of: MessageBench.outbound, to: central)
                }
            } _: {
                try await bench.link.notifications(of: MessageBench.outbound)
                    .assembled(until: .endOfMessage(atEndOfChunk: "EOM")).first()
            }
            #expect(received.count == 38)
        }
    }
}
