import BLEStreams

/// Publishes advertisements.
struct Advertisements {
    /// The pauses after a scan has failed, in seconds.
    private static let pause = 10

    let settings: Configuration.Advertisements
    let publisher: Publisher

    /// Scans until the task is cancelled.
    func run(_ central: Central) async {
        let trouble = LastingError(publisher.report)
        while !Task.isCancelled {
            do {
                try await scan(central, trouble)
            } catch is CancellationError {
                return
            } catch {
                trouble.tell("advertisements: \(gatewayWords(for: error))")
                try? await Task.sleep(for: .seconds(Self.pause))
            }
        }
    }

    private func scan(_ central: Central, _ trouble: LastingError) async throws {
        var hasBegun = false
        var recent = RecentAdvertisements(window: settings.window)
        let filters = settings.services.map { ScanFilter.service($0) }
        for try await item in central.scan(for: filters, duplicates: true).withGaps() {
            if !hasBegun { trouble.end() }
            hasBegun = true
            switch item {
            case .value(let discovery):
                let payload = discovery.advertisement.bytes
                let time = discovery.time.sinceEpoch.seconds
                guard let repeats = recent.take(discovery.address, payload, at: time) else { continue }
                publish(discovery, payload, repeats)
            case .gap(let gap):
                publisher.publish("gap/advertisements", .object(("dropped", .number(gap.dropped))))
            }
        }
    }

    private func publish(_ discovery: Discovery, _ payload: [UInt8], _ repeats: Int) {
        let members: [(String, JSONText?)] = [
            ("address", .string("\(discovery.address)")), ("kind", .string(discovery.address.kind.rawValue)),
            ("name", .text(discovery.name)), ("rssi", discovery.rssi.map { .number($0) }),
            ("connectable", .bool(discovery.isConnectable)),
            ("services", .array(discovery.services.map { .string("\($0)") })), ("payload", .hex(payload)),
            ("repeats", repeats == 0 ? nil : .number(repeats)), ("adapter", .text(discovery.adapter)),
        ]
        let known = members.compactMap { key, value in value.map { (key, $0) } }
        publisher.publish("advertisement/\(discovery.address)", .object(known + discovery.time.members))
    }
}
