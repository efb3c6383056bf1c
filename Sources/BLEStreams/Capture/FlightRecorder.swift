public import BLEProtocol
import BLERadio
import CLibrary
import Dispatch
import Synchronization

/// Keeps the last minutes of a central's ATT traffic and advertisements in memory, for use after a failure.
///
/// ```swift
/// let recorder = FlightRecorder(folder: "/var/log/gateway")
/// let central = try await Central.open(.default.recorded(by: recorder))
/// …
/// try await recorder.write(to: "now.btsnoop")
/// ```
///
/// With a folder, it writes a file automatically when a session fails: `2026-11-20T13:00:37Z-C4F2171A1DBB.btsnoop`; at
/// most one in ten seconds, and the first 32 of a process. If a file has that name already, it is kept, and a number
/// follows in the name of the new one: `…-C4F2171A1DBB-2.btsnoop`. One that can't be written doesn't count, and what
/// there was room for is removed; it warns once, until another file could be written. btmon and Wireshark show the
/// file, and a simulated air replays it (`RecordedTraffic`). It contains the services that were discovered since the
/// program began, including those of links that began before those minutes.
///
/// Values are left out by default: their octets are zeros, in memory too, as are names and data in advertisements.
/// Addresses, handles, types, lengths, times and errors are kept. Its memory is limited; recording costs an allocation
/// or two for each PDU.
public final class FlightRecorder: Sendable {
    private struct State {
        var log: FlightLog
        var adapter = AdapterInfo(name: "", address: nil, state: .unknown)
        var automaticFiles = 0
        var lastAutomatic: Duration?
        /// Why the last automatic file could not be written.
        var lastCause: String?
        var whenWritten: (@Sendable (String) -> Void)?
        /// The clock of the radio that it records.
        var timeline: (any Timeline)?
    }

    /// The limits of automatic files: their number, and the time between them.
    private static let fileLimit = 32
    private static let fileDistance = Duration.seconds(10)
    /// How many files may have the same time and peripheral.
    private static let mostOfOneName = 1000

    private let folder: String?
    private let warning: PeerStore.Warning
    private let state: Mutex<State>

    /// Makes a recorder.
    ///
    /// - Parameters:
    ///   - duration: how long traffic is kept; five minutes by default.
    ///   - limit: how much memory it may take, in octets: at most 8 MiB; 2 MiB by default.
    ///   - keepsValues: whether to keep values, names and other data.
    ///   - folder: where to write a file when a session fails; `nil`: no automatic files.
    ///   - warning: called with the error of an automatic file that could not be written, on another thread: of several
    ///     in a row with the same cause, for the first; by default a line goes to standard error.
    public init(
        keeping duration: Duration = .seconds(300),
        limit: Int = 2 << 20,
        keepsValues: Bool = false,
        folder: String? = nil,
        warning: @escaping @Sendable (BLEError) -> Void = PeerStore.printWarning
    ) {
        precondition((0...(8 << 20)).contains(limit), "the limit is 8 MiB at most")
        self.folder = folder
        self.warning = warning
        state = Mutex(State(log: FlightLog(duration: duration, limit: limit, keepsValues: keepsValues)))
    }

    /// Writes the traffic kept at this moment; the recording continues. An existing file is overwritten.
    ///
    /// Cancellation doesn't interrupt it.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno` if the file can't be written.
    public func write(to path: String) async throws {
        let octets = octets(because: "on request")
        let file = try CaptureFile(path)
        file.appendWhole(octets)
        try await file.close()
    }

    private func octets(because reason: String) -> [UInt8] {
        // Assembled outside the lock, which the radio's thread takes for each PDU.
        let (log, adapter, timeline) = state.withLock { ($0.log, $0.adapter, $0.timeline) }
        let time = timeline?.wallTime ?? ReceptionTime(sinceEpoch: .zero, source: .reading)
        return log.file(adapter: adapter, reason: reason, at: time)
    }

    /// Writes a file for a session that has failed; never waits for the disk.
    private func sessionFailed(_ event: Central.Event, _ error: BLEError) {
        guard let folder else { return }
        let isDue = state.withLock { state in
            guard state.automaticFiles < Self.fileLimit, let now = state.timeline?.now else { return false }
            if let last = state.lastAutomatic, now - last < Self.fileDistance { return false }
            state.lastAutomatic = now
            state.automaticFiles += 1
            return true
        }
        guard isDue else { return }
        let device = event.peripheral.map { "-" + "\($0)".filter { $0 != ":" } } ?? ""
        let octets = octets(because: "\(error.code) in \(error.operation)")
        let path = Self.freePath("\(folder)/\(event.time.isoText.prefix(19))Z\(device)")
        let written = state.withLock { $0.whenWritten }
        // A full disk must not stop a program that runs for months.
        let file: CaptureFile
        do throws(BLEError) {
            file = try CaptureFile(path)
        } catch {
            guard isNews(error) else { return }
            // The caller may be the radio's thread, which must not wait for the program.
            return DispatchQueue.global().async { [warning] in warning(error) }
        }
        file.appendWhole(octets)
        file.closeSoon { [self] failure in
            guard let failure else {
                state.withLock { $0.lastCause = nil }
                written?(path)
                return
            }
            // A part of a file, for each failure while the disk is full, would be all that is found later.
            unlink(path)
            if isNews(failure) { warning(failure) }
        }
    }

    /// The path of a file that is not there yet. Without a clock of its own, a machine begins with the same time at
    /// each start, and the file of an earlier run may be the one that shows the cause.
    private static func freePath(_ beginning: String) -> String {
        var (path, number) = ("\(beginning).btsnoop", 1)
        while isFile(path), number < mostOfOneName {
            number += 1
            path = "\(beginning)-\(number).btsnoop"
        }
        return path
    }

    /// Whether there is a file; the corresponding C function is `stat`.
    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// An automatic file could not be written. It doesn't count: the disk may be full for days, and the program runs
    /// for months after that.
    ///
    /// - Returns: whether the one before it didn't fail for the same cause.
    private func isNews(_ failure: BLEError) -> Bool {
        state.withLock { state in
            state.automaticFiles -= 1
            defer { state.lastCause = failure.cause }
            return state.lastCause != failure.cause
        }
    }

    /// Reports automatic files to a test.
    func whenWritten(_ body: @escaping @Sendable (String) -> Void) { state.withLock { $0.whenWritten = body } }
}

extension FlightRecorder: EventHandler {
    /// Writes a file when a session has failed.
    public func handle(_ event: Central.Event) {
        if case .session(.failed(let error)) = event.kind { sessionFailed(event, error) }
    }
}

extension AdapterChoice {
    /// The same adapter; the recorder keeps its last minutes, and writes them when a session of the central fails.
    public func recorded(by recorder: FlightRecorder) -> AdapterChoice {
        observed { recorder.observer(on: $0.timeline) }.reporting(to: recorder)
    }
}

extension FlightRecorder {
    fileprivate func observer(on timeline: any Timeline) -> any TrafficObserver {
        state.withLock { $0.timeline = timeline }
        return Tap(self, timeline)
    }

    /// The observer of one recorded radio.
    private final class Tap: TrafficObserver {
        private let recorder: FlightRecorder
        private let timeline: any Timeline

        init(_ recorder: FlightRecorder, _ timeline: any Timeline) {
            self.recorder = recorder
            self.timeline = timeline
        }

        var adapter: AdapterInfo {
            get { recorder.state.withLock { $0.adapter } }
            set { recorder.state.withLock { $0.adapter = newValue } }
        }

        /// Changes the state, once what is too old by now has gone.
        private func change<Output: Sendable>(_ body: (inout State) -> Output) -> Output {
            let now = timeline.now
            return recorder.state.withLock { state in
                state.log.pass(to: now)
                return body(&state)
            }
        }

        private func note(_ body: (inout FlightLog, ReceptionTime) -> Void) {
            let time = timeline.wallTime
            change { body(&$0.log, time) }
        }

        func linkOpened(_ radioLink: any ATTLink, _ role: ATTCapture.Role) -> LinkID? {
            let time = timeline.wallTime
            return change { state in
                state.adapter.address = state.adapter.address ?? radioLink.local
                return state.log.opened(radioLink.peer, role, at: time).map(LinkID.init(handle:))
            }
        }

        func linkClosed(_ link: LinkID, _ reason: DisconnectReason) {
            note { $0.closed(link.handle, status: reason.recordedStatus, at: $1) }
        }

        func received(_ pdu: ReceivedPDU, _ link: LinkID) -> Bool {
            let octets = Array(pdu.bytes)
            change { $0.log.carried(octets, isSent: false, on: link.handle, at: pdu.time) }
            return true
        }

        /// An answer never precedes its request: the place is taken before the PDU leaves. A PDU that the radio has no
        /// room for is sent again.
        func send(_ pdu: [UInt8], _ link: LinkID, by send: () -> SendResult) -> (result: SendResult, hadRoom: Bool) {
            note { $0.carried(pdu, isSent: true, on: link.handle, at: $1) }
            let result = send()
            if result != .sent { recorder.state.withLock { $0.log.notTaken(on: link.handle) } }
            return (result, true)
        }

        func lost(_ count: Int, _ link: LinkID) -> Bool {
            note { $0.lost(count, on: link.handle, at: $1) }
            return true
        }

        func reported(_ reports: [AdvertisingReport]) {
            change { state in
                for report in reports {
                    state.log.advertised(
                        by: report.address,
                        isConnectable: report.isConnectable,
                        rssi: report.rssi,
                        data: report.data.bytes,
                        at: report.time
                    )
                }
            }
        }

        func reportsLost(_ count: Int) { note { $0.reportsLost(count, at: $1) } }
    }
}
