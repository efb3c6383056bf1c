import BLEProtocol
import Glibc

@testable import BLELinux

/// The kernel's numbers, which no header of Swift's has.
enum KernelNumber {
    static let bluetooth: Int32 = 31
    static let solBluetooth: Int32 = 274
    static let solL2CAP: Int32 = 6
    static let security: Int32 = 4
    static let phy: Int32 = 14
    static let connectionInformation: Int32 = 2
    static let highestPDU = 672
}

extension FakeKernel {
    func makeSocket(_ domain: Int32, _ type: Int32, _ kind: Int32) -> Int32 {
        with { state in
            if let error = state.enter(.socket) { return error }
            if domain == AF_UNIX { return state.add(.name([])) }
            return kind == 0 ? state.add(.l2cap(.init())) : state.add(.hci(.init()))
        }
    }

    func bind(_ descriptor: Int32, to address: UnsafeRawBufferPointer) -> Int32 {
        let octets = Array(address)
        return with { state in
            if let error = state.enter(.bind) { return error }
            switch state.objects[descriptor]?.kind {
            case .name:
                let name = Array(octets[2...])
                guard state.names[name] == nil else { return -EADDRINUSE }
                state.names[name] = descriptor
                state.objects[descriptor]?.kind = .name(name)
                return 0
            case .hci: return state.bindHCI(descriptor, octets)
            case .l2cap:
                state.objects[descriptor]?.l2cap?.adapter = Self.address(in: octets)
                return 0
            default: return -EBADF
            }
        }
    }

    /// The device in an L2CAP address: the octets 4 to 9, and the type behind the channel.
    static func address(in octets: [UInt8]) -> BluetoothAddress? {
        BluetoothAddress(littleEndian: octets[4..<10], kind: octets[12] == 1 ? .public : .random)
    }

    static func octets(of address: BluetoothAddress) -> [UInt8] {
        [31, 0, 0, 0] + address.littleEndianOctets + [4, 0, address.kind == .public ? 1 : 2, 0]
    }

    func connect(_ descriptor: Int32, to address: UnsafeRawBufferPointer) -> Int32 {
        let octets = Array(address)
        return with { state in
            if let error = state.enter(.connect) { return error }
            guard let peer = Self.address(in: octets) else { return -EINVAL }
            return octets[2] == 0 ? state.connect(descriptor, to: peer) : state.demandSecurity(of: peer, by: descriptor)
        }
    }

    func listen(_ descriptor: Int32, backlog: Int32) -> Int32 {
        with { state in
            if let error = state.enter(.listen) { return error }
            state.objects[descriptor]?.l2cap?.phase = .listening([])
            state.lookForLinks()
            return 0
        }
    }

    func accept(_ descriptor: Int32, from address: UnsafeMutableRawBufferPointer) -> Int32 {
        let outcome = with { state -> (number: Int32, peer: BluetoothAddress?) in
            guard case .listening(let backlog)? = state.objects[descriptor]?.l2cap?.phase else { return (-EBADFD, nil) }
            if let error = state.enter(.accept) {
                // A connection that has failed isn't offered again.
                if [-ECONNABORTED, -EPROTO].contains(error), let first = backlog.first { state.end(first) }
                return (error, nil)
            }
            guard let first = backlog.first, case .connected(let link)? = state.objects[first]?.l2cap?.phase else {
                return (-EAGAIN, nil)
            }
            state.objects[descriptor]?.l2cap?.phase = .listening(Array(backlog.dropFirst()))
            return (first, link.peer)
        }
        if let peer = outcome.peer { address.copyBytes(from: Self.octets(of: peer)) }
        return outcome.number
    }

    func ownAddress(_ descriptor: Int32, into address: UnsafeMutableRawBufferPointer) -> Int32 {
        let outcome = with { state -> (error: Int32, octets: [UInt8]) in
            if let error = state.enter(.ownAddress) { return (error, []) }
            switch state.objects[descriptor]?.kind {
            case .hci(let socket):
                guard case .raw(let number)? = socket.channel, state.adapters[number] != nil else {
                    return (-ENODEV, [])
                }
                return (0, [31, 0, UInt8(number & 0xFF), UInt8(number >> 8), 0, 0])
            case .l2cap(let socket):
                guard case .connected(let link) = socket.phase, let adapter = state.adapters[link.adapter] else {
                    return (-EBADFD, [])
                }
                return (0, Self.octets(of: adapter.address))
            default: return (-EBADF, [])
            }
        }
        if outcome.error == 0 { address.copyBytes(from: outcome.octets.prefix(address.count)) }
        return outcome.error
    }

    func peerAddress(_ descriptor: Int32, into address: UnsafeMutableRawBufferPointer) -> Int32 {
        let outcome = with { state -> (error: Int32, octets: [UInt8]) in
            if let error = state.enter(.peerAddress) { return (error, []) }
            guard case .connected(let link)? = state.objects[descriptor]?.l2cap?.phase else { return (-ENOTCONN, []) }
            return (0, Self.octets(of: link.peer))
        }
        if outcome.error == 0 { address.copyBytes(from: outcome.octets.prefix(address.count)) }
        return outcome.error
    }

    func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeRawBufferPointer) -> Int32 {
        let wanted = value.first ?? 0
        return with { state in
            if let error = state.enter(.setOption) { return error }
            guard level == KernelNumber.solBluetooth, name == KernelNumber.security else { return 0 }
            return state.requireSecurity(wanted, of: descriptor)
        }
    }

    func option(_ descriptor: Int32, _ level: Int32, _ name: Int32, into value: UnsafeMutableRawBufferPointer) -> Int32
    {
        let outcome = with { state -> (error: Int32, octets: [UInt8]) in
            if let error = state.enter(.option) { return (error, []) }
            guard let object = state.objects[descriptor] else { return (-EBADF, []) }
            if level == SOL_SOCKET, name == SO_ERROR {
                state.objects[descriptor]?.error = 0
                return (0, withUnsafeBytes(of: object.error) { Array($0) })
            }
            guard let socket = object.l2cap, case .connected(let link) = socket.phase else { return (-ENOTCONN, []) }
            switch (level, name) {
            case (KernelNumber.solBluetooth, KernelNumber.security): return (0, [socket.level, 16])
            case (KernelNumber.solBluetooth, KernelNumber.phy): return (0, [0, 0x06, 0, 0])
            case (KernelNumber.solL2CAP, KernelNumber.connectionInformation):
                return (0, [UInt8(link.handle & 0xFF), UInt8(link.handle >> 8), 0, 0, 0, 0])
            default: return (-ENOPROTOOPT, [])
            }
        }
        if outcome.error == 0 { value.copyBytes(from: outcome.octets.prefix(value.count)) }
        return outcome.error
    }

    func dropped(_ descriptor: Int32) -> Int64 { with { Int64($0.objects[descriptor]?.dropped ?? 0) } }

    func send(_ descriptor: Int32, _ octets: [UInt8]) -> Int {
        with { state in
            if let error = state.enter(.send) { return Int(error) }
            switch state.objects[descriptor]?.kind {
            case .hci(let socket):
                guard case .control? = socket.channel else { return -Int(EBADFD) }
                state.command(octets, from: descriptor)
                return octets.count
            case .l2cap(let socket):
                guard case .connected(let link) = socket.phase, !socket.isSecuring else { return -Int(ENOTCONN) }
                guard octets.count <= KernelNumber.highestPDU else { return -Int(EMSGSIZE) }
                guard state.hasRoom(link) else { return -Int(EAGAIN) }
                state.transmit(octets, over: link, from: descriptor)
                return octets.count
            default: return -Int(EBADF)
            }
        }
    }

    func receive(_ descriptor: Int32, _ datagrams: inout [ReceivedDatagram]) -> Int32 {
        let outcome = with { state -> (error: Int32?, datagrams: [ReceivedDatagram]) in
            if let error = state.enter(.receive) { return (error, []) }
            guard let object = state.objects[descriptor] else { return (-EBADF, []) }
            if object.error != 0 {
                // Once; what came before it is behind it.
                state.objects[descriptor]?.error = 0
                return (-object.error, [])
            }
            let part = object.inbox.prefix(state.isCutShort ? 1 : 64)
            state.objects[descriptor]?.inbox.removeFirst(part.count)
            return part.isEmpty ? (-EAGAIN, []) : (nil, Array(part))
        }
        datagrams = outcome.datagrams
        return outcome.error ?? Int32(outcome.datagrams.count)
    }
}
