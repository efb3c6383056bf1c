import BLEDevices

/// A tour of the operators, over the notifications of one heart-rate sensor.
func operators(on adapter: AdapterChoice, _ words: [String]) async throws {
    try await Central.with(adapter) { central in
        let nearby = try await central.scan(for: .service(.heartRate)).prefix(for: .seconds(1)).collect()
        guard let sensor = nearby.first else { return print("No heart-rate sensor is near.") }
        try await sensor.peripheral.withLink { link in
            let beats = link.notifications(of: .heartRateMeasurement).map(\.beatsPerMinute)
            print("prefix:", try await beats.prefix(3).collect())
            print("filter:", try await beats.filter { $0.isMultiple(of: 2) }.first())
            print("dropFirst:", try await beats.dropFirst(2).prefix(2).collect())
            print("distinct:", try await beats.map { $0 / 3 }.distinct().prefix(3).collect())
            print("reductions:", try await beats.reductions(into: 0) { count, _ in count += 1 }.prefix(3).collect())
            print("movingAverage:", try await beats.map(Double.init).movingAverage(ofLast: 2).prefix(3).collect())

            let ticks = BLEStream<Int>.interval(.milliseconds(150))
            print("throttle:", try await beats.throttle(for: .milliseconds(200)).prefix(2).collect().count)
            print("zip:", try await beats.zip(with: ticks).map { "\($0)/\($1)" }.prefix(2).collect())
            print("combineLatest:", try await beats.combineLatest(with: ticks).prefix(3).collect().count)
            print("merge:", try await beats.map { _ in "beat" }.merge(with: ticks.map { _ in "tick" }).first())
            print("flatMap:", try await beats.flatMap { BLEStream([$0, -$0]) }.prefix(4).collect())
            print("take(until:):", try await beats.take(until: ticks.dropFirst(2)).collect().isEmpty ? "none" : "some")

            do {
                for try await _ in beats.filter({ $0 > 200 }).timeout(.milliseconds(300)) {}
            } catch let error as BLEError where error.code == .timedOut {
                print("timeout: no such beat for 300 ms")
            }
        }
        // The simulated sensor loses its link once: the stream continues after a gap.
        let stream = sensor.peripheral.stream { $0.notifications(of: .heartRateMeasurement) }
        for try await item in stream.retry(.constant(.milliseconds(100))).withGaps() {
            guard case .gap(let gap) = item else { continue }
            let cause = (gap.reason as? BLEError)?.cause
            return print("retry, withGaps: a gap, since \(cause ?? "values were dropped")")
        }
    }
}
