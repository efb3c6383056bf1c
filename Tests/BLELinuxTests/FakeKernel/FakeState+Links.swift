import BLEProtocol
import Glibc

@testable import BLELinux

/// Commands about links, keys and pairings.
extension FakeState {
    mutating func linkCommand(_ call: Call) {
        let address = ManagementAddress(in: call.parameters)
        switch call.opcode {
        case 0x30, 0x35: succeed(call)
        case 0x13:
            adapters[call.index]?.keyLists += 1
            succeed(call)
        case 0x18:
            adapters[call.index]?.capabilities += call.parameters.prefix(1)
            succeed(call)
        case 0x14: disconnect(address, call)
        case 0x15:
            let peers = objects.values.compactMap { object -> [UInt8]? in
                guard case .connected(let link)? = object.l2cap?.phase, link.adapter == call.index else { return nil }
                return ManagementAddress(link.name).octets
            }
            let classic = (adapters[call.index]?.classicLinks ?? [:]).values.map(\.octets)
            succeed(call, [UInt8(peers.count + classic.count), 0] + (peers + classic).flatMap(\.self))
        case 0x19: beginPairing(address, call)
        case 0x1A:
            // The kernel looks at the oldest pairing alone.
            guard let pairing = adapters[call.index]?.pairing, pairing.peer == address,
                adapters[call.index]?.hasOlderPairing == false
            else { return refuse(call, .invalidParameters) }
            adapters[call.index]?.endPairing(with: pairing.peer)
            // In the order of the kernel, see `cancel_pair_device`.
            answer(pairing.socket, call.index, 0x19, .cancelled, pairing.peer.octets)
            succeed(call, pairing.peer.octets)
        case 0x1B: unpair(address, call)
        case 0x1C, 0x1E: answered(address, call, isYes: true)
        case 0x1D, 0x1F: answered(address, call, isYes: false)
        case 0x21: succeed(call, Array(call.parameters.prefix(7)))
        case 0x3B: succeed(call, Self.outOfBand)
        case 0x31:
            guard let peer = address?.lowEnergy, link(of: call.index, with: peer) != nil else {
                return refuse(call, .notConnected)
            }
            succeed(call, Array(call.parameters.prefix(7)) + [0xC4, 4, 4])
        default: refuse(call, .unknownCommand)
        }
    }

    private mutating func disconnect(_ address: ManagementAddress?, _ call: Call) {
        guard let peer = address?.lowEnergy, let address else { return refuse(call, .invalidParameters) }
        if refusesDisconnecting { return refuse(call, .failed) }
        guard let link = link(of: call.index, with: peer) else { return refuse(call, .disconnected) }
        end(link.socket, reason: 2)
        succeed(call, address.octets)
    }

    private mutating func unpair(_ address: ManagementAddress?, _ call: Call) {
        // Before it looks for the key, see `unpair_device`.
        guard adapters[call.index]?.isUp == true else { return refuse(call, .notPowered) }
        guard let address, let peer = address.lowEnergy, peers[peer]?.isBonded == true else {
            return refuse(call, .notPaired)
        }
        peers[peer]?.isBonded = false
        if let link = link(of: call.index, with: peer) { end(link.socket) }
        succeed(call, address.octets)
        tell(call.index, 0x16, address.octets, but: call.socket)
    }

    // MARK: - Pairing

    private mutating func beginPairing(_ address: ManagementAddress?, _ call: Call) {
        guard let address, let peer = address.lowEnergy else { return refuse(call, .invalidParameters) }
        guard adapters[call.index]?.isUp == true else { return refuse(call, .notPowered) }
        guard adapters[call.index]?.pairing == nil else { return refuse(call, .busy) }
        if peers[peer]?.isBonded == true { return refuse(call, .alreadyPaired) }
        guard peers[peer]?.isHere == true else {
            return answer(call.socket, call.index, call.opcode, .connectFailed, address.octets)
        }
        pair(address, on: call.index, for: call.socket)
    }

    /// Pairs, for whoever waits for it.
    mutating func pair(_ address: ManagementAddress, on number: UInt16, for socket: Int32?) {
        guard let peer = address.lowEnergy else { return }
        if let socket { adapters[number]?.pairing = (socket, address) }
        adapters[number]?.pairingPeers.insert(address)
        switch peers[peer]?.pairing ?? .justWorks {
        case .justWorks: endPairing(of: address, on: number, .success)
        case .comparison(let value): tell(number, 0x0F, address.octets + [0] + Self.octets(value))
        case .passkey: tell(number, 0x10, address.octets)
        case .refuses: endPairing(of: address, on: number, .authenticationFailed)
        case .goesOn: break
        }
    }

    private mutating func answered(_ address: ManagementAddress?, _ call: Call, isYes: Bool) {
        guard let address else { return refuse(call, .invalidParameters) }
        if isYes {
            succeed(call, address.octets)
            return endPairing(of: address, on: call.index, .success)
        }
        // As the kernel does it, and in its order, see `smp_user_confirm_reply`.
        guard adapters[call.index]?.pairingPeers.contains(address) == true else { return refuse(call, .failed) }
        endPairing(of: address, on: call.index, .authenticationFailed)
        succeed(call, address.octets)
    }

    private mutating func endPairing(of address: ManagementAddress, on number: UInt16, _ status: ManagementStatus) {
        let waiting = adapters[number]?.pairing
        adapters[number]?.endPairing(with: address)
        if status == .success, let peer = address.lowEnergy {
            peers[peer]?.isBonded = true
            let key: [UInt8] = [3, 0, 16] + [UInt8](repeating: 0, count: 10) + Array(1...16)
            tell(number, 0x0A, [1] + address.octets + key)
            if let link = link(of: number, with: peer) { objects[link.socket]?.l2cap?.level = 4 }
        } else {
            tell(number, 0x11, address.octets + [status.rawValue])
        }
        if let waiting, waiting.peer == address { answer(waiting.socket, number, 0x19, status, address.octets) }
    }

    /// Type, length and data: confirmation and random number of LE Secure Connections, and the address.
    private static let outOfBand: [UInt8] = {
        let data: [UInt8] = [8, 0x1B, 1, 2, 3, 4, 5, 6, 0] + [17, 0x22] + Array(1...16) + [17, 0x23] + Array(17...32)
        return [6, UInt8(data.count), 0] + data
    }()
}

extension ManagementAddress {
    /// The first seven octets of a command.
    fileprivate init?(in parameters: [UInt8]) {
        guard parameters.count >= 7, (1...2).contains(parameters[6]),
            let device = BluetoothAddress(
                littleEndian: parameters[0..<6],
                kind: parameters[6] == 1 ? .public : .random
            )
        else { return nil }
        self.init(device)
    }
}
