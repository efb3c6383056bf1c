import BLELinux
import BLEProtocol
import BLERadio
import BLEStreams
import CBenchmarks
import Dispatch
import FoundationEssentials
import Glibc
import RadioDoubles
import Synchronization

/// The paths of ``Instructions`` beyond those of one PDU: what one value costs on its way through more of the library.
///
/// All of them run on one loop, also the tasks that they start: what several threads do is not the same twice.
extension Instructions {
    static let heartbeat = BluetoothUUID(0xA001)
    static let octets: [UInt8] = [0x1B, 3, 0] + [UInt8](repeating: 7, count: 20)

    /// Runs the closure with a link, on the thread of a loop.
    static func useOnLoop(_ body: @escaping @Sendable (Link, DirectLink) async throws -> Void) async throws {
        try await withTaskExecutorPreference(try EventLoop(name: "benchmarks")) { try await use(body) }
    }

    /// Notifications that come one at a time through a socket, each to a loop that waits for it: also the system calls
    /// of one that wakes the reader.
    static func receiveFromSocket(_ count: Int, onItsThread: Bool) async throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Missing() }
        let far = ends[1]
        // It answers what the subscription takes, sends one notification then, and waits.
        DispatchQueue(label: "peripheral").async { CBenchmarks_serve(far, 1, 20) }
        let loop = try EventLoop(name: "benchmarks")
        let radio = SocketPairRadio(end: ends[0], loop: loop, timeline: StillTimeline())
        let central = try await Central.open(.radio(radio))
        try await withTaskExecutorPreference(onItsThread ? central.executor : nil) {
            try await central.peripheral(SocketPairRadio.peer).withLink { link in
                var iterator = link.notifications(of: .handle(3), buffer: .unbounded).makeAsyncIterator()
                _ = try await iterator.next()
                for _ in 0..<count {
                    guard send(far, octets, octets.count, 0) == octets.count else { throw Missing() }
                    guard try await iterator.next() != nil else { throw Missing() }
                }
            }
        }
    }

    /// Indications, each confirmed before the next one comes.
    static func indicate(_ count: Int) async throws {
        try await useOnLoop { link, radio in
            var iterator = link.notifications(of: .handle(3), buffer: .unbounded).makeAsyncIterator()
            radio.afterSubscription = [octets]
            _ = try await iterator.next()
            let indication: [UInt8] = [0x1D] + octets.dropFirst()
            for _ in 0..<count {
                radio.bring([indication])
                guard try await iterator.next() != nil else { throw Missing() }
            }
        }
    }

    /// Values that are in the buffer when they are asked for, through operators.
    static func chain<Element>(
        _ count: Int,
        each size: Int = 1,
        last: [UInt8] = octets,
        _ operators: @escaping @Sendable (BLEStream<CharacteristicValue>) -> BLEStream<Element>
    ) async throws {
        try await useOnLoop { link, radio in
            _ = try await link.discover()
            let batch = 50
            var iterator = operators(link.notifications(of: .handle(3), buffer: .unbounded)).makeAsyncIterator()
            radio.afterSubscription = [last]
            _ = try await iterator.next()
            for _ in 0..<count / batch {
                for _ in 0..<batch / size {
                    radio.bring(Array(repeating: octets, count: size - 1) + [last])
                }
                for _ in 0..<batch / size {
                    guard try await iterator.next() != nil else { throw Missing() }
                }
            }
        }
    }

    /// Commands that do nothing, one after the other.
    static func queue(_ count: Int) async throws {
        try await useOnLoop { link, _ in
            try await link.withQueue { queue in
                for _ in 0..<count { try await queue.run(CommandBlock("nothing") { (_: CommandContext) in }) }
            }
        }
    }

    /// Values of a session's link.
    static func session(_ count: Int) async throws {
        try await withTaskExecutorPreference(try EventLoop(name: "benchmarks")) {
            let radio = DirectRadio()
            let central = try await Central.open(.radio(radio))
            radio.link.afterSubscription = [octets]
            try await central.withSession(Session.Plan(radio.link.peer)) { session in
                var iterator = session.notifications(of: heartbeat, buffer: .unbounded).makeAsyncIterator()
                _ = try await iterator.next()
                for _ in 0..<count {
                    radio.link.bring([octets])
                    guard try await iterator.next() != nil else { throw Missing() }
                }
            }
        }
    }

    /// Notifications of a server to one central.
    static func serve(_ count: Int) async throws {
        try await withTaskExecutorPreference(try EventLoop(name: "benchmarks")) {
            let peripheral = LocalPeripheral(name: "Benchmark") {
                LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(heartbeat, [.notify]) }
            }
            let radio = ServedRadio()
            try await peripheral.run(on: radio) { server in
                radio.connect()
                // Whichever of them is the configuration is written, the others refuse it.
                for handle in UInt8(1)...40 { radio.link.bring([[0x12, handle, 0, 1, 0]]) }
                guard let central = server.centrals.first else { throw Missing() }
                let value = [UInt8](repeating: 7, count: 20)
                for _ in 0..<count { try await server.notify(value, of: heartbeat, to: central) }
            }
        }
    }

    /// Reports that a scan takes no interest in, then one that it waits for.
    static func pass(_ count: Int) async throws {
        let loop = try EventLoop(name: "benchmarks")
        try await withTaskExecutorPreference(loop) {
            let central = try await Central.open(.radio(PassingRadio(count: count, loop: loop)))
            _ = try await central.scan(for: .service(.battery), duplicates: true).first()
        }
    }

    /// Advertisements of 200 devices, each of which one of five scans looks for.
    static func scan(_ count: Int) async throws {
        let loop = try EventLoop(name: "benchmarks")
        try await withTaskExecutorPreference(loop) {
            let radio = HearingRadio()
            let central = try await Central.open(.radio(radio))
            let filters: [ScanFilter] = [
                .service(.heartRate), .service(.battery), .namePrefix("Bench"), .manufacturer(0x0059, dataPrefix: [1]),
                .rssi(atLeast: -40),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for filter in filters {
                    let scan = central.scan(for: filter, duplicates: true).prefix(count / filters.count)
                    group.addTask { for try await _ in scan {} }
                }
                radio.hear(on: loop)
                try await group.waitForAll()
                radio.stop()
            }
        }
    }

    struct Missing: Error {}
}

/// A radio that hears 200 devices, each with the same advertisement again and again, until it is stopped.
private struct HearingRadio: IdleRadio {
    let timeline: any Timeline = StillTimeline()
    private let hearing = Hearing()

    private final class Hearing: Sendable {
        struct State {
            var tell: (@Sendable (ScanEvent) -> Void)?
            var isStopped = false
        }

        let state = Mutex(State())
    }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        hearing.state.withLock { $0.tell = events }
        events(.started)
        return RadioActivity {}
    }

    func stop() { hearing.state.withLock { $0.isStopped = true } }

    /// Hears 50 of them, and the next ones when others have had their turn.
    func hear(on loop: EventLoop, from first: Int = 0) {
        loop.enqueue {
            let (tell, isStopped) = hearing.state.withLock { ($0.tell, $0.isStopped) }
            if isStopped { return }
            tell?(.reports(Array(Self.reports[first..<first + 50])))
            hear(on: loop, from: (first + 50) % Self.reports.count)
        }
    }

    private static let reports = (0..<200).map { number in
        let kinds: [[UInt8]] = [
            [2, 1, 6, 3, 3, 0x0D, 0x18, 5, 9] + Array("Name".utf8), [2, 1, 6, 4, 0x16, 0x0F, 0x18, 90],
            [2, 1, 6, 9, 9] + Array("Bench 12".utf8), [2, 1, 6, 6, 0xFF, 0x59, 0, 1, 2, 3], [2, 1, 6],
        ]
        let kind = number % kinds.count
        return AdvertisingReport(
            address: BluetoothAddress(rawValue: 0xC4F2_1700_0000 + UInt64(number), kind: .random),
            rssi: kind == 4 ? -30 : -59,
            isConnectable: true,
            data: AdvertisingData(bytes: kinds[kind]),
            time: DirectLink.time
        )
    }
}

/// A radio on which one central connects.
private struct ServedRadio: IdleRadio {
    let link = DirectLink(answers: false)
    let timeline: any Timeline = StillTimeline()
    private let listener = Listener()

    private final class Listener: Sendable {
        struct Hearing { var tell: (@Sendable (ListenEvent) -> Void)? }

        let events = Mutex(Hearing())
    }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        listener.events.withLock { $0.tell = events }
        events(.started)
        return RadioActivity {}
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        events(.started)
        return RadioActivity {}
    }

    func connect() { listener.events.withLock { $0.tell }?(.accepted(link)) }
}

/// A radio that hears so many advertisements of heart-rate sensors, and then one of a battery.
private struct PassingRadio: IdleRadio {
    let count: Int
    let loop: EventLoop
    let timeline: any Timeline = StillTimeline()

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        let count = count
        loop.enqueue {
            events(.started)
            let reports = Array(repeating: Self.report(0x0D), count: 50)
            for _ in 0..<count / reports.count { events(.reports(reports)) }
            events(.reports([Self.report(0x0F)]))
        }
        return RadioActivity {}
    }

    private static func report(_ service: UInt8) -> AdvertisingReport {
        AdvertisingReport(
            address: SocketPairRadio.peer,
            rssi: -59,
            isConnectable: true,
            data: AdvertisingData(bytes: [2, 1, 6, 3, 3, service, 0x18]),
            time: DirectLink.time
        )
    }
}
