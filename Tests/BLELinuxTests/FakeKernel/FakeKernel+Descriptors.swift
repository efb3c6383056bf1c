import BLEProtocol
import Glibc

@testable import BLELinux

extension FakeKernel: SystemCalls {
    var release: String { with { $0.release } }

    func close(_ descriptor: Int32) {
        with { state in
            guard let object = state.objects.removeValue(forKey: descriptor) else { return }
            // The kernel takes a closed descriptor out of every set.
            for (set, other) in state.objects {
                guard case .readinessSet(var members) = other.kind, members[descriptor] != nil else { continue }
                members[descriptor] = nil
                state.objects[set]?.kind = .readinessSet(members)
            }
            switch object.kind {
            case .name(let name): state.names[name] = nil
            case .l2cap(let socket): state.closed(socket)
            case .hci, .readinessSet, .counter, .file: break
            }
        }
    }

    func open(_ path: String, _ flags: Int32) -> Int32 {
        with { state in
            if let error = state.enter(.open) { return error }
            guard let octets = state.files[path] else { return -ENOENT }
            return state.add(.file(position: 0, octets: octets))
        }
    }

    func read(_ descriptor: Int32, into octets: UnsafeMutableRawBufferPointer) -> Int {
        let room = octets.count
        let outcome = with { state -> (error: Int32?, octets: [UInt8]) in
            if let error = state.enter(.read) { return (error, []) }
            guard case .file(let position, let all)? = state.objects[descriptor]?.kind else { return (-EBADF, []) }
            if position == all.count, let event = state.objects[descriptor]?.inbox.first {
                state.objects[descriptor]?.inbox.removeFirst()
                return (nil, event.octets)
            }
            let part = all[position...].prefix(state.isCutShort ? 1 : room)
            state.objects[descriptor]?.kind = .file(position: position + part.count, octets: all)
            return (nil, Array(part))
        }
        if let error = outcome.error { return Int(error) }
        octets.copyBytes(from: outcome.octets.prefix(room))
        return min(outcome.octets.count, room)
    }

    func makeEventCounter() -> Int32 {
        with { state in state.enter(.eventCounter) ?? state.add(.counter(0)) }
    }

    func signal(_ descriptor: Int32) {
        with { state in
            guard case .counter(let count)? = state.objects[descriptor]?.kind else { return }
            state.objects[descriptor]?.kind = .counter(count + 1)
        }
    }

    func clearSignals(_ descriptor: Int32) {
        with { $0.objects[descriptor]?.kind = .counter(0) }
    }

    func makeReadinessSet() -> Int32 {
        with { state in state.enter(.epollCreate) ?? state.add(.readinessSet([:])) }
    }

    func control(
        _ set: Int32,
        _ operation: Int32,
        _ descriptor: Int32,
        _ interest: Readiness,
        _ token: UInt64
    ) -> Int32 {
        with { state in
            // The kernel's EPOLL_CTL_ADD and EPOLL_CTL_DEL. Taking out fails for no reason from outside.
            let (isAdding, isRemoving) = (operation == 1, operation == 2)
            if !isRemoving, let error = state.enter(.epollControl) { return error }
            guard case .readinessSet(var members)? = state.objects[set]?.kind, state.objects[descriptor] != nil else {
                return -EBADF
            }
            let isMember = members[descriptor] != nil
            if isAdding, isMember { return -EEXIST }
            if !isAdding, !isMember { return -ENOENT }
            members[descriptor] = isRemoving ? nil : (interest, token)
            state.objects[set]?.kind = .readinessSet(members)
            return 0
        }
    }

    func readiness(_ descriptor: Int32, _ interest: Readiness) -> Readiness {
        let (readiness, afterLook) = with { state in
            (state.readiness(of: descriptor).intersection(interest.union([.error, .hangUp])), state.afterLook.take())
        }
        afterLook?()
        return readiness
    }

    func destination(ofLink path: String) -> String? { with { $0.links[path] } }

    func makeOwnFolder(_ path: String) -> Int32 { with { $0.enter(.makeFolder) ?? 0 } }

    func makeLink(to text: String, at path: String) -> Int32 {
        with { state in
            if let error = state.enter(.makeLink) { return error }
            guard state.links[path] == nil else { return -EEXIST }
            state.links[path] = text
            return 0
        }
    }

    func removeName(_ path: String) -> Int32 {
        with { state in
            if let error = state.enter(.removeName) { return error }
            return state.links.removeValue(forKey: path) == nil ? -ENOENT : 0
        }
    }

    func names(inFolder path: String) -> [String] {
        with { state in
            let prefix = path + "/"
            let inside = (Array(state.files.keys) + state.links.keys).filter { $0.hasPrefix(prefix) }
            return Set(inside.compactMap { $0.dropFirst(prefix.count).split(separator: "/").first.map(String.init) })
                .sorted()
        }
    }
}
