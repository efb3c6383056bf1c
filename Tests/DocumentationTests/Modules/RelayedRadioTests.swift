import Foundation
import Testing

/// Radios in front of others pass everything on.
@Suite struct RelayedRadioTests {
    /// What a protocol requires, whether it has a default implementation or not.
    private static func requirements(of name: String) throws -> Set<String> {
        let text = try Self.text(of: "Sources/BLERadio/\(name).swift")
        let start = try #require(text.range(of: "public protocol \(name): ")).upperBound
        let end = try #require(text.range(of: "\n}\n", range: start..<text.endIndex)).lowerBound
        return names(in: String(text[start..<end]))
    }

    private static func names(in text: String) -> Set<String> {
        Set(text.matches(of: #/(?:func|var|let) ([a-zA-Z]+)/#).map { String($0.output.1) })
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: Package.folder.appending(path: path), encoding: .utf8)
    }

    /// The files of a file's or a folder's path.
    private static func files(at path: String) throws -> [String] {
        guard !path.hasSuffix(".swift") else { return [path] }
        let names = try FileManager.default.subpathsOfDirectory(atPath: Package.folder.appending(path: path).path)
        return names.filter { $0.contains("JoinedRadio") && $0.hasSuffix(".swift") }.map { "\(path)/\($0)" }
    }

    @Test(
        arguments: [
            ("Sources/BLEStreams/Capture/CaptureRadio.swift", []),
            // Each of the joined radios may have another executor.
            ("Sources/BLEStreams/Joined", ["executor"]),
            ("Tests/RadioDoubles/RelayingRadio.swift", []),
        ] as [(String, Set<String>)]
    )
    func `a default implementation hides none of the radio behind`(_ path: String, _ without: Set<String>) throws {
        let required = try Self.requirements(of: "Radio")
        #expect(required.isSuperset(of: ["isLinked", "executor", "expectPairing", "powerCycle", "scan"]))
        let declared = try Self.files(at: path).reduce(into: Set<String>()) { names, file in
            names.formUnion(Self.names(in: try Self.text(of: file)))
        }
        let missing = required.subtracting(declared).subtracting(without)
        #expect(missing.isEmpty, "\(path) doesn't pass on: \(missing.sorted())")
    }

    @Test(arguments: ["Capture/CapturedLink", "Joined/JoinedLink"])
    func `and none of the link behind`(_ name: String) throws {
        let required = try Self.requirements(of: "ATTLink")
        #expect(required.isSuperset(of: ["hasKey", "readConditions", "observeSecurity", "send"]))
        let declared = Self.names(in: try Self.text(of: "Sources/BLEStreams/\(name).swift"))
        let missing = required.subtracting(declared)
        #expect(missing.isEmpty, "\(name) doesn't pass on: \(missing.sorted())")
    }
}
