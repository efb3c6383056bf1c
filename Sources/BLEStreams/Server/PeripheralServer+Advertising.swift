public import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// Changes the advertisement, as often as needed: links stay up, and the services stay as they are.
    ///
    /// ```swift
    /// let outdoor = LocalPeripheral.beacon([.serviceData(.environmentalSensing, [0])])
    /// try await outdoor.run(on: .default) { server in
    ///     for step in UInt8(0)... {
    ///         try await server.advertise(
    ///             AdvertiseRequest([.serviceData(.environmentalSensing, [step])], isConnectable: false)
    ///         )
    ///         try await Task.sleep(for: .seconds(60))
    ///     }
    /// }
    /// ```
    ///
    /// Returns when it is on air. While the peripheral is interrupted (``state``), it returns immediately, and the
    /// advertisement takes effect when the peripheral is served again; likewise while the controller can't advertise
    /// because of a link that it has. If the adapter then refuses it, the advertisement that was declared before it
    /// takes its place, and the peripheral's `warning` is told.
    ///
    /// - Parameter declaration: the whole advertisement, in place of ``LocalPeripheral/advertisement``. The flags are
    ///   added if centrals may connect and it has none.
    /// - Throws: ``BLEError/Code/overflow`` if the adapter has no room for it, ``BLEError/Code/invalidArgument`` if it
    ///   is not a valid advertisement, or if it is connectable and the peripheral began as a
    ///   ``LocalPeripheral/beacon(_:scanResponse:interval:)``; in these cases the former advertisement continues. An
    ///   error of the adapter; ``BLEError/Code/ended`` if the peripheral is no longer served; `CancellationError`,
    ///   after which it is unknown whether the change is on air.
    public func advertise(_ declaration: AdvertiseRequest) async throws {
        let request = declaration.withFlags
        guard !isBeacon || !request.isConnectable else { throw BLEError.connectableBeacon(name) }
        while true {
            if let failure { throw failure }
            guard let activity = try advertised.replace(by: request, name) else { return }
            do {
                try await change(activity, to: request)
                return advertised.isOnAir(request)
            } catch let error as BLEError where error.code == .ended {
                // It was interrupted meanwhile, or it has ended, which the check above reports.
                advertised.ended(activity)
            }
        }
    }

    /// Advertises the latest declaration. One that the adapter refuses gives way to the one before it, back to what was
    /// on air last.
    func advertise() async throws {
        while true {
            let request = advertised.request
            do {
                return try await beginAdvertising(request)
            } catch let error as BLEError where error.isOfDeclaration {
                try giveUp(request, error)
            }
        }
    }

    private func beginAdvertising(_ request: AdvertiseRequest) async throws {
        try await begin { finish in
            let start = Ending<Void>()
            let activity = self.radio.advertise(request) { [weak self] event in
                switch event {
                case .started:
                    start.end()
                    self?.advertised.started(request)
                    finish(.success(()))
                case .failed(let error):
                    // Once it is on air, nobody waits for it here, and another one may have been declared since.
                    let isRefused = !start.hasEnded && error.isOfDeclaration
                    let givesWay = isRefused && self?.advertised.hasOther(than: request) == true
                    if !givesWay { self?.fail(error) }
                    finish(.failure(error))
                }
            }
            self.advertised.began(activity)
            return activity
        }
        var latest = request
        // Declared while the radio was beginning.
        while let (activity, newer) = advertised.newer(than: latest) {
            do {
                try await change(activity, to: newer)
                advertised.started(newer)
                latest = newer
            } catch let error as BLEError where error.isOfDeclaration {
                try giveUp(newer, error)
            }
        }
    }

    /// Returns to the declaration before this one.
    ///
    /// - Throws: the error, if there was none.
    private func giveUp(_ request: AdvertiseRequest, _ error: BLEError) throws(BLEError) {
        guard advertised.giveUp(request) else { throw error }
        warnings.tell(.advertisementRefused(error.code)) { _ in .givesWay(because: error) }
    }

    private func change(_ activity: RadioActivity, to request: AdvertiseRequest) async throws {
        try await reply(on: radio.timeline) { finish in
            activity.change(to: request) { finish($0.mapError { $0 }) }
            return {}
        }
    }
}

/// What a server advertises, and the radio's activity for it.
final class ServedAdvertisement: Sendable {
    private struct State {
        var request: AdvertiseRequest
        /// What was on air last, then what was declared since, but for the latest; a refused request gives way to the
        /// last of them.
        var former: [AdvertiseRequest] = []
        var activity: RadioActivity?
        var isOver = false

        mutating func declare(_ newer: AdvertiseRequest) {
            guard newer != request else { return }
            former.append(request)
            // A beacon may change for months while its adapter is absent; what was on air is known to be good.
            if former.count > 16 { former.remove(at: 1) }
            request = newer
        }

        mutating func started(_ declared: AdvertiseRequest) {
            let newer = former.lastIndex(of: declared).map { former[($0 + 1)...] } ?? []
            former = request == declared ? [] : [declared] + newer
        }
    }

    private let state: Mutex<State>

    init(_ request: AdvertiseRequest) { state = Mutex(State(request: request)) }

    var request: AdvertiseRequest { state.withLock { $0.request } }

    func began(_ activity: RadioActivity) {
        state.withLock { state in
            if !state.isOver { state.activity = activity }
        }
    }

    /// The activity to change; `nil` if there is none now: the request then applies to the next one.
    func replace(by request: AdvertiseRequest, _ name: String) throws -> RadioActivity? {
        let (activity, isOver) = state.withLock { state in
            if state.activity == nil { state.declare(request) }
            return (state.activity, state.isOver)
        }
        guard isOver else { return activity }
        throw BLEError(
            .ended,
            operation: "advertise",
            object: name,
            cause: "the peripheral is no longer served",
            remedy: "Use the server only within the closure of LocalPeripheral.run(on:store:warning:_:)."
        )
    }

    func isOnAir(_ request: AdvertiseRequest) { state.withLock { ($0.request, $0.former) = (request, []) } }

    /// It is on air; a newer one may have been declared since it was asked for.
    func started(_ request: AdvertiseRequest) { state.withLock { $0.started(request) } }

    /// Whether another one was declared before it, or meanwhile.
    func hasOther(than request: AdvertiseRequest) -> Bool {
        state.withLock { state in state.request != request || state.former.contains { $0 != request } }
    }

    /// Returns to the one before it, unless another one has been declared meanwhile; `false` if there is none.
    func giveUp(_ request: AdvertiseRequest) -> Bool {
        state.withLock { state in
            state.former.removeAll { $0 == request }
            guard state.request == request else { return true }
            guard let earlier = state.former.popLast() else { return false }
            state.request = earlier
            return true
        }
    }

    func newer(than request: AdvertiseRequest) -> (RadioActivity, AdvertiseRequest)? {
        state.withLock { state in
            state.request == request ? nil : state.activity.map { ($0, state.request) }
        }
    }

    /// The radio's activity has ended; it may begin again.
    func ended(_ activity: RadioActivity? = nil) {
        state.withLock { state in
            if activity == nil || state.activity === activity { state.activity = nil }
        }
    }

    func finish() { state.withLock { ($0.activity, $0.isOver) = (nil, true) } }
}

extension AdvertiseRequest {
    /// The request with the flags that a connectable device has (Core Specification, Vol 3, Part C, 9.2.4); a
    /// broadcaster has only its own.
    fileprivate var withFlags: AdvertiseRequest {
        guard isConnectable, !fields.contains(where: \.isFlags) else { return self }
        var request = self
        request.fields.insert(.flags([.generalDiscoverable, .classicNotSupported]), at: 0)
        return request
    }
}

extension LocalPeripheral {
    /// Whether it only advertises: centrals can't connect.
    var isBeacon: Bool { services.isEmpty && advertisement?.isConnectable == false }

    /// The advertisement on air: as declared, otherwise the services and the name, which goes into the scan response if
    /// there is no room.
    var declaration: AdvertiseRequest {
        if let advertisement { return advertisement.withFlags }
        let uuids = advertisedServices ?? services.filter(\.isPrimary).map(\.uuid)
        return AdvertiseRequest((uuids.isEmpty ? [] : [.services(uuids)]) + [.localName(name)]).withFlags
    }

    /// A peripheral that only advertises (a broadcaster in the specification): no central can connect, and nothing is
    /// served.
    ///
    /// ```swift
    /// let beacon = LocalPeripheral.beacon(IBeacon(uuid: BluetoothUUID(0x180A), major: 1, minor: 2).fields)
    /// try await beacon.run(on: .default) { server in
    ///     for try await state in server.states { print(state) }
    /// }
    /// ```
    ///
    /// It runs like any other peripheral, resumes as ``resuming`` says, and is changed by
    /// ``PeripheralServer/advertise(_:)``. The kernel gives it a random address, a new one each time it begins.
    ///
    /// - Parameters:
    ///   - fields: what to advertise: the fields of a beacon, or any others.
    ///   - scanResponse: fields that are always placed in the scan response.
    ///   - interval: see ``AdvertiseRequest/interval``.
    public static func beacon(
        _ fields: [AdvertisingData.Field],
        scanResponse: [AdvertisingData.Field] = [],
        interval: ClosedRange<Duration>? = nil
    ) -> LocalPeripheral {
        var beacon = LocalPeripheral(name: "beacon", pairing: nil) {}
        beacon.advertisement = AdvertiseRequest(
            fields,
            scanResponse: scanResponse,
            isConnectable: false,
            interval: interval
        )
        return beacon
    }
}

extension BLEError {
    /// Whether an advertisement was refused for what it declares.
    fileprivate var isOfDeclaration: Bool { code == .overflow || code == .invalidArgument }

    /// What was declared while nothing was on air can't be advertised.
    fileprivate static func givesWay(because error: BLEError) -> BLEError {
        var told = error
        told.cause =
            "what was declared while the peripheral was not on air can't be advertised, so what was declared before it "
            + "takes its place: \(error.cause)"
        return told
    }

    fileprivate static func connectableBeacon(_ name: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: "advertise",
            object: name,
            cause: "the peripheral began as a beacon, which accepts no connections",
            remedy: "Run a LocalPeripheral with services, or declare the advertisement with isConnectable: false."
        )
    }
}
