import BLESimulator
import BLEStreams
import Testing

/// Commands that also use another device's link, whose end says nothing about their own.
@Suite(.timeLimit(.minutes(10))) struct OtherLinkTests {
    @Test(arguments: [false, true])
    func `a flow that resumes ends at once if another link has ended, and begins anew if its own has`(
        isOwn: Bool
    ) async throws {
        try await Bench.run { bench in
            let other = try await bench.peripheral.withLink { $0 }
            let begins = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let flow = CommandBlock<Void>("flow") { context in
                    try await context.resuming(.constant(.seconds(1), attempts: 3)) {
                        begins.add(bench.time.now)
                        if isOwn {
                            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                            _ = try await context.read(Bench.readable)
                        } else {
                            _ = try await other.read(Bench.readable)
                        }
                    }
                }
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .disconnected && error?.operation == "read", "\(error?.description ?? "")")
            }
            #expect(begins.all.count == (isOwn ? 4 : 1))
        }
    }

    @Test func `a flow on a given link has the other link's error unchanged`() async throws {
        try await Bench.run { bench in
            let other = try await bench.peripheral.withLink { $0 }
            let unchanged = await bleError { _ = try await other.read(Bench.readable) }
            try await bench.peripheral.withLink { link in
                let flow = CommandBlock<Void>("flow") { context in
                    try await context.resuming { _ = try await other.read(Bench.readable) }
                }
                let error = await bleError { try await link.withQueue { try await $0.run(flow) } }
                #expect(error?.code == .disconnected && error?.remedy == unchanged?.remedy)
                try await link.expect(Bench.readOnly, reads: [7])
            }
        }
    }
}
