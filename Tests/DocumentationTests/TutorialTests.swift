import Foundation
import Testing

/// What a reader of the tutorials has written compiles after each step.
@Suite(.timeLimit(.minutes(10))) struct TutorialTests {
    private static let folder = Package.folder.appending(path: "Sources/BLEStreams/BLEStreams.docc/Tutorials")
    private static let tutorials = ["Pulse"]

    /// A step that shows a file: how the reader calls it, and which one it is.
    private struct Step {
        var name: String
        var file: String
    }

    private static func steps(of tutorial: String) throws -> [Step] {
        let text = try String(contentsOf: folder.appending(path: "\(tutorial).tutorial"), encoding: .utf8)
        return text.matches(of: /@Code\(\s*name: "([^"]+)",\s*file: "([^"]+)"/).map {
            Step(name: String($0.1), file: String($0.2))
        }
    }

    private static func code(_ file: String, of tutorial: String) throws -> String {
        try String(contentsOf: folder.appending(path: "\(tutorial)/\(file)"), encoding: .utf8)
    }

    @Test(arguments: tutorials) func `after each step it compiles`(_ tutorial: String) throws {
        let toolchain = try Toolchain()
        var written: [String: String] = [:]
        for step in try Self.steps(of: tutorial) {
            written[step.name] = try Self.code(step.file, of: tutorial)
            let complaints = try toolchain.withFolder { folder in
                try verdict(on: written, in: tutorial, toolchain, folder)
            }
            #expect(complaints.isEmpty, "\(step.file): \(complaints)")
        }
    }

    @Test(arguments: tutorials) func `each file of the tutorial is shown`(_ tutorial: String) throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: tutorial).path)
        let shown = try Self.steps(of: tutorial).map(\.file)
        #expect(shown.count > 5 && Set(shown) == Set(files))
    }

    @Test func `a step that does not compile is complained of`() throws {
        let toolchain = try Toolchain()
        for (name, text) in [("main.swift", "let a: Int = \"\""), ("ATests.swift", "@Test func a() { b() }")] {
            let complaints = try toolchain.withFolder { folder in
                try verdict(on: ["main.swift": ""].merging([name: text]) { $1 }, in: "Wrong", toolchain, folder)
            }
            #expect(complaints.contains("error:"), "\(complaints)")
        }
    }

    /// What the compiler says of the manifest, the program and its tests.
    private func verdict(
        on files: [String: String],
        in module: String,
        _ toolchain: Toolchain,
        _ folder: URL
    ) throws -> String {
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: false, encoding: .utf8)
        }
        func compile(_ names: [String], _ options: [String]) throws -> String {
            guard !names.isEmpty else { return "" }
            let words =
                ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-module-cache-path"]
                + [folder.appending(path: "modules").path] + options
                + names.sorted().map { folder.appending(path: $0).path }
            return try toolchain.run(words, output: folder.appending(path: "output"))
        }
        let program = files.keys.filter { $0 != "Package.swift" && !$0.hasSuffix("Tests.swift") }
        let interface = folder.appending(path: "\(module).swiftmodule").path
        let library = toolchain.searchPaths + ["-module-name", module]
        let manifest = ["-typecheck", "-package-description-version", "6.2", "-I", try Self.manifests()]
        return try compile(files.keys.filter { $0 == "Package.swift" }, manifest)
            + compile(program, ["-typecheck"] + library)
            + compile(program, ["-emit-module", "-enable-testing", "-o", interface] + library)
            + compile(
                files.keys.filter { $0.hasSuffix("Tests.swift") },
                ["-typecheck", "-parse-as-library", "-I", folder.path] + toolchain.searchPaths
            )
    }

    /// Where the toolchain has the module that manifests import.
    private static func manifests() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let compiler = try #require(folders.map { "\($0)/swiftc" }.first(where: FileManager.default.isExecutableFile))
        return URL(filePath: compiler).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "../lib/swift/pm/ManifestAPI").standardized.path
    }
}
