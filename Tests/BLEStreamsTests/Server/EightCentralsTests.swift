import BLESimulator
import BLEStreams
import Testing

/// As many centrals at once as an adapter has room for, each with a state of its own.
@Suite(.timeLimit(.minutes(10))) struct EightCentralsTests {
    private static let count = 8

    @Test func `eight centrals have their own subscriptions, and advertising goes on while there is room`() async throws
    {
        let heard = (0..<Self.count).map { _ in Recorder<[UInt8]>() }
        let received = (0..<Self.count).map { _ in Recorder<UInt8>() }
        let isOver = Flag()
        try await Bench.run(centrals: Self.count) { server, bench in
            // Each comes only once it was seen that the one before left room.
            for number in 1...Self.count {
                while server.centrals.count < number { try await bench.time.sleep(for: .milliseconds(100)) }
            }
            while true {
                let subscribed = try server.notify([0], of: Bench.notifying, buffer: .unbounded).count
                if subscribed == Self.count / 2 { break }
                try await bench.time.sleep(for: .seconds(1))
            }
            for (number, central) in server.centrals.enumerated() where number.isMultiple(of: 2) {
                try await server.notify([UInt8(100 + number)], of: Bench.notifying, to: central)
            }
            #expect(server.centrals.count { $0.notifications.offered > 0 } == Self.count / 2)
            let odd = server.centrals[1]
            let error = await bleError { try await server.notify([1], of: Bench.notifying, to: odd) }
            #expect(error?.code == .notSupported)
            isOver.set()
            for try await _ in server.centralEvents {}
        } _: { bench in
            let watcher = try await Central.open(.radio(bench.air.adapter()))
            let address = bench.peripheralAdapter.address
            func isHeard() async throws -> Bool {
                let scan = watcher.scan(duplicates: true).filter { $0.address == address }
                do {
                    _ = try await scan.timeout(.seconds(5)).first()
                    return true
                } catch let error as BLEError where error.code == .timedOut { return false }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<Self.count {
                    #expect(try await isHeard(), "with \(number) connected")
                    let central = try await Central.open(.radio(bench.air.adapter()))
                    let isUp = Flag()
                    group.addTask {
                        try await central.peripheral(address).withLink { link in
                            // Values are the device's, states are the central's.
                            heard[number].add(Array(try await link.read(Bench.readable).bytes))
                            isUp.set()
                            if number.isMultiple(of: 2) {
                                for try await value in link.notifications(of: Bench.notifying) {
                                    received[number].add(value.bytes[value.bytes.startIndex])
                                }
                            } else {
                                while true { try await bench.time.sleep(for: .seconds(60)) }
                            }
                        }
                    }
                    while !isUp.isSet { try await bench.time.sleep(for: .milliseconds(100)) }
                }
                #expect(try await !isHeard(), "there is no room for a ninth")
                while !isOver.isSet { try await bench.time.sleep(for: .seconds(1)) }
                try await bench.time.sleep(for: .seconds(5))
                group.cancelAll()
            }
            // One has gone: there is room again.
            try await bench.time.sleep(for: .seconds(5))
            #expect(try await isHeard())
        }
        #expect(heard.allSatisfy { $0.all == [[1, 2, 3]] })
        for (number, recorder) in received.enumerated() {
            let own = recorder.all.filter { $0 != 0 }
            #expect(own == (number.isMultiple(of: 2) ? [UInt8(100 + number)] : []))
        }
    }
}
