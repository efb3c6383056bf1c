import BLEStreams
import Glibc

/// What the proxy is called, and what it can do.
struct ProxyIdentity: Sendable {
    /// Its name on the network: lower-case letters, digits and dashes.
    let name: String

    /// The adapter's address.
    let address: BluetoothAddress

    /// Whether its clients need a key.
    let isEncrypted: Bool

    /// The name of this machine, made fit for a proxy.
    static var defaultName: String {
        var octets = [CChar](repeating: 0, count: 256)
        guard gethostname(&octets, octets.count - 1) == 0 else { return "ble-proxy" }
        let host = String(decoding: octets.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let label = host.prefix { $0 != "." }.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return label.isEmpty ? "ble-proxy" : "ble-proxy-\(label.prefix(20))"
    }

    /// The release of ESPHome whose protocol this is, by which clients know what they may ask.
    private static let protocolRelease = "2026.4.0"

    /// What the proxy can do, as bits: hear, connect, have its client remember services, pair, forget services, pass
    /// advertisements on as they came, say how it scans, and set connection parameters.
    private static let features: UInt32 = 0b1111_1111

    /// The answer to a client's first words.
    func encodeGreeting(_ message: inout ProtobufWriter) {
        message.field(1, 1 as UInt32)
        message.field(2, 10 as UInt32)
        message.field(3, "\(name) (ble proxy)")
        message.field(4, name)
    }

    /// The answer to what it is.
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
