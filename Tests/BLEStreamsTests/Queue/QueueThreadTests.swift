import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// Commands that are enqueued and cancelled on real threads, on links that break.
@Suite(.timeLimit(.minutes(10))) struct QueueThreadTests {
    private typealias Handle = CommandQueue.Handle<Void>

    private static func command(_ number: Int, _ inside: AtomicCount, _ wrong: AtomicCount) -> CommandBlock<Void> {
        CommandBlock("work \(number)") { context in
            if inside.add() != 1 { wrong.add() }
            defer { inside.add(-1) }
            _ = try await context.link.read(BluetoothUUID(0xA001))
        }
    }

    @Test(arguments: Stress.seeds(8))
    func `every handle ends once, one command runs at a time, and what is left ends with the queue`(
        seed: UInt64
    ) async throws {
        let radio = ThreadedRadio(seed: seed)
        let central = try await Central.open(.radio(radio))
        let (inside, wrong) = (AtomicCount(), AtomicCount())
        let handles = Mutex<[Handle]>([])
        try await central.peripheral(ThreadedRadio.peer(0)).withQueue { queue in
            let queue = queue.connecting()
            await Stress.onThreads(6) { number in
                var chance = Chance(seed: seed &* 100 &+ UInt64(number))
                for turn in 0..<12 {
                    let deadline: Duration? = chance.below(4) == 0 ? .seconds(chance.below(60)) : nil
                    let priority = CommandQueue.Priority(rawValue: chance.below(3))
                    let command = Self.command(number * 100 + turn, inside, wrong)
                    let handle = queue.enqueue(command, priority: priority, deadline: deadline)
                    handles.withLock { $0.append(handle) }
                    Stress.dawdle(&chance)
                    if chance.below(4) == 0 { handles.withLock { $0.randomElement(using: &chance) }?.cancel() }
                }
            }
            // Half of them end in their own time, the others with the queue.
            for handle in handles.withLock({ $0 }).prefix(36) { _ = try? await handle.value }
        }
        for handle in handles.withLock({ $0 }) {
            do {
                try await handle.value
            } catch {
                #expect(error is BLEError || error is CancellationError)
            }
        }
        #expect(wrong.value == 0 && inside.value == 0 && handles.withLock { $0.count } == 72)
        for link in radio.links { try await link.isOver.wait(on: PatientTimeline()) }
        #expect(radio.connecting.value == 0)
    }

    /// Keeps the number of commands that was told last.
    private final class Depth: EventHandler {
        private let told = Mutex<Int?>(nil)

        var last: Int? { told.withLock { $0 } }

        func handle(_ event: Central.Event) {
            if case .queue(let count) = event.kind { told.withLock { $0 = count } }
        }
    }

    @Test(arguments: Stress.seeds(8))
    func `the last number of commands that handlers are told is that of an empty queue`(seed: UInt64) async throws {
        let depth = Depth()
        let central = try await Central.open(.radio(ThreadedRadio(seed: seed)).reporting(to: depth))
        let handles = Recorder<Handle>()
        try await central.peripheral(ThreadedRadio.peer(0)).withQueue { queue in
            await Stress.onThreads(6) { number in
                for turn in 0..<40 {
                    let handle = queue.enqueue(CommandBlock<Void>("nothing") { _ in })
                    handles.add(handle)
                    if (turn + number).isMultiple(of: 3) { handle.cancel() }
                }
            }
            for handle in handles.all { _ = try? await handle.value }
        }
        #expect(depth.last == 0)
    }
}
