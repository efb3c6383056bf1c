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
/// ``close()``. If the disk is too slow, PDUs are left out, and a note in the file states how many.
public final class TrafficCapture: Sendable {
    /// The path of the file.
    public let path: String

    let file: CaptureFile
    private let adapters = Mutex<UInt16>(0)
    private static let header = BTSnoopHeader(datalink: .linuxMonitor).encoded

    /// Begins a recording; an existing file is overwritten.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno` if the file can't be written.
    public init(file path: String) throws {
        self.path = path
        file = try CaptureFile(path)
        file.append(Self.header)
    }

    /// Ends the recording: writes the rest, and closes the file. Cancellation doesn't interrupt it; further calls do
    /// nothing.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the first error in writing the file; everything before it is in
    ///   the file.
    public func close() async throws { try await file.close() }

    /// Adds an adapter: writes the records that introduce it, and returns the maker of its links' records.
    ///
    /// Its number is that of its name if it has one, `hci1`, otherwise the next one.
    func add(_ info: AdapterInfo, at time: ReceptionTime) -> ATTCapture {
        let next = adapters.withLock { count in
            defer { count &+= 1 }
            return count
        }
        let machine = ATTCapture(index: UInt16(info.name.drop { !$0.isNumber }) ?? next)
        let opening = machine.opening(adapter: info.address, name: info.name, time: time)
        // A file has one header.
        file.append(Array(opening.dropFirst(Self.header.count)))
        return machine
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
