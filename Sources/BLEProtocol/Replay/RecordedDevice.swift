/// A peripheral as the links of a capture show it: its services, the values that were read, and its notifications and
/// indications.
///
/// Only the recorded answers are known: services and characteristics as they were discovered, values as they were read.
/// Attributes of which only the handle is known are served by handle, but not discovered.
package struct RecordedDevice: Hashable, Sendable {
    /// The outcome of a read or a write of an attribute.
    package enum Outcome: Hashable, Sendable {
        case value([UInt8])
        case error(ATTError)
    }

    /// The event from which the time of a notification or indication is measured.
    package enum Anchor: Hashable, Sendable {
        case linkBegin
        /// The central's write to a handle, counted from 0 on each link.
        case write(UInt16, ordinal: Int)
    }

    /// A value that the peripheral sent by itself.
    package struct Sending: Hashable, Sendable {
        package var delay: Duration
        /// Its place among all that was sent on the link.
        package var ordinal: Int
        package var handle: UInt16
        package var value: [UInt8]
        package var isIndication: Bool
        /// Whether the central had enabled it, on the same link; a bonded device may remember an earlier subscription.
        package var isSubscribed: Bool
    }

    /// What is known of an attribute's type, and the value if it is a declaration.
    struct Attribute: Hashable, Sendable {
        var type: BluetoothUUID?
        var declaration: [UInt8]?
        /// The last handle of a service.
        var groupEnd: UInt16?
    }

    package internal(set) var address: BluetoothAddress
    var attributes: [UInt16: Attribute] = [:]
    var reads: [UInt16: [Outcome]] = [:]
    var writes: [UInt16: [ATTError?]] = [:]
    /// The longest PDU that it accepts.
    var mtu = UInt16(ATTLimits.defaultMTU)
    /// What it sent by itself, for each link.
    var sendings: [[Anchor: [Sending]]] = []

    /// The devices of a capture, in the order in which their first links began.
    package static func devices(of traffic: CapturedTraffic) -> [RecordedDevice] {
        var places: [BluetoothAddress: Int] = [:]
        var devices: [RecordedDevice] = []
        for link in traffic.links {
            let place = places[link.peripheral] ?? devices.count
            if place == devices.count {
                places[link.peripheral] = place
                devices.append(RecordedDevice(address: link.peripheral))
            }
            devices[place].learn(from: link)
        }
        for place in devices.indices { devices[place].assumeConfigurations() }
        // The places of the characteristics' configurations are known only when all links are read.
        for link in traffic.links {
            guard let place = places[link.peripheral] else { continue }
            devices[place].sendings.append(devices[place].sendings(on: link))
        }
        return devices
    }

    init(address: BluetoothAddress) { self.address = address }

    // MARK: - The structure

    /// The handles of which something is known, in ascending order.
    var handles: [UInt16] { attributes.keys.sorted() }

    /// The known configurations, each with the handle of its value.
    var configurations: [UInt16: UInt16] {
        var configurations: [UInt16: UInt16] = [:]
        var value: UInt16?
        for handle in handles {
            guard let attribute = attributes[handle], let type = attribute.type else { continue }
            if type == AttributeType.characteristic, let declaration = attribute.declaration, declaration.count >= 5 {
                value = UInt16(declaration[1]) | UInt16(declaration[2]) << 8
            } else if AttributeType.isDeclaration(type) {
                value = nil
            } else if type == .clientCharacteristicConfiguration, let value {
                configurations[handle] = value
            }
        }
        return configurations
    }

    // MARK: - What is sent by itself

    private func sendings(on link: CapturedTraffic.Link) -> [Anchor: [Sending]] {
        let configurations = configurations
        var sendings: [Anchor: [Sending]] = [:]
        var counts: [UInt16: Int] = [:]
        /// The last write to any attribute that is not a configuration, and the last one to each configuration.
        var last: (anchor: Anchor, time: Duration) = (.linkBegin, link.begin)
        var switched: [UInt16: (anchor: Anchor, time: Duration)] = [:]
        var prepared: UInt16?
        var ordinal = 0
        for pdu in link.pdus {
            if !pdu.isFromPeripheral {
                guard let handle = Self.written(by: pdu.octets, &prepared) else { continue }
                let ordinal = counts[handle, default: 0]
                counts[handle] = ordinal + 1
                let write = (anchor: Anchor.write(handle, ordinal: ordinal), time: pdu.time)
                if let value = configurations[handle] { switched[value] = write } else { last = write }
                continue
            }
            for (handle, value, isIndication) in Self.values(sentBy: pdu.octets) {
                var begin = last
                if let own = switched[handle], own.time > begin.time || begin.anchor == .linkBegin { begin = own }
                let sending = Sending(
                    delay: max(.zero, pdu.time - begin.time),
                    ordinal: ordinal,
                    handle: handle,
                    value: value,
                    isIndication: isIndication,
                    isSubscribed: switched[handle] != nil
                )
                sendings[begin.anchor, default: []].append(sending)
                ordinal += 1
            }
        }
        return sendings
    }

    /// The handle that a PDU writes to, with or without a response, once the whole value is complete.
    static func written(by pdu: [UInt8], _ prepared: inout UInt16?) -> UInt16? {
        guard let opcode = pdu.first.map(ATTOpcode.init), pdu.count >= 2 else { return nil }
        switch opcode {
        case .writeRequest, .writeCommand, .signedWriteCommand: return handle(in: pdu)
        case .prepareWriteRequest:
            prepared = handle(in: pdu)
            return nil
        case .executeWriteRequest:
            defer { prepared = nil }
            return pdu[1] == 1 ? prepared : nil
        default: return nil
        }
    }

    private static func values(sentBy pdu: [UInt8]) -> [(handle: UInt16, value: [UInt8], isIndication: Bool)] {
        switch pdu.first.map(ATTOpcode.init) {
        case .handleValueNotification, .handleValueIndication:
            guard let handle = handle(in: pdu) else { return [] }
            return [(handle, Array(pdu[3...]), pdu[0] == ATTOpcode.handleValueIndication.rawValue)]
        case .multipleHandleValueNotification:
            var values: [(handle: UInt16, value: [UInt8], isIndication: Bool)] = []
            // Those before one that is cut have been delivered, too.
            try? ATTMultipleHandleValueNotification.forEachEntry(of: pdu) { entry in
                values.append((entry.handle, Array(entry.value), false))
            }
            return values
        default: return []
        }
    }

    /// The handle after the opcode.
    static func handle(in pdu: [UInt8]) -> UInt16? {
        pdu.count >= 3 ? UInt16(pdu[1]) | UInt16(pdu[2]) << 8 : nil
    }
}
