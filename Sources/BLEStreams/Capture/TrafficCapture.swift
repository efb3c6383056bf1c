import BLEProtocol
import BLERadio
import Synchronization

/// A recording of ATT traffic and of advertisements in a btsnoop file, which btmon and Wireshark show.
///
/// ```swift
/// let capture = try TrafficCapture(file: "walk.btsnoop")
/// let central = try await Central.open(.default.captured(in: capture))
/// …
/// try await capture.close()
/// ```
///
/// ATT PDUs and their times are recorded as sent and received, and so are advertising data with their senders and
/// signal strengths. The operating system doesn't reveal the layers below, so connection handles, and the events that
/// begin and end a link or report an advertisement, are synthetic; a note in the file says so. An advertisement that
/// the system has merged with its scan response is one event.
///
/// Recording never waits for the disk: octets are written in the background, within half a second, and the rest by
/// ``close()``. If the disk is too slow, PDUs are left out: a note in the file states how many, each later record
/// counts all that are missing by then ("cumulative drops"), and ``close()`` reports it. PDUs and packets with
/// advertisements that the kernel dropped are noted and counted in the same way, and ``close()`` doesn't report them.
///
/// The file may be a named pipe that another program reads, such as `btmon -r PIPE` or `tshark -r PIPE`. If that
/// program ends, the recording ends too, and the program that records goes on; ``close()`` reports it.
public final class TrafficCapture: Sendable {
    let file: CaptureFile
    private let adapters = Mutex<[CapturedAdapter]>([])
    /// The clock of the radio that it was last used for; `nil` before that, and after the end.
    private let timeline = Mutex<(any Timeline)?>(nil)
    private static let header = BTSnoopHeader(datalink: .linuxMonitor).encoded

    /// Begins a recording; an existing file is overwritten. It blocks for up to 10 seconds if the file is a named pipe
    /// that no program reads yet.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno` if the file can't be written, or is a pipe that
    ///   nobody reads.
    public convenience init(file path: String) throws { try self.init(file: path, patience: .seconds(10)) }

    /// - Parameter patience: how long to wait for a pipe's reader.
    package init(file path: String, patience: Duration) throws {
        file = try CaptureFile(path, patience: patience)
        file.appendWhole(Self.header)
    }

    /// Ends the recording: writes the rest, and closes the file. Cancellation doesn't interrupt it; further calls do
    /// nothing. The program that reads a named pipe may take its time, but must take something every 10 seconds. A
    /// packet that is being sent meanwhile is awaited for as long, and is then counted as missing.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the first error in writing the file; everything before it is in
    ///   the file. ``BLEError/Code/overflow`` if the file is written, but lacks packets, since writing was too slow.
    public func close() async throws {
        noteLeftOut()
        try await file.close()
    }

    /// The times of what concerns no radio are this clock's.
    func use(_ timeline: any Timeline) { self.timeline.withLock { $0 = timeline } }

    /// Packets may be missing at the end too, where no record follows.
    private func noteLeftOut() {
        // Further calls add no further note, and a file that is closed retains no radio's clock.
        let timeline = timeline.withLock { $0.take() }
        let count = file.leftOut
        guard count > 0, let time = timeline?.wallTime else { return }
        let note = "this recording lacks \(count) packets, since writing was too slow"
        file.appendWhole(ATTCapture(index: 0).note(note, time: time))
    }

    /// Adds an adapter: writes the records that introduce it. An adapter that the file has already, for another radio
    /// or under another name, is the same one: its links need different handles.
    ///
    /// Its number is that of its name if it has one, `hci1`, and no other adapter has it; otherwise the next one.
    func add(_ info: AdapterInfo, at time: ReceptionTime) -> CapturedAdapter {
        adapters.withLock { adapters in
            if let known = adapters.first(where: { $0.isSame(as: info) }) { return known }
            let taken = Set(adapters.map(\.index))
            let own = UInt16(info.name.drop { !$0.isNumber }).flatMap { taken.contains($0) ? nil : $0 }
            let next = (0..<UInt16.max).first { !taken.contains($0) }
            let adapter = CapturedAdapter(info, index: own ?? next ?? .max)
            let opening = adapter.machine.withLock { $0 }.opening(adapter: info.address, name: info.name, time: time)
            // A file has one header. Under the lock: the records of its links come after these, and need them.
            file.appendWhole(Array(opening.dropFirst(Self.header.count)))
            adapters.append(adapter)
            return adapter
        }
    }
}

/// An adapter in a recording, and the maker of its links' records.
final class CapturedAdapter: Sendable {
    let index: UInt16
    let machine: Mutex<ATTCapture>
    private let name: String
    private let address: BluetoothAddress?

    init(_ info: AdapterInfo, index: UInt16) {
        self.index = index
        (name, address) = (info.name, info.address)
        machine = Mutex(ATTCapture(index: index))
    }

    /// Whether it is this adapter: a name may pass to another one.
    func isSame(as info: AdapterInfo) -> Bool {
        guard let address, let other = info.address else { return name == info.name }
        return address == other
    }
}

extension AdapterChoice {
    /// The same adapter, recording the ATT traffic of all its links and the advertisements it receives.
    public func captured(in capture: TrafficCapture) -> AdapterChoice {
        observed { CaptureRecorder(capture, timeline: $0.timeline) }
    }

    /// The same adapter, with an observer for each radio that it makes.
    func observed(_ observer: @escaping @Sendable (any Radio) -> any TrafficObserver) -> AdapterChoice {
        let (makeRadio, awaitRadio) = (makeRadio, awaitRadio)
        let observe: @Sendable (any Radio) -> any Radio = { CaptureRadio($0, observer($0)) }
        return AdapterChoice(
            isOfThisMachine: isOfThisMachine,
            events: events,
            awaitRadio: { observe(try awaitRadio()) },
            makeRadio: { observe(try makeRadio()) }
        )
    }
}
