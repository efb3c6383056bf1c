import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    /// What a program asks of a link.
    static let ofLinks: [SweptOperation] = [
        onLink("discover", discovered: false) { link, _ in try await "\(link.discover().services.count)" },
        onLink("read, short") { link, _ in try await Array(link.read(Bench.readable)).description },
        onLink("read, long", mtu: 185) { link, _ in try await "\(Array(link.read(Bench.long)) == Bench.longValue)" },
        onLink("write") { link, _ in
            try await link.write([4, 5], to: Bench.readable)
            return "done"
        },
        onLink("write without response") { link, _ in
            try await link.write([4, 5], to: Bench.readable, .withoutResponse)
            return try await Array(link.read(Bench.readOnly)).description
        },
        onLink("write, long", mtu: 185) { link, _ in
            try await link.write([UInt8](repeating: 7, count: 512), to: Bench.long)
            return "done"
        },
        onLink("write, reliable", mtu: 185) { link, _ in
            try await link.write([UInt8](repeating: 7, count: 40), to: Bench.long, .reliable)
            return "done"
        },
        onLink("read several") { link, _ in
            let database = try await link.discover()
            let handles = [Bench.readable, Bench.readOnly].compactMap { uuid in
                database.services.lazy.flatMap(\.characteristics).first { $0.uuid == uuid }?.valueHandle
            }
            return try await link.read(handles: handles).map { Array($0) }.description
        },
        onLink("read all of a type") { link, _ in
            try await link.readAll(Bench.counter).map { Array($0.value) }.description
        },
        onLink("device name") { link, _ in try await link.deviceName() ?? "" },
        onLink("several operations, for themselves") { link, _ in
            try await link.exclusively { link in
                try await link.write([9], to: Bench.readable)
                return try await Array(link.read(Bench.readable)).description
            }
        },
        onLink("receive a message in chunks", mtu: 185) { link, _ in
            let message = try await link.notifications(of: SweepSite.outbound).assembled(until: .endOfMessage())
                .timeout(.seconds(40)).first()
            return "\(message == SweepSite.message)"
        },
        onLink("send a message in chunks", within: .seconds(100), mtu: 185) { link, _ in
            try await link.send(SweepSite.message, to: SweepSite.inbound)
            return "done"
        },
        onLink("pair", within: .seconds(100)) { link, _ in
            try await link.pair()
            return "done"
        },
        onLink("read what is protected, and pair for it", within: .seconds(100)) { link, _ in
            try await Array(link.answering(PairingAnswers()).read(SweepSite.secret)).description
        },
        onLink("notifications") { link, world in
            try await firstValues(of: link.notifications(of: Bench.notifying), world)
        },
        onLink("indications") { link, world in
            try await firstValues(of: link.notifications(of: Bench.indicating), world)
        },
    ]

    /// The first three values of a stream, or fewer, if whoever takes them leaves; for so long they are waited for.
    ///
    /// - Parameter resumed: whether they may come over several links: the peripheral counts anew on each.
    static func firstValues(
        of stream: BLEStream<CharacteristicValue>,
        _ world: SweepWorld,
        within limit: Duration = .seconds(40),
        resumed: Bool = false
    ) async throws -> String {
        var values: [UInt8] = []
        for try await value in stream.timeout(limit) {
            if world.consumerLeaves { return "left" }
            values += Array(value)
            if values.count == 3 { break }
        }
        return resumed ? "\(values.count) values" : values.description
    }
}
