internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Switches an adapter on, ready for Low Energy, or off, through the management socket.
final class PowerSwitch: Sendable {
    /// How often a kernel is told to switch off that refuses: it does while it can't end a scan of a controller that hangs.
    private static let attempts = 3
    private static let pause = Duration.seconds(1)

    private let isOn: Bool
    private let management: ManagementSocket
    private let adapter: LinuxAdapter
    private let timeline: any Timeline
    private let sink: EventSink<Result<Void, BLEError>>
    private let timer = Mutex<RadioActivity?>(nil)

    init(
        _ isOn: Bool,
        _ management: ManagementSocket,
        _ adapter: LinuxAdapter,
        timeline: any Timeline,
        sink: EventSink<Result<Void, BLEError>>
    ) {
        self.isOn = isOn
        self.management = management
        self.adapter = adapter
        self.timeline = timeline
        self.sink = sink
    }

    /// Starts, on the loop's thread; goes on to its end, whoever waits for it.
    func begin() {
        if isOn {
            // An adapter for both transports may have Low Energy off; one that is for Low Energy alone says that it is on.
            management.submit(ManagementSetLowEnergy(true)) { [self] _ in
                management.submit(ManagementSetPowered(true)) { [self] in finish($0.map { _ in }) }
            }
        } else {
            switchOff(attempt: 1)
        }
    }

    private func switchOff(attempt: Int) {
        management.submit(ManagementSetPowered(false)) { [self] answer in
            guard case .failure(let failure) = answer, failure.isPassing, attempt < Self.attempts else {
                return finish(answer.map { _ in })
            }
            management.submit(ManagementStopDiscovery()) { [self] _ in
                let timer = timeline.schedule(after: Self.pause) { [self] in switchOff(attempt: attempt + 1) }
                self.timer.withLock { $0 = timer }
            }
        }
    }

    private func finish(_ outcome: Result<Void, ManagementFailure>) {
        let operation = isOn ? "switch on" : "switch off"
        sink.finish(outcome.mapError { $0.error(operation: operation, object: adapter.name, adapter: adapter) })
    }
}

extension ManagementFailure {
    /// Whether the kernel may agree a moment later.
    fileprivate var isPassing: Bool {
        switch self {
        case .status(.failed, _), .status(.busy, _), .timedOut: true
        case .status(let status, let opcode): status.isSilence(of: opcode)
        case .broken: false
        }
    }
}
