import BLEStreams
import Testing

/// What a link knows of the reports that may be under way on it.
@Suite(.timeLimit(.minutes(10))) struct ReportTests {
    /// Does something with a command's context, and nothing with the device.
    private struct Asking: Command {
        let ask: @Sendable (CommandContext) throws -> [Bool]

        func run(in context: CommandContext) async throws -> [Bool] { try ask(context) }
    }

    private static let records = CharacteristicReference.handle(11)
    private static let others = CharacteristicReference.handle(12)

    private static func onLink(
        isResumed: Bool,
        _ body: @escaping @Sendable (Link) async throws -> Void
    ) async throws {
        try await ScriptedLink.run { time in
            let link = ScriptedLink(time, isResumed: isResumed) { request in
                switch request[0] {
                case 0x02: [(.milliseconds(10), [0x03, 0x05, 0x02])]
                case 0x04: [(.milliseconds(10), [0x01, 0x04, request[1], request[2], 0x0A])]
                default: []
                }
            }
            return [link]
        } _: { link, _ in
            try await body(link)
        }
    }

    @Test func `a report is alone until another one begins before its end, whichever command began it`() async throws {
        try await Self.onLink(isResumed: false) { link in
            let begin = Asking { [try $0.beginReport(of: Self.records)] }
            let first = try await link.run(begin)
            let second = try await link.run(begin)
            #expect(first == [true] && second == [false])
            let later = try await link.run(
                Asking { context in
                    let other = try context.beginReport(of: Self.others)
                    context.endReport(of: Self.records)
                    return [other, try context.beginReport(of: Self.records)]
                }
            )
            #expect(later == [true, true])
        }
    }

    /// How many reports the earlier program left can't be known: the end of one doesn't show that there is no other.
    @Test func `on a link that an earlier program has used no report is alone, not even behind the end of one`()
        async throws
    {
        try await Self.onLink(isResumed: true) { link in
            let alone = try await link.run(
                Asking { context in
                    let first = try context.beginReport(of: Self.records)
                    context.endReport(of: Self.records)
                    let (second, other) = (
                        try context.beginReport(of: Self.records), try context.beginReport(of: Self.others)
                    )
                    return [first, second, other]
                }
            )
            #expect(alone == [false, false, false])
        }
    }
}
