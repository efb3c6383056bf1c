// Compares streams with plain C loops over the same kind of socket, in the same run.
//
//   swift run -c release Benchmarks [--runs N] [--json]
//
// Ratios are of medians: 1 means as fast as the C loop, 0.5 half as fast. Times on a busy machine say little; ratios
// of runs that took turns say more.

import BLELinux
import BLEStreams
import CBenchmarks
import Glibc

let arguments = CommandLine.arguments
let runs = arguments.firstIndex(of: "--runs").flatMap { Int(arguments[$0 + 1]) } ?? 7
let loop = try EventLoop(name: "benchmarks")

/// One link over a fresh socket pair.
func withLink<Output>(
    notifications count: UInt32 = 0,
    size: Int32 = 20,
    _ body: (Link) async throws -> Output
) async throws -> Output {
    let peer = try Peer(notifications: count, size: size)
    let central = try await Central.open(.radio(SocketPairRadio(end: peer.near, loop: loop)))
    return try await central.peripheral(SocketPairRadio.peer).withLink { link in
        _ = try await link.discover()
        return try await body(link)
    }
}

/// Nanoseconds from the first notification to the last one, through `for try await`.
nonisolated func receive(_ count: UInt32, _ size: Int32) async throws -> UInt64 {
    try await withLink(notifications: count, size: size) { link in
        var received: UInt32 = 0
        var begin: UInt64 = 0
        for try await value in link.notifications(of: BluetoothUUID(0xA001)) {
            precondition(value.count == Int(size), "a notification was cut")
            if received == 0 { begin = CBenchmarks_now() }
            received += 1
            if received == count { break }
        }
        return CBenchmarks_now() - begin
    }
}

@concurrent func receiveElsewhere(_ count: UInt32, _ size: Int32) async throws -> UInt64 {
    try await receive(count, size)
}

@concurrent func readElsewhere(_ count: UInt32) async throws -> UInt64 {
    try await withLink { link in
        let begin = CBenchmarks_now()
        for _ in 0..<count { _ = try await link.read(handle: UInt16(CBenchmarks_readableHandle)) }
        return CBenchmarks_now() - begin
    }
}

func plain(_ measure: (Int32) -> UInt64, notifications count: UInt32 = 0, size: Int32 = 20) throws -> UInt64 {
    let peer = try Peer(notifications: count, size: size)
    defer { close(peer.near) }
    return measure(peer.near)
}

var measurements: [Measurement] = []

for size in [20, 244] as [Int32] {
    let count: UInt32 = 200_000
    var elsewhere = Measurement("notifications of \(size) octets", unit: "notification", count: Int(count))
    var onMain = Measurement("the same on the main actor", unit: "notification", count: Int(count))
    for _ in 0..<runs {
        let reference = try plain({ CBenchmarks_receive($0, count) }, notifications: count, size: size)
        elsewhere.add(ours: try await receiveElsewhere(count, size), plain: reference)
        onMain.add(ours: try await receive(count, size), plain: reference)
    }
    measurements += [elsewhere, onMain]
}

let reads: UInt32 = 20_000
var roundTrips = Measurement("reads, one after the other", unit: "read", count: Int(reads))
for _ in 0..<runs {
    let reference = try plain { CBenchmarks_read($0, reads) }
    roundTrips.add(ours: try await readElsewhere(reads), plain: reference)
}
measurements.append(roundTrips)

if arguments.contains("--json") {
    for measurement in measurements { print(measurement.json) }
} else {
    print("\(runs) runs each                                   per second      plain C   ratio   of single runs")
    for measurement in measurements { print(measurement.row) }
}
