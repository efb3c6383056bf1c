import BLEProtocol
import CLibrary
@preconcurrency import Dispatch
import Synchronization

/// The file, or the pipe to another program, that a recording is written to.
///
/// Writing doesn't wait for a pipe's reader, and opening it only for so long: a recording must not stop the program
/// that makes it, nor keep it from ending.
struct CaptureOutput {
    private let path: String
    private let descriptor: Int32

    /// The corresponding C function is `open`.
    ///
    /// - Parameter patience: how long to wait for a pipe's reader, which is often started at the same time.
    init(_ path: String, patience: Duration) throws(BLEError) {
        self.path = path
        var (file, number) = Self.open(path, O_CREAT | O_TRUNC | O_NONBLOCK)
        if file < 0, number == ENXIO { (file, number) = Self.openPipe(path, within: patience) }
        if file < 0 { throw .capture(path, number) }
        descriptor = file
    }

    private static func open(_ path: String, _ flags: Int32) -> (descriptor: Int32, number: Int32) {
        let descriptor = CLibrary.open(path, flags | O_WRONLY | O_CLOEXEC, 0o600)
        return (descriptor, errno)
    }

    /// What another thread has opened.
    private final class Opened: Sendable {
        let result = Mutex<(descriptor: Int32, number: Int32)>((-1, ENXIO))
        let isOver = DispatchSemaphore(value: 0)
    }

    /// Opens a pipe once a program reads it. The kernel offers no such wait with a limit, so another thread waits.
    private static func openPipe(_ path: String, within limit: Duration) -> (descriptor: Int32, number: Int32) {
        let opened = Opened()
        DispatchQueue.global().async {
            let result = open(path, 0)
            opened.result.withLock { $0 = result }
            opened.isOver.signal()
        }
        if opened.isOver.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) == .success {
            let result = opened.result.withLock { $0 }
            if result.descriptor >= 0 { _ = fcntl(result.descriptor, F_SETFL, O_NONBLOCK) }
            return result
        }
        // A reader for a moment ends that wait. The thread of a pipe that was removed meanwhile is given up.
        let reader = CLibrary.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard reader >= 0 else { return (-1, ENXIO) }
        if opened.isOver.wait(timeout: .now() + .seconds(1)) == .success {
            let descriptor = opened.result.withLock { $0.descriptor }
            if descriptor >= 0 { CLibrary.close(descriptor) }
        }
        CLibrary.close(reader)
        return (-1, ENXIO)
    }

    /// Writes what there is room for.
    ///
    /// The corresponding C function is `write`.
    ///
    /// - Returns: how many octets, and the error that kept it from more; no error if a pipe is full.
    func write(_ octets: ArraySlice<UInt8>) -> (count: Int, failure: BLEError?) {
        octets.withUnsafeBytes { buffer in
            var position = 0
            while position < buffer.count {
                let rest = buffer.baseAddress.map { $0 + position }
                let (count, number) = withoutSignal { CLibrary.write(descriptor, rest, buffer.count - position) }
                if count > 0 {
                    position += count
                } else if number == EAGAIN {
                    break
                } else if number != EINTR {
                    return (position, .capture(path, number))
                }
            }
            return (position, nil)
        }
    }

    /// Tells when a full pipe has room again. It has a descriptor of its own: Dispatch must have let go of one before
    /// it is closed.
    ///
    /// The corresponding C function is `fcntl`.
    func roomSource(on queue: DispatchQueue) throws(BLEError) -> any DispatchSourceWrite {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if copy < 0 { throw .capture(path, errno) }
        let source = DispatchSource.makeWriteSource(fileDescriptor: copy, queue: queue)
        source.setCancelHandler { CLibrary.close(copy) }
        return source
    }

    /// The error of a pipe whose reader takes nothing.
    func stuck(for time: Duration) -> BLEError {
        .capture(
            path,
            ETIMEDOUT,
            cause: "the program that reads this pipe took nothing for \(time)",
            remedy: "Check that it runs, then begin a new recording."
        )
    }

    /// The error of a recording that is written, but lacks packets.
    func tooSlow(for leftOut: Int) -> BLEError {
        BLEError(
            .overflow,
            operation: "capture",
            object: "to \(path)",
            cause: "the disk, or the program that reads the pipe, was too slow, and \(leftOut) packets are missing",
            remedy: "Record to a faster disk, or with fewer adapters; notes in the file say where packets are missing."
        )
    }

    /// Returns what `write` returned, and its `errno`. Its SIGPIPE, which ends a program by default, is withheld: a
    /// pipe whose reader has ended is an error of the recording alone.
    private func withoutSignal(_ body: () -> Int) -> (count: Int, number: Int32) {
        var (pipe, before, pending) = (sigset_t(), sigset_t(), sigset_t())
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        let (count, number) = (body(), errno)
        if count < 0, number == EPIPE, sigismember(&before, SIGPIPE) == 0 {
            var signal: Int32 = 0
            sigpending(&pending)
            if sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipe, &signal) }
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return (count, number)
    }

    /// The corresponding C function is `close`.
    func close() -> BLEError? { CLibrary.close(descriptor) == 0 ? nil : .capture(path, errno) }
}

extension BLEError {
    /// A file or a pipe can't be made or written.
    static func capture(_ path: String, _ number: Int32) -> BLEError {
        switch number {
        case ENXIO:
            capture(
                path,
                number,
                cause: "no program reads this pipe",
                remedy: "Start a program that reads it first, such as `btmon -r '\(path)'`."
            )
        case EPIPE:
            capture(
                path,
                number,
                cause: "the program that read this pipe has ended",
                remedy: "Start it again, then begin a new recording."
            )
        default:
            capture(
                path,
                number,
                cause: String(cString: strerror(number)),
                remedy: remedyOfCapture(number)
            )
        }
    }

    private static func remedyOfCapture(_ number: Int32) -> String {
        switch number {
        case EISDIR: "Pass the path of a file: this one is that of a folder."
        case EMFILE: "Close files that the program doesn't need, or raise its limit (ulimit -n, LimitNOFILE=)."
        case ENFILE: "End programs that keep many files open, or raise the system's limit (sysctl fs.file-max)."
        case EROFS:
            "Choose a folder on a file system that can be written; a service needs LogsDirectory= in its unit, which "
                + "makes one, or the folder in ReadWritePaths=."
        case EFBIG: "Begin a new recording in another file: this one is as long as its file system allows."
        default: "Check that the folder exists and is writable, and that the disk has room."
        }
    }

    fileprivate static func capture(_ path: String, _ number: Int32, cause: String, remedy: String) -> BLEError {
        var error = BLEError(
            .systemFailure,
            operation: "capture",
            object: "to \(path)",
            cause: cause,
            remedy: remedy
        )
        error.systemError = number
        return error
    }
}
