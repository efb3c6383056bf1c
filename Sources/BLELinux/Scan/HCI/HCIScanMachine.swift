/// Starts a scan by HCI commands beside a kernel that uses the same controller, and starts it again when the kernel or
/// another program has ended it.
///
/// ```
///            begin         which commands it knows            0x00            0x00
///   (idle) ───────► asking ──────────────────► parameters ────────► enabling ────────► scanning
///                                               ▲     │ disallowed: it scans already      │
///                            quiet for a while, │     ▼                                   │ somebody's enable
///                            nobody connects    │  listening ── somebody's enable ended ──►│ ended
///                                               └──────────────── disturbed ◄─────────────┘
/// ```
/// A controller takes either the legacy or the extended commands, and of these the kernel uses the extended ones where
/// it knows them; it takes no parameters while it scans. Then somebody else's scan is listened to: every program hears
/// its reports. While the kernel makes a connection no command is sent: Linux 6.1 would take the command's end for the
/// end of the attempt.
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

    /// What the driver is to do.
    struct Output: Equatable {
        enum Report: Equatable {
            /// The radio listens, or does so again.
            case listening
            /// The controller refuses, with an HCI status.
            case failed(UInt8)
        }

        var command: Command?
        /// Starts the timer anew: after this long ``HCIScanMachine/timerFired()`` is to be called.
        var timer: Duration?
        var report: Report?
    }

    private enum State: Equatable {
        case idle
        case asking
        case settingParameters
        case enabling
        case scanning
        case listening
        case disturbed
        case over
    }

    /// How long nobody else may have changed the controller's scan before this one is started again.
    static let quiet = Duration.milliseconds(300)
    /// Longer than the kernel gives an attempt to connect, which may be 20 s.
    static let connectDeadline = Duration.seconds(25)

    private static let commandDisallowed: UInt8 = 0x0C
    private static let scanOpcodes: [UInt16] = [0x200B, 0x200C, 0x2041, 0x2042]
    private static let enableOpcodes: [UInt16] = [0x200C, 0x2042]
    /// LE Create Connection and its extended forms.
    private static let connectOpcodes: [UInt16] = [0x200D, 0x2043, 0x2085]

    private var state = State.idle
    private var isConnecting = false
    private var generation = Generation.legacy

    mutating func begin() -> Output {
        guard state == .idle else { return Output() }
        state = .asking
        return Output(command: .readSupportedCommands)
    }

    /// A command has ended, one of this scan or of anybody.
    mutating func commandEnded(opcode: UInt16, status: UInt8, returned: ArraySlice<UInt8>) -> Output {
        if Self.connectOpcodes.contains(opcode) { return connectionAttemptEnded() }
        switch state {
        case .asking where opcode == Command.readSupportedCommands.opcode:
            generation = status == 0 && Self.knowsExtendedScanning(returned) ? .extended : .legacy
            return setParameters()
        case .settingParameters where opcode == Command.setParameters(generation).opcode:
            if status == 0 {
                state = .enabling
                return Output(command: .enable(generation))
            }
            return refused(status)
        case .enabling where opcode == Command.enable(generation).opcode:
            if status == 0 {
                state = .scanning
                return Output(report: .listening)
            }
            return refused(status)
        case .scanning, .listening:
            if !Self.enableOpcodes.contains(opcode) { return Output() }
            state = .disturbed
            return Output(timer: Self.quiet)
        case .disturbed:
            return Self.scanOpcodes.contains(opcode) ? Output(timer: Self.quiet) : Output()
        case .idle, .over, .asking, .settingParameters, .enabling:
            return Output()
        }
    }

    /// A command of anybody is under way.
    mutating func commandStarted(opcode: UInt16) -> Output {
        if Self.connectOpcodes.contains(opcode) { isConnecting = true }
        return Output()
    }

    /// An attempt to connect is over.
    mutating func connectionAttemptEnded() -> Output {
        isConnecting = false
        return state == .disturbed ? Output(timer: Self.quiet) : Output()
    }

    mutating func timerFired() -> Output {
        guard state == .disturbed else { return Output() }
        if isConnecting {
            // Its end starts the short timer; this one is there in case that goes unseen.
            isConnecting = false
            return Output(timer: Self.connectDeadline)
        }
        return setParameters()
    }

    /// Nobody scans any more. A scan of somebody else is left alone.
    mutating func cancel() -> Output {
        defer { state = .over }
        switch state {
        case .enabling, .scanning: return Output(command: .disable(generation))
        case .idle, .asking, .settingParameters, .listening, .disturbed, .over: return Output()
        }
    }

    private mutating func setParameters() -> Output {
        state = .settingParameters
        return Output(command: .setParameters(generation))
    }

    private mutating func refused(_ status: UInt8) -> Output {
        if status == Self.commandDisallowed {
            state = .listening
            return Output(report: .listening)
        }
        state = .over
        return Output(report: .failed(status))
    }

    /// Bits 5 and 6 of octet 37: LE Set Extended Scan Parameters and Enable (Vol 4, Part E, 6.27).
    private static func knowsExtendedScanning(_ commands: ArraySlice<UInt8>) -> Bool {
        commands.count > 37 && commands[commands.startIndex + 37] & 0x60 == 0x60
    }
}
