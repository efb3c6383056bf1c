import BLEProtocol

/// The conversations of `gatt_vectors.json` in which a client is tested.
struct GATTClientConversations: Decodable {
    struct Step: Decodable {
        var dir: String?
        var phase: String?
        var hex: String?
        var marker: String?
    }

    struct Action: Decodable {
        var kind: String
        var start: UInt16?
        var end: UInt16?
        var uuid: String?
        var handle: UInt16?
        var handles: [UInt16]?
        var value: String?
        var csrk: String?
        var signCounter: UInt32?
    }

    struct Service: Decodable {
        var start: UInt16
        var end: UInt16
        var uuid: String
    }

    struct Included: Decodable {
        var handle: UInt16
        var start: UInt16
        var end: UInt16
        var uuid: String
    }

    struct Characteristic: Decodable {
        var handle: UInt16
        var valueHandle: UInt16
        var uuid: String
    }

    struct Descriptor: Decodable {
        var handle: UInt16
        var uuid: String
    }

    struct Value: Decodable {
        var handle: UInt16
        var value: String
    }

    struct Expectation: Decodable {
        var error: UInt8?
        var value: String?
        var values: [Value]?
        var services: [Service]?
        var included: [Included]?
        var characteristics: [Characteristic]?
        var descriptors: [Descriptor]?
        var received: Value?
    }

    struct Conversation: Decodable {
        var name: String
        var role: String
        var localMtu: Int?
        var database: String?
        var action: Action?
        var expect: Expectation?
        var steps: [Step]

        /// What the case is about; before it stands how BlueZ starts, in its own order.
        var test: [Step] { steps.filter { $0.phase == "test" || $0.marker != nil } }
        func phase(_ name: String) -> [Step] { steps.filter { $0.phase == name } }
    }

    var tests: [Conversation]
    var databases: [String: GATTServerConversations.Database]
}

extension GATTClientConversations.Expectation {
    /// What the procedure must end with, as lines; the same form as ``lines(of:)``.
    var lines: [String] {
        if let error { return ["error \(error)"] }
        if let value { return [value] }
        if let values { return values.map { "\($0.handle) \($0.value)" } }
        if let services { return services.map { "\($0.start)-\($0.end) \(Self.uuid($0.uuid))" } }
        if let included { return included.map { "\($0.handle) \($0.start)-\($0.end) \(Self.uuid($0.uuid))" } }
        if let characteristics {
            return characteristics.map { "\($0.handle) \($0.valueHandle) \(Self.uuid($0.uuid))" }
        }
        if let descriptors { return descriptors.map { "\($0.handle) \(Self.uuid($0.uuid))" } }
        return []
    }

    private static func uuid(_ text: String) -> String { BluetoothUUID(text).map(\.description) ?? text }

    /// A procedure's result as lines.
    static func lines(of result: Result<any Sendable, GATTFailure>) -> [String] {
        switch result {
        case .failure(.attribute(let error, _)): ["error \(error.rawValue)"]
        case .failure(let failure): ["\(failure)"]
        case .success(let octets as [UInt8]): [WireText.text(octets)]
        case .success(let values as [ReadByUUID.Value]): values.map { "\($0.handle) \(WireText.text($0.value))" }
        case .success(let services as [BLEProtocol.Service]):
            services.map { "\($0.handle)-\($0.endHandle) \($0.uuid)" }
        case .success(let included as [IncludedService]):
            included.map { "\($0.handle) \($0.startHandle)-\($0.endHandle) \($0.uuid)" }
        case .success(let found as [BLEProtocol.Characteristic]):
            found.map { "\($0.handle) \($0.valueHandle) \($0.uuid)" }
        case .success(let found as [BLEProtocol.Descriptor]): found.map { "\($0.handle) \($0.uuid)" }
        case .success(is Void): []
        case .success(let other): ["an unexpected \(type(of: other))"]
        }
    }
}
