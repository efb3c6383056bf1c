import BLEProtocol
import Glibc

@testable import BLELinux

/// The management interface: each command is carried out at once, and answered.
extension FakeState {
    /// Those that everybody may send.
    private static let unprivileged: Set<UInt16> = [0x01, 0x02, 0x03, 0x04, 0x3C, 0x3D, 0x42, 0x49, 0x4B]

    mutating func command(_ packet: [UInt8], from socket: Int32) {
        guard packet.count >= 6 else { return }
        let opcode = UInt16(packet[0]) | UInt16(packet[1]) << 8
        let index = UInt16(packet[2]) | UInt16(packet[3]) << 8
        let parameters = Array(packet[6...])
        if opcode == 0x01 { return answer(socket, index, opcode, .success, [1, revision, 0]) }
        if opcode == 0x03 {
            let numbers = adapters.keys.sorted().flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            return answer(socket, index, opcode, .success, [UInt8(adapters.count), 0] + numbers)
        }
        guard adapters[index] != nil else { return refuse(socket, index, opcode, .invalidIndex) }
        if adapters[index]?.silent.contains(opcode) == true { return }
        if let status = adapters[index]?.answers.removeValue(forKey: opcode) {
            return refuse(socket, index, opcode, status)
        }
        guard isAdministrator || Self.unprivileged.contains(opcode) else {
            return refuse(socket, index, opcode, .permissionDenied)
        }
        if adapters[index]?.isTaken == true { return refuse(socket, index, opcode, .invalidIndex) }
        let call = Call(socket: socket, index: index, opcode: opcode, parameters: parameters)
        switch opcode {
        case 0x04, 0x05, 0x07, 0x09, 0x0D, 0x2D, 0x2F, 0x44, 0x45, 0x49, 0x4B, 0x4C: settingsCommand(call)
        case 0x23, 0x24, 0x3A, 0x3D, 0x3E, 0x3F, 0x51, 0x52, 0x53, 0x54, 0x55: airCommand(call)
        default: linkCommand(call)
        }
    }

    struct Call {
        var socket: Int32
        var index: UInt16
        var opcode: UInt16
        var parameters: [UInt8]
    }

    mutating func succeed(_ call: Call, _ octets: [UInt8] = []) {
        answer(call.socket, call.index, call.opcode, .success, octets)
    }

    mutating func refuse(_ call: Call, _ status: ManagementStatus) {
        refuse(call.socket, call.index, call.opcode, status)
    }

    mutating func answer(
        _ socket: Int32,
        _ index: UInt16,
        _ opcode: UInt16,
        _ status: ManagementStatus,
        _ octets: [UInt8]
    ) {
        let reply = [UInt8(opcode & 0xFF), UInt8(opcode >> 8), status.rawValue] + octets
        deliver(Self.event(1, index, reply), to: socket)
    }

    /// Command Status, as the kernel has it for most that it refuses.
    private mutating func refuse(_ socket: Int32, _ index: UInt16, _ opcode: UInt16, _ status: ManagementStatus) {
        deliver(Self.event(2, index, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), status.rawValue]), to: socket)
    }

    private static func event(_ code: UInt16, _ index: UInt16, _ octets: [UInt8]) -> [UInt8] {
        let header = [code, index, UInt16(octets.count)]
        return header.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } + octets
    }

    /// Tells all management sockets, or all but the one that is the cause.
    mutating func tell(_ index: UInt16, _ code: UInt16, _ octets: [UInt8], but cause: Int32? = nil) {
        for (descriptor, object) in objects.sorted(by: { $0.key < $1.key }) where descriptor != cause {
            if case .control? = object.hci?.channel { deliver(Self.event(code, index, octets), to: descriptor) }
        }
    }

    /// Tells of something that changes nothing: a device is received.
    mutating func tellOfDevice(_ number: UInt16) {
        tell(number, 0x12, ManagementAddress(.example).octets + [0xC4, 0, 0, 0, 0, 0, 0])
    }

    /// Does something that the management sockets have no room to hear of.
    mutating func unheard(_ body: (inout FakeState) -> Void) {
        let deaf = objects.filter { if case .control? = $0.value.hci?.channel { true } else { false } }
        unheard(by: Set(deaf.keys), body)
    }

    /// Does something that these sockets have no room to hear of.
    mutating func unheard(by deaf: Set<Int32>, _ body: (inout FakeState) -> Void) {
        let before = objects.filter { deaf.contains($0.key) }
        body(&self)
        for (descriptor, former) in before {
            guard let now = objects[descriptor], now.inbox.count > former.inbox.count else { continue }
            objects[descriptor]?.inbox = former.inbox
            objects[descriptor]?.dropped = (former.dropped ?? 0) + UInt32(now.inbox.count - former.inbox.count)
        }
    }

    // MARK: - Settings

    private mutating func settingsCommand(_ call: Call) {
        let (index, isOn) = (call.index, call.parameters.first ?? 0 > 0)
        switch call.opcode {
        case 0x04: succeed(call, information(of: index))
        case 0x05: switchPower(isOn, call)
        case 0x07: set(.connectable, isOn, call)
        case 0x09: set(.bondable, isOn, call)
        case 0x0D: set(.lowEnergy, isOn, call)
        case 0x2D: set(.secureConnections, isOn, call)
        case 0x2F:
            // Only while it is off.
            adapters[index]?.isUp == true ? refuse(call, .rejected) : set(.privacy, isOn, call)
        case 0x44:
            let octets = [UInt32(0x7E00), 0x7800, adapters[index]?.selectedPHYs ?? 0].flatMap(Self.octets)
            succeed(call, octets)
        case 0x45:
            adapters[index]?.selectedPHYs = call.parameters.reversed().reduce(0) { $0 << 8 | UInt32($1) }
            succeed(call)
        case 0x49:
            let combined: [UInt8] = [
                0xD6, 0x49, 0xB0, 0xD1, 0x28, 0xEB, 0x27, 0x92, 0x96, 0x46, 0xC0, 0x42, 0xB5, 0x10, 0x1B, 0x67,
            ]
            let combinesRoles = adapters[index]?.combinesRoles == true
            // Earlier kernels list it in any case, and tell by the flag.
            let isEarlier = revision < 22
            let flag: UInt8 = isEarlier && combinesRoles ? 1 : 0
            succeed(call, combinesRoles || isEarlier ? [1, 0] + combined + [flag, 0, 0, 0] : [0, 0])
        case 0x4B: succeed(call, [0x1B, 0, 2, 0xA0, 0x0F])
        default: succeed(call)
        }
    }

    private func information(of index: UInt16) -> [UInt8] {
        guard let adapter = adapters[index] else { return [] }
        let supported: ManagementSettings = [
            .powered, .connectable, .bondable, .lowEnergy, .secureConnections, .privacy, .advertising,
        ]
        return adapter.address.littleEndianOctets + [9, 0xF1, 5] + Self.octets(supported.rawValue)
            + Self.octets(adapter.settings.rawValue) + [UInt8](repeating: 0, count: 3 + 249 + 11)
    }

    static func octets(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

    private mutating func set(_ setting: ManagementSettings, _ isOn: Bool, _ call: Call) {
        if isOn {
            adapters[call.index]?.settings.insert(setting)
        } else {
            adapters[call.index]?.settings.remove(setting)
        }
        tellSettings(call)
    }

    private mutating func tellSettings(_ call: Call) {
        let now = Self.octets(adapters[call.index]?.settings.rawValue ?? 0)
        succeed(call, now)
        tell(call.index, 0x06, now, but: call.socket)
    }

    private mutating func switchPower(_ isOn: Bool, _ call: Call) {
        guard adapters[call.index]?.isUp != isOn else { return tellSettings(call) }
        if isOn {
            guard adapters[call.index]?.failsToSwitchOn == false else { return refuse(call, .failed) }
            adapters[call.index]?.settings.insert(.powered)
            tellSettings(call)
            hearEverywhere()
        } else {
            if let status = adapters[call.index]?.refusesToSwitchOff { return refuse(call, status) }
            switchOff(call.index, by: call.socket)
            succeed(call, Self.octets(adapters[call.index]?.settings.rawValue ?? 0))
        }
    }

    /// What goes with the power, and who is told.
    mutating func switchOff(_ number: UInt16, by cause: Int32?) {
        if adapters[number]?.isDiscovering == true { endDiscovery(of: number) }
        for (descriptor, object) in objects.sorted(by: { $0.key < $1.key }) {
            guard let socket = object.l2cap else { continue }
            switch socket.phase {
            case .connected(let link) where link.adapter == number: end(descriptor, reason: 3)
            case .connecting where socket.adapter == adapters[number]?.address:
                objects[descriptor]?.l2cap?.phase = .dead
                objects[descriptor]?.error = ECONNRESET
                objects[descriptor]?.isHungUp = true
            default: break
            }
        }
        for handle in (adapters[number]?.classicLinks ?? [:]).keys.sorted() { endClassic(handle, of: number) }
        for instance in adapters[number]?.instances.keys.sorted() ?? [] { tell(number, 0x24, [instance]) }
        adapters[number]?.instances = [:]
        adapters[number]?.keptAttempts = [:]
        adapters[number]?.isScanningByHCI = false
        adapters[number]?.settings.remove(.powered)
        tell(number, 0x06, Self.octets(adapters[number]?.settings.rawValue ?? 0), but: cause)
    }

    // MARK: - The air

    private mutating func airCommand(_ call: Call) {
        let (index, parameters) = (call.index, call.parameters)
        switch call.opcode {
        case 0x3D:
            let instances = adapters[index]?.instances.keys.sorted() ?? []
            let (maximum, room) = (adapters[index]?.maximumInstances ?? 0, adapters[index]?.advertisingRoom ?? 0)
            return succeed(call, Self.octets(0xFFFF) + [room, room, maximum, UInt8(instances.count)] + instances)
        case 0x51:
            let handles = (adapters[index]?.monitors ?? []).sorted().flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            let supported: UInt32 = adapters[index]?.matchesPatterns == true ? 1 : 0
            let head = Self.octets(supported) + Self.octets(0) + [32, 0, 16, UInt8(handles.count / 2), 0]
            return succeed(call, head + handles)
        default: break
        }
        guard adapters[index]?.isUp == true else { return refuse(call, .notPowered) }
        switch call.opcode {
        case 0x23, 0x3A: startDiscovery(call)
        case 0x24:
            guard adapters[index]?.isDiscovering == true else { return refuse(call, .rejected) }
            guard adapters[index]?.discoveryType == parameters.first else { return refuse(call, .invalidParameters) }
            succeed(call, Array(parameters.prefix(1)))
            endDiscovery(of: index)
        case 0x3E:
            let length = Int(parameters[9])
            advertise(parameters[0], parameters, Array(parameters[11..<11 + length]), call)
        case 0x54:
            advertise(parameters[0], parameters, [], call, isOnAir: false)
        case 0x55:
            let length = Int(parameters[1])
            adapters[index]?.instances[parameters[0]]?.data = Array(parameters[3..<3 + length])
            adapters[index]?.instances[parameters[0]]?.isOnAir = true
            succeed(call, [parameters[0]])
            hearEverywhere()
        case 0x3F: if adapters[index]?.removals?.append(call) == nil { removeAdvertisement(call) }
        default: monitorCommand(call)
        }
    }

    private mutating func startDiscovery(_ call: Call) {
        guard adapters[call.index]?.isDiscovering != true else { return refuse(call, .busy) }
        let type = call.parameters.first ?? 6
        adapters[call.index]?.isDiscovering = true
        adapters[call.index]?.discoveryType = type
        succeed(call, [type])
        tell(call.index, 0x13, [type, 1])
        hear(call.index)
        lookForLinks()
    }

    mutating func endDiscovery(of number: UInt16) {
        adapters[number]?.isDiscovering = false
        tell(number, 0x13, [adapters[number]?.discoveryType ?? 6, 0])
    }

    private mutating func advertise(
        _ instance: UInt8,
        _ parameters: [UInt8],
        _ data: [UInt8],
        _ call: Call,
        isOnAir: Bool = true
    ) {
        let former = adapters[call.index]?.instances[instance]
        let isNew = former == nil
        let flags = parameters[1..<5].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        // A controller makes no legacy advertisement of a longer one.
        if let former, former.data.count > 31, flags & 1 << 7 == 0 { return refuse(call, .invalidParameters) }
        adapters[call.index]?.instances[instance] = .init(flags: flags, data: data, isOnAir: isOnAir)
        succeed(call, isOnAir ? [instance] : [instance, 0, 31, 31])
        if isNew { tell(call.index, 0x23, [instance], but: call.socket) }
        if isOnAir { hearEverywhere() }
    }

    private mutating func removeAdvertisement(_ call: Call) {
        let instance = call.parameters[0]
        guard adapters[call.index]?.instances.removeValue(forKey: instance) != nil else {
            return refuse(call, .invalidParameters)
        }
        succeed(call, [instance])
        tell(call.index, 0x24, [instance], but: call.socket)
    }

    /// The kernel's thread removes the advertisements whose removals wait for it.
    mutating func carryOutRemovals(of number: UInt16) {
        let calls = adapters[number]?.removals ?? []
        adapters[number]?.removals = []
        for call in calls { removeAdvertisement(call) }
    }

    private mutating func monitorCommand(_ call: Call) {
        if call.opcode == 0x52 {
            let handle = (adapters[call.index]?.monitors.max() ?? 0) + 1
            adapters[call.index]?.monitors.insert(handle)
            succeed(call, [UInt8(handle & 0xFF), UInt8(handle >> 8)])
            hear(call.index)
        } else {
            let handle = UInt16(call.parameters[0]) | UInt16(call.parameters[1]) << 8
            guard adapters[call.index]?.monitors.remove(handle) != nil else { return refuse(call, .invalidIndex) }
            succeed(call, Array(call.parameters.prefix(2)))
        }
    }
}
