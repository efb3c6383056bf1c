import BLEStreams

/// What a client asks of the proxy.
///
/// The numbers of messages and fields are those of ESPHome's native API, as in its client aioesphomeapi.
enum ProxyRequest: Equatable {
    case hello(client: String)
    case authenticate
    case disconnect
    case ping
    case deviceInfo
    case listEntities
    case subscribeAdvertisements
    case unsubscribeAdvertisements
    case setScanMode(Central.ScanMode)
    case subscribeConnectionsFree
    case device(DeviceOperation, UInt64, kind: BluetoothAddress.Kind)
    case attribute(AttributeOperation, UInt64)

    /// An operation on a device as a whole.
    enum DeviceOperation: UInt64, Equatable {
        case connectAsOfOld = 0
        case disconnect = 1
        case pair = 2
        case unpair = 3
        case connectWithCache = 4
        case connect = 5
        case clearCache = 6
    }

    /// An operation over a connection.
    enum AttributeOperation: Equatable {
        case services
        case read(UInt16)
        case write(UInt16, [UInt8], isAnswered: Bool)
        case writeDescriptor(UInt16, [UInt8])
        case notify(UInt16, isOn: Bool)
        case setParameters(ClosedRange<Int>, latency: Int, timeout: Int)

        /// The handle that it concerns; 0 if none.
        var handle: UInt16 {
            switch self {
            case .services, .setParameters: 0
            case .read(let handle), .write(let handle, _, _), .writeDescriptor(let handle, _), .notify(let handle, _):
                handle
            }
        }
    }

    /// Reads a message; `nil` if it is one that a proxy ignores.
    ///
    /// - Throws: ``ProxyViolation`` if the octets aren't such a message.
    init?(type: UInt64, _ octets: ArraySlice<UInt8>) throws(ProxyViolation) {
        let message = try ProtobufMessage(decoding: octets)
        switch type {
        case 1: self = .hello(client: message.text(1))
        case 3: self = .authenticate
        case 5: self = .disconnect
        case 7: self = .ping
        case 9: self = .deviceInfo
        case 11: self = .listEntities
        case 66: self = .subscribeAdvertisements
        case 87: self = .unsubscribeAdvertisements
        case 127: self = .setScanMode(message.flag(1) ? .active : .passive)
        case 80: self = .subscribeConnectionsFree
        case 68:
            guard let operation = DeviceOperation(rawValue: message.number(2)) else { return nil }
            let isPublic = message.flag(3) && message.number(4) == 0
            self = .device(operation, message.number(1), kind: isPublic ? .public : .random)
        default:
            guard let operation = try AttributeOperation(type: type, message) else { return nil }
            self = .attribute(operation, message.number(1))
        }
    }
}

extension ProxyRequest.AttributeOperation {
    fileprivate init?(type: UInt64, _ message: ProtobufMessage) throws(ProxyViolation) {
        switch type {
        case 70: self = .services
        case 73, 76: self = .read(try message.handle)
        case 75: self = .write(try message.handle, message.octets(4), isAnswered: message.flag(3))
        case 77: self = .writeDescriptor(try message.handle, message.octets(3))
        case 78: self = .notify(try message.handle, isOn: message.flag(3))
        case 145:
            let (shortest, longest) = (message.number(2), message.number(3))
            guard shortest <= longest, longest <= 0xFFFF, message.number(4) <= 0xFFFF, message.number(5) <= 0xFFFF
            else { throw ProxyViolation("the connection parameters are out of range") }
            self = .setParameters(
                Int(shortest)...Int(longest),
                latency: Int(message.number(4)),
                timeout: Int(message.number(5))
            )
        default: return nil
        }
    }
}

extension ProtobufMessage {
    fileprivate var handle: UInt16 {
        get throws(ProxyViolation) {
            guard let handle = UInt16(exactly: number(2)) else { throw ProxyViolation("a handle has 16 bits") }
            return handle
        }
    }
}
