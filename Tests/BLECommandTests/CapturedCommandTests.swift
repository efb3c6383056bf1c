import Foundation
import Testing

/// What `--capture` records of each command, in the eyes of Wireshark.
@Suite(.timeLimit(.minutes(3))) struct CapturedCommandTests {
    static func has(_ tool: String) -> Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + tool) }

    static let commands = [
        ["scan", "--timeout", "2", "--duplicates"], ["info", Demo.values], ["info", Demo.heartRate],
        ["notify", Demo.heartRate, Demo.measurement, "--count", "3"], ["read", Demo.values, Demo.long],
        ["write", Demo.values, Demo.short, "00"], ["transfer", Demo.transfer, Demo.message, "--output", "/dev/null"],
        ["verify", Demo.values], ["verify", Demo.trouble, "--timeout", "0.5"],
        ["update", Demo.update, "/bin/true", "--plain", "--model", "7"],
    ]

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
            let wanted = command[0] == "scan" ? "bthci_evt.le_meta_subevent == 0x02" : "btatt"
            let packets = try await lines(of: "tshark", "-r", file, "-Y", wanted)
            #expect(packets.count > 2)
            // From errors on (0x800000): it takes some handles for those of another characteristic, and warns of that.
            let wrong = "_ws.malformed || _ws.expert.severity >= 0x800000"
            let faults = try await lines(of: "tshark", "-r", file, "-Y", wrong)
            #expect(faults == [])
        }
    }
}
