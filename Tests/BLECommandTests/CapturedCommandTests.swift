import Foundation
import Testing

/// What `--capture` records of each command, in the eyes of Wireshark and btmon.
@Suite(.timeLimit(.minutes(3))) struct CapturedCommandTests {
    static func has(_ tool: String) -> Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + tool) }

    static let commands = [
        ["scan", "--count", "5", "--duplicates"], ["info", Demo.values], ["info", Demo.heartRate],
        ["notify", Demo.heartRate, Demo.measurement, "--count", "3"], ["read", Demo.values, Demo.long],
        ["write", Demo.values, Demo.short, "00"], ["transfer", Demo.transfer, Demo.message, "--output", "/dev/null"],
        ["verify", Demo.values], ["verify", Demo.trouble, "--timeout", "0.5"],
        ["update", Demo.update, "/bin/true", "--plain", "--model", "7"],
    ]

    /// Whether btmon is here, and can read a link on any machine: until 5.66 it asks the machine for an adapter with
    /// the capture's number, and dereferences the null pointer that it has without one (`att_read_type_req` in
    /// `monitor/att.c`; mended in 5.67).
    static let canBtmonReadLinks: Bool = {
        guard has("btmon") else { return false }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/btmon")
        process.arguments = ["--version"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        return numbers.count > 1 && (numbers[0], numbers[1]) >= (5, 67)
    }()

    private func recorded(_ command: [String], _ body: (String) async throws -> Void) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "air.btsnoop").path
            let run = try await CommandRun(command + ["--capture", file]).end()
            #expect([0, 1].contains(run.status), "\(run.complaint)")
            try await body(file)
        }
    }

    private func lines(of tool: String, _ arguments: String...) async throws -> [String] {
        let child = try Child("/usr/bin/" + tool, arguments)
        async let errors = LineReader(child.errors).rest()
        let lines = await LineReader(child.output).rest()
        _ = await errors
        #expect(await Child.exitStatus(of: child.process) == 0)
        return lines
    }

    @Test(.enabled(if: has("tshark"), "tshark is not installed (Debian: tshark)"), arguments: commands)
    func `Wireshark finds nothing malformed, and the air in it`(_ command: [String]) async throws {
        try await recorded(command) { file in
            // Advertising Report, and Extended Advertising Report for what has more than 31 octets.
            let wanted = command[0] == "scan" ? "bthci_evt.le_meta_subevent in {0x02, 0x0d}" : "btatt"
            let packets = try await lines(of: "tshark", "-r", file, "-Y", wanted)
            #expect(packets.count > 2)
            // From errors on (0x800000): it takes some handles for those of another characteristic, and warns of that.
            let wrong = "_ws.malformed || _ws.expert.severity >= 0x800000"
            let faults = try await lines(of: "tshark", "-r", file, "-Y", wrong)
            #expect(faults == [])
        }
    }

    @Test(.enabled(if: canBtmonReadLinks, "no btmon of BlueZ 5.67 or later is installed"), arguments: commands)
    func `btmon understands all of it`(_ command: [String]) async throws {
        try await recorded(command) { file in
            let text = try await lines(of: "btmon", "-r", file).joined(separator: "\n")
            #expect(text.contains(command[0] == "scan" ? "Advertising Report" : "ATT: Read By Type Response"))
            let undecoded = text.firstMatch(of: #/(?i)malformed|invalid (size|packet|data|length)|truncated/#)
            #expect(undecoded == nil)
        }
    }
}
