import BLEStreams
import Glibc

/// The proxy's name, and what it can do.
struct ProxyIdentity: Sendable {
    /// Its name on the network: lower-case letters, digits and dashes.
    let name: String

    /// The adapter's address.
    let address: BluetoothAddress

    /// Whether clients need a key.
    let isEncrypted: Bool

    /// This machine's name, made valid for a proxy.
    static var defaultName: String {
        var octets = [CChar](repeating: 0, count: 256)
        guard gethostname(&octets, octets.count - 1) == 0 else { return "ble-proxy" }
        let host = String(decoding: octets.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let label = host.prefix { $0 != "." }.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return label.isEmpty ? "ble-proxy" : "ble-proxy-\(label.prefix(20))"
    }

    /// The ESPHome release whose protocol this is; it tells clients what they may ask for.
    private static let protocolRelease = "2026.4.0"

    /// The proxy's features, as bits: listen, connect, let clients remember services, pair, forget services, pass on
    /// raw advertisements, report the scanner's state, and set connection parameters.
    private static let features: UInt32 = 0b1111_1111

    /// The answer to a client's greeting.
    func encodeGreeting(_ message: inout ProtobufWriter) {
        message.field(1, 1 as UInt32)
        message.field(2, 10 as UInt32)
        message.field(3, "\(name) (ble proxy)")
        message.field(4, name)
    }

    /// The answer to a request for device information.
    func encode(_ message: inout ProtobufWriter) {
        message.field(2, name)
        message.field(3, "\(address)")
        message.field(4, Self.protocolRelease)
        message.field(6, "Linux")
        message.field(8, "blestreams.proxy")
        message.field(9, "1")
        message.field(12, "BLEStreams")
        message.field(13, name)
        message.field(15, Self.features)
        message.field(18, "\(address)")
        message.field(19, isEncrypted)
    }
}
