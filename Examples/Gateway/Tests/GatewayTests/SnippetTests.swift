import Foundation
import Gateway
import MQTT
import Spool
import Testing

/// The snippets of the documentation comments are here too, where the compiler reads them.
@Suite struct SnippetTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
        .standardized

    @Test func `each snippet of a documentation comment is one of those that are compiled here`() throws {
        let compiled = Self.lines(try String(contentsOf: URL(filePath: #filePath), encoding: .utf8))
        let files = FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil)
        var count = 0
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            for snippet in Self.snippets(try String(contentsOf: file, encoding: .utf8)) {
                count += 1
                #expect(compiled.contains(snippet), "\(file.lastPathComponent)")
            }
        }
        #expect(count == 3)
    }

    /// The snippets in documentation comments, each as its lines without indentation.
    private static func snippets(_ text: String) -> [String] {
        var (snippets, lines, isInside): ([String], [Substring], Bool) = ([], [], false)
        for line in text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
            switch line {
            case "/// ```swift": (lines, isInside) = ([], true)
            case "/// ```" where isInside:
                snippets.append(lines.joined(separator: "\n"))
                isInside = false
            default: lines.append(line.dropFirst(3).drop { $0 == " " })
            }
        }
        return snippets
    }

    private static func lines(_ text: String) -> String {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
    }

    // MARK: - The snippets

    private static func runTheGateway() async throws {
        let (orders, control) = AsyncStream<Order>.makeStream()
        let gateway = Gateway(try Configuration(file: "gateway.json"), orders: orders) { print($0) }
        try await gateway.run()
        control.finish()
    }

    private static func useTheSpool(send: ([UInt8]) -> Bool) throws {
        let spool = try Spool(SpoolSettings(folder: "/var/lib/gateway/spool"))
        try spool.append(Array("21.5".utf8))
        while let record = try spool.next() {
            if send(record.payload) { try spool.acknowledge(record.sequence) }
        }
    }

    private static func runTheClient(_ outbox: some MQTTOutbox) async {
        let client = MQTTClient(MQTTSettings(host: "localhost", clientID: "gateway"), outbox: outbox)
        await withTaskGroup { group in
            group.addTask { await client.run() }
            for await message in client.messages { print(message.topic) }
        }
    }
}
