import BLEProtocol
import CLibrary
@preconcurrency import Dispatch

/// The file, or the pipe to another program, that a recording is written to.
///
/// Neither opening it nor writing waits for a pipe's reader: a recording must not stop the program that makes it, nor
/// keep it from ending.
struct CaptureOutput {
    private let path: String
    private let descriptor: Int32

    /// The corresponding C function is `open`.
    init(_ path: String) throws(BLEError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o600)
        if descriptor < 0 { throw .capture(path, errno) }
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

    /// Tells when a full pipe has room again. It has a descriptor of its own: Dispatch must have let go of one before it
    /// is closed.
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

    /// Returns what `write` returned, and its `errno`. Its SIGPIPE, which ends a program by default, is withheld: a pipe
    /// whose reader has ended is an error of the recording alone.
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
    fileprivate static func capture(_ path: String, _ number: Int32) -> BLEError {
        switch number {
        case ENXIO:
            capture(
                path,
                number,
                cause: "no program reads this pipe",
                remedy: "Start the program that reads it, such as Wireshark, before the recording."
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
                remedy: "Check that the folder exists and is writable, and that the disk has room."
            )
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
