@testable import BLEProtocol

/// What a client's conversations need of the file of recorded ones.
struct GATTClientVectors: Decodable {
    struct Database: Decodable {
        struct Declaration: Decodable {
            var uuid: String?
            var propertiesRaw: UInt8?
            var valueHandle: UInt16?
        }

        struct Line: Decodable {
            var handle: UInt16
            var type: String
            var value: String
            var serviceEndHandle: UInt16?
            var declares: Declaration?
        }

        var attributes: [Line]
    }

    struct Step: Decodable {
        var dir: String?
        var hex: String?
        var marker: String?
        var phase: String?
    }

    struct Action: Decodable {
        var kind: String
        var handle: UInt16?
        var handles: [UInt16]?
        var start: UInt16?
        var end: UInt16?
        var uuid: String?
        var value: String?
        var csrk: String?
        var signCounter: UInt32?
    }

    struct Expectation: Decodable {
        struct Found: Decodable {
            var handle: UInt16?
            var start: UInt16?
            var end: UInt16?
            var valueHandle: UInt16?
            var uuid: String?
            var value: String?
        }

        var error: UInt8?
        var value: String?
        var values: [Found]?
        var services: [Found]?
        var included: [Found]?
        var characteristics: [Found]?
        var descriptors: [Found]?
        var received: Found?
    }

    struct Conversation: Decodable {
        var name: String
        var role: String
        var localMtu: Int?
        var database: String?
        var autoSecurity: Bool?
        var action: Action?
        var expect: Expectation?
        var steps: [Step]

        func steps(of phase: String) -> [Step] { steps.filter { $0.phase == phase } }
    }

    var databases: [String: Database]
    var tests: [Conversation]
}

extension GATTClientVectors.Database {
    var answering: AnsweringDatabase {
        AnsweringDatabase(
            attributes.map { line in
                AnsweringDatabase.Entry(
                    handle: line.handle,
                    type: BluetoothUUID(line.type) ?? BluetoothUUID(0),
                    value: pdu(line.value),
                    groupEnd: line.serviceEndHandle
                )
            }
        )
    }

    /// The tree, by what the file says that each attribute declares.
    var tree: GATTDatabase {
        var services: [GATTService] = []
        for line in attributes.sorted(by: { $0.handle < $1.handle }) {
            let uuid = BluetoothUUID(line.declares?.uuid ?? line.type) ?? BluetoothUUID(0)
            let last = services.indices.last
            switch line.type {
            case "2800", "2801":
                services.append(
                    GATTService(
                        uuid: uuid,
                        isPrimary: line.type == "2800",
                        handle: line.handle,
                        endHandle: line.serviceEndHandle ?? line.handle
                    )
                )
            case "2803":
                guard let last, let declared = line.declares else { continue }
                if let previous = services[last].characteristics.indices.last {
                    services[last].characteristics[previous].endHandle = line.handle - 1
                }
                services[last].characteristics.append(
                    Characteristic(
                        uuid: uuid,
                        properties: Characteristic.Properties(rawValue: declared.propertiesRaw ?? 0),
                        handle: line.handle,
                        valueHandle: declared.valueHandle ?? 0,
                        endHandle: services[last].endHandle
                    )
                )
            default:
                guard let last, let own = services[last].characteristics.indices.last,
                    line.handle > services[last].characteristics[own].valueHandle
                else { continue }
                services[last].characteristics[own].descriptors.append(Descriptor(uuid: uuid, handle: line.handle))
            }
        }
        return GATTDatabase(services: services)
    }
}
