import Foundation

/// The toolchain's programs, and the package's modules as they have just been built.
struct Toolchain {
    /// Where the package's modules are: next to the program that runs the tests.
    private let products: URL

    init() throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        products = URL(filePath: program).deletingLastPathComponent()
    }

    /// The options with which a program finds the package's modules.
    var searchPaths: [String] {
        let modules = ["-I", products.appending(path: "Modules").path]
        let map = products.appending(path: "CBluetooth.build/module.modulemap").path
        // Without the kernel's radio there is none.
        guard FileManager.default.fileExists(atPath: map) else { return modules }
        // The modules name these two; no program that imports the library sees them.
        return modules + [
            "-I", Package.folder.appending(path: "Sources/CBlueZ").path, "-Xcc", "-fmodule-map-file=\(map)",
        ]
    }

    /// The options with which the compiler checks a module of another package, and generates nothing.
    func checkOptions(for module: String, in folder: URL) -> [String] {
        searchPaths + [
            "-typecheck", "-whole-module-optimization", "-suppress-warnings", "-swift-version", "6", "-module-name",
            module, "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature", "MemberImportVisibility",
            "-module-cache-path", folder.appending(path: "modules").path,
        ]
    }

    /// Calls the closure with a folder that is removed afterwards.
    func withFolder<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "toolchain-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    /// Runs a program to its end; what it printed where it failed.
    func run(_ words: [String], output: URL) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        try process.runToEnd(printingTo: output)
        guard process.terminationStatus != 0 else { return "" }
        return "exit status \(process.terminationStatus):\n" + (try String(contentsOf: output, encoding: .utf8))
    }

    /// Writes the description of a module's public declarations, those by which it extends other modules too; what it
    /// printed where it failed.
    func extractSymbols(of module: String, into folder: URL, _ options: [String] = []) throws -> String {
        let words =
            ["swift", "symbolgraph-extract", "-module-name", module, "-target", Self.target] + searchPaths
            + ["-module-cache-path", folder.appending(path: "modules").path, "-output-dir", folder.path]
            + ["-minimum-access-level", "public", "-skip-synthesized-members"] + options
        return try run(words, output: folder.appending(path: "output"))
    }

    /// A program of the toolchain has failed.
    struct Failure: Error, CustomStringConvertible { var description: String }

    #if arch(arm64)
        private static let target = "aarch64-unknown-linux-gnu"
    #else
        private static let target = "x86_64-unknown-linux-gnu"
    #endif
}
