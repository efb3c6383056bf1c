internal import BLEProtocol
internal import BLERadio

/// A scan that is under way.
struct ScanRecord: Sendable {
    let activity: ActivityID
    let adapter: AdapterID
    let request: ScanRequest

    /// When its discovery began, and which devices that has reported; used only if duplicates are not wanted.
    var beginning: Duration
    var reported: Set<BluetoothAddress> = []
}

extension AirState {
    /// How long a discovery lasts, each of which reports a device once if duplicates are not wanted. On Linux, the
    /// library ends the kernel's after 3 s, and begins the next one at once.
    static let discoveryRound = Duration.seconds(3)

    mutating func startScan(
        _ request: ScanRequest,
        on adapter: AdapterID,
        events: @escaping @Sendable (ScanEvent) -> Void
    ) -> ActivityID {
        let id = add(.scan(request, events), on: adapter)
        if let error = unavailable(adapter, for: "scan") {
            fail(id, error)
        } else if let error = silence("Start Discovery", of: adapter, for: "scan") {
            fail(id, error)
        } else if scans.contains(where: { $0.adapter == adapter }) {
            fail(id, .scanIsUnderWay(on: adapters[adapter].name))
        } else {
            if adapters[adapter].ailment?.isCuredByScan == true { adapters[adapter].ailment = nil }
            scans.append(ScanRecord(activity: id, adapter: adapter, request: request, beginning: now))
            outbox.append(.scan(id, .started))
            for other in adapters.indices where other != adapter { wakeAdvertisements(of: other) }
        }
        return id
    }

    /// Delivers an advertising event to the scans that receive it.
    mutating func hear(_ advertisement: Advertisement, from advertiser: AdapterID) {
        for index in scans.indices where scans[index].adapter != advertiser {
            let scan = scans[index]
            let address = name(of: advertiser, to: scan.adapter)
            guard hears(scan.adapter, advertiser), isNews(address, toScan: index) else { continue }
            // Linux holds an advertisement back until its scan response arrives, and reports both as one.
            let response = scan.request.isActive ? advertisement.layout.scanResponse.bytes : []
            let report = AdvertisingReport(
                address: address,
                rssi: measure(scan.adapter, advertiser),
                isConnectable: advertisement.isConnectable,
                data: AdvertisingData(bytes: advertisement.layout.data.bytes + response),
                time: wallTime()
            )
            if case .scan(scan.activity, .reports(let earlier)) = outbox.last {
                outbox[outbox.count - 1] = .scan(scan.activity, .reports(earlier + [report]))
            } else {
                outbox.append(.scan(scan.activity, .reports([report])))
            }
        }
    }

    /// Whether an adapter receives one advertising event of another.
    mutating func hears(_ listener: AdapterID, _ advertiser: AdapterID) -> Bool {
        let timeline = timeline
        return adapters[listener].ailment == nil && signal(listener, advertiser).isInRange
            && !faults.missesAdvertisement(listener, advertiser) { timeline.randomBits() }
    }

    mutating func isNews(_ address: BluetoothAddress, toScan index: Int) -> Bool {
        guard !scans[index].request.reportsDuplicates else { return true }
        if now - scans[index].beginning >= Self.discoveryRound {
            (scans[index].beginning, scans[index].reported) = (now, [])
        }
        return scans[index].reported.insert(address).inserted
    }
}
