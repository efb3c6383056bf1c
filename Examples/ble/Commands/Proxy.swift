import BLEStreams
import FoundationEssentials

/// Lends the adapter to Home Assistant, as an ESP32 with ESPHome does.
struct Proxy: Command {
    static let name = "proxy"
    static let summary = "lend the adapter to Home Assistant over the network"
    static let parameters: [String] = []
    static let options = [
        Option(
            "listen",
            value: "HOST:PORT",
            help: "where to listen; port 6053 of all addresses with a key, else of 127.0.0.1"
        ),
        Option(
            "key",
            value: "KEY|@FILE",
            help: "the key that clients need: 32 octets in Base64; @- reads standard input",
            isSecret: true
        ),
        Option("make-key", help: "print a new key, and end"),
        Option("name", value: "NAME", help: "what the proxy is called on the network; by default after this machine"),
        Option("connections", value: "N", help: "how many devices can be connected at once; 8 by default"),
    ]
    static let notes = """
        It runs until Ctrl-C. To Home Assistant it is an ESPHome Bluetooth proxy: add the integration ESPHome, with this
        machine's address, the port and the key. Home Assistant then hears through this adapter and connects through it,
        also to several devices at once.

        Several clients can use one proxy, and be connected to the same device: they share its link, which counts once
        for --connections and is dropped when the last of them leaves. Each reads, writes and subscribes for itself, and
        gets the notifications that it has subscribed to. While the adapter is off, clients receive no advertisements,
        and devices are disconnected; when it is on again, both work without a new connection to the proxy.

        With a key, all that goes over the network is encrypted, and nobody without it can use the proxy. This needs
        libsodium (`apt-get install libsodium23`). Without a key, everybody who reaches the port can use the adapter and
        its bonds; by default it then accepts clients on this machine only.

        Make a key with `ble proxy --make-key > FILE`, and pass it with `--key @FILE`, or with `--key @-` on standard
        input, so that it doesn't appear in the list of processes.

        Scanning requires the capability CAP_NET_ADMIN.
        """

    private let isMakingKey: Bool
    private let endpoint: (host: String?, port: UInt16)
    private let key: [UInt8]?
    private let proxyName: String
    private let connections: Int

    init(_ arguments: Arguments) throws(UsageError) {
        _ = try arguments.parameters(Self.parameters)
        isMakingKey = arguments.has("make-key")
        let other = Self.options.first { $0.name != "make-key" && arguments.has($0.name) }
        if isMakingKey, let other {
            throw UsageError("--make-key runs no proxy: --\(other.name) has no meaning with it")
        }
        if isMakingKey { try arguments.refuseAdapterUse(by: "--make-key") }
        key = try Self.key(arguments)
        endpoint = try Self.endpoint(arguments, isEncrypted: key != nil)
        proxyName = try Self.name(arguments)
        connections = try arguments.count("connections") ?? 8
    }

    func run(_ options: CommonOptions, _ log: Log) async throws {
        // A key is made even without an adapter.
        if isMakingKey { return try printKey(Output(isJSON: options.isJSON)) }
        try await CommandEnvironment.run(options, log) { try await run(in: $0) }
    }

    private func printKey(_ output: Output) throws {
        let key = Data((0..<Sodium.size).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        try output.print(.object(("key", .string(key))), key, isWhole: true)
    }

    func run(in environment: CommandEnvironment) async throws {
        let encryption = try key.map { ProxyChannel.Encryption(sodium: try Sodium(), key: $0) }
        if encryption == nil {
            environment.log.say("without --key, everybody who reaches the port can use this adapter")
        }
        let adapter = environment.central.adapter
        guard let address = adapter.address else {
            throw adapter.state.error(operation: "proxy", object: "on \(adapter.name)")
                ?? BLEError.noAddress(adapter.name)
        }
        let listener = try TCPListener(host: endpoint.host, port: endpoint.port, environment.log)
        let host = ProxyHost(
            central: environment.central,
            identity: ProxyIdentity(name: proxyName, address: address, isEncrypted: encryption != nil),
            encryption: encryption,
            slots: ProxySlots(limit: connections),
            log: environment.log
        )
        try environment.output.print(
            .object(
                ("event", .string("listening")),
                ("endpoint", .string(listener.endpoint)),
                ("name", .string(proxyName))
            ),
            "listening on \(listener.endpoint) as \(proxyName)"
        )
        try await withThrowingDiscardingTaskGroup { clients in
            var number = 0
            for try await connection in listener.connections {
                number += 1
                let client = ProxyClient(host, connection, number: number)
                clients.addTask { try await client.run() }
            }
        }
    }

    // MARK: - Options

    private static func key(_ arguments: Arguments) throws(UsageError) -> [UInt8]? {
        guard let text = arguments.last("key") else { return nil }
        let words: String
        if let file = try NamedFile(text) {
            do {
                words = String(decoding: try file.read(atMost: 256), as: UTF8.self)
            } catch {
                throw UsageError.unreadable("--key '\(text)'", error)
            }
        } else {
            words = text
        }
        let parts = words.split(whereSeparator: \.isWhitespace)
        guard parts.count == 1, let data = Data(base64Encoded: String(parts[0])), data.count == Sodium.size else {
            // The error doesn't contain the text, which may be almost a key.
            throw UsageError("--key: a key is 32 octets in Base64, 44 characters; `ble proxy --make-key` makes one")
        }
        return Array(data)
    }

    private static func endpoint(
        _ arguments: Arguments,
        isEncrypted: Bool
    ) throws(UsageError) -> (host: String?, port: UInt16) {
        guard let text = arguments.last("listen") else { return (isEncrypted ? nil : "127.0.0.1", 6053) }
        let colon = text.lastIndex(of: ":")
        guard let colon, let port = UInt16(text[text.index(after: colon)...]) else {
            throw UsageError("--listen '\(text)': write HOST:PORT like 192.168.1.5:6053, or *:6053")
        }
        let host = text[..<colon]
        guard !host.isEmpty, host != "*" else { return (nil, port) }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return (String(isBracketed ? host.dropFirst().dropLast() : host), port)
    }

    private static func name(_ arguments: Arguments) throws(UsageError) -> String {
        guard let name = arguments.last("name") else { return ProxyIdentity.defaultName }
        let isFit = name.utf8.allSatisfy { octet in
            (0x61...0x7A).contains(octet) || (0x30...0x39).contains(octet) || octet == UInt8(ascii: "-")
        }
        guard isFit, (1...31).contains(name.utf8.count) else {
            throw UsageError("--name '\(name)': a name is 1 to 31 lower-case letters, digits and dashes")
        }
        return name
    }
}

extension BLEError {
    fileprivate static func noAddress(_ name: String) -> BLEError {
        BLEError(
            .adapterNotReady,
            operation: "proxy",
            object: "on \(name)",
            cause: "the adapter has no address yet",
            remedy: "Wait until it is ready, or switch it on with `ble adapter on`."
        )
    }
}
