internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// A scan with raw HCI commands, for programs that may not use the management socket but have `CAP_NET_RAW`.
///
/// The kernel sees such a scan and continues with its own work; if the two conflict, the scan starts again, see
/// ``HCIScanMachine``.
final class HCIScan: ScanWay {
    private struct State {
        var machine: HCIScanMachine
        var timer: RadioActivity?
        /// How many commands were sent, and the timer of the last one's answer.
        var commands = 0
        var answer: RadioActivity?
        var drops = DropCounter()
        var hasAnnounced = false
        var isOver = false
    }

    private let socket: SharedDescriptor
    private let adapter: AdapterFacts
    private let loop: EventLoop
    private let timeline: any Timeline
    private let reading: PacedReading
    private let held: HeldReports
    private let sink: EventSink<ScanEvent>
    private let failed: @Sendable (ScanFailure) -> Void
    private let state: Mutex<State>

    /// Opens the adapter; that alone requires no privilege.
    ///
    /// - Parameter settings: the adapter's; `nil` if they could not be read: then its address is not revealed.
    init(
        _ request: ScanRequest,
        adapter: AdapterFacts,
        of kernel: Kernel,
        settings: ManagementSettings?,
        loop: EventLoop,
        timeline: any Timeline,
        sink: EventSink<ScanEvent>,
        failed: @escaping @Sendable (ScanFailure) -> Void
    ) throws(SystemError) {
        self.adapter = adapter
        self.loop = loop
        self.timeline = timeline
        reading = PacedReading(.ofAdvertisements, on: loop, timeline)
        held = HeldReports(on: loop, timeline)
        self.sink = sink
        self.failed = failed
        state = Mutex(State(machine: HCIScanMachine(.init(request, adapter, settings))))
        socket = SharedDescriptor(try .rawHCI(adapter: adapter.number, of: kernel))
        try socket.descriptor.filterScanning()
        socket.descriptor.prepareForLink()
    }

    /// Starts, on the loop's thread.
    func begin() {
        do throws(SystemError) {
            let registration = try loop.register(socket.descriptor, for: .readable) { [weak self] readiness, buffer in
                self?.socketIsReady(readiness, buffer)
            }
            let isOver = state.withLock { state in
                if !state.isOver { reading.begin(registration) { [weak self] in self?.socketIsReady([], $0) } }
                return state.isOver
            }
            if isOver { return loop.unregister(registration, of: socket.descriptor) }
            held.begin { [weak self] in self?.tell($0) }
        } catch {
            return fail(.system(error))
        }
        let isConnecting = (try? socket.descriptor.attempts(of: adapter.number))?.isEmpty == false
        perform { $0.begin(whileConnecting: isConnecting) }
    }

    /// Ends the scan; the controller is told before this returns.
    func cancel() {
        let (output, registration, timers) = state.withLock { state in
            defer {
                state.isOver = true
                state.timer = nil
                state.answer = nil
            }
            let output = state.isOver ? HCIScanMachine.Output() : state.machine.cancel()
            return (output, reading.end(), [state.timer, state.answer])
        }
        held.end()
        for timer in timers { timer?.cancel() }
        if let command = output.command { try? send(command) }
        if let registration { loop.unregister(registration, of: socket.descriptor) }
    }
}

// MARK: - Commands

extension HCIScan {
    private func perform(_ input: (inout HCIScanMachine) -> HCIScanMachine.Output) {
        let output = state.withLock { state in state.isOver ? HCIScanMachine.Output() : input(&state.machine) }
        if let command = output.command {
            do throws(SystemError) {
                try send(command)
            } catch {
                return fail(.system(error))
            }
            // Whoever has cancelled the scan just now, on another thread, may have told the controller before this.
            if case .enable(let generation) = command, state.withLock({ $0.isOver }) {
                try? send(.disable(generation))
            }
            awaitAnswer()
        }
        if let delay = output.timer {
            let timer = timeline.schedule(after: delay) { [weak self, loop] in
                loop.enqueue { [weak self] in self?.perform { $0.timerFired() } }
            }
            state.withLock { if !$0.isOver { $0.timer = timer } }
        }
        switch output.report {
        case .listening: announce()
        case .failed(let status): fail(.controller(status))
        case .silent(let opcode): fail(.silent(opcode))
        case nil: break
        }
    }

    /// Gives the answer to the command that was just sent its time.
    private func awaitAnswer() {
        let number = state.withLock { state in
            state.commands += 1
            return state.commands
        }
        let timer = timeline.schedule(afterAwake: HCIScanMachine.answerDeadline) { [weak self, loop] in
            loop.enqueueReceiving { [weak self] in self?.answerIsOverdue(number, $0) }
        }
        let former = state.withLock { state -> RadioActivity? in
            guard !state.isOver else { return timer }
            defer { state.answer = timer }
            return state.answer
        }
        former?.cancel()
    }

    /// The answer may wait to be read: a program that was stopped learns of that and of its timer's end at once.
    private func answerIsOverdue(
        _ number: Int,
        within turns: Int = SocketDrain.everything / SocketDrain.fairShare,
        _ buffer: ReceiveBuffer
    ) {
        guard isAwaited(number) else { return }
        let isRead = socketIsReady([], buffer)
        guard isAwaited(number) else { return }
        if isRead || turns <= 1 { return perform { $0.answerOverdue() } }
        loop.enqueueReceiving { [weak self] in self?.answerIsOverdue(number, within: turns - 1, $0) }
    }

    /// Whether this is the last command, and the scan goes on.
    private func isAwaited(_ number: Int) -> Bool { state.withLock { !$0.isOver && $0.commands == number } }

    private func send(_ command: HCIScanMachine.Command) throws(SystemError) {
        try socket.descriptor.sendCommand(opcode: command.opcode, parameters: parameters(of: command))
    }

    /// Source: Core Specification, Vol 4, Part E, 7.4.2, 7.8.10, 7.8.11, 7.8.64, 7.8.65.
    private func parameters(of command: HCIScanMachine.Command) -> [UInt8] {
        let manner = state.withLock { $0.machine.manner }
        let type: UInt8 = manner == .passive ? 0 : 1
        // Matters only if something is sent.
        let isRandom = manner == .active(.random) || adapter.hasNoPublicAddress
        let ownAddress: UInt8 = isRandom ? 1 : 0
        // A controller that filters duplicates would report a device once, for as long as it scans: never to a consumer
        // that comes later, nor when it is nearer, and a deaf adapter would look the same.
        let filter: UInt8 = 0
        // The controller listens all the time: 10 ms out of every 10 ms.
        let window: [UInt8] = [0x10, 0x00, 0x10, 0x00]
        switch command {
        case .readSupportedCommands: return []
        case .setParameters(.legacy): return [type] + window + [ownAddress, 0]
        case .enable(.legacy): return [1, filter]
        case .disable(.legacy): return [0, 0]
        case .setParameters(.extended): return [ownAddress, 0, 0x01, type] + window
        case .enable(.extended): return [1, filter, 0, 0, 0, 0]
        case .disable(.extended): return [0, 0, 0, 0, 0, 0]
        }
    }

    private func announce() {
        let isFirst = state.withLock { state in
            defer { state.hasAnnounced = true }
            return !state.hasAnnounced
        }
        if isFirst { sink.send(.started) }
    }

    private func fail(_ failure: ScanFailure) {
        cancel()
        failed(failure)
    }
}

// MARK: - Reports

extension HCIScan {
    /// - Returns: whether it was read to its end.
    @discardableResult
    private func socketIsReady(_ readiness: Readiness, _ buffer: ReceiveBuffer) -> Bool {
        var (found, last) = (0, 0)
        let outcome = SocketDrain.empty(socket.descriptor, readiness: readiness, through: buffer) { count in
            found += count
            last = count
            state.withLock { $0.drops.hasRead(count) }
            let now = timeline.wallTime
            var reports: [AdvertisingReport] = []
            for datagram in 0..<count {
                let lost = state.withLock { $0.drops.lost(upTo: buffer.dropped(datagram)) }
                if lost > 0 {
                    tell(reports)
                    reports.removeAll()
                    missed(lost)
                }
                reports += received(buffer.bytes(datagram), buffer.kernelTime(datagram) ?? now)
            }
            tell(reports)
        }
        if case .ended(let error) = outcome {
            fail(ScanFailure(endOfSocket: error))
            return true
        }
        let isEmpty = SocketDrain.isEmpty(socket.descriptor, behind: last)
        if isEmpty, state.withLock({ $0.drops.mayLackEnd }) { missBehindLast() }
        reading.hasRead(found, of: socket.descriptor, mayPause: true)
        return isEmpty
    }

    /// Nearly all events are advertisements: those that the kernel had no room for are reported as such. What else may
    /// be among them is looked for, and what is held may lack a part.
    private func missed(_ count: Int) {
        sink.send(.dropped(count))
        held.missedEvents()
        perform { $0.missedEvents() }
    }

    /// Asks the socket how many events are missing behind the last one, which no event tells; once after each backlog.
    private func missBehindLast() {
        let total = socket.descriptor.droppedSinceOpening()
        let lost = state.withLock { $0.drops.lost(byNow: total) }
        if lost > 0 { missed(lost) }
    }

    private func received(_ packet: [UInt8], _ time: ReceptionTime) -> [AdvertisingReport] {
        switch HCIEvent(decoding: packet) {
        case .commandEnded(let opcode, let status, let returned):
            perform { $0.commandEnded(opcode: opcode, status: status, returned: returned) }
            return []
        case .commandStarted(let opcode):
            perform { $0.commandStarted(opcode: opcode) }
            return []
        case .connectionAttemptEnded:
            perform { $0.connectionAttemptEnded() }
            return []
        case .advertisements(let advertisements):
            perform { $0.heard() }
            let isActive = state.withLock { $0.machine.manner != .passive }
            return held.add(advertisements, isActive: isActive, time: time)
        case nil:
            return []
        }
    }

    private func tell(_ reports: [AdvertisingReport]) {
        guard !reports.isEmpty else { return }
        announce()
        sink.send(.reports(reports))
    }
}

extension ScanFailure {
    /// The socket reports once that the adapter was removed. Source: kernel, `net/bluetooth/hci_sock.c`,
    /// `hci_sock_dev_event`.
    fileprivate init(endOfSocket error: SystemError?) {
        switch error {
        case nil, .brokenPipe?, .noDevice?: self = .removed
        case let error?: self = .system(error)
        }
    }
}

extension HCIScanMachine.Manner {
    /// How a scan listens if its host may not reveal its public address: Privacy, or a static random address instead
    /// (BlueZ, doc/mgmt-protocol.rst, "Read Controller Information").
    init(_ request: ScanRequest, _ adapter: AdapterFacts, _ settings: ManagementSettings?) {
        guard request.isActive else {
            self = .passive
            return
        }
        let isHidden = settings.map { !$0.isDisjoint(with: [.privacy, .staticAddress]) } ?? true
        self = .active(isHidden || adapter.hasNoPublicAddress ? .random : .public)
    }
}
