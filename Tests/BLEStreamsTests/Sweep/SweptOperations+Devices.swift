import BLEDevices
import BLEProtocol
import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    /// What a program asks of devices that have what fewer have.
    static let ofDevices: [SweptOperation] = [
        onDevice("verify", within: .seconds(60)) { link, _ in try await verified(link.verify(writing: true)) },
        onDevice("verify against a declaration", within: .seconds(60)) { link, world in
            try await verified(link.verify(against: world.site.description))
        },
        onDevice("write a descriptor, and read it") { link, _ in
            let characteristics = try await link.discover().services.lazy.flatMap(\.characteristics)
            guard
                let descriptor = characteristics.first(where: { $0.uuid == SweepSite.described })?.descriptors
                    .first(where: { $0.uuid == BluetoothUUID(0x2901) })
            else { return "no descriptor" }
            try await link.write("Door".utf8, to: descriptor)
            return try await "\(link.read(descriptor))"
        },
        onDevice("write, signed") { link, _ in
            guard let key = SweepSite.signingKey else { return "no key" }
            try await link.write([1], to: SweepSite.signed, signedWith: key, counter: 7)
            return try await Array(link.read(Bench.readOnly)).description
        },
        onDevice("a serial line, both ways", within: .seconds(100)) { link, world in
            let line = link.bytes(of: .nordicUART)
            let message = SweepSite.message
            return try await withThrowingTaskGroup(of: String?.self) { group in
                group.addTask {
                    var returned: [UInt8] = []
                    for try await octet in line.incoming.timeout(.seconds(40)) {
                        if world.consumerLeaves { return "left" }
                        returned.append(octet)
                        if returned.count == message.count { break }
                    }
                    return "\(returned == message)"
                }
                group.addTask {
                    // The device listens once it knows of the subscription.
                    try await world.bench.time.sleep(for: .seconds(5))
                    try await line.write(message)
                    return nil
                }
                defer { group.cancelAll() }
                var result: String?
                while result == nil, let next = try await group.next() { result = next }
                return result ?? "none"
            }
        },
    ]

    private static func onDevice(
        _ name: String,
        within deadline: Duration = .seconds(45),
        _ body: @escaping @Sendable (Link, SweepWorld) async throws -> String
    ) -> SweptOperation {
        onLink(name, within: deadline, mtu: 185, site: SweepSite.uncommon, body)
    }

    /// What was found: a link that is lost, or an answer that doesn't come, ends a verification and is told by its last
    /// finding; what was verified before is as it should be all the same.
    private static func verified(_ findings: [Link.VerificationFinding]) -> String {
        let deviations = findings.filter { if case .failed = $0.kind { false } else { true } }
        return deviations.isEmpty ? "as declared" : deviations.map(\.description).joined(separator: "; ")
    }
}
