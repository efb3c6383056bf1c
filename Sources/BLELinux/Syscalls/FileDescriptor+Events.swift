internal import CBluetooth
internal import Glibc

/// What a descriptor is ready for, or what to wait for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other end sends no more.
    package static let peerClosed = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// The other end is gone, or the socket is dead; always reported, never requested.
    package static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// An error waits to be read; always reported, never requested.
    package static let error = Readiness(rawValue: EPOLLERR.rawValue)

    /// Whether this is the end of a connection.
    var isEnd: Bool { !isDisjoint(with: [.hangUp, .error]) }
}

extension FileDescriptor {
    /// Makes a set of descriptors to wait for. The corresponding C function is `epoll_create1`.
    static func readinessSet(of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        let number = try kernel.call {
            epoll_create1(Int32(EPOLL_CLOEXEC))
        } orOf: {
            $0.makeReadinessSet()
        }
        return FileDescriptor(owning: number, of: kernel)
    }

    /// Adds a descriptor to this set. The corresponding C function is `epoll_ctl`.
    func add(_ descriptor: borrowing FileDescriptor, for interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, descriptor.rawValue, interest, token)
    }

    /// Changes what to wait for on a descriptor of this set. The corresponding C function is `epoll_ctl`.
    func change(_ descriptor: borrowing FileDescriptor, to interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, descriptor.rawValue, interest, token)
    }

    /// Removes a descriptor from this set. The corresponding C function is `epoll_ctl`.
    func remove(_ descriptor: borrowing FileDescriptor) throws(SystemError) {
        try control(EPOLL_CTL_DEL, descriptor.rawValue, [], 0)
    }

    private func control(
        _ operation: Int32,
        _ descriptor: Int32,
        _ interest: Readiness,
        _ token: UInt64
    ) throws(SystemError) {
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
        try kernel.call {
            epoll_ctl(rawValue, operation, descriptor, &event)
        } orOf: {
            $0.control(rawValue, operation, descriptor, interest, token)
        }
    }

    /// Waits until something is ready, or the time is over. The corresponding C function is `epoll_wait`.
    ///
    /// - Parameter milliseconds: the time; 0 only looks, -1 sets no limit.
    func wait(
        into ready: inout [(token: UInt64, readiness: Readiness)],
        milliseconds: Int32 = -1
    ) throws(SystemError) {
        ready.removeAll(keepingCapacity: true)
        if kernel.substitute != nil {
            try kernel.call {
                0
            } orOf: {
                $0.wait(rawValue, isLook: milliseconds == 0, into: &ready)
            }
            return
        }
        try withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { buffer throws(SystemError) in
            let count = try systemCall { epoll_wait(rawValue, buffer.baseAddress, 64, milliseconds) }
            for event in buffer.prefix(Int(count)) {
                ready.append((event.data.u64, Readiness(rawValue: event.events)))
            }
        }
    }

    /// What the descriptor is ready for at this moment. The corresponding C function is `poll`.
    func readinessNow(for interest: Readiness) -> Readiness {
        if let substitute = kernel.substitute { return substitute.readiness(rawValue, interest) }
        var request = pollfd(fd: rawValue, events: Int16(truncatingIfNeeded: interest.rawValue), revents: 0)
        guard poll(&request, 1, 0) > 0 else { return [] }
        return Readiness(rawValue: UInt32(UInt16(bitPattern: request.revents)))
    }
}
