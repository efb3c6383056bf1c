import Foundation

/// One run of a script of the package, which finds no toolchain and may install nothing.
struct ScriptRun {
    let status: Int32
    /// What it printed, results and complaints.
    let output: String
    /// The programs in place of which it has started something that does nothing and fails.
    let started: [String]

    /// - Parameter script: its path in the package's folder.
    init(_ script: String, _ arguments: [String]) throws {
        (status, output, started) = try Toolchain().withFolder { folder in
            let calls = folder.appending(path: "calls")
            for name in ["swift", "swiftc", "sudo", "apt-get"] {
                let program = folder.appending(path: name)
                let text = "#!/bin/sh\necho \(name) >>'\(calls.path)'\nexit 1\n"
                try text.write(to: program, atomically: false, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
            }
            let file = folder.appending(path: "output")
            let process = Process()
            process.executableURL = Package.folder.appending(path: script)
            process.arguments = arguments
            var environment = ProcessInfo.processInfo.environment
            environment["PATH"] = "\(folder.path):\(environment["PATH"] ?? "/usr/bin:/bin")"
            process.environment = environment
            try process.runToEnd(printingTo: file)
            let names = (try? String(contentsOf: calls, encoding: .utf8)) ?? ""
            return (
                process.terminationStatus, try String(contentsOf: file, encoding: .utf8),
                names.split(separator: "\n").map(String.init)
            )
        }
    }

    /// Whether the scripts in Python can run here.
    static let hasPython = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/python3")
    }
}
