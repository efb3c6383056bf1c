import BLEProtocol
import BLERadio
import RadioDoubles
import Testing

@testable import BLEStreams

/// Links that are wanted, given up, shared and lost on real threads.
@Suite(.timeLimit(.minutes(10))) struct ConnectorStressTests {
    @Test(arguments: Stress.seeds(10))
    func `whoever comes is answered, and every link that was made has ended when the last has left`(
        seed: UInt64
    ) async throws {
        let radio = ThreadedRadio(seed: seed)
        let central = try await Central.open(.radio(radio))
        let (linked, failed, cancelled) = (AtomicCount(), AtomicCount(), AtomicCount())
        await withTaskGroup(of: Void.self) { group in
            for guest in 0..<12 {
                group.addTask { @concurrent in
                    var chance = Chance(seed: seed &* 100 &+ UInt64(guest))
                    for _ in 0..<8 {
                        let peripheral = central.peripheral(ThreadedRadio.peer(chance.below(3)))
                        let (isCancelled, pause) = (chance.below(3) == 0, chance.below(20))
                        let task = Task.detached {
                            try await peripheral.withLink { try await $0.read(BluetoothUUID(0xA001)) }
                        }
                        if isCancelled {
                            for _ in 0..<pause { await Task.yield() }
                            task.cancel()
                        }
                        switch await task.result {
                        case .success(let value):
                            #expect(value.bytes == [42])
                            linked.add()
                        case .failure(is CancellationError): cancelled.add()
                        case .failure(let error):
                            #expect(error is BLEError)
                            failed.add()
                        }
                    }
                }
            }
        }
        #expect(linked.value + failed.value + cancelled.value == 96 && linked.value > 0)
        for link in radio.links { try await link.isOver.wait(on: PatientTimeline()) }
        #expect(radio.connecting.value == 0)
    }
}
