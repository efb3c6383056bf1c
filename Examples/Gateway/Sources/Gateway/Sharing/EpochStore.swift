import Foundation
import Leases

/// What a gateway that shares peripherals must not forget: its identifier, and the number that it has reserved.
///
/// It is a file beside the spool, whose lock protects it. A gateway that loses the file draws another identifier, as
/// LEASES.md asks (A5).
struct EpochStore: Sendable {
    /// A file that can't be used, and why.
    struct StoreError: Error, CustomStringConvertible {
        var description: String
    }

    private struct Content: Codable {
        var gateway: String
        var reserved: UInt64
    }

    /// The identifier of this gateway.
    let gateway: GatewayID
    /// The number that was reserved when the gateway started.
    let reserved: UInt64
    /// Whether there was no file.
    let isNew: Bool
    private let path: String
    private static let sizeLimit = 1024

    /// Reads the file; if there is none, it is made. One that can't be read, or is damaged, is an error: with the same
    /// identifier, the epochs would begin anew.
    ///
    /// - Parameters:
    ///   - spool: the folder of the spool.
    ///   - configured: the identifier that the configuration gives; `nil`: the one in the file, or a new one.
    init(beside spool: String, configured: GatewayID?) throws {
        path = spool + ".leases"
        let octets: [UInt8]?
        do {
            octets = try DurableFile.read(path, limit: Self.sizeLimit + 1)
        } catch {
            throw StoreError(description: "leases: \(error)")
        }
        isNew = octets == nil
        if let octets {
            guard octets.count <= Self.sizeLimit,
                let content = try? JSONDecoder().decode(Content.self, from: Data(octets)),
                let bits = UInt64(content.gateway, radix: 16), content.gateway.utf8.count == 12
            else {
                let remedy =
                    configured == nil
                    ? "Delete it; the gateway then gets another identifier."
                    : "Delete it, and write another identifier as `leases.gateway`."
                throw StoreError(description: "leases: \(path) is damaged. \(remedy)")
            }
            gateway = configured ?? GatewayID(rawValue: bits)
            reserved = content.reserved
            if gateway.rawValue != bits { try store(content.reserved) }
        } else {
            gateway = configured ?? GatewayID(rawValue: .random(in: 1...0xFFFF_FFFF_FFFF))
            reserved = 0
            try store(0)
        }
    }

    /// Stores a number so that it survives a power cut.
    func store(_ number: UInt64) throws {
        let content = Content(gateway: gateway.description, reserved: number)
        do {
            try DurableFile.write(Array(try JSONEncoder().encode(content)), to: path)
        } catch {
            throw StoreError(description: "leases: \(error)")
        }
    }
}
