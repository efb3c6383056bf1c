import BLEProtocol
import BLERadio
import BLEStreams
import CBenchmarks
import FoundationEssentials
import Glibc
import RadioDoubles

/// What a gateway's process weighs: sessions with 50 devices, which send, 500 devices of which it keeps the services,
/// and a scan that hears all of them.
///
/// The program runs itself, since what it has done before would count: once to fill the folder, then for each figure.
/// The radio is a double without sockets; for each link of the kernel's a descriptor comes on top.
struct Memory {
    private let suite = "memory"
    static let links = 50
    private static let known = 500

    func run(_ runs: Int) async throws -> [Row] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "Benchmarks-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try Self.child(folder)
        let figures = try (0..<runs).map { _ in try Self.child(folder) }
        return [
            Row(
                suite,
                "a gateway's process: 50 links, 500 devices known",
                .memory,
                figures.map(\.resident),
                goal: .atMost(25 * 1024 * 1024)
            ),
            Row(suite, "  a session of it, at rest", .memory, figures.map(\.session), goal: .atMost(8 * 1024)),
            Row(suite, "  the same process before its sessions", .memory, figures.map(\.before)),
            Row(
                suite,
                "  the heap's growth in a day of virtual time, 50 sensors",
                .memory,
                [try await Self.growthInADay()],
                goal: .atMost(16 * 1024)
            ),
        ]
    }

    private struct Figures: Codable {
        /// Resident, in octets, of the process; and before it had sessions.
        var resident: Double
        var before: Double
        /// Octets in use on the heap for each session.
        var session: Double
    }

    private static func child(_ folder: String) throws -> Figures {
        let text = try ChildProcess.output(of: try ChildProcess.itself, ["--gateway", folder])
        return try JSONDecoder().decode(Figures.self, from: Data(text.utf8))
    }

    // MARK: - The gateway

    /// Is the gateway, and prints what it weighs.
    static func beGateway(keeping folder: String) async throws {
        let radio = GatewayRadio()
        let central = try await Central.open(.radio(radio), store: PeerStore(folder: folder))
        if !FileManager.default.fileExists(atPath: folder) {
            for number in 0..<known {
                try await central.peripheral(GatewayRadio.address(number)).withLink { _ = try await $0.discover() }
            }
        }
        // The scan stays for as long as the iterator does.
        var heard = central.scan(duplicates: true).makeAsyncIterator()
        for _ in 0..<known { _ = try await heard.next() }
        let (heap, before) = (CBenchmarks_allocatedOctets(), resident)
        try await central.withFleet { fleet in
            let sessions = (0..<links).map { number in
                fleet.add(
                    Session.Plan(GatewayRadio.address(number)).subscribing(to: Instructions.heartbeat)
                )
            }
            var left = Set(sessions.map { ObjectIdentifier($0) })
            for try await value in fleet.values {
                left.remove(ObjectIdentifier(value.session))
                if left.isEmpty { break }
            }
            let octets = Double(Int(CBenchmarks_allocatedOctets()) - Int(heap)) / Double(links)
            let figures = Figures(resident: resident, before: before, session: octets)
            say(String(decoding: try JSONEncoder().encode(figures), as: UTF8.self))
        }
        // Not by asking for another report: none comes.
        withExtendedLifetime(heard) {}
    }

    /// Octets of this process that are in memory.
    private static var resident: Double {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(separator: " ").dropLast().last.flatMap { Double($0) } ?? 0) * 1024
    }
}

/// A radio to which all devices answer at once, and send one value when they are subscribed to.
private struct GatewayRadio: IdleRadio {
    let timeline: any Timeline = RealTimeline()

    static func address(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0xC4F2_1700_0000 + UInt64(number), kind: .random)
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let link = DirectLink(peer: peer)
        link.afterSubscription = [Instructions.octets]
        result(.success(link))
        return RadioActivity {}
    }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        events(.started)
        events(
            .reports(
                (0..<500).map { number in
                    AdvertisingReport(
                        address: Self.address(number),
                        rssi: -59,
                        isConnectable: true,
                        data: AdvertisingData(bytes: [2, 1, 6, 3, 3, 0x0D, 0x18, 12, 9] + Array("Heart Rate ".utf8)),
                        time: DirectLink.time
                    )
                }
            )
        )
        return RadioActivity {}
    }
}
