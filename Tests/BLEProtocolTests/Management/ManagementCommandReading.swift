@testable import BLEProtocol

/// The other end of the codec, for tests alone: reads commands as the kernel does, writes answers and events.
enum ManagementCommandReading {
    static func command(_ opcode: ManagementOpcode, _ octets: [UInt8]) -> (any ManagementCommand)? {
        if octets.isEmpty { return question(opcode) }
        if octets.count == 1 { return oneOctet(opcode, octets[0]) }
        switch opcode {
        case .setDiscoverable:
            guard let mode = ManagementSetDiscoverable.Mode(rawValue: octets[0]) else { return nil }
            return ManagementSetDiscoverable(mode, timeout: number(octets[1...2]))
        case .pairDevice:
            guard let capability = ManagementIOCapability(rawValue: octets[7]) else { return nil }
            return ManagementPairDevice(address(octets), capability: capability)
        case .unpairDevice:
            return ManagementUnpairDevice(address(octets), disconnects: octets[7] == 1)
        case .disconnect:
            return ManagementDisconnect(address(octets))
        case .addDevice:
            guard let action = ManagementAddDevice.Action(rawValue: octets[7]) else { return nil }
            return ManagementAddDevice(address(octets), action: action)
        case .removeDevice:
            return ManagementRemoveDevice(address(octets))
        case .getDeviceFlags:
            return ManagementGetDeviceFlags(address(octets))
        case .setDeviceFlags:
            return ManagementSetDeviceFlags(address(octets), flags: .init(rawValue: number(octets[7...10])))
        case .setPHYConfiguration:
            return ManagementSetPHYConfiguration(.init(rawValue: number(octets[0...3])))
        case .setPrivacy:
            guard let mode = ManagementSetPrivacy.Mode(rawValue: octets[0]),
                let key = SecretKey(octets: octets[1...])
            else { return nil }
            return ManagementSetPrivacy(mode, identityKey: key)
        case .startServiceDiscovery:
            return serviceDiscovery(octets)
        case .loadLongTermKeys:
            return longTermKeys(octets)
        case .loadIdentityResolvingKeys:
            return identityKeys(octets)
        default:
            return advertising(opcode, octets)
        }
    }

    private static func question(_ opcode: ManagementOpcode) -> (any ManagementCommand)? {
        let questions: [any ManagementCommand] = [
            ManagementReadVersion(), ManagementReadInformation(), ManagementReadExtendedInformation(),
            ManagementReadAdvertisingFeatures(), ManagementGetPHYConfiguration(), ManagementGetConnections(),
            ManagementReadExperimentalFeatures(),
        ]
        return questions.first { type(of: $0).opcode == opcode }
    }

    private static func oneOctet(_ opcode: ManagementOpcode, _ octet: UInt8) -> (any ManagementCommand)? {
        switch opcode {
        case .startDiscovery: ManagementStartDiscovery(.init(rawValue: octet))
        case .stopDiscovery: ManagementStopDiscovery(.init(rawValue: octet))
        case .setSecureConnections:
            ManagementSetSecureConnections.Mode(rawValue: octet).map { ManagementSetSecureConnections($0) }
        case .setIOCapability:
            ManagementIOCapability(rawValue: octet).map { ManagementSetIOCapability($0) }
        case .removeAdvertising: ManagementRemoveAdvertising(instance: octet)
        case .setPowered: ManagementSetPowered(octet == 1)
        case .setConnectable: ManagementSetConnectable(octet == 1)
        case .setBondable: ManagementSetBondable(octet == 1)
        case .setSecureSimplePairing: ManagementSetSecureSimplePairing(octet == 1)
        case .setLowEnergy: ManagementSetLowEnergy(octet == 1)
        case .setClassic: ManagementSetClassic(octet == 1)
        default: nil
        }
    }

    private static func advertising(_ opcode: ManagementOpcode, _ octets: [UInt8]) -> (any ManagementCommand)? {
        switch opcode {
        case .addAdvertising:
            let (data, response) = pair(octets, lengths: 9, from: 11)
            return ManagementAddAdvertising(
                instance: octets[0],
                flags: .init(rawValue: number(octets[1...4])),
                duration: number(octets[5...6]),
                timeout: number(octets[7...8]),
                data: data,
                scanResponse: response
            )
        case .addExtendedAdvertisingParameters:
            return ManagementAddExtendedAdvertisingParameters(
                instance: octets[0],
                flags: .init(rawValue: number(octets[1...4])),
                duration: number(octets[5...6]),
                timeout: number(octets[7...8]),
                minimumInterval: number(octets[9...12]),
                maximumInterval: number(octets[13...16]),
                power: Int8(bitPattern: octets[17])
            )
        case .addExtendedAdvertisingData:
            let (data, response) = pair(octets, lengths: 1, from: 3)
            return ManagementAddExtendedAdvertisingData(instance: octets[0], data: data, scanResponse: response)
        default:
            return nil
        }
    }

    private static func serviceDiscovery(_ octets: [UInt8]) -> ManagementStartServiceDiscovery {
        ManagementStartServiceDiscovery(
            .init(rawValue: octets[0]),
            threshold: octets[1] == 127 ? nil : Int8(bitPattern: octets[1]),
            services: stride(from: 4, to: octets.count, by: 16).compactMap {
                BluetoothUUID(littleEndian: octets[$0..<$0 + 16])
            }
        )
    }

    private static func longTermKeys(_ octets: [UInt8]) -> ManagementLoadLongTermKeys {
        ManagementLoadLongTermKeys(
            stride(from: 2, to: octets.count, by: 36).compactMap { start in
                SecretKey(octets: octets[start + 20..<start + 36]).map { key in
                    ManagementLongTermKey(
                        address: address(Array(octets[start...])),
                        kind: .init(rawValue: octets[start + 7]),
                        initiator: octets[start + 8],
                        size: octets[start + 9],
                        diversifier: number(octets[start + 10...start + 11]),
                        random: number(octets[start + 12...start + 19]),
                        value: key
                    )
                }
            }
        )
    }

    private static func identityKeys(_ octets: [UInt8]) -> ManagementLoadIdentityResolvingKeys {
        ManagementLoadIdentityResolvingKeys(
            stride(from: 2, to: octets.count, by: 23).compactMap { start in
                SecretKey(octets: octets[start + 7..<start + 23]).map {
                    ManagementIdentityResolvingKey(address: address(Array(octets[start...])), value: $0)
                }
            }
        )
    }

    private static func pair(_ octets: [UInt8], lengths: Int, from start: Int) -> (AdvertisingData, AdvertisingData) {
        let middle = start + Int(octets[lengths])
        return (
            AdvertisingData(bytes: Array(octets[start..<middle])),
            AdvertisingData(bytes: Array(octets[middle..<middle + Int(octets[lengths + 1])]))
        )
    }

    private static func number<Number: FixedWidthInteger>(_ octets: ArraySlice<UInt8>) -> Number {
        octets.reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    private static func address(_ octets: [UInt8]) -> ManagementAddress {
        ManagementAddress(rawValue: number(octets[0...5]), kind: .init(rawValue: octets[6]))
    }
}

// MARK: - Answers and events

extension ManagementCommandReading {
    /// The fields of a decoded answer as octets again; `nil` for an answer that the library does not decode.
    static func writtenAgain(_ reply: ManagementReply) throws -> [UInt8]? {
        var writer = ByteWriter()
        switch reply.opcode {
        case .setPowered, .setConnectable, .setBondable, .setSecureSimplePairing, .setLowEnergy, .setClassic,
            .setSecureConnections, .setDiscoverable, .setPrivacy:
            writer.uint32(try reply.response(to: ManagementSetPowered.self).settings.rawValue)
        case .startDiscovery, .stopDiscovery, .startServiceDiscovery:
            writer.uint8(try reply.response(to: ManagementStartDiscovery.self).type.rawValue)
        case .addDevice, .removeDevice, .setDeviceFlags:
            // The tester compares a single octet where all devices are removed.
            guard reply.parameters.octets.count >= 7 else { return nil }
            writer.managementAddress(try reply.response(to: ManagementAddDevice.self).address)
        case .getDeviceFlags:
            write(try reply.response(to: ManagementGetDeviceFlags.self), to: &writer)
        case .addAdvertising, .removeAdvertising, .addExtendedAdvertisingData:
            writer.uint8(try reply.response(to: ManagementAddAdvertising.self).instance)
        case .addExtendedAdvertisingParameters:
            let answer = try reply.response(to: ManagementAddExtendedAdvertisingParameters.self)
            writer.append([
                answer.instance, UInt8(bitPattern: answer.power ?? 127), answer.maximumData, answer.maximumScanResponse,
            ])
        case .readAdvertisingFeatures:
            let answer = try reply.response(to: ManagementReadAdvertisingFeatures.self)
            writer.uint32(answer.supported.rawValue)
            writer.append([answer.maximumData, answer.maximumScanResponse, answer.maximumInstances])
            writer.uint8(UInt8(answer.instances.count))
            writer.append(answer.instances)
        case .readExtendedInformation:
            let answer = try reply.response(to: ManagementReadExtendedInformation.self)
            writer.deviceAddress(answer.address.rawValue)
            writer.uint8(answer.bluetoothVersion)
            writer.uint16(answer.manufacturer)
            writer.uint32(answer.supported.rawValue)
            writer.uint32(answer.current.rawValue)
            writer.uint16(UInt16(answer.data.bytes.count))
            writer.append(answer.data.bytes)
        case .getPHYConfiguration:
            let answer = try reply.response(to: ManagementGetPHYConfiguration.self)
            writer.uint32(answer.supported.rawValue)
            writer.uint32(answer.configurable.rawValue)
            writer.uint32(answer.selected.rawValue)
        case .readVersion:
            let answer = try reply.response(to: ManagementReadVersion.self)
            writer.uint8(answer.version)
            writer.uint16(answer.revision)
        default:
            return nil
        }
        return writer.bytes
    }

    /// The fields of a decoded event as octets again; empty for one that the kernel's tester does not use.
    static func writtenAgain(_ event: ManagementEvent) -> [UInt8] {
        var writer = ByteWriter()
        switch event {
        case .newSettings(let settings): writer.uint32(settings.rawValue)
        case .discovering(let type, let isOn): writer.append([type.rawValue, isOn ? 1 : 0])
        case .advertisingAdded(let instance), .advertisingRemoved(let instance): writer.uint8(instance)
        case .phyConfigurationChanged(let phys): writer.uint32(phys.rawValue)
        case .deviceAdded(let address, let action):
            writer.managementAddress(address)
            writer.uint8(action)
        case .deviceRemoved(let address): writer.managementAddress(address)
        case .deviceFlagsChanged(let flags): write(flags, to: &writer)
        case .controllerSuspend(let state): writer.uint8(state)
        case .controllerResume(let reason, let address):
            writer.uint8(reason)
            writer.managementAddress(address)
        case .deviceFound(let found):
            writer.managementAddress(found.address)
            writer.uint8(UInt8(bitPattern: found.rssi ?? 127))
            writer.uint32(found.flags.rawValue)
            writer.uint16(UInt16(found.data.bytes.count))
            writer.append(found.data.bytes)
        default: break
        }
        return writer.bytes
    }

    private static func write(_ flags: ManagementDeviceFlagsChanged, to writer: inout ByteWriter) {
        writer.managementAddress(flags.address)
        writer.uint32(flags.supported.rawValue)
        writer.uint32(flags.current.rawValue)
    }
}
