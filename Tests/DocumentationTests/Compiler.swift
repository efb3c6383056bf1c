import Foundation

/// The toolchain's compiler, which checks whether files compile against the package as it has just been built.
struct Compiler {
    private let toolchain: Toolchain

    init() throws { toolchain = try Toolchain() }

    /// What the compiler says of the sources, which are named by their keys; empty where all is well.
    func complaints(about sources: [String: String]) throws -> String {
        try toolchain.withFolder { folder in
            var files = [
                Package.folder.appending(path: "Tests/DocumentationTests/Surroundings/Surroundings.swift").path
            ]
            for (name, text) in sources {
                let file = folder.appending(path: "\(name).swift")
                try text.write(to: file, atomically: false, encoding: .utf8)
                files.append(file.path)
            }
            let words = ["swiftc"] + toolchain.checkOptions(for: "Snippets", in: folder) + files.sorted()
            return try toolchain.run(words, output: folder.appending(path: "output"))
        }
    }
}
