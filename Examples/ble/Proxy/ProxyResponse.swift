import BLEStreams

/// What the proxy sends to a client.
enum ProxyResponse {
    case hello(ProxyIdentity)
    case authenticated
    case disconnected
    case pong
    case deviceInfo(ProxyIdentity)
    case entitiesListed
    case advertisements([Discovery])
    case scanning(Central.ScanMode, isRunning: Bool)
    case connection(UInt64, mtu: Int)
    case noConnection(UInt64, error: Int32)
    case connectionsFree(limit: Int, used: [UInt64])
    case service(UInt64, GATTService)
    case servicesDone(UInt64)
    case value(UInt64, UInt16, [UInt8])
    case written(UInt64, UInt16)
    case notifying(UInt64, UInt16)
    case notification(UInt64, UInt16, CharacteristicValue)
    case failed(UInt64, UInt16, error: Int32)
    case paired(UInt64, error: Int32)
    case unpaired(UInt64, error: Int32)
    case cacheCleared(UInt64)
    case parametersSet(UInt64, error: Int32)

    /// The number of its message.
    var type: UInt64 {
        switch self {
        case .hello: 2
        case .authenticated: 4
        case .disconnected: 6
        case .pong: 8
        case .deviceInfo: 10
        case .entitiesListed: 19
        case .advertisements: 93
        case .scanning: 126
        case .connection, .noConnection: 69
        case .connectionsFree: 81
        case .service: 71
        case .servicesDone: 72
        case .value: 74
        case .written: 83
        case .notifying: 84
        case .notification: 79
        case .failed: 82
        case .paired: 85
        case .unpaired: 86
        case .cacheCleared: 88
        case .parametersSet: 146
        }
    }

    /// Its message.
    var octets: [UInt8] { ProtobufWriter.encode(encode) }

    private func encode(_ message: inout ProtobufWriter) {
        switch self {
        case .authenticated, .disconnected, .pong, .entitiesListed: break
        case .hello(let identity): identity.encodeGreeting(&message)
        case .deviceInfo(let identity): identity.encode(&message)
        case .advertisements(let discoveries):
            for discovery in discoveries { message.field(1) { discovery.encode(&$0) } }
        case .scanning(let mode, let isRunning):
            message.field(1, isRunning ? 2 as UInt32 : 5)
            message.field(2, mode == .active)
            message.field(3, mode == .active)
        case .connection(let address, let mtu):
            message.field(1, address)
            message.field(2, true)
            message.field(3, UInt32(mtu))
        case .noConnection(let address, let error):
            message.field(1, address)
            message.field(4, int32: error)
        case .connectionsFree(let limit, let used):
            message.field(1, UInt32(max(0, limit - used.count)))
            message.field(2, UInt32(limit))
            message.field(3, packed: used)
        case .service(let address, let service):
            message.field(1, address)
            message.field(2) { service.encode(&$0) }
        case .servicesDone(let address): message.field(1, address)
        case .value(let address, let handle, let octets):
            message.fields(address, handle)
            message.field(3, octets)
        case .notification(let address, let handle, let value):
            message.fields(address, handle)
            message.field(3, value.bytes)
        case .written(let address, let handle), .notifying(let address, let handle): message.fields(address, handle)
        case .failed(let address, let handle, let error):
            message.fields(address, handle)
            message.field(3, int32: error)
        case .paired(let address, let error), .unpaired(let address, let error):
            message.field(1, address)
            message.field(2, error == 0)
            message.field(3, int32: error)
        case .cacheCleared(let address):
            message.field(1, address)
            message.field(2, true)
        case .parametersSet(let address, let error):
            message.field(1, address)
            message.field(2, int32: error)
        }
    }
}

extension ProtobufWriter {
    fileprivate mutating func fields(_ address: UInt64, _ handle: UInt16) {
        field(1, address)
        field(2, handle)
    }

    /// A UUID as two halves, the upper half first.
    fileprivate mutating func field(_ number: Int, _ uuid: BluetoothUUID) {
        let octets = uuid.littleEndianOctets128
        func half(_ octets: some Collection<UInt8>) -> UInt64 { octets.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        field(number, packed: [half(octets.suffix(8)), half(octets.prefix(8))])
    }
}

extension Discovery {
    fileprivate func encode(_ message: inout ProtobufWriter) {
        message.field(1, address.rawValue)
        message.field(2, sint32: Int32(rssi ?? 127))
        message.field(3, address.kind == .random)
        message.field(4, advertisement.bytes)
    }
}

extension GATTService {
    fileprivate func encode(_ message: inout ProtobufWriter) {
        message.field(1, uuid)
        message.field(2, handle)
        for characteristic in characteristics {
            message.field(3) { message in
                message.field(1, characteristic.uuid)
                message.field(2, characteristic.valueHandle)
                message.field(3, characteristic.properties.rawValue)
                for descriptor in characteristic.descriptors {
                    message.field(4) { message in
                        message.field(1, descriptor.uuid)
                        message.field(2, descriptor.handle)
                    }
                }
            }
        }
    }
}
