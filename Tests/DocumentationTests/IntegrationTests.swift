import Foundation
import Testing

/// The adapters for packages that can't be had here compile against what they use of them.
@Suite(.timeLimit(.minutes(10))) struct IntegrationTests {
    /// As much of each module as the adapters name.
    private static let stubs = [
        "Logging": """
        public struct Logger: Sendable {
            public typealias Metadata = [String: MetadataValue]
            public enum Level: Sendable { case trace, debug, info, notice, warning, error, critical }
            public struct Message: ExpressibleByStringInterpolation, Sendable { public init(stringLiteral: String) {} }
            public enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
                case string(String)
                public init(stringLiteral: String) { self = .string(stringLiteral) }
            }
            public func log(
                level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil
            ) {}
        }
        """,
        "Metrics": """
        public final class Counter {
            public init(label: String, dimensions: [(String, String)] = []) {}
            public func increment<Count: BinaryInteger>(by amount: Count) {}
            public func increment() {}
        }
        public final class Gauge {
            public init(label: String, dimensions: [(String, String)] = []) {}
            public func record<Number: BinaryInteger>(_ value: Number) {}
        }
        public final class Timer {
            public init(label: String, dimensions: [(String, String)] = []) {}
            public func recordNanoseconds(_ duration: Int64) {}
        }
        """,
        "Tracing": """
        public protocol TracerInstant: Comparable, Hashable, Sendable { var nanosecondsSinceEpoch: UInt64 { get } }
        public enum SpanKind: Sendable { case client, `internal` }
        public enum SpanAttribute: ExpressibleByStringInterpolation, Sendable {
            case string(String)
            public init(stringLiteral: String) { self = .string(stringLiteral) }
        }
        public struct SpanAttributes: Sendable {
            public subscript(key: String) -> SpanAttribute? { get { nil } set {} }
        }
        public protocol Span: Sendable {
            var attributes: SpanAttributes { get nonmutating set }
            func recordError(_ error: any Error)
            func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
        }
        public func startSpan<Instant: TracerInstant>(
            _ name: String, at instant: @autoclosure () -> Instant, ofKind kind: SpanKind = .internal
        ) -> any Span { fatalError() }
        """,
        "ServiceLifecycle": """
        public protocol Service: Sendable { func run() async throws }
        public func cancelWhenGracefulShutdown<Value: Sendable>(
            _ operation: @Sendable @escaping () async throws -> Value
        ) async rethrows -> Value { try await operation() }
        """,
    ]

    @Test func `the integrations compile against what they use of other packages`() throws {
        let toolchain = try Toolchain()
        try toolchain.withFolder { folder in
            let options = [
                "-swift-version", "6", "-suppress-warnings", "-enable-upcoming-feature", "InternalImportsByDefault",
                "-module-cache-path", folder.appending(path: "modules").path,
            ]
            for (name, text) in Self.stubs {
                let source = folder.appending(path: "\(name).swift")
                try text.write(to: source, atomically: false, encoding: .utf8)
                let complaints = try toolchain.run(
                    ["swiftc"] + options + [
                        "-emit-module", "-parse-as-library", "-module-name", name, source.path, "-o",
                        folder.appending(path: "\(name).swiftmodule").path,
                    ],
                    output: folder.appending(path: "output")
                )
                try #require(complaints.isEmpty, "\(complaints)")
            }
            let sources = Package.folder.appending(path: "Examples/Integrations/Sources/Integrations")
            let files = try FileManager.default.contentsOfDirectory(atPath: sources.path).map {
                sources.appending(path: $0).path
            }
            #expect(files.count == 4)
            let complaints = try toolchain.run(
                ["swiftc", "-typecheck", "-module-name", "Integrations", "-I", folder.path] + options
                    + toolchain.searchPaths + files.sorted(),
                output: folder.appending(path: "output")
            )
            #expect(complaints.isEmpty, "\(complaints)")
        }
    }
}
