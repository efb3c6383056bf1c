import BLEStreams
import Foundation
import Glibc

extension Configuration {
    /// The largest file.
    private static let sizeLimit = 1 << 20

    /// Reads a file.
    ///
    /// - Throws: ``ConfigurationError``, which names the field and the remedy.
    public init(file: String) throws(ConfigurationError) {
        let content: [UInt8]?
        do {
            content = try DurableFile.read(file, limit: Self.sizeLimit + 1)
        } catch {
            throw Self.unreadable(file, error.number)
        }
        guard let octets = content else { throw Self.unreadable(file, ENOENT) }
        guard octets.count <= Self.sizeLimit else {
            throw ConfigurationError(field: "", cause: "\(file) has more than 1 MiB", remedy: "Check the path.")
        }
        try self.init(json: octets)
    }

    /// A file that can't be read: the configuration itself, or one that a field of it names.
    static func unreadable(_ file: String, _ number: Int32, _ field: String = "") -> ConfigurationError {
        ConfigurationError(
            field: field,
            cause: "\(file) can't be read: \(String(cString: strerror(number)))",
            remedy: "Check the path, and that this program may read it."
        )
    }

    /// Reads the text of a file.
    ///
    /// - Throws: ``ConfigurationError``, which names the field and the remedy.
    public init(json octets: [UInt8]) throws(ConfigurationError) {
        let value: JSONValue
        do {
            value = try .reading(octets)
        } catch let error as JSONValue.TooDeep {
            throw ConfigurationError(field: "", cause: "\(error)", remedy: "Correct it.")
        } catch {
            throw ConfigurationError(
                field: "",
                cause: "it is not JSON\(Self.place(ofMistakeIn: octets))",
                remedy: "Correct it."
            )
        }
        if let twice = RepeatedMember.first(in: octets) {
            throw ConfigurationError(
                field: "",
                cause: "one object has '\(twice.name)' twice, for the second time in line \(twice.line)",
                remedy: "Write each field once."
            )
        }
        self = try ConfigurationFields.read(value, "") { fields throws(ConfigurationError) in try Configuration(&fields)
        }
    }

    /// Where the text stops being JSON, and why: the decoder doesn't say it, but Foundation's other reader does, with
    /// the number of an octet.
    private static func place(ofMistakeIn octets: [UInt8]) -> String {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(octets))
            return ""
        } catch {
            let words = (error as NSError).userInfo["NSDebugDescription"] as? String ?? ""
            guard let match = words.wholeMatch(of: /(.+) around character (\d+)\./), let position = Int(match.2) else {
                return words.contains("end of file") ? ": it ends in the middle of a value" : ""
            }
            let before = octets.prefix(position)
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let column = position - (before.lastIndex(of: UInt8(ascii: "\n")) ?? -1)
            return ": \(match.1.lowercased()) at line \(line), column \(column), or just before it"
        }
    }

    private init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        let spool = try fields.object("spool") { fields throws(ConfigurationError) in try SpoolFolder(&fields) }
        guard let spool else {
            throw fields.missing("spool", #"Write { "folder": "/var/lib/ble-gateway/spool" }."#)
        }
        self.init(spool: spool)
        var cautions: [ConfigurationError] = []
        let broker = try fields.object("broker") { fields throws(ConfigurationError) in
            try Broker(&fields, &cautions)
        }
        if let broker { self.broker = broker }
        prefix = try fields.topic("prefix") ?? prefix
        // Two uses of one adapter would interfere with each other.
        adapters = try fields.differentStrings("adapters", #"Write a list of names: [ "hci0" ]."#)
        peripherals = try fields.objects("peripherals") { fields throws(ConfigurationError) in try Peripheral(&fields) }
        advertisements = try fields.object("advertisements") { fields throws(ConfigurationError) in
            Advertisements(
                window: try fields.number("windowSeconds", in: 0...86_400, default: 60),
                services: try fields.uuids("services")
            )
        }
        metricsPort = try fields.object("metrics") { fields throws(ConfigurationError) in
            try fields.whole("port", in: 1...65_535, default: 9464)
        }
        homeAssistantPrefix = try fields.object("homeAssistant") { fields throws(ConfigurationError) in
            try fields.topic("prefix") ?? "homeassistant"
        }
        let node = self.broker.clientID
        sparkplug = try fields.object("sparkplug") { fields throws(ConfigurationError) in try Sparkplug(&fields, node) }
        leases = try fields.object("leases") { fields throws(ConfigurationError) in try Sharing(&fields) }
        campaigns = try fields.object("campaigns") { fields throws(ConfigurationError) in try Campaigns(&fields) }
        guard campaigns == nil || leases != nil else {
            throw ConfigurationError(
                field: "campaigns",
                cause: "there are no leases, by which one gateway alone updates a device",
                remedy: #"Write "leases": {}, too."#
            )
        }
        permissions = try fields.objects("commands") { fields throws(ConfigurationError) in try Permission(&fields) }
        images = try fields.optionalString("images")
        try checkLabels()
        try checkShared()
        try checkImages()
        self.cautions = cautions + cautionsOfAlikeLabels()
    }

    private func checkImages() throws(ConfigurationError) {
        let updates = permissions.firstIndex { $0.operations.contains(CommandOperation.update.rawValue) }
        guard let updates, images == nil else { return }
        throw ConfigurationError(
            field: "commands[\(updates)].operations",
            cause: "there is no folder with images for 'update'",
            remedy: #"Write "images": "/var/lib/ble-gateway/images", too."#
        )
    }

    private func checkLabels() throws(ConfigurationError) {
        var labels: Set<String> = []
        for (index, peripheral) in peripherals.enumerated() where !labels.insert(peripheral.label).inserted {
            throw ConfigurationError(
                field: "peripherals[\(index)].label",
                cause: "'\(peripheral.label)' is given twice",
                remedy: "Give each peripheral a label of its own."
            )
        }
        for (index, permission) in permissions.enumerated() where !labels.contains(permission.peripheral) {
            throw ConfigurationError(
                field: "commands[\(index)].peripheral",
                cause: "no peripheral has the label '\(permission.peripheral)'",
                remedy: labels.isEmpty
                    ? "Add a peripheral with this label to 'peripherals'."
                    : "Write the label of one of the peripherals: \(labels.sorted().joined(separator: ", "))."
            )
        }
    }
}

extension Configuration.Broker {
    fileprivate init(
        _ fields: inout ConfigurationFields,
        _ cautions: inout [ConfigurationError]
    ) throws(ConfigurationError) {
        host = try fields.optionalString("host") ?? host
        clientID = try fields.optionalString("clientID") ?? clientID
        user = try fields.optionalString("user")
        let file = try fields.optionalString("passwordFile")
        inFlight = try fields.whole("inFlight", in: 1...1000, default: inFlight)
        keepAlive = try fields.whole("keepAliveSeconds", in: 5...65_535, default: keepAlive)
        let security = try fields.object("tls") { fields throws(ConfigurationError) in
            (
                try fields.string("authorities", "Write the path of a file in PEM."),
                try fields.optionalString("certificate"), try fields.optionalString("key")
            )
        }
        port = try fields.whole("port", in: 1...65_535, default: security == nil ? 1883 : 8883)
        if let security {
            guard (security.1 == nil) == (security.2 == nil) else {
                throw ConfigurationError(
                    field: fields.name("tls"),
                    cause: "a certificate needs a key, and a key a certificate",
                    remedy: "Write both, or none."
                )
            }
            (authorities, certificate, key) = security
        }
        guard let file else { return }
        password = try Self.password(in: file, fields.name("passwordFile"), user)
        // Not refused: containers pass secrets so, unless they are told otherwise.
        if let problem = SecretFile.exposure(of: file, fields.name("passwordFile")) { cautions.append(problem) }
    }

    private static func password(
        in file: String,
        _ field: String,
        _ user: String?
    ) throws(ConfigurationError) -> String {
        guard user != nil else {
            throw ConfigurationError(
                field: field,
                cause: "there is no user",
                remedy: "Write the user, too."
            )
        }
        func unfit(_ cause: String) -> ConfigurationError {
            ConfigurationError(field: field, cause: "\(file) \(cause)", remedy: "Write the password into it, alone.")
        }
        let content: [UInt8]?
        do {
            content = try DurableFile.read(file, limit: longestPassword + longestLineEnd + 1)
        } catch {
            throw Configuration.unreadable(file, error.number, field)
        }
        guard let octets = content else { throw Configuration.unreadable(file, ENOENT, field) }
        let excess = "has more than \(longestPassword) octets"
        guard octets.count <= longestPassword + longestLineEnd else { throw unfit(excess) }
        guard let text = String(validating: octets, as: UTF8.self) else { throw unfit("is not text in UTF-8") }
        let password = text.trimmingCharacters(in: .newlines)
        guard !password.isEmpty else { throw unfit("is empty") }
        guard password.utf8.count <= longestPassword else { throw unfit(excess) }
        return password
    }

    /// As MQTT limits it.
    private static let longestPassword = 65_535
    /// CR LF.
    private static let longestLineEnd = 2
}

extension Configuration.SpoolFolder {
    fileprivate init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        folder = try fields.string("folder", "Write the path of a folder for the spool alone.")
        megabytes = try fields.whole("megabytes", in: 1...65_536, default: 64)
        recordsPerSync = try fields.whole("recordsPerSync", in: 1...65_536, default: 256)
    }
}

extension Configuration.Peripheral {
    fileprivate init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        address = try fields.optionalString("address")
        name = try fields.optionalString("name")
        if let address, BluetoothAddress.candidates(for: address).isEmpty {
            throw ConfigurationError(
                field: fields.name("address"),
                cause: "'\(address)' is not an address",
                remedy: "Write it like C4:F2:17:1A:1D:BB, followed by /public or /random if you know the kind."
            )
        }
        guard (address == nil) != (name == nil) else {
            throw ConfigurationError(
                field: fields.name("address"),
                cause: address == nil
                    ? "it is missing\(fields.misspelt("address", "name"))" : "there is a name as well",
                remedy: "Write the address of the peripheral, or the name that it advertises."
            )
        }
        label = try fields.topic("label", levels: 1) ?? Self.plain(address ?? name ?? "")
        subscriptions = try fields.objects("characteristics") { fields throws(ConfigurationError) in
            guard let uuid = try fields.uuid("uuid") else {
                throw fields.missing("uuid", #"Write a UUID: "2A6E"."#)
            }
            return Configuration.Subscription(characteristic: uuid, service: try fields.uuid("service"))
        }
        try Self.checkOnce(subscriptions, fields.name("characteristics"))
        pairing = try fields.object("pairing") { fields throws(ConfigurationError) in
            try Configuration.Pairing(&fields)
        }
    }

    /// A name for topics, made of one that may have any characters.
    private static func plain(_ text: String) -> String {
        let text = text.split(separator: "/").first ?? ""
        return String(text.map { $0.isLetter || $0.isNumber || $0 == ":" ? $0 : "-" })
    }
}

extension Configuration.Permission {
    fileprivate init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        peripheral = try fields.string("peripheral", "Write the label of a peripheral.")
        operations = try fields.strings("operations", #"Write a list: [ "read", "write" ]."#)
        characteristics = try fields.uuids("characteristics")
        for (index, operation) in operations.enumerated() where CommandOperation(rawValue: operation) == nil {
            let known = CommandOperation.allCases.map(\.rawValue).joined(separator: ", ")
            throw ConfigurationError(
                field: fields.name("operations[\(index)]"),
                cause: "there is no operation '\(operation)'",
                remedy: "The operations are: \(known)."
            )
        }
    }
}

extension ConfigurationFields {
    /// A topic, or the beginning of one.
    mutating func topic(_ field: String, levels: Int = 8) throws(ConfigurationError) -> String? {
        guard let topic = try optionalString(field) else { return nil }
        let isPlain = !topic.contains { $0 == "+" || $0 == "#" || $0 == "\0" || $0 == "$" }
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard isPlain, topic.utf8.count <= 256, parts.count <= levels, !parts.contains("") else {
            throw ConfigurationError(
                field: name(field),
                cause: "'\(topic)' can't be used in a topic",
                remedy:
                    levels == 1
                    ? "Write a name without /, +, # and $, like kitchen."
                    : "Write at most \(levels) levels, without +, # and $, like home/ble."
            )
        }
        return topic
    }

    fileprivate mutating func uuid(_ field: String) throws(ConfigurationError) -> BluetoothUUID? {
        guard let text = try optionalString(field, #"Write a UUID: "2A6E"."#) else { return nil }
        return try Self.uuid(text, name(field))
    }

    fileprivate mutating func uuids(_ field: String) throws(ConfigurationError) -> [BluetoothUUID] {
        var uuids: [BluetoothUUID] = []
        for (index, text) in try strings(field, #"Write a list of UUIDs: [ "2A6E" ]."#).enumerated() {
            uuids.append(try Self.uuid(text, name("\(field)[\(index)]")))
        }
        return uuids
    }

    private static func uuid(_ text: String, _ field: String) throws(ConfigurationError) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else {
            throw ConfigurationError(
                field: field,
                cause: "'\(text)' is not a UUID",
                remedy: "Write four, eight or 32 hexadecimal digits: 2A6E, or 12345678-1234-1234-1234-123456789ABC."
            )
        }
        return uuid
    }
}
