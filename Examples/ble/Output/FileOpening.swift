import BLEStreams
import Dispatch
import Glibc
import Synchronization

/// The opening of a file that may wait: a pipe for a reader, a serial line for its other end.
///
/// A thread of its own waits, and is given up when a signal interrupts the command: the kernel offers no such wait that
/// a descriptor ends.
final class FileOpening: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var number: Int32 = 0
        var isGivenUp = false
    }

    private let state = Mutex(State())

    /// Opens a file to be written, as soon as that is possible.
    ///
    /// - Returns: its descriptor, which the caller closes.
    /// - Throws: a `BLEError` if it can't be opened; `CancellationError` if a signal comes before.
    static func descriptor(for path: String) throws -> Int32 {
        guard let end = EndOfWait() else { throw BLEError.file("write", path, errno) }
        let opening = FileOpening()
        DispatchQueue(label: "ble.opening").async {
            opening.open(path)
            end.signal()
        }
        guard DescriptorWait.forOctets(from: end.descriptor) else {
            opening.giveUp()
            throw CancellationError()
        }
        let (descriptor, number) = opening.state.withLock { ($0.descriptor, $0.number) }
        guard descriptor >= 0 else { throw BLEError.file("write", path, number) }
        return descriptor
    }

    /// The corresponding C function is `open`.
    private func open(_ path: String) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        let number = errno
        let isGivenUp = state.withLock { state -> Bool in
            (state.descriptor, state.number) = (descriptor, number)
            return state.isGivenUp
        }
        if isGivenUp, descriptor >= 0 { close(descriptor) }
    }

    private func giveUp() {
        let descriptor = state.withLock { state -> Int32 in
            state.isGivenUp = true
            return state.descriptor
        }
        if descriptor >= 0 { close(descriptor) }
    }
}
