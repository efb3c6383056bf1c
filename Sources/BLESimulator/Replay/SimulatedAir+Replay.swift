internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SimulatedAir {
    /// Replays a recording while the closure runs: advertisements at their recorded times, and each recorded peripheral
    /// as one that a central can connect to.
    ///
    /// The recording begins with the call, and its times are measured from its first event. A peripheral offers the
    /// services that were discovered during the recording. Each read returns the attribute's next recorded value or
    /// error, and repeats the last one when they are used up; writes do the same. A notification or indication comes as
    /// long after the central's write as it was recorded: after the write that subscribed or, if it followed one, after
    /// the latest write to a value, and not before the answers to earlier writes. So a program that does what the
    /// recorded one did gets the same results, at the pace of its own requests. The first link repeats the first
    /// recorded link, and so on; links after the last recorded one repeat that one. The end of a recorded link isn't
    /// repeated: nothing comes after its last value, until the program or a fault such as
    /// ``Fault/dropLink(after:_:reason:)`` ends the link.
    ///
    /// The octets of a redacted recording are zeros. Services that the recorded program already knew, and so did not
    /// discover, are not in a recording; such a peripheral can be read by handle only. A peripheral accepts one link at
    /// a time, whether or not its advertising was recorded. A recording program often stops scanning at the first
    /// advertisement: unless it is connected, a peripheral repeats its latest one once a second, after its last
    /// recorded one and whenever it has had fewer links than in the recording a second before. So a program that comes
    /// later than the recorded one did finds it, too. The air's faults apply to recorded advertisements.
    ///
    /// - Parameters:
    ///   - recording: what to replay.
    ///   - body: the code to run meanwhile. When it ends, the links of the replayed peripherals are dropped.
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/invalidArgument`` if an adapter of this air has the address of a recorded peripheral;
    ///   what the closure throws.
    public func replay<Output>(_ recording: RecordedTraffic, _ body: () async throws -> Output) async throws -> Output {
        let adapters = try recording.devices.map { try replayedAdapter($0.address) }
        let peripherals = zip(recording.devices, adapters).map { ReplayedPeripheral($0, on: $1) }
        let advertisements = ReplayedAdvertisements(recording.traffic, core, of: peripherals)
        defer {
            advertisements.stop()
            for peripheral in peripherals { peripheral.stop() }
        }
        for peripheral in peripherals { peripheral.start() }
        advertisements.start()
        return try await body()
    }

    /// A new adapter, or the one of an earlier replay.
    private func replayedAdapter(_ address: BluetoothAddress) throws(BLEError) -> SimulatedAdapter {
        let name = "replayed \(address)"
        let settings = AdapterSettings(advertisingInterval: .milliseconds(20), maximumCentrals: 1)
        let found: Result<AdapterID, BLEError> = core.perform { state in
            guard let id = state.addresses[address] else {
                return .success(state.addAdapter(name: name, address: address, settings: settings))
            }
            guard state.adapters[id].name == name, state.adapters[id].listeners.isEmpty else {
                return .failure(.isTaken(address))
            }
            return .success(id)
        }
        return SimulatedAdapter(core: core, id: try found.get(), name: name, address: address)
    }
}

extension BLEError {
    fileprivate static func isTaken(_ address: BluetoothAddress) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "replay",
            object: "\(address)",
            cause: "an adapter of this air has the address of a recorded peripheral",
            remedy: "Give the air's adapters addresses that are not in the recording, and replay it once at a time."
        )
    }
}

/// Delivers the advertisements of a recording to scans: one timer for the next recorded one, and one for those that
/// repeat.
final class ReplayedAdvertisements: Sendable {
    private struct State {
        var next = 0
        /// What each peripheral has advertised last.
        var latest: [BluetoothAddress: CapturedTraffic.Advertisement] = [:]
        var timer: RadioActivity?
        var repetition: RadioActivity?
        var isStopped = false
    }

    private static let period = Duration.seconds(1)

    private let peripherals: [ReplayedPeripheral]
    /// When the last advertisement of each peripheral was recorded.
    private let last: [BluetoothAddress: Duration]
    /// When the links with each peripheral began in the recording.
    private let links: [BluetoothAddress: [Duration]]
    private let advertisements: [CapturedTraffic.Advertisement]
    private let first: Duration
    private let begin: Duration
    private let core: AirCore
    private let state = Mutex(State())

    init(_ traffic: CapturedTraffic, _ core: AirCore, of peripherals: [ReplayedPeripheral]) {
        self.peripherals = peripherals
        advertisements = traffic.advertisements
        links = Dictionary(grouping: traffic.links, by: \.peripheral).mapValues { $0.map(\.begin) }
        last = Self.latest(of: traffic.advertisements[...], by: links).mapValues(\.time)
        first = traffic.begin ?? .zero
        begin = core.timeline.now
        self.core = core
    }

    /// The last advertisement of each peripheral. A response alone lacks most of what the device advertises.
    private static func latest(
        of advertisements: ArraySlice<CapturedTraffic.Advertisement>,
        by peripherals: [BluetoothAddress: [Duration]]
    ) -> [BluetoothAddress: CapturedTraffic.Advertisement] {
        let theirs = advertisements.lazy.filter { peripherals[$0.address] != nil }.map { ($0.address, $0) }
        return Dictionary(theirs, uniquingKeysWith: later)
    }

    private static func later(
        _ former: CapturedTraffic.Advertisement,
        _ next: CapturedTraffic.Advertisement
    ) -> CapturedTraffic.Advertisement {
        next.isResponseAlone ? former : next
    }

    func start() {
        sendNext()
        repeatLast()
    }

    private func sendNext() {
        guard let next = state.withLock({ $0.next < advertisements.count ? advertisements[$0.next] : nil }) else {
            return
        }
        let delay = max(.zero, begin + (next.time - first) - core.timeline.now)
        let timer = core.timeline.schedule(after: delay) { [weak self] in self?.send() }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.timer = timer }
            return state.isStopped
        }
        if isStopped { timer.cancel() }
    }

    private func send() {
        let now = core.timeline.now
        let due = state.withLock { state in
            guard !state.isStopped else { return advertisements[0..<0] }
            let from = state.next
            while state.next < advertisements.count, begin + (advertisements[state.next].time - first) <= now {
                state.next += 1
            }
            let due = advertisements[from..<state.next]
            state.latest.merge(Self.latest(of: due, by: links), uniquingKeysWith: Self.later)
            return due
        }
        if !due.isEmpty { core.perform { $0.hear(due) } }
        sendNext()
    }

    private func repeatLast() {
        guard !last.isEmpty else { return }
        let timer = core.timeline.schedule(after: Self.period) { [weak self] in
            guard let self else { return }
            let repeated = repeated(at: core.timeline.now)
            core.perform { state in
                let heard = repeated.filter { state.adapters[$0.peripheral].links.isEmpty }
                state.hear(heard.map(\.advertisement)[...])
            }
            repeatLast()
        }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.repetition = timer }
            return state.isStopped
        }
        if isStopped { timer.cancel() }
    }

    /// What is repeated: the last advertisement, and the latest one of a peripheral with which the recorded program had
    /// more links by now: it no longer scanned, and this one comes later.
    private func repeated(at now: Duration) -> [(peripheral: AdapterID, advertisement: CapturedTraffic.Advertisement)] {
        let latest = state.withLock { $0.latest }
        return peripherals.compactMap { peripheral in
            guard let advertisement = latest[peripheral.address] else { return nil }
            // One that does what the recorded one did may be about to connect.
            let next = links[peripheral.address]?.dropFirst(peripheral.linkCount).first
            let isMissed = next.map { begin + ($0 - first) + Self.period <= now } ?? false
            let isLast = advertisement.time == last[peripheral.address]
            return isLast || isMissed ? (peripheral.id, advertisement) : nil
        }
    }

    func stop() {
        let timers = state.withLock { state in
            state.isStopped = true
            return [state.timer.take(), state.repetition.take()]
        }
        for timer in timers { timer?.cancel() }
    }
}

extension AirState {
    /// Delivers recorded advertisements to scans, with their recorded signal strength, as far as the faults let them.
    fileprivate mutating func hear(_ advertisements: ArraySlice<CapturedTraffic.Advertisement>) {
        let time = wallTime()
        for index in scans.indices {
            let scanner = scans[index].adapter
            let news = advertisements.filter { advertisement in
                // A device without an adapter here has none but the scanner's faults.
                let advertiser = addresses[advertisement.address] ?? scanner
                guard hears(scanner, advertiser) else { return false }
                // A controller that reports each device once takes an advertisement and a response for two things.
                return advertisement.isResponseAlone || isNews(advertisement.address, toScan: index)
            }
            guard !news.isEmpty else { continue }
            let reports = news.map { advertisement in
                AdvertisingReport(
                    address: advertisement.address,
                    rssi: advertisement.rssi,
                    isConnectable: advertisement.isConnectable,
                    data: AdvertisingData(bytes: advertisement.data),
                    time: time
                )
            }
            outbox.append(.scan(scans[index].activity, .reports(reports)))
        }
    }
}
