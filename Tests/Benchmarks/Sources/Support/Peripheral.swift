import BLELinux
import BLEStreams
import CBenchmarks
import FoundationEssentials
import Glibc

/// A C peripheral in a process of its own, and the near end of the socket to it.
struct PeripheralProcess: ~Copyable {
    /// Whoever uses it closes it, and the peripheral ends with that.
    let near: Int32
    private let process: pid_t

    init(notifications count: Int = 0, size: Int = 20) throws {
        var near: Int32 = -1
        process = CBenchmarks_startPeripheral(UInt32(count), Int32(size), &near)
        guard process > 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        self.near = near
    }

    /// Waits until it has ended, after its near end was closed.
    consuming func wait() { CBenchmarks_awaitPeripheral(process) }
}

/// One link over a fresh socket pair, with the services discovered.
func withLink<Output>(
    notifications count: Int = 0,
    size: Int = 20,
    onItsThread: Bool = false,
    _ body: (Link) async throws -> Output
) async throws -> Output {
    let peripheral = try PeripheralProcess(notifications: count, size: size)
    let radio = SocketPairRadio(end: peripheral.near, loop: try EventLoop(name: "benchmarks"))
    let central = try await Central.open(.radio(radio))
    let output = try await withTaskExecutorPreference(onItsThread ? central.executor : nil) {
        try await central.peripheral(SocketPairRadio.peer).withLink { link in
            _ = try await link.discover()
            return try await body(link)
        }
    }
    peripheral.wait()
    return output
}

/// A plain C loop over a fresh socket pair.
func plain(
    notifications count: Int = 0,
    size: Int = 20,
    _ measure: (Int32) -> UInt64
) throws -> UInt64 {
    let peripheral = try PeripheralProcess(notifications: count, size: size)
    let nanoseconds = measure(peripheral.near)
    close(peripheral.near)
    peripheral.wait()
    guard nanoseconds > 0 else { throw PlainLoopFailed() }
    return nanoseconds
}

/// A C loop got something else than it had asked for.
struct PlainLoopFailed: Error {}

/// What a body allocates, for each of `count` elements.
func allocations(of count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let before = CBenchmarks_allocations()
    CBenchmarks_countAllocations(true)
    defer { CBenchmarks_countAllocations(false) }
    try await body()
    return Double(CBenchmarks_allocations() - before) / Double(count)
}
