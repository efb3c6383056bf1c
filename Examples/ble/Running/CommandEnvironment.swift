import BLESimulator
import BLEStreams
import Glibc
import Interruption
import Synchronization

/// The environment of a subcommand: the radio that it uses, and where it prints.
struct CommandEnvironment: Sendable {
    /// The central role on the adapter.
    let central: Central

    /// The adapter itself, for the peripheral role.
    let adapter: AdapterChoice

    /// What is remembered about peers; `nil`: nothing on disk, for simulated adapters.
    let store: PeerStore?

    /// Where results go.
    var output: Output

    /// Where everything else goes.
    let log: Log

    /// Ctrl-C and similar signals, which end the command; a part of the command may handle them itself.
    let signals: TerminationSignals

    /// Whether a single adapter was named.
    let hasChosenAdapter: Bool

    /// Whether to ignore what is remembered about peripherals.
    var isFresh: Bool

    /// The link and the options of the shell that runs the command, if one does.
    var shell: (link: Link, security: SecurityOptions)?

    /// Whether a shell runs the command.
    var isInShell: Bool { shell != nil }

    /// The peripherals that the command uses.
    private let peripherals = Peripherals()

    private final class Peripherals: Sendable {
        let all = Mutex<[Peripheral]>([])
        /// The bond that was told of last.
        let toldBond = Mutex<Bond?>(nil)
    }

    /// Says that the command has paired: once, where a line of a shell and then the shell itself notice it. Not if the
    /// bond is an old one, or if a shell has removed it again.
    ///
    /// - Parameter former: the bond before the command.
    func tellOfBond(with peripheral: Peripheral, _ former: Bond?, _ name: PeripheralName) {
        guard let bond = peripheral.bond, bond != former else { return }
        let isNews = peripherals.toldBond.withLock { told -> Bool in
            defer { told = bond }
            return told != bond
        }
        guard isNews else { return }
        log.say("paired with \(name.text); `\(isInShell ? "unpair" : "ble unpair \(bond.peer)")` removes the bond")
    }

    /// The peripheral with that name; nothing is sent yet. For a private address of a bonded peripheral, this is the
    /// peripheral with its identity address.
    func peripheral(_ name: PeripheralName) throws -> Peripheral {
        var peripheral = try central.peripheral(name.text)
        if let identity = peripheral.bond?.peer, identity.rawValue != peripheral.address.rawValue {
            log.say("\(peripheral) is \(identity.descriptionWithKind), which is bonded")
            peripheral = central.peripheral(identity)
        }
        if isFresh { peripheral.forgetServices() }
        peripherals.all.withLock { all in
            if !all.contains(where: { $0.address == peripheral.address }) { all.append(peripheral) }
        }
        return peripheral
    }

    /// Waits until no link is up any more, and reports how each ended.
    private func quiet() async {
        for peripheral in peripherals.all.withLock({ $0 }) {
            let states = peripheral.connectionStates.timeout(.seconds(5), for: .wholeStream)
            let end = try? await states.first { if case .disconnected = $0 { true } else { false } }
            log.detail("\(peripheral): \(end.map { "\($0)" } ?? "the link does not close")")
        }
    }

    /// Opens what the options ask for, runs the closure until it is done or interrupted, and closes everything again.
    ///
    /// - Parameter usesAdapter: whether the command needs the machine's adapter; if not, it need not have one.
    static func run(
        _ options: CommonOptions,
        _ log: Log,
        visitor: (any DemoVisitor)? = nil,
        usesAdapter: Bool = true,
        _ body: @escaping @Sendable (CommandEnvironment) async throws -> Void
    ) async throws {
        let signals = TerminationSignals {
            if Terminal.standard != nil { log.liveLines.interrupted(on: STDERR_FILENO) }
        }
        let output = Output(isJSON: options.isJSON)
        try await withCapture(options.capture, log) { capture in
            try await withAdapter(options, log, visitor, usesAdapter) { adapter in
                let choice = capture.map { adapter.captured(in: $0) } ?? adapter
                // In a nested group: a simulated device must run until the command has disconnected.
                let store = Self.store(options, warning: log.warn)
                try await Central.with(choice, store: store, recovery: options.recovery) { central in
                    let environment = CommandEnvironment(
                        central: central,
                        adapter: choice,
                        store: options.isSimulated ? nil : store,
                        output: output,
                        log: log,
                        signals: signals,
                        hasChosenAdapter: options.adapter != nil && options.adapter != CommonOptions.allAdapters,
                        isFresh: options.isFresh
                    )
                    do {
                        try await signals.interrupt {
                            try await environment.tellingTroubles { try await body(environment) }
                        }
                    } catch {
                        await environment.quiet()
                        throw error
                    }
                    await environment.quiet()
                }
            }
        }
    }

    /// Where peers are remembered; what is wrong with the files is said like everything else.
    private static func store(_ options: CommonOptions, warning: @escaping PeerStore.Warning) -> PeerStore? {
        if let folder = options.simulation { return PeerStore(folder: "\(folder)/central", warning: warning) }
        return options.isSimulated ? nil : .standard(warning: warning)
    }

    /// Runs the closure, and meanwhile reports trouble with the adapter.
    private func tellingTroubles(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await trouble in central.adapterTroubles { log.say(trouble.messageText) }
            }
            defer { group.cancelAll() }
            try await body()
        }
    }

    private static func withAdapter(
        _ options: CommonOptions,
        _ log: Log,
        _ visitor: (any DemoVisitor)?,
        _ usesAdapter: Bool,
        _ body: @escaping @Sendable (AdapterChoice) async throws -> Void
    ) async throws {
        guard options.isSimulated else {
            return try await body(usesAdapter ? options.choice : .radio(SimulatedAir().adapter()))
        }
        log.say(
            "this is a simulation; omit \(options.simulatingOption) to use a Bluetooth adapter, or select one with "
                + "--adapter hci0"
        )
        try await DemoAir.run(in: options.simulation, visitor: visitor, body)
    }

    /// Whatever becomes of the body, the file contains what was recorded until then.
    private static func withCapture(_ path: String?, _ log: Log, _ body: (TrafficCapture?) async throws -> Void)
        async throws
    {
        guard let path else { return try await body(nil) }
        let capture = try TrafficCapture(file: path)
        var closed: OutputClosed?
        do {
            try await body(capture)
        } catch let error as OutputClosed {
            // A reader that has enough makes no recording whole.
            closed = error
        } catch {
            do {
                try await capture.close()
            } catch let failure as BLEError {
                log.say(failure.messageText)
            }
            throw error
        }
        do {
            try await capture.close()
        } catch var failure as BLEError {
            // The exit status is that of a failure, but nobody need repeat what was done. A command whose reader has
            // left may have ended early.
            if closed == nil { failure.cause += "; the command has done everything else" }
            throw failure
        }
        if let closed { throw closed }
    }
}
