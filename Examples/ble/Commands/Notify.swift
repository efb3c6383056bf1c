import BLERadio
import BLEStreams
import Synchronization

/// Prints the notifications and indications of devices.
struct Notify: Command {
    static let name = "notify"
    static let summary = "print the values that devices notify or indicate"
    static let parameters = ["ADDRESS…", "CHARACTERISTIC"]
    static let options =
        [
            Option("reconnect", help: "connect again when a link is lost, for as long as it takes"),
            Option("plot", help: "draw the number in each value, or its first one, as a point on a scale"),
            Option.fresh,
        ] + ValueStyle.options + StreamLimits.options + SecurityOptions.options
    static let notes = """
        Without --timeout or --count it runs until Ctrl-C, or until a link is lost; --timeout includes the time to
        connect. With --reconnect it waits, for as long as it runs, for devices that are absent, and for an adapter that
        is off or was unplugged, and reports where values are missing; with -v it reports every step. The adapter
        must be there when it begins.


        """ + SecurityOptions.notes

    private let peripherals: [PeripheralName]
    private let characteristic: CharacteristicName
    private let limits: StreamLimits
    private let reconnects: Bool
    private let security: SecurityOptions
    private let style: ValueStyle
    private let plots: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        var words = arguments.words
        if words.count < Self.parameters.count { words = try arguments.parameters(Self.parameters) }
        var names: [PeripheralName] = []
        for word in words.dropLast() { names.append(try PeripheralName(word)) }
        peripherals = names
        characteristic = try CharacteristicName(words[words.count - 1])
        style = try ValueStyle(arguments, of: characteristic)
        plots = arguments.has("plot")
        for other in ["json", "raw", "text"] where plots && arguments.has(other) {
            throw UsageError("--plot and --\(other) exclude each other")
        }
        let devices = names.map(\.text).joined(separator: ", ")
        limits = try StreamLimits(Self.name, arguments, about: "\(characteristic) of \(devices)")
        reconnects = arguments.has("reconnect")
        security = try SecurityOptions(arguments)
    }

    func run(in environment: CommandEnvironment) async throws {
        var peripherals: [Peripheral] = []
        var former: [(peripheral: Peripheral, bond: Bond?, name: PeripheralName)] = []
        for name in self.peripherals {
            let peripheral = try environment.peripheral(name)
            // One that is named twice sends its values once.
            guard !peripherals.contains(where: { $0.address.rawValue == peripheral.address.rawValue }) else { continue }
            peripheral.allowPairing(environment.answers(security, about: name.text))
            peripherals.append(peripheral)
            former.append((peripheral, peripheral.bond, name))
        }
        defer { for former in former { environment.tellOfBond(with: former.peripheral, former.bond, former.name) } }
        let links = LinkHistory()
        do {
            if reconnects {
                try await followAll(peripherals, links, in: environment)
            } else {
                try await listenOnce(to: peripherals, links, in: environment)
            }
        } catch var error as BLEError where !reconnects && error.remedy.contains(LibraryPhrase.connectAgain.text) {
            error.remedy += " `ble notify --reconnect` connects again by itself."
            throw error
        } catch let error as BLEError where error.code == .timedOut {
            // A device that was never reached hasn't sent too few values.
            try checkReached(peripherals, links)
            tellAbsent(peripherals, links, environment.log)
            throw error
        } catch is OutputClosed {
            try checkReached(peripherals, links)
            throw OutputClosed()
        }
        try checkReached(peripherals, links)
        // With a count, there were enough values before the time was over.
        if limits.time != nil, limits.count == nil { tellAbsent(peripherals, links, environment.log) }
    }

    /// Says which devices have had no link.
    private func tellAbsent(_ peripherals: [Peripheral], _ links: LinkHistory, _ log: Log) {
        for peripheral in peripherals where !links.reached(peripheral) {
            log.say("\(peripheral) was never connected")
        }
    }

    /// Throws if the time is over without a link to any device; for a single device, the error says why.
    private func checkReached(_ peripherals: [Peripheral], _ links: LinkHistory) throws {
        guard let limit = limits.time, !peripherals.contains(where: links.reached) else { return }
        if peripherals.count == 1, let failure = links.lastFailure { throw failure }
        throw BLEError.neverConnected(peripherals, within: limit)
    }

    // MARK: - Over one link each

    private func listenOnce(
        to peripherals: [Peripheral],
        _ links: LinkHistory,
        in environment: CommandEnvironment
    ) async throws {
        let values = peripherals.merged { peripheral in
            peripheral.stream(timeout: limits.patience(of: .seconds(30))) { link in
                environment.log.detail(
                    "connected to \(link.peripheral) (\(link.peripheral.address.kind)), MTU \(link.mtu)"
                )
                links.add(link)
                return securedValues(of: link, links)
            }
            .withGaps()
        }
        let plot = plots ? Plot() : nil
        try await environment.talkingAbout(peripherals) {
            try await environment.printAll(
                values,
                limits,
                droppedBefore: links.dropped(besides: values.counters.dropped)
            ) { item in
                try print(item.value, from: item.source.address, on: plot, in: environment)
            }
        }
    }

    /// The values of a link, once it is as secure as it must be.
    private func securedValues(of link: Link, _ links: LinkHistory) -> BLEStream<CharacteristicValue> {
        let values = link.notifications(of: characteristic)
        guard let level = security.level else { return values }
        links.add(values)
        let secured = SecuredLink(link: link, level: level, timeout: limits.patience(of: .seconds(60)))
        return BLEStream(secured).flatMap { _ in values }
    }

    // MARK: - Over as many links as it takes

    private func followAll(
        _ peripherals: [Peripheral],
        _ links: LinkHistory,
        in environment: CommandEnvironment
    ) async throws {
        try await environment.central.withFleet { fleet in
            let sessions = peripherals.map { peripheral in
                var plan = Session.Plan(peripheral).subscribing(to: characteristic)
                plan.security = security.level
                // A person may have to answer.
                plan.limits.subscribe = plan.limits.initialise
                return fleet.add(plan) { links.add($0) }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await change in fleet.transitions {
                        if let failure = change.cause?.error { links.failed(failure) }
                        tell(change, environment.log)
                    }
                }
                defer { group.cancelAll() }
                let values = sessions.merged { $0.notifications(of: characteristic).withGaps() }
                let plot = plots ? Plot() : nil
                try await environment.printAll(
                    values,
                    limits,
                    droppedBefore: links.dropped(besides: values.counters.dropped)
                ) { item in
                    try print(item.value, from: item.source.peripheral?.address, on: plot, in: environment)
                }
            }
        }
    }

    /// Reports what is being waited for and why; with `-v`, every state.
    private func tell(_ change: Session.Transition, _ log: Log) {
        guard case .disconnected(.waitingToReconnect) = change.state else {
            // The link is up, and nothing is under way yet.
            let words = change.state == .connected(.idle) ? "connected" : "\(change.state)"
            let state = BLEError.inCommands(words, about: "\(change.session)")
            if change.cause != nil { log.detail("\(change.session): \(state)") }
            return
        }
        let why = change.cause?.error?.failureText ?? change.cause.map { "\($0)." } ?? ""
        log.say("\(change.session): \(why) Now \(change.state).")
    }

    // MARK: - Printing

    /// Prints a value or a gap.
    private func print(
        _ item: Gapped<CharacteristicValue>,
        from address: BluetoothAddress?,
        on plot: Plot?,
        in environment: CommandEnvironment
    ) throws -> Taken {
        // With a single device, its address isn't repeated for each value.
        let address = peripherals.count > 1 ? address : nil
        let name = address.map { "\($0)  " } ?? ""
        switch item {
        case .value(let value):
            // One of the two is made, for each value.
            try environment.output.print(
                style.json(of: value).with(address: address),
                plot?.line(value, style, named: name, for: environment.output.columns)
                    ?? "\(name)\(value.time.clockText)  \(style.text(of: value))",
                isWhole: style.isRaw
            )
            return .value
        case .gap(let gap):
            try environment.output.print(gap.line.with(address: address))
            return .remark("\(name)\(gap.text)")
        }
    }
}

extension JSON {
    /// The same object, with the address in front if one is given.
    fileprivate func with(address: BluetoothAddress?) -> JSON {
        guard let address, case .object(let members) = self else { return self }
        return .object([("address", .string("\(address)"))] + members)
    }
}

/// The links so far: the last one of each device, what the earlier ones lost, and why there is none now.
private final class LinkHistory: Sendable {
    private struct State {
        var last: [BluetoothAddress: Link] = [:]
        var droppedBefore = 0
        var lastFailure: BLEError?
        /// The streams whose losses the printed stream doesn't count.
        var values: [BLEStream<CharacteristicValue>] = []
    }

    private let state = Mutex(State())

    func add(_ link: Link) {
        state.withLock { state in
            let former = state.last.updateValue(link, forKey: link.peripheral.address)
            state.droppedBefore += former?.droppedPDUs ?? 0
        }
    }

    /// The printed stream is made of this one by an operator that doesn't count what this one loses.
    func add(_ values: BLEStream<CharacteristicValue>) { state.withLock { $0.values.append(values) } }

    /// A link failed to come up, or was lost.
    func failed(_ error: BLEError) { state.withLock { $0.lastFailure = error } }

    /// Why there is no link, if known.
    var lastFailure: BLEError? { state.withLock { $0.lastFailure } }

    /// How many values were dropped that the printed stream doesn't count: by this machine's kernel, or in front of it.
    ///
    /// - Parameter counted: how many it counts.
    func dropped(besides counted: Int) -> Int {
        let (byKernel, values) = state.withLock { state in
            (state.last.values.reduce(state.droppedBefore) { $0 + $1.droppedPDUs }, state.values)
        }
        let byStreams = values.reduce(counted) { $0 + $1.counters.dropped }
        // Where it is known which values the kernel has dropped, both count them. Beside that, the streams drop nothing
        // before they fail.
        return max(byKernel, byStreams) - counted
    }

    /// Whether there has been a link to this device, whether its address is public or random.
    func reached(_ peripheral: Peripheral) -> Bool {
        state.withLock { $0.last.keys.contains { $0.rawValue == peripheral.address.rawValue } }
    }
}

extension StreamGap {
    /// What is missing, why, and when that was reported, for a program.
    fileprivate var line: JSON {
        .object(("gap", json), ("time", .string(RealTimeline().wallTime.isoText)))
    }

    private var json: JSON {
        .object(
            ("duration", .decimal(duration.seconds)),
            ("dropped", .number(dropped)),
            ("reason", (reason as? BLEError)?.json)
        )
    }

    /// The same for a person.
    var text: String {
        if duration > .zero { return "gap: nothing was received for \(duration.secondsText)" }
        // Behind a change of the services, nobody knows how many.
        if dropped == 0, let cause = (reason as? BLEError)?.cause { return "gap: \(cause)" }
        return "gap: \(dropped) values were dropped"
    }
}

extension BLEError {
    fileprivate static func neverConnected(_ peripherals: [Peripheral], within limit: Duration) -> BLEError {
        let names = peripherals.map { "\($0)" }.joined(separator: ", ")
        var error = BLEError(
            .timedOut,
            operation: "connect",
            object: "to \(names)",
            cause: peripherals.count == 1
                ? "the peripheral did not accept a connection within \(limit.secondsText)"
                : "none of these \(peripherals.count) accepted a connection within \(limit.secondsText)",
            remedy:
                "Check that \(peripherals.count == 1 ? "it" : "each") is switched on, in range, advertising, and not "
                + "connected to another central. If a scan finds no device at all, or no longer finds this one after "
                + "a failed attempt, switch the adapter off and on with `ble adapter cycle`."
        )
        error.elapsed = limit
        return error
    }
}
