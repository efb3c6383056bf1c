import BLERadio
import BLEStreams

extension CommandEnvironment {
    /// Connects, runs the closure with the link, and drops the link, whatever happens.
    func withLink<Output>(
        to name: PeripheralName,
        _ deadline: Deadline?,
        parameters: ConnectionParameters? = nil,
        security: SecurityOptions? = nil,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        let peripheral = try peripheral(name)
        peripheral.allowPairing(security.flatMap { answers($0, about: name.text) })
        let limit = deadline.forConnecting
        let word = log.tellIfItTakesLong("waiting at most \(limit.secondsText) for \(name.text) to accept a connection")
        defer { word.cancel() }
        do {
            return try await talkingAbout(peripheral) {
                try await peripheral.withLink(timeout: limit, parameters: parameters) { link in
                    word.cancel()
                    if let parameters, try await usesLinkOfShell() { try await peripheral.prefer(parameters) }
                    log.detail(
                        "connected to \(link.peripheral.address) (\(link.peripheral.address.kind)), MTU \(link.mtu)"
                    )
                    defer {
                        let count = link.ignoredPDUs
                        if count > 0 { log.detail("ignored \(count) unexpected PDUs of the peripheral") }
                    }
                    let former = security == nil ? nil : link.peripheral.bond
                    // Also if the command fails: the bond stays.
                    defer { if security != nil { tellOfBond(with: link.peripheral, former, name) } }
                    if let level = security?.level {
                        try await link.secure(to: level, timeout: deadline?.remaining ?? .seconds(60))
                    }
                    return try await body(link)
                }
            }
        } catch let error as BLEError {
            throw deadline.completing(error)
        }
    }

    /// Whether the command's link is that of a shell, which has not lost it. One that the command makes has its
    /// parameters from the start, and must not be changed to them: not every kernel can change a link that is up.
    ///
    /// To be asked once the command has a link: while the shell's is up, that is the same one. The peripheral's state
    /// wouldn't do, since a command that has lost the link may end a moment before that is told.
    func usesLinkOfShell() async throws -> Bool {
        guard let shell else { return false }
        do {
            try await shell.link.exclusively { _ in }
            return true
        } catch let error as BLEError where error.code == .disconnected {
            return false
        }
    }

    /// Who answers a device's questions: as the command's own options say, otherwise as those of its shell do; `nil`:
    /// nobody.
    func answers(_ security: SecurityOptions, about device: String) -> PairingAnswers? {
        let options = security.sayWhoAnswers ? security : shell?.security ?? security
        return options.answers(about: device)
    }

    /// Runs the closure; with `-v`, also reports each change of the connections.
    func talkingAbout<Output>(_ peripherals: Peripheral..., body: () async throws -> Output) async throws -> Output {
        try await talkingAbout(peripherals, body)
    }

    /// The same for several peripherals.
    func talkingAbout<Output>(_ peripherals: [Peripheral], _ body: () async throws -> Output) async throws -> Output {
        guard log.isVerbose else { return try await body() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for peripheral in peripherals {
                group.addTask {
                    for try await state in peripheral.connectionStates {
                        switch state {
                        case .connecting, .connected: log.say("\(peripheral): \(state)")
                        // The end is reported when everything is over.
                        case .disconnecting, .disconnected: break
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// Discovers the peripheral's services.
    func discover(_ link: Link, _ deadline: Deadline?) async throws -> GATTDatabase {
        log.detail("discovering the services")
        let database = try await link.discover(timeout: deadline?.remaining)
        log.detail(
            (link.servicesAreRemembered ? "remembered " : "discovered ") + "\(database.services.count) services, "
                + "\(database.services.map(\.characteristics.count).reduce(0, +)) characteristics"
        )
        return database
    }

    /// The attribute with that name; discovers the services unless a handle is enough.
    func find(
        _ name: CharacteristicName,
        on link: Link,
        _ deadline: Deadline?
    ) async throws -> CharacteristicReference {
        if name.descriptor == nil, name.reference.handle != nil { return name.reference }
        let database = try await discover(link, deadline)
        guard let wanted = name.descriptor else { return name.reference }
        let reference = name.reference
        let characteristic =
            reference.handle.map { database.characteristic(valueHandle: $0) }
            ?? reference.uuid.map { database.characteristic($0) } ?? nil
        guard let descriptor = characteristic?.descriptor(wanted) else {
            throw BLEError(
                .notFound,
                operation: "find",
                object: "descriptor \(wanted) of \(name) on \(link.peripheral)",
                cause: "the \(characteristic == nil ? "device" : "characteristic") does not have it",
                remedy: "Run `ble info \(link.peripheral.address)` to see what it has."
            )
        }
        return .handle(descriptor.handle)
    }
}
