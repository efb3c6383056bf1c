import BLEProtocol
import CLibrary

/// The file, or the pipe to another program, that a recording is written to.
///
/// A pipe is opened only if a program reads it, and each wait for its reader is bounded: a recording must neither stop
/// the program that makes it nor keep it from ending.
struct CaptureOutput {
    /// How long a pipe's reader may take nothing, in milliseconds.
    private static let patience: Int32 = 10_000

    private let path: String
    private let descriptor: Int32

    /// The corresponding C function is `open`.
    init(_ path: String) throws(BLEError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o600)
        if descriptor < 0 { throw .capture(path, errno) }
    }

    /// Writes everything; returns the error that kept it from that.
    ///
    /// The corresponding C function is `write`.
    func write(_ octets: [UInt8]) -> BLEError? {
        octets.withUnsafeBytes { buffer in
            var position = 0
            while position < buffer.count {
                let rest = buffer.baseAddress.map { $0 + position }
                let (count, number) = withoutSignal { CLibrary.write(descriptor, rest, buffer.count - position) }
                if count > 0 {
                    position += count
                } else if number == EAGAIN {
                    if let failure = waitForReader() { return failure }
                } else if number != EINTR {
                    return .capture(path, number)
                }
            }
            return nil
        }
    }

    /// The corresponding C function is `poll`.
    private func waitForReader() -> BLEError? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return switch poll(&entry, 1, Self.patience) {
        case 0: .capture(path, ETIMEDOUT)
        case 1...: nil
        default: errno == EINTR ? nil : .capture(path, errno)
        }
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
        let (cause, remedy) =
            switch number {
            case ENXIO:
                (
                    "no program reads this pipe",
                    "Start the program that reads it, such as Wireshark, before the recording."
                )
            case EPIPE:
                ("the program that read this pipe has ended", "Start it again, then begin a new recording.")
            case ETIMEDOUT:
                (
                    "the program that reads this pipe took nothing for 10 seconds",
                    "Check that it runs, then begin a new recording."
                )
            default:
                (
                    String(cString: strerror(number)),
                    "Check that the folder exists and is writable, and that the disk has room."
                )
            }
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
