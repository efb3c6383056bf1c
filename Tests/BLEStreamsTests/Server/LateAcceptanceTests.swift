import BLESimulator
import BLEStreams
import Testing

/// Writes that the program accepts after their central was refused.
@Suite(.timeLimit(.minutes(10))) struct LateAcceptanceTests {
    @Test func `a write tells whether it was accepted in time`() async throws {
        let accepted = Recorder<Bool>()
        try await Bench.run { server, bench in
            var pause = Duration.seconds(25)
            for try await write in server.writes(to: Bench.dynamic) {
                #expect(!write.wasAccepted)
                try await bench.time.sleep(for: pause)
                write.accept()
                accepted.add(write.wasAccepted)
                pause = .seconds(5)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                #expect(await bleError { try await link.write([1], to: Bench.dynamic) }?.attError == .unlikely)
                // The program takes this one once it is done with the former.
                try await link.write([1], to: Bench.dynamic)
            }
        }
        #expect(accepted.all == [false, true])
    }

    @Test func `a write whose central has left meanwhile is not accepted`() async throws {
        let accepted = Recorder<Bool>()
        try await Bench.run { server, bench in
            for try await write in server.writes(to: Bench.dynamic) {
                try await bench.time.sleep(for: .seconds(8))
                write.accept()
                accepted.add(write.wasAccepted)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.write([1], to: Bench.dynamic, timeout: .seconds(1)) }
                #expect(error?.code == .timedOut)
            }
            try await bench.time.sleep(for: .seconds(20))
        }
        #expect(accepted.all == [false])
    }

    @Test func `a write that is rejected is not accepted, and one that waits for no answer is`() async throws {
        let accepted = Recorder<Bool>()
        try await Bench.run { server, _ in
            for try await write in server.writes() {
                write.reject(.valueNotAllowed)
                write.accept()
                accepted.add(write.wasAccepted)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.write([1], to: Bench.dynamic) }
                #expect(error?.attError == .valueNotAllowed)
                try await link.write([1, 2], to: Bench.readable)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(accepted.all == [false, true])
    }
}
