import Foundation

/// The toolchain's compiler, which checks whether files compile against the package as it has just been built.
struct Compiler {
    /// Where the package's modules are: next to the program that runs the tests.
    private let products: URL

    init() throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        products = URL(filePath: program).deletingLastPathComponent()
    }

    /// What the compiler says of the sources, which are named by their keys; empty where all is well.
    func complaints(about sources: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "snippets-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var files = [Package.folder.appending(path: "Tests/DocumentationTests/Surroundings/Surroundings.swift").path]
        for (name, text) in sources {
            let file = folder.appending(path: "\(name).swift")
            try text.write(to: file, atomically: false, encoding: .utf8)
            files.append(file.path)
        }
        return try run(["swiftc"] + options(folder) + files.sorted(), output: folder.appending(path: "output"))
    }

    private func options(_ folder: URL) -> [String] {
        let map = products.appending(path: "CBluetooth.build/module.modulemap").path
        return [
            "-typecheck", "-whole-module-optimization", "-suppress-warnings", "-swift-version", "6", "-module-name",
            "Snippets",
            "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature", "MemberImportVisibility",
            "-I", products.appending(path: "Modules").path,
            // The modules name these two; no snippet sees them.
            "-I", Package.folder.appending(path: "Sources/CBlueZ").path, "-Xcc", "-fmodule-map-file=\(map)",
            "-module-cache-path", folder.appending(path: "modules").path,
        ]
    }

    /// Runs a program to its end; what it printed where it failed.
    ///
    /// The output goes to a file: a pipe that another test's child inherits would stay open.
    private func run(_ words: [String], output: URL) throws -> String {
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        try handle.close()
        guard process.terminationStatus != 0 else { return "" }
        return "exit status \(process.terminationStatus):\n" + (try String(contentsOf: output, encoding: .utf8))
    }
}
