import Foundation
import Testing

/// What a lock may guard.
@Suite struct LockTests {
    /// A `Mutex` hands its value over as what any type may be, and a closure has another form as such: with each look
    /// it is wrapped twice, and put back so. A structure with the closure as its member stays as it is.
    @Test(arguments: ["Sources", "Examples", "Tests"])
    func `no lock guards a closure by itself`(_ folder: String) throws {
        let root = Package.folder.appending(path: folder).path
        let names = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
        for name in names where !name.hasSuffix("/LockTests.swift") {
            let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
            let guarded = text.firstRange(of: #/Mutex<\(?(@Sendable )?\([^<>\[\]]*\)( throws| async)* -> /#)
            if let guarded { Issue.record("\(folder)/\(name): \(text[guarded])") }
        }
    }
}
