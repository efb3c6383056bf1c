import BLEProtocol
import BLERadio
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// One link that many tasks use on real threads, while the peer answers, notifies and leaves on its own.
@Suite(.timeLimit(.minutes(10))) struct BearerStressTests {
    private static let first = BluetoothUUID(0xA001)

    private func withLink(
        _ seed: UInt64,
        _ body: @escaping @Sendable (Link, ThreadedLink) async throws -> Void
    ) async throws {
        let radio = ThreadedRadio(seed: seed, isReliable: true, timeline: PatientTimeline())
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(ThreadedRadio.peer(0)).withLink { link in
            guard let radioLink = radio.links.last else { return }
            try await body(link, radioLink)
        }
        for link in radio.links { try await link.isOver.wait(on: PatientTimeline()) }
    }

    /// What a task does again and again; each operation comes to an end.
    private static func work(_ link: Link, _ chance: inout Chance) async throws {
        switch chance.below(4) {
        case 0: #expect(try await link.read(BluetoothUUID(0xA002)).bytes == [42])
        case 1: _ = try await link.notifications(of: first).prefix(1 + chance.below(5)).collect()
        default: #expect(try await link.read(first).bytes == [42])
        }
    }

    @Test(arguments: Stress.seeds(10))
    func `every operation is answered, cancelled or told of the end`(seed: UInt64) async throws {
        let (ended, done) = (AtomicCount(), AtomicCount())
        try await withLink(seed) { link, radioLink in
            let values = Task.detached {
                while !radioLink.isOver.hasEnded {
                    radioLink.bring([[0x1B, 3, 0, 1]])
                    await Task.yield()
                    try? await Task.sleep(for: .microseconds(100))
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask { @concurrent in
                        var chance = Chance(seed: seed &* 100 &+ UInt64(number))
                        for turn in 0..<20 {
                            var own = Chance(seed: chance.next())
                            let task = Task { try await Self.work(link, &own) }
                            if chance.below(4) == 0 { task.cancel() }
                            if number == 7, turn == 15 { radioLink.disconnect() }
                            switch await task.result {
                            case .success: done.add()
                            case .failure(let error):
                                #expect(error is CancellationError || (error as? BLEError)?.code == .disconnected)
                                ended.add()
                            }
                        }
                    }
                }
            }
            await values.value
            await #expect(throws: BLEError.self) { _ = try await link.read(Self.first) }
        }
        #expect(done.value + ended.value == 240 && done.value > 0)
    }

    @Test(arguments: Stress.seeds(10))
    func `consumers that come and go miss nothing of what is notified meanwhile`(seed: UInt64) async throws {
        try await withLink(seed) { link, radioLink in
            let (isDone, next) = (Flag(), AtomicCount())
            let sender = Task.detached {
                while !isDone.isSet {
                    let number = UInt8(truncatingIfNeeded: next.add())
                    radioLink.bring([[0x1B, 3, 0, number]])
                    try? await Task.sleep(for: .microseconds(50))
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask { @concurrent in
                        var chance = Chance(seed: seed &* 100 &+ UInt64(number))
                        for _ in 0..<6 {
                            let stream = link.notifications(of: Self.first, buffer: .unbounded)
                            let values = try? await stream.prefix(1 + chance.below(20)).collect()
                            let numbers = (values ?? []).compactMap(\.bytes.first)
                            let pairs = zip(numbers, numbers.dropFirst())
                            #expect(!numbers.isEmpty && pairs.allSatisfy { $0 &+ 1 == $1 }, "\(numbers)")
                        }
                    }
                }
            }
            isDone.set()
            await sender.value
        }
    }
}
