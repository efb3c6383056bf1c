internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Ends links that the kernel has forgotten and the controller keeps.
///
/// Where an attempt to connect is given up just as it succeeds, the kernel's command to cancel it and the controller's
/// report of the link cross, and the kernel takes the attempt for cancelled. The peripheral then stays connected, and
/// so advertises no more, until the adapter is reset; no kernel that was tried, up to Linux 7.3, notices. Which links
/// the controller has is known from its reports, and which ones the kernel has, from its list: the difference is ended
/// in the kernel's place. This requires `CAP_NET_RAW`. They are compared a while after an attempt has ended without a
/// link, and when an attempt ends that was in the way of ending one.
final class ForgottenLinks: Sendable {
    private struct State {
        var looking = OneAtATime()
        var timer: RadioActivity?
        /// The wait for the end of another attempt, during which no link may be ended.
        var wait: RadioActivity?
    }

    /// How long after the end of an attempt the two are compared: reports and commands have crossed by then.
    private static let patience = Duration.seconds(2)
    /// The kernel may not know a younger link yet.
    private static let shortestAge = Duration.seconds(1)
    /// Disconnect, for the reason that the kernel gives, Remote User Terminated Connection (Core Specification, Vol 4,
    /// Part E, 7.1.6).
    private static let disconnect: UInt16 = 0x0406
    private static let reason: UInt8 = 0x13

    private let adapter: LinuxAdapter
    private let monitor: LinkMonitor
    private let management: ManagementSocket?
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(
        _ adapter: LinuxAdapter,
        monitor: LinkMonitor,
        management: ManagementSocket?,
        loop: EventLoop,
        timeline: any Timeline
    ) {
        self.adapter = adapter
        self.monitor = monitor
        self.management = management
        self.loop = loop
        self.timeline = timeline
    }

    deinit {
        let (timer, wait) = state.withLock { ($0.timer, $0.wait) }
        timer?.cancel()
        wait?.cancel()
    }

    /// An attempt to connect has ended without a link, by the program or by the kernel.
    func noteVainAttempt() {
        guard state.withLock({ $0.looking.begin() }) else { return }
        let timer = timeline.schedule(after: Self.patience) { [weak self] in
            guard let self else { return }
            loop.enqueue { [weak self] in self?.look() }
        }
        state.withLock { $0.timer = timer }
    }

    private func look() {
        let isAgain = state.withLock { $0.looking.end() }
        endForgotten()
        if isAgain { noteVainAttempt() }
    }

    /// What the controller has reported and the kernel doesn't know.
    private var forgotten: [UInt16] {
        let reported = monitor.handles(atLeast: Self.shortestAge)
        guard !reported.isEmpty, let known = adapter.handles else { return [] }
        return reported.filter { !known.contains($0) }
    }

    /// Not while another program has the controller for itself (`HCI_CHANNEL_USER`): the kernel knows none of its
    /// links, and raw sockets hear of them. The management socket doesn't have the adapter then.
    private func endForgotten() {
        guard !forgotten.isEmpty else { return }
        management?.submit(ManagementReadInformation()) { [weak self] answer in
            guard let self, (try? answer.get())?.current.contains(.powered) == true else { return }
            // Linux 6.1 and 6.12 would take the command's end for that of the attempt, see HCIScanMachine.
            if waitsForAttempt() { return }
            let handles = forgotten
            if !handles.isEmpty { end(handles) }
        }
    }

    /// If the kernel has asked the controller for a link, waits for the end of that, and then compares again, at once:
    /// the links that the kernel has forgotten by now were reported long before that end.
    ///
    /// - Returns: whether it waits.
    private func waitsForAttempt() -> Bool {
        let wait = monitor.observeAttempt { [weak self] in
            guard let self else { return }
            state.withLock { $0.wait.take() }?.cancel()
            endForgotten()
        }
        guard let wait else { return false }
        let former = state.withLock { state in
            defer { state.wait = wait }
            return state.wait
        }
        former?.cancel()
        return true
    }

    /// The controller is asked once for each: the report of a link's end may have been missed, and a controller that
    /// was reset reports none.
    ///
    /// Nobody is told of a failure: without the capability, or without the adapter, the program can't end a link.
    private func end(_ handles: [UInt16]) {
        do throws(SystemError) {
            let socket = try FileDescriptor.rawHCI(adapter: adapter.number, of: adapter.kernel)
            for handle in handles {
                let parameters = [UInt8(handle & 0xFF), UInt8(handle >> 8), Self.reason]
                try socket.sendCommand(opcode: Self.disconnect, parameters: parameters)
                monitor.forget(handle)
            }
        } catch {}
    }
}
