import Foundation
import Testing

/// The examples, as programs of another package.
@Suite(.timeLimit(.minutes(10))) struct ExampleTests {
    /// What the examples share, compiled here as a part of each: it is no product.
    private static let shared = ["ConsoleOutput", "Interruption"]

    /// In the package its examples also see what has `package` access, which nobody could copy.
    @Test(arguments: ["Fleet", "HeartRate", "Programs", "Sensor", "Transfer"])
    func `an example uses only what a program outside of the package sees`(_ example: String) throws {
        let toolchain = try Toolchain()
        try toolchain.withFolder { folder in
            var files: [String] = []
            for name in [example] + Self.shared {
                let sources = Package.folder.appending(path: "Examples/\(name)")
                for file in try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted() {
                    let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
                    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                    let kept = lines.filter { line in
                        !Self.shared.contains { line.hasSuffix("import \($0)") }
                    }
                    let copy = folder.appending(path: file)
                    try kept.joined(separator: "\n").write(to: copy, atomically: false, encoding: .utf8)
                    files.append(copy.path)
                }
            }
            // What the examples share has `package` access, which a module has only in a package with a name.
            let options = toolchain.checkOptions(for: "Example", in: folder) + ["-package-name", "Example"]
            let complaints = try toolchain.run(["swiftc"] + options + files, output: folder.appending(path: "output"))
            #expect(complaints.isEmpty, "\(complaints)")
        }
    }
}
