public import BLEProtocol
import BLERadio
import Synchronization

/// A flow's way to its device: reads, writes, subscriptions, what it hears, and its progress.
///
/// Closed when the flow ends or is replaced: from then on it gives no event, and everything throws; a flow that was replaced
/// has ``conclude(_:on:limit:where:)`` left, to leave the device in order.
public final class FlowChannel: Sendable {
    private struct State {
        var subscriptions: [BluetoothUUID: @Sendable () -> Void] = [:]
        var meter: ProgressMeter?
        var phase = ""
        var end: (any Error)?
        /// Counts what has been achieved: a flow that gets on may be interrupted any number of times.
        var achievements = 0
        /// The link whose end was heard of, or will be.
        var watchedLink = 0
        var adapter: RadioActivity?
        var isAdapterUsable = true
    }

    let context: CommandContext
    private let inbox: Inbox<FlowEvent>
    private let state = Mutex(State())

    /// The device.
    public var peripheral: Peripheral { context.peripheral }

    /// How many octets fit into one write without response: see ``Link/maximumWriteLength(for:)``; 20 without a link.
    public var maximumWriteLength: Int { (try? context.link)?.maximumWriteLength(for: .withoutResponse) ?? 20 }

    var timeline: any Timeline { context.timeline }

    init(_ context: CommandContext) {
        self.context = context
        inbox = Inbox(timeline: context.timeline)
        watchAdapter()
        watchLink()
    }

    /// No event comes out of the channel any more, and nothing begins on it. What is subscribed to stays so until it is
    /// closed: whoever has to tell the device to stop still hears its answer.
    func silence(_ error: any Error) {
        state.withLock { state in if state.end == nil { state.end = error } }
        inbox.finish(error, droppingElements: true)
    }

    /// Ends the channel, with all that it has subscribed to.
    func close(_ error: any Error) {
        silence(error)
        let (undo, adapter) = state.withLock { state in
            defer { state.subscriptions = [:] }
            return (Array(state.subscriptions.values), state.adapter.take())
        }
        adapter?.cancel()
        for unsubscribe in undo { unsubscribe() }
    }

    private func check() throws { if let end = state.withLock({ $0.end }) { throw end } }

    // MARK: - What is heard

    /// The next event.
    ///
    /// - Parameter timeout: how long to wait; `nil`: for ever.
    /// - Throws: ``BLEError/Code/timedOut``; `CancellationError`, also when the flow was replaced.
    public func next(timeout: Duration? = nil) async throws -> FlowEvent {
        let (phase, object) = (state.withLock { $0.phase }, "on \(peripheral)")
        return try await inbox.next(
            limit: timeout.map { timeout in
                (
                    timeout,
                    { BLEError.timedOut(phase, object: object, after: timeout, waitingFor: "the device said nothing") }
                )
            }
        )
    }

    /// The next event if it is there already.
    public func available() -> FlowEvent? { inbox.take() }

    /// The next value of a characteristic that is subscribed to.
    ///
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost; ``BLEError/Code/timedOut``; `CancellationError`.
    public func value(timeout: Duration? = nil) async throws -> (value: CharacteristicValue, source: BluetoothUUID) {
        while true {
            switch try await next(timeout: timeout) {
            case .received(let value, let source): return (value, source)
            case .linkLost(let error): throw error
            case .ready, .adapterOn, .adapterOff: break
            }
        }
    }

    private func watchLink() {
        guard let link = try? context.link else { return }
        let number = context.connection.number
        let isNew = state.withLock { state in
            defer { state.watchedLink = number }
            return state.watchedLink != number
        }
        guard isNew else { return }
        inbox.send(.ready)
        link.onEnd { [weak self] reason in self?.lost(number, reason) }
    }

    private func lost(_ number: Int, _ reason: DisconnectReason) {
        guard state.withLock({ $0.watchedLink == number && $0.end == nil }) else { return }
        inbox.send(.linkLost(.linkEnded(reason, operation: state.withLock { $0.phase }, object: "on \(peripheral)")))
    }

    private func watchAdapter() {
        let activity = peripheral.core.radio.observeAdapter { [weak self] info in
            guard let self else { return }
            let isUsable = info.state == .poweredOn
            let isNew = state.withLock { state in
                defer { state.isAdapterUsable = isUsable }
                return state.isAdapterUsable != isUsable
            }
            if isNew { inbox.send(isUsable ? .adapterOn : .adapterOff) }
        }
        state.withLock { $0.adapter = activity }
    }

    // MARK: - The device

    /// Reads a characteristic. See ``Link/read(_:in:timeout:)-(BluetoothUUID,_,_)``.
    public func read(_ uuid: BluetoothUUID, timeout: Duration? = nil) async throws -> CharacteristicValue {
        try check()
        return try await context.link.read(uuid, timeout: timeout)
    }

    /// Writes a characteristic. See ``Link/write(_:to:in:_:timeout:)``.
    ///
    /// Without response it returns when the radio has taken the octets, so a loop keeps the link full and no fuller.
    public func write(_ value: [UInt8], to uuid: BluetoothUUID, _ kind: WriteKind = .withResponse) async throws {
        try check()
        try await context.link.write(value, to: uuid, kind)
    }

    /// What a characteristic can do.
    public func properties(of uuid: BluetoothUUID) async throws -> CharacteristicProperties {
        try check()
        return try await context.link.characteristic(
            .uuid(uuid, service: nil),
            operation: state.withLock { $0.phase },
            timeout: nil
        ).properties
    }

    /// Whether the device has a service.
    public func hasService(_ uuid: BluetoothUUID) async throws -> Bool {
        try check()
        return try await context.link.discover().service(uuid) != nil
    }

    /// Switches the values of a characteristic on; returns when the device has confirmed that. They come as
    /// ``FlowEvent/received(_:from:)``, until the channel is closed, the link ends or ``unsubscribe(from:)``.
    public func subscribe(to uuid: BluetoothUUID, indications: Bool = false) async throws {
        try check()
        let link = try context.link
        state.withLock { $0.subscriptions.removeValue(forKey: uuid) }?()
        let inbox = inbox
        let undo = try await link.subscribe(
            .uuid(uuid, service: nil),
            indications: indications,
            deliver: { inbox.send(.received($0, from: uuid)) }
        )
        let isOver = state.withLock { state in
            if state.end == nil { state.subscriptions[uuid] = undo }
            return state.end != nil
        }
        if isOver { undo() }
        try check()
    }

    /// Switches the values of a characteristic off.
    public func unsubscribe(from uuid: BluetoothUUID) {
        state.withLock { $0.subscriptions.removeValue(forKey: uuid) }?()
    }

    // MARK: - The link

    /// Makes sure that there is a link: connects where there is none, after waiting for the adapter, as often as the
    /// policy says. Subscriptions of a former link are gone.
    ///
    /// - Throws: the last error; ``BLEError/Code/disconnected`` where the flow may not connect.
    public func reconnect(_ policy: RetryPolicy = .exponential(attempts: 5)) async throws {
        var failures = 0
        while !context.isConnected {
            try check()
            state.withLock { $0.subscriptions = [:] }
            // Without a link that the flow may make, this says that there is none.
            if !context.canConnect { _ = try context.link }
            do {
                try await context.connect()
                // Values and the end of the former link say nothing about this one.
                inbox.removeAll { event in
                    switch event {
                    case .received, .linkLost, .ready: true
                    case .adapterOff, .adapterOn: false
                    }
                }
            } catch {
                failures += 1
                guard !(error is CancellationError), (error as? BLEError)?.isFinal != true,
                    let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                else { throw error }
                try await pause(for: delay, on: timeline)
            }
        }
        watchLink()
    }

    /// Runs the closure, and runs it again on a new link when the link is lost.
    ///
    /// The closure finds out by itself where to go on: what the device has. ``achieved()`` within it says that it gets
    /// on; so many failures without that as the policy allows, and the error is thrown.
    public func resuming<Output>(
        _ policy: RetryPolicy = .exponential(attempts: 5),
        _ body: () async throws -> Output
    ) async throws -> Output {
        var (failures, seen) = (0, -1)
        while true {
            do {
                try await reconnect(policy)
                return try await body()
            } catch let error as BLEError where error.code == .disconnected && context.canConnect {
                let achievements = state.withLock { $0.achievements }
                if achievements != seen { failures = 0 }
                seen = achievements
                failures += 1
                guard let delay = policy.delay(afterFailure: failures, random: timeline.randomBits()) else {
                    throw error
                }
                try await pause(for: delay, on: timeline)
            }
        }
    }

    /// Says that the flow has come further than ever before, so that the count of failures starts afresh.
    public func achieved() { state.withLock { $0.achievements += 1 } }

    // MARK: - Progress

    /// Begins a phase, which the progress shows.
    ///
    /// - Parameter total: how much there is to do, in octets or whatever is counted; `nil` where nothing is counted.
    public func begin(_ phase: String, total: Int? = nil, completed: Int = 0) {
        let now = timeline.now
        state.withLock { state in
            state.phase = phase
            state.meter = total.map { _ in ProgressMeter(start: now, completed: completed) }
        }
        context.report(CommandProgress(phase: phase, completed: total == nil ? nil : completed, total: total))
    }

    /// Tells how much of the phase is done.
    public func progress(_ completed: Int, of total: Int) {
        let now = timeline.now
        let (phase, rate) = state.withLock { state in
            (state.phase, state.meter?.rate(at: now, completed: completed))
        }
        context.report(CommandProgress(phase: phase, completed: completed, total: total, rate: rate ?? nil))
    }
}

/// The rate of the last seconds.
private struct ProgressMeter {
    private static let span = Duration.seconds(5)

    private var marks: [(time: Duration, completed: Int)]

    init(start: Duration, completed: Int) { marks = [(start, completed)] }

    mutating func rate(at now: Duration, completed: Int) -> Double? {
        if let last = marks.last, now - last.time >= .milliseconds(250) { marks.append((now, completed)) }
        while marks.count > 2, now - marks[1].time > Self.span { marks.removeFirst() }
        guard let first = marks.first, now > first.time, completed > first.completed else { return nil }
        return Double(completed - first.completed) / ((now - first.time) / .seconds(1))
    }
}
