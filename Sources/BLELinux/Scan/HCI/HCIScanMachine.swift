internal import BLEProtocol

/// Starts a scan with HCI commands beside a kernel that uses the same controller, and restarts it when the kernel or
/// another program has ended it.
///
/// ```
///         begin              which commands it knows            0x00            0x00
///   (idle) ───────► asking ──────────────────► parameters ────────► enabling ────────► scanning
///      │              ▲                         ▲     │ disallowed: it scans already      │
///      │ somebody     │    quiet for a while,   │     ▼                                   │ somebody's enable
///      │ connects     │    nobody connects      │  listening ── somebody's enable ended ──►│ ended
///      └──────────────┴─────────────────────────┴──────────────── disturbed ◄─────────────┘
/// ```
/// A controller accepts either the legacy or the extended commands, and the kernel uses the extended ones if the
/// controller knows them and the kernel doesn't know them to be broken there (`HCI_QUIRK_BROKEN_EXT_SCAN`): then they
/// are refused, and the legacy ones are tried. A controller accepts no parameters while it scans; then another
/// program's scan is used: every program receives its reports.
///
/// While the kernel makes a connection no command is sent: Linux 6.1 and 6.12 would take the command's end for the end
/// of the attempt (`hci_req_cmd_complete`, net/bluetooth/hci_core.c). What the kernel began before this scan is not
/// seen, and may be an attempt that only waits for its peer; so a scan that begins meanwhile waits a few seconds at
/// most. The first sign that the controller scans for the kernel, or that the attempt is over, ends that wait.
///
/// Scan requests contain the sender's address. If the host must not reveal its own, they use the private, or static
/// random, address that the kernel gave the controller last; a controller that has none refuses, and then the scan is
/// passive and sends nothing. Only the kernel changes that address, when it scans or connects next.
///
/// Where events are lost, the answer to a command or the end of the scan may be among them: after a while the command
/// is sent again, or the scan is started again. A controller that refuses that because it scans has kept the scan.
///
/// A controller that hangs answers nothing, and the kernel tells raw sockets nothing of that: whoever sends a command
/// calls ``answerOverdue()`` after ``answerDeadline``, unless it has sent another one since.
struct HCIScanMachine {
    /// The two sets of commands that controllers know.
    enum Generation: Equatable {
        case legacy
        case extended
    }

    /// A command to send.
    enum Command: Equatable {
        case readSupportedCommands
        case setParameters(Generation)
        case enable(Generation)
        case disable(Generation)

        /// Source: Core Specification, Vol 4, Part E, 7.4.2, 7.8.10, 7.8.11, 7.8.64, 7.8.65.
        var opcode: UInt16 {
            switch self {
            case .readSupportedCommands: 0x1002
            case .setParameters(.legacy): 0x200B
            case .enable(.legacy), .disable(.legacy): 0x200C
            case .setParameters(.extended): 0x2041
            case .enable(.extended), .disable(.extended): 0x2042
            }
        }
    }

    /// How it listens.
    enum Manner: Equatable {
        /// It sends nothing.
        case passive
        /// It requests scan responses, with the controller's public address or its random one.
        case active(BluetoothAddress.Kind)
    }

    /// What the driver is to do.
    struct Output: Equatable {
        enum Report: Equatable {
            /// The radio listens, or does so again.
            case listening
            /// The controller refuses, with an HCI status.
            case failed(UInt8)
            /// The controller doesn't answer the command with this opcode.
            case silent(UInt16)
        }

        var command: Command?
        /// Restarts the timer: call ``HCIScanMachine/timerFired()`` after this long.
        var timer: Duration?
        var report: Report?
    }

    private enum State: Equatable {
        case idle
        case asking
        case settingParameters(Generation)
        case enabling(Generation)
        case scanning(Generation)
        case listening
        case disturbed
        case over
    }

    /// How long the controller's scan must stay unchanged by others before this one is restarted.
    static let quiet = Duration.milliseconds(300)
    /// Longer than the kernel gives an attempt to connect, which may be 20 s.
    static let connectDeadline = Duration.seconds(25)
    /// How long an attempt that began before this scan is assumed to be connecting, and not only waiting for its peer.
    /// A peer in range is connected in less; Linux 6.1 gives an absent one 4 s.
    static let presumedConnect = Duration.seconds(5)

    /// How long the answer to a command may take. The kernel gives the controller 2 s for each command, and sends those
    /// of its own that are older first. Source: kernel, `include/net/bluetooth/hci.h`, `HCI_CMD_TIMEOUT`.
    static let answerDeadline = Duration.seconds(10)

    private static let unknownCommand: UInt8 = 0x01
    private static let commandDisallowed: UInt8 = 0x0C
    /// Invalid HCI Command Parameters: the answer to a scan with a random address if the controller has none (Vol 4,
    /// Part E, 7.8.11).
    private static let invalidParameters: UInt8 = 0x12
    private static let scanOpcodes: [UInt16] = [0x200B, 0x200C, 0x2041, 0x2042]
    private static let enableOpcodes: [UInt16] = [0x200C, 0x2042]

    /// How it listens now.
    private(set) var manner: Manner

    private var state = State.idle
    /// Whether a connection is being made: the kernel's command for it was seen.
    private var isConnecting = false
    /// Whether a connection may be under way: an attempt began before this scan.
    private var mayBeConnecting = false
    /// `nil` before the controller has reported it.
    private var generation: Generation?
    /// The scan of this program that may have ended unseen, or goes on; `nil` if there is no doubt.
    private var doubted: Generation?
    /// Whether the answer to the last command may have been missed.
    private var mayLackAnswer = false

    init(_ manner: Manner = .active(.public)) { self.manner = manner }

    /// - Parameter isConnecting: whether the kernel has been asked to connect to a peer.
    mutating func begin(whileConnecting isConnecting: Bool = false) -> Output {
        guard state == .idle else { return Output() }
        guard isConnecting else { return proceed() }
        mayBeConnecting = true
        state = .disturbed
        return Output(timer: Self.presumedConnect)
    }

    /// A command has ended: one of this scan, or of any program.
    mutating func commandEnded(opcode: UInt16, status: UInt8, returned: ArraySlice<UInt8>) -> Output {
        if HCILinkEvent.connectionCommands.contains(opcode) { return connectionAttemptEnded() }
        switch state {
        case .asking where opcode == Command.readSupportedCommands.opcode:
            generation = status == 0 && Self.knowsExtendedScanning(returned) ? .extended : .legacy
            return proceed()
        case .settingParameters(let generation) where opcode == Command.setParameters(generation).opcode:
            if status != 0 { return refused(status) }
            // A controller that scans would have refused them.
            doubted = nil
            guard !isConnecting else { return disturbed() }
            state = .enabling(generation)
            return Output(command: .enable(generation))
        case .enabling(let generation) where opcode == Command.enable(generation).opcode:
            if status != 0 { return refused(status) }
            state = .scanning(generation)
            return Output(report: .listening)
        case .scanning, .listening:
            return Self.enableOpcodes.contains(opcode) ? disturbed() : Output()
        case .disturbed:
            guard Self.scanOpcodes.contains(opcode) else { return Output() }
            // The kernel sets up its own scan.
            mayBeConnecting = false
            if Self.enableOpcodes.contains(opcode) { doubted = nil }
            return disturbed()
        case .idle, .over, .asking, .settingParameters, .enabling:
            return Output()
        }
    }

    /// A command of any program is under way.
    mutating func commandStarted(opcode: UInt16) -> Output {
        guard HCILinkEvent.connectionCommands.contains(opcode) else { return Output() }
        isConnecting = true
        // The kernel ends every scan before it connects.
        doubted = nil
        return Output()
    }

    /// Some of the controller's events were lost. Repeated losses don't postpone the remedy.
    mutating func missedEvents() -> Output {
        switch state {
        case .asking, .settingParameters, .enabling:
            guard !mayLackAnswer else { return Output() }
            mayLackAnswer = true
            return Output(timer: Self.presumedConnect)
        case .scanning(let generation): doubted = generation
        case .listening: break
        case .idle, .disturbed, .over: return Output()
        }
        // The beginning of an attempt to connect may be among them, too.
        mayBeConnecting = true
        state = .disturbed
        return Output(timer: Self.presumedConnect)
    }

    /// An attempt to connect is over.
    mutating func connectionAttemptEnded() -> Output {
        isConnecting = false
        mayBeConnecting = false
        return state == .disturbed ? disturbed() : Output()
    }

    /// An advertisement was received: the controller scans for the kernel, which doesn't while it makes a connection.
    /// If the advertiser is the awaited peer, the kernel's command follows immediately.
    mutating func heard() -> Output {
        guard mayBeConnecting else { return Output() }
        mayBeConnecting = false
        return state == .disturbed ? disturbed() : Output()
    }

    mutating func timerFired() -> Output {
        guard state == .disturbed else { return sendAgain() }
        mayBeConnecting = false
        if isConnecting {
            // Its end starts the short timer; this one is in case that is missed.
            isConnecting = false
            return Output(timer: Self.connectDeadline)
        }
        return proceed()
    }

    /// The last command was sent ``answerDeadline`` ago. An answer that may have been missed is none to wait for: the
    /// command is sent again.
    func answerOverdue() -> Output {
        guard !mayLackAnswer, let awaited else { return Output() }
        return Output(report: .silent(awaited.opcode))
    }

    /// The command whose answer is awaited.
    private var awaited: Command? {
        switch state {
        case .asking: .readSupportedCommands
        case .settingParameters(let generation): .setParameters(generation)
        case .enabling(let generation): .enable(generation)
        case .idle, .scanning, .listening, .disturbed, .over: nil
        }
    }

    /// The scan is cancelled. Another program's scan is left alone.
    mutating func cancel() -> Output {
        defer { (state, doubted) = (.over, nil) }
        switch state {
        case .enabling(let generation), .scanning(let generation): return Output(command: .disable(generation))
        case .settingParameters, .disturbed: return Output(command: doubted.map { Command.disable($0) })
        case .idle, .asking, .listening, .over: return Output()
        }
    }

    /// Sends the command again whose answer may have been missed, unless a connection is being made.
    private mutating func sendAgain() -> Output {
        guard mayLackAnswer else { return Output() }
        guard let command = awaited else {
            mayLackAnswer = false
            return Output()
        }
        if isConnecting {
            isConnecting = false
            return Output(timer: Self.connectDeadline)
        }
        mayLackAnswer = false
        return Output(command: command)
    }

    /// Sends the next command, unless a connection is being made.
    private mutating func proceed() -> Output {
        mayLackAnswer = false
        guard !isConnecting else { return disturbed() }
        guard let generation else {
            state = .asking
            return Output(command: .readSupportedCommands)
        }
        state = .settingParameters(generation)
        return Output(command: .setParameters(generation))
    }

    /// Begins again once the others are quiet.
    private mutating func disturbed() -> Output {
        state = .disturbed
        return Output(timer: Self.quiet)
    }

    private mutating func refused(_ status: UInt8) -> Output {
        let isRefusal = status == Self.commandDisallowed || status == Self.unknownCommand
        // Where the scan that may go on is a legacy one, this says nothing of it.
        if state == .settingParameters(.extended), isRefusal, doubted != .extended {
            guard !isConnecting else { return disturbed() }
            state = .settingParameters(.legacy)
            return Output(command: .setParameters(.legacy))
        }
        if status == Self.commandDisallowed {
            state = doubted.take().map { State.scanning($0) } ?? .listening
            return Output(report: .listening)
        }
        if status == Self.invalidParameters, manner == .active(.random) {
            manner = .passive
            return proceed()
        }
        state = .over
        return Output(report: .failed(status))
    }

    /// Bits 5 and 6 of octet 37: LE Set Extended Scan Parameters and Enable (Vol 4, Part E, 6.27).
    private static func knowsExtendedScanning(_ commands: ArraySlice<UInt8>) -> Bool {
        commands.count > 37 && commands[commands.startIndex + 37] & 0x60 == 0x60
    }
}
