internal import Glibc

/// An `errno`, read inside the wrapper of the system call that failed; unknown numbers are kept.
package struct SystemError: Error, RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The `errno` of this thread, now.
    static var current: SystemError { SystemError(rawValue: errno) }

    package static let notPermitted = SystemError(rawValue: EPERM)
    package static let interrupted = SystemError(rawValue: EINTR)
    package static let wouldBlock = SystemError(rawValue: EAGAIN)
    package static let accessDenied = SystemError(rawValue: EACCES)
    package static let busy = SystemError(rawValue: EBUSY)
    package static let noEntry = SystemError(rawValue: ENOENT)
    package static let noDevice = SystemError(rawValue: ENODEV)
    package static let addressFamilyNotSupported = SystemError(rawValue: EAFNOSUPPORT)
    package static let protocolNotSupported = SystemError(rawValue: EPROTONOSUPPORT)
    package static let operationNotSupported = SystemError(rawValue: EOPNOTSUPP)
    package static let networkDown = SystemError(rawValue: ENETDOWN)
    package static let connectionAborted = SystemError(rawValue: ECONNABORTED)
    package static let connectionReset = SystemError(rawValue: ECONNRESET)
    package static let connectionRefused = SystemError(rawValue: ECONNREFUSED)
    package static let notConnected = SystemError(rawValue: ENOTCONN)
    package static let timedOut = SystemError(rawValue: ETIMEDOUT)
    package static let hostDown = SystemError(rawValue: EHOSTDOWN)
    package static let hostUnreachable = SystemError(rawValue: EHOSTUNREACH)
    package static let inProgress = SystemError(rawValue: EINPROGRESS)
    package static let already = SystemError(rawValue: EALREADY)
    package static let badExchange = SystemError(rawValue: EBADE)
    package static let notImplemented = SystemError(rawValue: ENOSYS)
    package static let invalidArgument = SystemError(rawValue: EINVAL)
    package static let inputOutput = SystemError(rawValue: EIO)
    package static let noMemory = SystemError(rawValue: ENOMEM)
    package static let noSpace = SystemError(rawValue: ENOSPC)
    package static let tooManyLinks = SystemError(rawValue: EMLINK)
    package static let noBufferSpace = SystemError(rawValue: ENOBUFS)
    package static let tooManyOpenFiles = SystemError(rawValue: EMFILE)
    package static let tooManyOpenFilesInSystem = SystemError(rawValue: ENFILE)
    package static let addressInUse = SystemError(rawValue: EADDRINUSE)
    package static let brokenPipe = SystemError(rawValue: EPIPE)
}

extension SystemError: CustomStringConvertible {
    /// The system's text for it, and the number: `Host is down (errno 112)`.
    package var description: String {
        var text = [CChar](repeating: 0, count: 128)
        guard strerror_r(rawValue, &text, text.count) == 0 else { return "errno \(rawValue)" }
        let message = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "\(String(decoding: message, as: UTF8.self)) (errno \(rawValue))"
    }
}
