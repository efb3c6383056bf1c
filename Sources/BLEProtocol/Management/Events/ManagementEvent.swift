/// The events that the kernel sends by itself; answers to commands are ``ManagementReply``.
///
/// Unknown events are kept as ``unknown(_:_:)``.
/// Source: BlueZ, doc/mgmt-protocol.rst, "Events".
package enum ManagementEvent: Hashable, Sendable {
    case controllerError(code: UInt8)
    case indexAdded
    case indexRemoved
    case newSettings(ManagementSettings)
    case localNameChanged(name: String, shortName: String)
    case newLongTermKey(ManagementNewLongTermKey)
    case deviceConnected(ManagementDeviceConnected)
    case deviceDisconnected(ManagementAddress, ManagementDisconnectReason)
    case connectFailed(ManagementAddress, ManagementStatus)
    case userConfirmationRequest(ManagementUserConfirmationRequest)
    case userPasskeyRequest(ManagementAddress)
    case authenticationFailed(ManagementAddress, ManagementStatus)
    case deviceFound(ManagementDeviceFound)
    case discovering(ManagementDiscoveryType, isOn: Bool)
    case deviceUnpaired(ManagementAddress)
    case passkeyNotify(ManagementPasskeyNotify)
    case newIdentityResolvingKey(ManagementNewIdentityResolvingKey)
    case newSignatureResolvingKey(ManagementNewSignatureResolvingKey)
    case deviceAdded(ManagementAddress, action: UInt8)
    case deviceRemoved(ManagementAddress)
    case newConnectionParameter(ManagementNewConnectionParameter)
    case extendedIndexAdded(type: UInt8, bus: UInt8)
    case extendedIndexRemoved(type: UInt8, bus: UInt8)
    case advertisingAdded(instance: UInt8)
    case advertisingRemoved(instance: UInt8)
    case phyConfigurationChanged(ManagementPHYs)
    case deviceFlagsChanged(ManagementDeviceFlagsChanged)
    case monitorAdded(handle: UInt16)
    case monitorRemoved(handle: UInt16)
    case controllerSuspend(state: UInt8)
    case controllerResume(reason: UInt8, ManagementAddress)
    case monitorDeviceFound(handle: UInt16, ManagementDeviceFound)
    case monitorDeviceLost(handle: UInt16, ManagementAddress)
    /// An event without a case here, with its parameters as received.
    case unknown(ManagementEventCode, ManagementRawParameters)
}

extension ManagementEvent {
    /// Decodes an event's parameters.
    ///
    /// - Throws: ``ManagementDecodingError`` when a known event is too short for its fields.
    package init(decoding packet: ManagementPacket) throws(ManagementDecodingError) {
        let code = ManagementEventCode(rawValue: packet.code)
        var reader = ManagementReader(packet.parameters, subject: .event(code))
        if let event = try Self.ofDevice(code, &reader) {
            self = event
        } else if let event = try Self.ofPairing(code, &reader) {
            self = event
        } else if let event = try Self.ofController(code, &reader) {
            self = event
        } else {
            self = .unknown(code, ManagementRawParameters(octets: packet.parameters))
        }
    }

    private static func ofDevice(
        _ code: ManagementEventCode,
        _ reader: inout ManagementReader
    ) throws(ManagementDecodingError) -> ManagementEvent? {
        switch code {
        case .deviceFound:
            return .deviceFound(try ManagementDeviceFound(decoding: &reader))
        case .monitorDeviceFound:
            let handle = try reader.uint16("handle")
            return .monitorDeviceFound(handle: handle, try ManagementDeviceFound(decoding: &reader))
        case .monitorDeviceLost:
            let handle = try reader.uint16("handle")
            return .monitorDeviceLost(handle: handle, try reader.address())
        case .deviceConnected:
            return .deviceConnected(try ManagementDeviceConnected(decoding: &reader))
        case .deviceDisconnected:
            let address = try reader.address()
            return .deviceDisconnected(address, .init(rawValue: try reader.uint8("reason")))
        case .connectFailed:
            let address = try reader.address()
            return .connectFailed(address, .init(rawValue: try reader.uint8("status")))
        case .deviceAdded:
            let address = try reader.address()
            return .deviceAdded(address, action: try reader.uint8("action"))
        case .deviceRemoved:
            return .deviceRemoved(try reader.address())
        case .deviceFlagsChanged:
            return .deviceFlagsChanged(try ManagementDeviceFlagsChanged(decoding: &reader))
        case .newConnectionParameter:
            return .newConnectionParameter(try ManagementNewConnectionParameter(decoding: &reader))
        default:
            return nil
        }
    }

    private static func ofPairing(
        _ code: ManagementEventCode,
        _ reader: inout ManagementReader
    ) throws(ManagementDecodingError) -> ManagementEvent? {
        switch code {
        case .newLongTermKey:
            return .newLongTermKey(try ManagementNewLongTermKey(decoding: &reader))
        case .newIdentityResolvingKey:
            return .newIdentityResolvingKey(try ManagementNewIdentityResolvingKey(decoding: &reader))
        case .newSignatureResolvingKey:
            return .newSignatureResolvingKey(try ManagementNewSignatureResolvingKey(decoding: &reader))
        case .userConfirmationRequest:
            return .userConfirmationRequest(try ManagementUserConfirmationRequest(decoding: &reader))
        case .userPasskeyRequest:
            return .userPasskeyRequest(try reader.address())
        case .passkeyNotify:
            return .passkeyNotify(try ManagementPasskeyNotify(decoding: &reader))
        case .authenticationFailed:
            let address = try reader.address()
            return .authenticationFailed(address, .init(rawValue: try reader.uint8("status")))
        case .deviceUnpaired:
            return .deviceUnpaired(try reader.address())
        default:
            return nil
        }
    }

    private static func ofController(
        _ code: ManagementEventCode,
        _ reader: inout ManagementReader
    ) throws(ManagementDecodingError) -> ManagementEvent? {
        switch code {
        case .controllerError:
            return .controllerError(code: try reader.uint8("error code"))
        case .indexAdded:
            return .indexAdded
        case .indexRemoved:
            return .indexRemoved
        case .extendedIndexAdded:
            let type = try reader.uint8("type")
            return .extendedIndexAdded(type: type, bus: try reader.uint8("bus"))
        case .extendedIndexRemoved:
            let type = try reader.uint8("type")
            return .extendedIndexRemoved(type: type, bus: try reader.uint8("bus"))
        case .newSettings:
            return .newSettings(.init(rawValue: try reader.uint32("settings")))
        case .localNameChanged:
            let name = try reader.text(249, "name")
            return .localNameChanged(name: name, shortName: try reader.text(11, "short name"))
        case .discovering:
            let type = ManagementDiscoveryType(rawValue: try reader.uint8("type"))
            return .discovering(type, isOn: try reader.uint8("state") != 0)
        case .advertisingAdded:
            return .advertisingAdded(instance: try reader.uint8("instance"))
        case .advertisingRemoved:
            return .advertisingRemoved(instance: try reader.uint8("instance"))
        case .phyConfigurationChanged:
            return .phyConfigurationChanged(.init(rawValue: try reader.uint32("PHYs")))
        case .monitorAdded:
            return .monitorAdded(handle: try reader.uint16("handle"))
        case .monitorRemoved:
            return .monitorRemoved(handle: try reader.uint16("handle"))
        case .controllerSuspend:
            return .controllerSuspend(state: try reader.uint8("state"))
        case .controllerResume:
            return .controllerResume(reason: try reader.uint8("reason"), try reader.address())
        default:
            return nil
        }
    }
}

/// The parameters of an unknown event; they may be keys, so they are not printed.
package struct ManagementRawParameters: Hashable, Sendable {
    package let octets: ArraySlice<UInt8>
    package init(octets: ArraySlice<UInt8>) { self.octets = octets }
}

extension ManagementRawParameters: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(octets.count) octets" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
