import BLESimulator
import BLEStreams
import Testing

extension Acceptance {
    /// A message in chunks that ends with a mark, in both roles.
    @Suite("Chunked transfer", .timeLimit(.minutes(10))) struct ChunkedTransfer {
        /// With the mark inside, and at the end of a chunk.
        private static let message = Array(String(repeating: "0123456789 EOM ", count: 300).utf8)

        @Test(arguments: [23, 185, 517]) func `a central takes a message from a peripheral`(mtu: Int) async throws {
            try await MessageBench.run(mtu: mtu) { bench in
                let received = try await bench.serving {
                    try await bench.server.send(Self.message, of: MessageBench.outbound, to: $0)
                } _: {
                    try await bench.link.notifications(of: MessageBench.outbound)
                        .assembled(until: .endOfMessage("EOM"))
                        .timeout(.seconds(30))
                        .first()
                }
                #expect(received == Self.message)
                let chunks = bench.chunks(from: .peripheral)
                #expect(chunks.last == Array("EOM".utf8) && chunks.dropLast().allSatisfy { $0 != Array("EOM".utf8) })
                #expect(chunks.allSatisfy { $0.count <= min(mtu - 3, 512) })
            }
        }

        @Test(arguments: [23, 517]) func `a peripheral takes a message from a central`(mtu: Int) async throws {
            try await MessageBench.run(mtu: mtu) { bench in
                try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    let server = bench.server
                    group.addTask {
                        let chunks = server.writes(to: MessageBench.inbound).map { write in
                            write.accept()
                            return write.value
                        }
                        return try await chunks.assembled(until: .endOfMessage("EOM")).first()
                    }
                    try await bench.link.send(Self.message, to: MessageBench.inbound)
                    let received = try await group.next()
                    #expect(received == Self.message)
                }
            }
        }

        @Test func `a link that is lost in the middle is an error, and nothing is taken for a whole message`()
            async throws
        {
            try await MessageBench.run(mtu: 23) { bench in
                bench.air.faults.add(.dropLink(after: 20, .notifications))
                let error = await bleError {
                    _ = try await bench.serving {
                        try? await bench.server.send(Self.message, of: MessageBench.outbound, to: $0)
                    } _: {
                        try await bench.link.notifications(of: MessageBench.outbound)
                            .assembled(until: .endOfMessage("EOM")).first()
                    }
                }
                #expect(error?.code == .disconnected)
            }
        }
    }
}
