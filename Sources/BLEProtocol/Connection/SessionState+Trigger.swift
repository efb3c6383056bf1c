extension SessionState {
    /// A program's request to a connection, or an event of it: it moves a session from one ``SessionState`` to another.
    package enum Trigger: Sendable {
        // Requests of a program.

        /// Look for the peripheral.
        case scan
        /// Make a link to it.
        case connect
        /// Discover the services; while ready: discover them again.
        case discoverServices
        /// Look for a characteristic that is needed.
        case discoverCharacteristics
        /// Read a value.
        case read
        /// Write a value.
        case write
        /// Switch notifications or indications on.
        case subscribe
        /// Switch notifications or indications of a characteristic, as it was named, off: `2A37`, `handle 0x0012`. It
        /// doesn't wait for anything: no value is delivered from then on.
        case unsubscribe(String)
        /// Everything that was requested is done.
        case becomeReady
        /// Disconnect: switch notifications off, wait for that, and drop the link, or give up the attempt to make one.
        /// Nothing starts automatically afterwards.
        case disconnect
        /// Begin again after a failure.
        case reset

        // Successes.

        /// An advertisement of it was heard.
        case discovered(BluetoothAddress)
        /// The link is up and its MTU, in octets, negotiated.
        case linkEstablished(mtu: Int)
        /// The peripheral's services are known: they were discovered, or the remembered ones are still right.
        case servicesDiscovered(fromCache: Bool)
        /// The characteristic was found.
        case characteristicDiscovered(BluetoothUUID)
        /// The value was read.
        case readFinished
        /// The value was written.
        case writeFinished
        /// A characteristic, as it was named, sends its values from now on: `2A37`, `handle 0x0012`.
        case subscribed(String)
        /// The time to wait is over.
        case resume
        /// The adapter can be used again.
        case adapterReturned

        // Failures.

        /// The peripheral was not received in time.
        case searchFailed(BLEError)
        /// The radio can't scan, or no longer.
        case scanFailed(BLEError)
        /// No link was made: it took too long, was refused, or was lost before it was up.
        case connectFailed(BLEError)
        /// The peripheral's services could not be discovered.
        case discoveryFailed(BLEError)
        /// It lacks a service or a characteristic.
        case notFound(BLEError)
        /// A characteristic doesn't support the operation.
        case notSupported(BLEError)
        /// The program's first steps on each link failed.
        case initialisationFailed(BLEError)
        /// A value could not be read or written; the link stays up.
        case operationFailed(BLEError)
        /// Notifications that the session can't do without could not be switched on.
        case subscriptionFailed(BLEError)
        /// Notifications for one stream could not be switched on; the session continues without them.
        case subscriptionRefused(BLEError)
        /// The link ended.
        case linkLost(DisconnectReason)
        /// The adapter can't be used any more: it is in this state.
        case adapterLost(AdapterInfo.State)
    }
}

extension SessionState.Trigger {
    /// A trigger without its associated values, as used in the table of transitions.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case scan, connect, discoverServices, discoverCharacteristics, read, write, subscribe, unsubscribe, becomeReady
        case disconnect, reset
        case discovered, linkEstablished, servicesDiscovered, characteristicDiscovered, readFinished, writeFinished
        case subscribed, resume, adapterReturned
        case searchFailed, scanFailed, connectFailed, discoveryFailed, notFound, notSupported, initialisationFailed
        case operationFailed, subscriptionFailed, subscriptionRefused, linkLost, adapterLost
    }

    /// The trigger without its associated values.
    package var kind: Kind {
        switch self {
        case .scan: .scan
        case .connect: .connect
        case .discoverServices: .discoverServices
        case .discoverCharacteristics: .discoverCharacteristics
        case .read: .read
        case .write: .write
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .becomeReady: .becomeReady
        case .disconnect: .disconnect
        case .reset: .reset
        case .discovered: .discovered
        case .linkEstablished: .linkEstablished
        case .servicesDiscovered: .servicesDiscovered
        case .characteristicDiscovered: .characteristicDiscovered
        case .readFinished: .readFinished
        case .writeFinished: .writeFinished
        case .subscribed: .subscribed
        case .resume: .resume
        case .adapterReturned: .adapterReturned
        case .searchFailed: .searchFailed
        case .scanFailed: .scanFailed
        case .connectFailed: .connectFailed
        case .discoveryFailed: .discoveryFailed
        case .notFound: .notFound
        case .notSupported: .notSupported
        case .initialisationFailed: .initialisationFailed
        case .operationFailed: .operationFailed
        case .subscriptionFailed: .subscriptionFailed
        case .subscriptionRefused: .subscriptionRefused
        case .linkLost: .linkLost
        case .adapterLost: .adapterLost
        }
    }

    /// Its error, if it reports a failure of the peripheral or the adapter.
    package var error: BLEError? {
        switch self {
        case .connectFailed(var error):
            if tellsLostLink { error.remedy = BLEError.untilReconnected }
            return error
        case .searchFailed(let error), .scanFailed(let error), .discoveryFailed(let error),
            .notFound(let error), .notSupported(let error), .initialisationFailed(let error),
            .operationFailed(let error), .subscriptionFailed(let error), .subscriptionRefused(let error):
            return error
        case .linkLost(let reason): return .lostLink(reason)
        case .adapterLost(let state): return state.error(operation: "session")
        default: return nil
        }
    }

    /// Whether it tells the end of a link. The usual remedy, to connect again, is for a program that makes links: a
    /// session makes the next one by itself, or none any more.
    var tellsLostLink: Bool {
        switch self {
        case .linkLost: true
        // It was lost before it was up. Such an error is final for that link; the end of a pairing isn't, and has a
        // remedy of its own.
        case .connectFailed(let error): error.code == .disconnected && error.reason != nil && error.isFinal
        default: false
        }
    }

    /// Whether its error says only what has happened, and not to what.
    package var lacksObject: Bool {
        switch self {
        case .linkLost, .adapterLost: true
        default: false
        }
    }

    /// The same, with an object.
    ///
    /// - Parameter object: the session, if the error lacks one: `with C4:F2:17:1A:1D:BB`.
    package func error(about object: String) -> BLEError? {
        var failure: BLEError? = error
        if lacksObject { failure?.object = object }
        return failure
    }
}

extension SessionState.Trigger: CustomStringConvertible {
    /// The trigger in words, with its associated values: `link lost: closed by the peer (HCI 0x13)`.
    package var description: String {
        switch self {
        case .discovered(let address): "discovered: \(address)"
        case .linkEstablished(let mtu): "link established: MTU \(mtu)"
        case .servicesDiscovered(let fromCache): fromCache ? "services known from before" : "services discovered"
        case .characteristicDiscovered(let uuid): "characteristic discovered: \(uuid)"
        case .subscribed(let name): "subscribed: \(name)"
        case .unsubscribe(let name): "unsubscribe: \(name)"
        case .linkLost(let reason): "link lost: \(reason)"
        case .adapterLost(let state): "adapter lost: it is \(state.words)"
        default: error.map { "\(kind.words): \($0.cause)" } ?? kind.words
        }
    }
}

extension SessionState.Trigger.Kind {
    /// The name in words: `link lost`.
    package var words: String {
        rawValue.reduce(into: "") { words, letter in
            words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
    }
}

extension BLEError {
    /// What to do about a lost link that another one follows.
    fileprivate static let untilReconnected = "Wait: the session reconnects while its policy has attempts left."

    fileprivate static func lostLink(_ reason: DisconnectReason) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: "session",
            cause: "the link ended: \(reason)",
            remedy: untilReconnected
        )
        error.reason = reason
        error.systemError = reason.systemError
        return error
    }
}
