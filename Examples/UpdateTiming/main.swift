// How long a 256 kB update takes on different kinds of links, in virtual time, and how fast it could be at best.
//
//   swift run UpdateTiming
//
// It takes no arguments.

import BLEDevices
import BLESimulator
import BLEStreams
import ConsoleOutput
import Glibc

let size = 256_000
let image = try FirmwareImage((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })

/// How long the update takes from its first PDU to its last one.
func measure(_ timing: LinkTiming, mtu: Int, _ kind: Link.WriteKind) async throws -> Duration {
    try await VirtualTime.run { time in
        let air = SimulatedAir(time)
        let near = air.adapter(settings: AdapterSettings(linkTiming: timing, maximumPDUSize: mtu))
        let far = air.adapter(settings: AdapterSettings(maximumPDUSize: mtu))
        let receiver = PlainFirmwareReceiver(model: 1, capacity: size, window: 32_768)
        let device = LocalPeripheral(name: "Updatable") { receiver.service }
        let central = try await Central.open(.radio(near))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await device.run(on: far) { try await receiver.run(on: $0) } }
            defer { group.cancelAll() }
            return try await central.peripheral(far.address).withLink { link in
                _ = try await link.discover()
                let begin = time.now
                try await link.run(FirmwareUpdateFlow(image, over: .plain(writing: kind)))
                return time.now - begin
            }
        }
    }
}

/// How long it would take on a link that is never idle and carries nothing else.
func ceiling(_ timing: LinkTiming, mtu: Int) -> Duration {
    let chunk = min(mtu - 3, 512)
    let octets = (timing.throughput(pduSize: chunk + 3) ?? .infinity) * Double(chunk) / Double(chunk + 3)
    return .seconds(Double(size) / octets)
}

func column(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
}

func row(_ name: String, _ time: Duration, _ best: Duration) {
    let seconds = time / .seconds(1)
    let tenths = Int((seconds * 10).rounded())
    let rate = Int(Double(size) / seconds)
    let share = Int((best / time * 1000).rounded())
    print(
        name + String(repeating: " ", count: max(0, 34 - name.count)) + column("\(tenths / 10).\(tenths % 10) s", 10)
            + column("\(rate) B/s", 14) + column("\(share / 10).\(share % 10) %", 10)
    )
}

let links: [(name: String, timing: LinkTiming)] = [
    ("30 ms, 6 packets, 1M, 251 octets: what Linux asks for", .linux),
    ("7.5 ms, 2M, 251 octets: as fast as a radio goes", .fast),
    (
        "15 ms, 4 packets, 1M, 27 octets: no data length extension",
        LinkTiming(connectionInterval: .milliseconds(15), packetsPerEvent: 4, dataLength: 27)
    ),
]
if let wrong = CommandLine.arguments.dropFirst().first {
    printError("There is no argument '\(wrong)': UpdateTiming takes none.")
    exit(2)
}
print("An update of \(size) octets, in virtual time; the share is of the ceiling at the same MTU.")
for (name, timing) in links {
    print("\n\(name)")
    for (mtu, kind, text) in [
        (23, Link.WriteKind.withResponse, "MTU 23, with response"),
        (517, .withResponse, "MTU 517, with response"),
        (517, .withoutResponse, "MTU 517, without response"),
    ] {
        row(text, try await measure(timing, mtu: mtu, kind), ceiling(timing, mtu: mtu))
    }
    row("MTU 517, ceiling", ceiling(timing, mtu: 517), ceiling(timing, mtu: 517))
}
