import BLEProtocol
import BLERadio

extension RadioClause {
    static let scanning = [
        RadioClause("a scan ends when it is cancelled, and another one begins", [.scanning]) { stage in
            let advertisement = try await stage.advertising()
            let first = Events { stage.central.scan(ScanRequest(), events: $0) }
            try await first.hears(stage.address)
            first.activity.cancel()
            try await stage.heardAgain()
            // Whatever was under way when it was cancelled is over by now.
            let heard = first.count
            try await stage.heardAgain()
            try RadioBreach.unless(first.count == heard, "a scan goes on after it was cancelled")
            advertisement.activity.cancel()
        },
        RadioClause("a second scan at the same time fails as busy, and the first goes on", [.scanning]) { stage in
            let first = Events { stage.central.scan(ScanRequest(), events: $0) }
            guard case .started = await first.next() else { throw RadioBreach("a scan does not begin") }
            let second = Events { stage.central.scan(ScanRequest(), events: $0) }
            let error = await second.first { if case .failed(let error) = $0 { error } else { nil } }
            try RadioBreach.unless(error?.code == .busy, "the second scan: \(error as Any)")
            let advertisement = try await stage.advertising()
            try await first.hears(stage.address)
            advertisement.activity.cancel()
            first.activity.cancel()
        },
    ]

    static let roles = [
        RadioClause("a second listener fails as busy, and one after the first does not", [.scanning]) { stage in
            let first = Events { stage.peripheral.listen(events: $0) }
            guard case .started = await first.next() else { throw RadioBreach("listening does not begin") }
            let second = Events { stage.peripheral.listen(events: $0) }
            let error = await second.first { if case .failed(let error) = $0 { error } else { nil } }
            try RadioBreach.unless(error?.code == .busy, "the second listener: \(error as Any)")
            first.activity.cancel()
            let third = Events { stage.peripheral.listen(events: $0) }
            guard case .started = await third.next() else { throw RadioBreach("listening does not begin again") }
            third.activity.cancel()
        },
        RadioClause("advertising that was cancelled can be begun again, and is heard", [.scanning]) { stage in
            try await stage.advertising().activity.cancel()
            let again = try await stage.advertising()
            try await stage.heardAgain()
            again.activity.cancel()
        },
    ]
}

extension RadioStage {
    /// A scan of its own that hears the peripheral.
    fileprivate func heardAgain() async throws {
        let scan = Events { central.scan(ScanRequest(), events: $0) }
        try await scan.hears(address)
        scan.activity.cancel()
    }
}

extension Events<ScanEvent> {
    /// Waits for an advertisement.
    fileprivate func hears(_ address: BluetoothAddress) async throws {
        let outcome = await first { event -> Result<Void, BLEError>? in
            switch event {
            case .started, .dropped: nil
            case .failed(let error): .failure(error)
            case .reports(let reports): reports.contains { $0.address == address } ? .success(()) : nil
            }
        }
        try outcome?.get()
    }
}
