import BLEProtocol
import BLERadio

extension RadioClause {
    static let adapter = [
        RadioClause("the adapter's state is told at once, as it is", []) { stage in
            let states = Events { stage.central.observeAdapter($0) }
            let told = await states.next()
            try RadioBreach.unless(told == stage.central.adapterInfo, "\(told as Any) is told first")
        },
        RadioClause("what begins while the adapter is off fails, and says so", [.power]) { stage in
            let states = try await stage.switchedOff()
            try await stage.failures(in: .adapterPoweredOff)
            try await stage.power?(true)
            let isOn = await states.first { $0.state == .poweredOn ? true : nil }
            try RadioBreach.unless(isOn == true, "nobody is told that the adapter is on again")
        },
        RadioClause("switching off ends a scan, a listener and a link, each with a reason", [.power, .linking]) {
            stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            let receiver = LinkRecorder()
            pair.here.start(receiver)
            let scan = Events { stage.central.scan(ScanRequest(), events: $0) }
            let listener = Events { stage.central.listen(events: $0) }
            guard case .started = await scan.next(), case .started = await listener.next() else {
                throw RadioBreach("a scan or a listener does not begin")
            }
            try await stage.power?(false)
            let scanError = await scan.first { if case .failed(let error) = $0 { error } else { nil } }
            try RadioBreach.unless(scanError?.code == .adapterPoweredOff, "the scan: \(scanError as Any)")
            let listenError = await listener.first { if case .failed(let error) = $0 { error } else { nil } }
            try RadioBreach.unless(listenError?.code == .adapterPoweredOff, "the listener: \(listenError as Any)")
            let reason = await receiver.untilEnd().reason
            try RadioBreach.unless(reason != nil && pair.here.send([0x0A, 1, 0]) == .ended, "the link goes on")
            try await stage.power?(true)
        },
    ]
}

extension RadioStage {
    /// Switches the central's adapter off, and waits until that is told.
    fileprivate func switchedOff() async throws -> Events<AdapterInfo> {
        let states = Events { central.observeAdapter($0) }
        let before = await states.next()?.state
        try RadioBreach.unless(before == .poweredOn, "the adapter is not on")
        try await power?(false)
        let isOff = await states.first { $0.state == .poweredOff ? true : nil }
        try RadioBreach.unless(isOff == true, "nobody is told that the adapter is off")
        return states
    }

    /// Tries everything that a radio does.
    fileprivate func failures(in code: BLEError.Code) async throws {
        let scan = Events { central.scan(ScanRequest(), events: $0) }
        let listener = Events { central.listen(events: $0) }
        let request = AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))
        let advertisement = Events { central.advertise(request, events: $0) }
        let attempt = Events { central.connect(to: address, result: $0) }
        let removal = Events { central.unpair(address, result: $0) }
        let errors = [
            "scan": await scan.first { if case .failed(let error) = $0 { error } else { nil } },
            "listen": await listener.first { if case .failed(let error) = $0 { error } else { nil } },
            "advertise": await advertisement.first { if case .failed(let error) = $0 { error } else { nil } },
            "connect": await attempt.first { if case .failure(let error) = $0 { error } else { nil } },
            "unpair": await removal.next().flatMap(\.error),
        ]
        for (name, error) in errors {
            try RadioBreach.unless(error?.code == code && error?.remedy.isEmpty == false, "\(name): \(error as Any)")
        }
    }
}

extension Result<Bool, BLEError> {
    fileprivate var error: BLEError? { if case .failure(let error) = self { error } else { nil } }
}
