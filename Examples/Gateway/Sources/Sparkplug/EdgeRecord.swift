/// What becomes of a gateway's devices, in the order in which it happened.
public enum EdgeRecord: Hashable, Sendable {
    /// The gateway has started: no device is there yet.
    case started
    /// A device is there.
    case online(String)
    /// A device has sent values.
    case values(String, [SparkplugMetric])
    /// A device is gone.
    case offline(String)

    private enum Kind: UInt8 {
        case started
        case online
        case values
        case offline
    }

    /// The record in octets: the kind, the length of the device's name, the name, and the metrics as a payload.
    public var encoded: [UInt8] {
        switch self {
        case .started: [Kind.started.rawValue, 0]
        case .online(let device): Self.head(.online, device)
        case .values(let device, let metrics):
            Self.head(.values, device) + SparkplugPayload(metrics: metrics).encoded
        case .offline(let device): Self.head(.offline, device)
        }
    }

    private static func head(_ kind: Kind, _ device: String) -> [UInt8] {
        let name = Array(device.utf8.prefix(255))
        return [kind.rawValue, UInt8(name.count)] + name
    }

    /// Reads a record; `nil` if the octets are none.
    public init?(decoding octets: [UInt8]) {
        guard octets.count >= 2, let kind = Kind(rawValue: octets[0]) else { return nil }
        let end = 2 + Int(octets[1])
        guard octets.count >= end else { return nil }
        let device = String(decoding: octets[2..<end], as: UTF8.self)
        switch kind {
        case .started: self = .started
        case .online: self = .online(device)
        case .values:
            guard let payload = try? SparkplugPayload(decoding: octets[end...]) else { return nil }
            self = .values(device, payload.metrics)
        case .offline: self = .offline(device)
        }
    }
}
