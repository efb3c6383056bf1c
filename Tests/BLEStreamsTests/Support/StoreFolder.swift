import Foundation

/// Runs a body with the path of a store's folder, which does not exist yet, and removes it afterwards.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let parent = FileManager.default.temporaryDirectory.appending(path: "blestreams-\(UUID())")
    defer { try? FileManager.default.removeItem(at: parent) }
    try await body(parent.appending(path: "state").path())
}
