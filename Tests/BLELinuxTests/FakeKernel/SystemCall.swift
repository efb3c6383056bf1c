import Glibc

/// A system call that the fake kernel can fail, and the errors that its manual page (or the kernel's source) has for
/// it.
enum SystemCall: String, CaseIterable, Comparable {
    case epollCreate = "epoll_create1"
    case eventCounter = "eventfd"
    case epollControl = "epoll_ctl"
    case epollWait = "epoll_wait"
    case threadStart = "pthread_create"
    case open
    case read
    case makeFolder = "mkdir"
    case makeLink = "symlink"
    case removeName = "unlink"
    case socket
    case bind
    case connect
    case listen
    case accept = "accept4"
    case ownAddress = "getsockname"
    case peerAddress = "getpeername"
    case setOption = "setsockopt"
    case option = "getsockopt"
    case send
    case receive = "recvmmsg"
    case adapterList = "HCIGETDEVLIST"
    case adapterInfo = "HCIGETDEVINFO"
    case connectionList = "HCIGETCONNLIST"
    case adapterDown = "HCIDEVDOWN"
    case usbReset = "USBDEVFS_RESET"
    case hciOpen = "hci_open_dev"
    case hciCommand = "hci_send_cmd"
    case hciFilter = "HCI_FILTER"

    /// What it may fail with from outside. `EBADF`, `EFAULT`, `ENOTSOCK` and an `EINVAL` that means a wrong argument
    /// are the caller's own mistakes, and not among them.
    var errors: [Int32] {
        switch self {
        case .epollCreate: [EMFILE, ENFILE, ENOMEM]
        case .eventCounter: [EMFILE, ENFILE, ENODEV, ENOMEM]
        case .epollControl: [ENOMEM, ENOSPC, EPERM]
        case .epollWait: [EINTR]
        case .threadStart: [EAGAIN, EPERM]
        case .open: [EACCES, EINTR, EMFILE, ENFILE, ENODEV, ENOENT, ENOMEM, ENXIO, EPERM]
        case .read: [EAGAIN, EINTR, EIO]
        case .makeFolder, .makeLink: [EACCES, ENOMEM, ENOSPC, EROFS]
        case .removeName: [EACCES, EBUSY, EIO, EROFS]
        case .socket: [EACCES, EAFNOSUPPORT, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM, EPROTONOSUPPORT]
        case .bind: [EACCES, EADDRINUSE, EADDRNOTAVAIL, EALREADY, EBADFD, ENODEV, ENOMEM, EPERM]
        case .connect:
            [
                EACCES, EAGAIN, EBUSY, ECONNREFUSED, EHOSTUNREACH, EINTR, EINVAL, EMLINK, ENETUNREACH, ENOMEM,
                EOPNOTSUPP,
                EPERM, ETIMEDOUT,
            ]
        case .listen: [EADDRINUSE, EBADFD, EINVAL, EOPNOTSUPP]
        case .accept: [EAGAIN, ECONNABORTED, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM, EPROTO]
        case .ownAddress: [ENOBUFS, ENODEV, EBADFD]
        case .peerAddress: [ENOBUFS, ENOTCONN]
        case .setOption: [EACCES, EINVAL, ENOMEM, ENOPROTOOPT, EPERM]
        case .option: [EINVAL, ENOPROTOOPT, ENOTCONN]
        case .send: [EACCES, EAGAIN, ECONNRESET, EINTR, EMSGSIZE, ENOBUFS, ENODEV, ENOMEM, ENOTCONN, EPIPE]
        case .receive: [EAGAIN, ECONNREFUSED, ECONNRESET, EINTR, EIO, ENODEV, ENOMEM, ENOSYS, ENOTCONN, ETIMEDOUT]
        case .adapterList: [ENOMEM, EPERM]
        case .adapterInfo: [ENODEV, EPERM]
        case .connectionList: [ENODEV, ENOMEM, EPERM]
        case .adapterDown: [EACCES, ENODEV, EOPNOTSUPP, EPERM]
        case .usbReset: [EACCES, EIO, ENODEV, EPERM]
        case .hciOpen: [EAFNOSUPPORT, EINTR, EMFILE, ENODEV, ENOMEM, EPERM]
        case .hciCommand: [EAGAIN, EINTR, ENETDOWN, ENODEV, ENOMEM, EPERM]
        case .hciFilter: [ENOMEM, EPERM, ENOPROTOOPT]
        }
    }

    static func < (first: SystemCall, second: SystemCall) -> Bool { first.rawValue < second.rawValue }
}

/// What goes wrong, at one call.
struct SystemFault: CustomStringConvertible {
    enum Effect: Equatable {
        /// Once. What the kernel does again when it is asked again (`EINTR`, `EAGAIN`) it does then.
        case fails(Int32)
        /// From then on, each time.
        case keepsFailing(Int32)
        /// Everything that can be handed over in parts is, from then on: an octet, a datagram, an event at a time.
        case isCutShort
        /// The answers of the controller come when nothing else is left to do.
        case isLate
    }

    var call: SystemCall
    /// Which one, from 1.
    var number: Int
    var effect: Effect

    var description: String {
        switch effect {
        case .fails(let error): "\(call.rawValue) \(number): \(String(cString: strerrorname(error)))"
        case .keepsFailing(let error): "\(call.rawValue) from \(number) on: \(String(cString: strerrorname(error)))"
        case .isCutShort: "short from \(call.rawValue) \(number) on"
        case .isLate: "late from \(call.rawValue) \(number) on"
        }
    }

    private func strerrorname(_ error: Int32) -> UnsafePointer<CChar> { UnsafePointer(strerror(error)) }
}

extension FakeState {
    /// Has a call go wrong that is yet to come.
    ///
    /// - Parameter number: which one, from 1, the next.
    mutating func fail(_ call: SystemCall, _ effect: SystemFault.Effect, at number: Int = 1) {
        fault = SystemFault(call: call, number: (calls[call] ?? 0) + number, effect: effect)
    }
}

extension SystemFault {
    /// What is tried of a run with so many calls: each call the first time, the second, in the middle and the last
    /// time, or all the time.
    static func all(of calls: [SystemCall: Int], isWhole: Bool) -> [SystemFault] {
        var faults: [SystemFault] = []
        for (call, count) in calls.sorted(by: { $0.key < $1.key }) {
            let some = Set([1, 2, count / 2, count].filter { (1...count).contains($0) })
            for number in isWhole ? Array(1...count) : some.sorted() {
                for error in call.errors {
                    faults.append(SystemFault(call: call, number: number, effect: .fails(error)))
                    // What is asked again for ever would be answered so for ever.
                    if [EINTR, EAGAIN].contains(error) { continue }
                    faults.append(SystemFault(call: call, number: number, effect: .keepsFailing(error)))
                }
                faults.append(SystemFault(call: call, number: number, effect: .isCutShort))
                faults.append(SystemFault(call: call, number: number, effect: .isLate))
            }
        }
        return faults
    }
}
