import Foundation
import Testing

/// Test vectors that lie beside the package, in `../shared/vectors` or where `BLESTREAMS_VECTORS` points to.
///
/// A test that reads them is skipped where they are absent: `@Test(.enabled(if: VectorFile.arePresent,
/// VectorFile.why))`.
enum VectorFile {
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["BLESTREAMS_VECTORS"] { return URL(filePath: path) }
        // Tests/BLEProtocolTests/Vectors/VectorFile.swift, four levels below the package's root.
        let package = (0..<4).reduce(URL(filePath: #filePath)) { path, _ in path.deletingLastPathComponent() }
        return package.deletingLastPathComponent().appending(path: "shared/vectors")
    }()

    static var arePresent: Bool { FileManager.default.fileExists(atPath: folder.path) }
    static let why: Testing.Comment = "the folder ../shared/vectors is absent, and BLESTREAMS_VECTORS names none"

    /// Reads a file; its keys `like_this` become properties `likeThis`.
    static func load<Content: Decodable>(_ name: String, as type: Content.Type) throws -> Content {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(contentsOf: folder.appending(path: name)))
    }
}
