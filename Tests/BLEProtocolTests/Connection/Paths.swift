import BLEProtocol

/// Ways through the machine to each of its states, with all histories that a condition of the table asks for.
enum Paths {
    static let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    static let timeout = BLEError(.timedOut, operation: "connect", cause: "it did not answer")
    static let notFound = BLEError(.notFound, operation: "session", cause: "there is no such characteristic")
    static let failedToEstablish = {
        var error = BLEError(.connectionFailed, operation: "connect", cause: "it failed to be established")
        error.reason = DisconnectReason(.failedToEstablish)
        return error
    }()

    /// A plain connection to something that is looked for.
    static let plain: [SessionState.Trigger] = [
        .scan, .discovered(address), .connect, .linkEstablished(mtu: 23), .discoverServices,
        .servicesDiscovered(fromCache: false), .discoverCharacteristics, .characteristicDiscovered(.heartRate),
        .subscribe, .subscribed("2A37"), .becomeReady,
    ]

    /// Triggers of one kind, with what matters to a condition: errors that may be cured, and others.
    static func samples(of kind: SessionState.Trigger.Kind) -> [SessionState.Trigger] {
        let errors = [timeout, notFound, failedToEstablish]
        return switch kind {
        case .scan: [.scan]
        case .connect: [.connect]
        case .discoverServices: [.discoverServices]
        case .discoverCharacteristics: [.discoverCharacteristics]
        case .read: [.read]
        case .write: [.write]
        case .subscribe: [.subscribe]
        case .unsubscribe: [.unsubscribe("2A37")]
        case .becomeReady: [.becomeReady]
        case .disconnect: [.disconnect]
        case .reset: [.reset]
        case .discovered: [.discovered(address)]
        case .linkEstablished: [.linkEstablished(mtu: 23)]
        case .servicesDiscovered: [.servicesDiscovered(fromCache: false), .servicesDiscovered(fromCache: true)]
        case .characteristicDiscovered: [.characteristicDiscovered(.heartRate)]
        case .readFinished: [.readFinished]
        case .writeFinished: [.writeFinished]
        case .subscribed: [.subscribed("2A37")]
        case .resume: [.resume]
        case .adapterReturned: [.adapterReturned]
        case .searchFailed: errors.map { .searchFailed($0) }
        case .scanFailed: errors.map { .scanFailed($0) }
        case .connectFailed: errors.map { .connectFailed($0) }
        case .discoveryFailed: errors.map { .discoveryFailed($0) }
        case .notFound: [.notFound(notFound)]
        case .notSupported: [.notSupported(notFound)]
        case .initialisationFailed: errors.map { .initialisationFailed($0) }
        case .operationFailed: errors.map { .operationFailed($0) }
        case .subscriptionFailed: errors.map { .subscriptionFailed($0) }
        case .subscriptionRefused: errors.map { .subscriptionRefused($0) }
        case .linkLost: [.linkLost(DisconnectReason(.supervisionTimeout))]
        case .adapterLost: [.adapterLost(.poweredOff), .adapterLost(.unsupported)]
        }
    }

    /// Machines in a state, by different ways: with and without a cache, attempts left and none, known and not.
    static func all(to state: SessionState.Kind) -> [ConnectionMachine] { machines[state] ?? [] }

    /// By a walk in breadth: from each state every sample, for some steps.
    private static let machines: [SessionState.Kind: [ConnectionMachine]] = {
        let policies: [ConnectionMachine.Policy] = [
            .init(immediateAttempts: 1), .init(reconnecting: nil, immediateAttempts: 0),
        ]
        var found: [SessionState.Kind: [ConnectionMachine]] = [:]
        var seen: Set<String> = []
        var edge = policies.flatMap { policy in
            [false, true].map { ConnectionMachine(policy: policy, isPeerKnown: $0) }
        }
        let triggers = SessionState.Trigger.Kind.allCases.flatMap(samples)
        for _ in 0..<14 {
            var next: [ConnectionMachine] = []
            for machine in edge where seen.insert(key(machine)).inserted {
                found[machine.state.kind, default: []].append(machine)
                for trigger in triggers {
                    var copy = machine
                    if (try? copy.handle(trigger)) != nil { next.append(copy) }
                }
            }
            edge = next
        }
        return found
    }()

    /// What two machines have alike that behave alike: what is of no account in the state is left out.
    private static func key(_ machine: ConnectionMachine) -> String {
        let kind = machine.state.kind
        var parts = ["\(kind)"]
        for child in Mirror(reflecting: machine).children {
            switch child.label {
            case "state", "failures", "attempt", "readySince": continue
            case "immediateAttemptsLeft" where kind != .connecting: continue
            case "usesCache" where kind.phase != .connected: continue
            case "origin" where ![.reading, .writing, .subscribing].contains(kind): continue
            default: parts.append("\(child.label ?? ""): \(child.value)")
            }
        }
        return parts.joined(separator: "; ")
    }
}
