import BLEProtocol
import BLEStreams
import CBenchmarks
import FoundationEssentials
import Glibc

/// Programs for the kernel lab: a C peripheral, plain C clients and streams as its centrals, a peripheral of the
/// library's, over L2CAP sockets of the kernel, and a scan. Each reception is one line of JSON.
///
///     Benchmarks --kernel peripheral LOCAL COUNT SIZE
///     Benchmarks --kernel plain LOCAL PEER COUNT PAUSE
///     Benchmarks --kernel streams ADAPTER PEER COUNT PAUSE
///     Benchmarks --kernel streams-on-radio ADAPTER PEER COUNT PAUSE
///     Benchmarks --kernel receive-on-radio ADAPTER PEER COUNT
///     Benchmarks --kernel server ADAPTER COUNT SUBSCRIBERS
///     Benchmarks --kernel requests KIND WHERE LOCAL PEER COUNT
///     Benchmarks --kernel scans ADAPTER WHERE ABSENT
///
/// `streams-on-radio` consumes on the radio's own thread, `receive-on-radio` too, by `receive`. `server` says `ready`,
/// and sends COUNT numbers of 20 octets to all as soon as so many have subscribed. LOCAL and PEER are public addresses,
/// PAUSE is in milliseconds after each thousand notifications. `requests` and `scans` are described where they are.
enum Kernel {
    static func run(_ arguments: [String]) async throws {
        switch arguments.first {
        case "requests": return try await request(Array(arguments.dropFirst()))
        case "scans": return try await scan(Array(arguments.dropFirst()))
        default: break
        }
        guard arguments.count >= 4, let last = UInt32(arguments[arguments.count - 1]) else { throw Usage() }
        switch (arguments[0], arguments.count) {
        case ("peripheral", 4):
            guard let count = UInt32(arguments[2]) else { throw Usage() }
            if CBenchmarks_serveKernel(arguments[1], count, Int32(last)) != 0 { throw failure }
        case ("plain", 5):
            guard let count = UInt32(arguments[3]) else { throw Usage() }
            var reception = CBenchmarks_Reception()
            if CBenchmarks_receiveKernel(arguments[1], arguments[2], count, last * 1000, &reception) != 0 {
                throw failure
            }
            show(reception)
        case ("streams", 5), ("streams-on-radio", 5):
            guard let count = UInt32(arguments[3]) else { throw Usage() }
            let central = try await Central.open(.adapter(arguments[1]))
            let pause = Duration.milliseconds(Int(last))
            let executor = arguments[0] == "streams-on-radio" ? central.executor : nil
            let reception = try await withTaskExecutorPreference(executor) {
                try await receive(central, arguments[2], Int(count), pause: pause)
            }
            show(reception)
        case ("receive-on-radio", 4):
            let central = try await Central.open(.adapter(arguments[1]))
            show(
                try await withTaskExecutorPreference(central.executor) {
                    try await receiveEach(central, arguments[2], Int(last))
                }
            )
        case ("server", 4):
            guard let count = UInt32(arguments[2]) else { throw Usage() }
            try await serve(arguments[1], count, subscribers: Int(last))
        default: throw Usage()
        }
    }

    private static func serve(_ adapter: String, _ count: UInt32, subscribers: Int) async throws {
        let peripheral = LocalPeripheral(name: "Benchmarks") {
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(numbers, [.notify]) }
        }
        try await peripheral.run(on: .adapter(adapter)) { server in
            say("ready")
            var waiting = subscribers
            for try await change in server.subscriptions(of: numbers) where change.isSubscribed {
                waiting -= 1
                if waiting == 0 { break }
            }
            // Each at its own pace, however slow the air is: to all at once no value waits for more than 10 s.
            try await withThrowingDiscardingTaskGroup { group in
                for central in server.centrals {
                    group.addTask {
                        for number in 0..<count {
                            let octets = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
                            try await server.notify(octets + [UInt8](repeating: 0, count: 16), of: numbers, to: central)
                        }
                    }
                }
            }
            // What waits is on its way yet.
            for try await _ in server.centralEvents {}
        }
    }

    @concurrent private static func receive(
        _ central: Central,
        _ peer: String,
        _ count: Int,
        pause: Duration
    ) async throws -> CBenchmarks_Reception {
        try await central.peripheral(peer + "/public").withLink(timeout: .seconds(60)) { link in
            var tally = Tally(count)
            let values = link.notifications(of: numbers, buffer: .unbounded)
            do {
                for try await value in values.timeout(.seconds(10)) {
                    let isThousandth = tally.add(value)
                    if tally.isComplete { break }
                    if isThousandth {
                        if pause > .zero { try await Task.sleep(for: pause) }
                        if Int(tally.reception.received) + link.droppedPDUs >= count { break }
                    }
                }
            } catch let error as BLEError where error.code == .timedOut {
                // What the kernel dropped last it tells with what it takes next.
                _ = try await link.read(.handle(UInt16(CBenchmarks_writableHandle)))
            }
            tally.reception.dropped = UInt32(link.droppedPDUs)
            return tally.reception
        }
    }

    @concurrent private static func receiveEach(
        _ central: Central,
        _ peer: String,
        _ count: Int
    ) async throws -> CBenchmarks_Reception {
        try await central.peripheral(peer + "/public").withLink(timeout: .seconds(60)) { link in
            var tally = Tally(count)
            let values = link.notifications(of: numbers, buffer: .unbounded)
            do {
                try await values.timeout(.seconds(10)).receive { value in
                    _ = tally.add(value)
                    if tally.isComplete { throw Complete() }
                }
            } catch is Complete {}
            tally.reception.dropped = UInt32(link.droppedPDUs)
            return tally.reception
        }
    }

    /// The values that were received so far.
    private struct Tally {
        var reception = CBenchmarks_Reception()
        private let count: Int
        private var (begin, beginOfWork): (UInt64, UInt64) = (0, 0)
        private var last: Int64 = -1

        init(_ count: Int) {
            self.count = count
            reception.isInOrder = true
        }

        var isComplete: Bool { reception.received == count }

        /// Counts a value; returns whether it was a thousandth one.
        mutating func add(_ value: CharacteristicValue) -> Bool {
            let number = Int64(value[0]) | Int64(value[1]) << 8 | Int64(value[2]) << 16 | Int64(value[3]) << 24
            if number <= last { reception.isInOrder = false }
            last = number
            if reception.received == 0 {
                begin = CBenchmarks_now()
                beginOfWork = CBenchmarks_processorTime()
            }
            reception.received += 1
            let isThousandth = reception.received % 1000 == 0
            if isThousandth || isComplete {
                reception.nanoseconds = CBenchmarks_now() - begin
                reception.processorNanoseconds = CBenchmarks_processorTime() - beginOfWork
            }
            return isThousandth
        }
    }

    private static let numbers = BluetoothUUID(0xA001)

    private struct Complete: Error {}

    private static func show(_ reception: CBenchmarks_Reception) {
        let work = Double(reception.processorNanoseconds) / 1000 / Double(max(1, reception.received))
        let rate = Double(reception.received) / (Double(max(1, reception.nanoseconds)) / 1e9)
        print(
            """
            {"received":\(reception.received),"dropped":\(reception.dropped),"inOrder":\(reception.isInOrder),\
            "rate":\(rate),"processorMicroseconds":\(work)}
            """
        )
    }

    static var failure: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    struct Usage: Error {}
}
