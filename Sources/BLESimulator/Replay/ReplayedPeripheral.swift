internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Drives the ``RecordedServer`` of one device on an adapter of the air: links, PDUs and timers in, PDUs out.
final class ReplayedPeripheral: Sendable {
    private struct State {
        var server: RecordedServer
        /// The current link; one that is over is forgotten.
        var link: (any ATTLink)?
        /// PDUs that the link had no room for.
        var waiting: [[UInt8]] = []
        var isSending = false
        var timer: RadioActivity?
        var activities: [RadioActivity] = []
        var isStopped = false
    }

    /// How many answers may wait before a central that floods the device is dropped.
    private static let room = 4096

    private let adapter: SimulatedAdapter
    private let state: Mutex<State>

    private var timeline: any Timeline { adapter.core.timeline }

    var address: BluetoothAddress { adapter.address }
    var id: AdapterID { adapter.id }

    /// How many links centrals have made with it.
    var linkCount: Int { state.withLock { $0.server.linkCount } }

    init(_ device: RecordedDevice, on adapter: SimulatedAdapter) {
        self.adapter = adapter
        state = Mutex(State(server: RecordedServer(device)))
    }

    func start() {
        let listening = adapter.listen { [weak self] event in
            if case .accepted(let link) = event { self?.accepted(link) }
        }
        let advertising = adapter.advertiseSilently()
        state.withLock { $0.activities = [listening, advertising] }
    }

    /// Stops advertising, and drops the link.
    func stop() {
        let (activities, timer, link) = state.withLock { state in
            defer { (state.activities, state.timer, state.link, state.isStopped) = ([], nil, nil, true) }
            return (state.activities, state.timer, state.link)
        }
        timer?.cancel()
        for activity in activities { activity.cancel() }
        link?.disconnect()
    }

    // MARK: - The link

    private func accepted(_ link: any ATTLink) {
        let now = timeline.now
        let isWanted = state.withLock { state in
            guard !state.isStopped else { return false }
            (state.link, state.waiting) = (link, [])
            state.server.linkBegan(now: now)
            return true
        }
        guard isWanted else { return link.disconnect() }
        link.start(Receiver(self))
        proceed()
    }

    fileprivate func received(_ pdus: ReceivedPDUs) {
        let now = timeline.now
        let isFlooded = state.withLock { state in
            for pdu in pdus {
                if let answer = state.server.received(Array(pdu.bytes), now: now) { state.waiting.append(answer) }
            }
            return state.waiting.count > Self.room
        }
        if isFlooded { state.withLock { $0.link }?.disconnect() }
        proceed()
    }

    fileprivate func ended() {
        let (timer, link) = state.withLock { state in
            defer { (state.timer, state.link, state.waiting) = (nil, nil, []) }
            return (state.timer, state.link)
        }
        timer?.cancel()
        // Released outside the lock: a released link closes itself.
        withExtendedLifetime(link) {}
    }

    /// Sends what is ready, in order, then schedules what is due later.
    fileprivate func proceed() {
        let now = timeline.now
        let isFree = state.withLock { state in
            defer { state.isSending = true }
            if state.link != nil { state.waiting += state.server.poll(now: now) }
            return !state.isSending
        }
        // The caller that is sending now also sends what has come since.
        guard isFree else { return }
        while let (link, pdu) = next() {
            guard link.send(pdu) == .sent else {
                state.withLock { $0.isSending = false }
                break
            }
            state.withLock { if !$0.waiting.isEmpty { $0.waiting.removeFirst() } }
        }
        setTimer()
    }

    /// The next PDU to send; if there is none, sending ends.
    private func next() -> (any ATTLink, [UInt8])? {
        state.withLock { state in
            guard let link = state.link, let pdu = state.waiting.first else {
                state.isSending = false
                return nil
            }
            return (link, pdu)
        }
    }

    private func setTimer() {
        let due = state.withLock { $0.link == nil ? nil : $0.server.nextDue }
        guard let due else { return }
        let timer = timeline.schedule(after: max(.zero, due - timeline.now)) { [weak self] in self?.proceed() }
        let obsolete: RadioActivity? = state.withLock { state in
            guard state.link != nil else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        obsolete?.cancel()
    }

    private final class Receiver: ATTLinkReceiver {
        private let peripheral: ReplayedPeripheral

        init(_ peripheral: ReplayedPeripheral) { self.peripheral = peripheral }

        func linkReceived(_ pdus: consuming ReceivedPDUs) { peripheral.received(pdus) }
        func linkDropped(_ count: Int) {}
        func linkBecameWritable() { peripheral.proceed() }
        func linkEnded(_ reason: DisconnectReason) { peripheral.ended() }
    }
}

extension SimulatedAdapter {
    /// Accepts connections without being received by scans.
    fileprivate func advertiseSilently() -> RadioActivity {
        let activity = core.perform { state in
            let activity = state.startAdvertisement(AdvertiseRequest([]), on: id, events: { _ in })
            if let index = state.adapters[id].advertisements.firstIndex(where: { $0.activity == activity }) {
                state.adapters[id].advertisements[index].isHeard = false
            }
            return activity
        }
        return RadioActivity { [core] in _ = core.perform { $0.cancel(activity) } }
    }
}
