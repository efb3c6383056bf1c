import Foundation
import Testing

/// What a program sees of the package is what was agreed to: the lists beside this file.
///
/// A change is accepted by `UPDATE_PUBLIC_SURFACE=1 swift test --filter PublicSurfaceTests`, which writes the lists
/// anew and prints how many declarations they have.
@Suite struct PublicSurfaceTests {
    @Test(arguments: [
        ("BLEStreams", ["BLEProtocol", "BLEStreams"]),
        ("BLEDevices", ["BLEDevices"]),
        ("BLESimulator", ["BLESimulator"]),
        ("BLERadio", ["BLERadio"]),
    ])
    func `an import shows what its list says`(_ product: String, _ modules: [String]) throws {
        let file = Package.folder.appending(path: "Tests/DocumentationTests/Surface/\(product).txt")
        let surface = try PublicSurface(of: modules)
        if ProcessInfo.processInfo.environment["UPDATE_PUBLIC_SURFACE"] != nil {
            try (surface.lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
            print(
                """
                import \(product): \(surface.topLevelTypes) types, \(surface.lines.count) declarations, of which \
                \(surface.standardRequirements) implement requirements of the standard library's protocols
                """
            )
            return
        }
        let accepted = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { String($0) }
        let changes = surface.lines.difference(from: accepted).map { change in
            switch change {
            case .insert(_, let line, _): "+ \(line)"
            case .remove(_, let line, _): "- \(line)"
            }
        }
        #expect(
            changes.isEmpty,
            """
            \(changes.joined(separator: "\n"))
            If this is meant: UPDATE_PUBLIC_SURFACE=1 swift test --filter PublicSurfaceTests
            """
        )
    }

    @Test func `what is not public is on no list`() throws {
        let surface = try PublicSurface(of: ["BLERadio"])
        #expect(surface.lines.contains { $0.hasPrefix("BLERadio.Radio: ") })
        // A `package` declaration of a public type.
        #expect(!surface.lines.contains { $0.hasPrefix("BLERadio.Bond.EncryptionKey") })
    }
}
