import Foundation
import Testing

/// `ble doctor` on the machine that runs the tests, whatever it has.
@Suite(.timeLimit(.minutes(10))) struct DoctorTests {
    /// The findings of a run, by their name, and its last line.
    private func examine(
        _ arguments: String...,
        state: String
    ) async throws -> (findings: [String: [String: Any]], end: [String: Any], status: Int32) {
        let environment = ["XDG_STATE_HOME": state, "STATE_DIRECTORY": ""]
        let run = try await CommandRun(
            ["doctor", "--json"] + arguments,
            simulated: false,
            environment: environment
        ).end()
        #expect(run.errors.isEmpty)
        var findings: [String: [String: Any]] = [:]
        for line in run.output.dropFirst().dropLast() {
            let finding = try object(line)
            let name = try #require(finding["finding"] as? String)
            // The first of a kind is the most severe.
            if findings[name] == nil { findings[name] = finding }
        }
        #expect((try object(run.output.first)["system"] as? String)?.hasPrefix("Linux ") == true)
        return (findings, try object(run.output.last), run.status)
    }

    @Test func `an adapter that isn't there is an obstacle, whatever there is`() async throws {
        try await withFolder { folder in
            let (findings, end, status) = try await examine("--adapter", "hci999", state: folder.path)
            #expect(status == 1 && end["usable"] as? Bool == false)
            #expect((end["obstacles"] as? Int ?? 0) > 0)
            #expect(findings["noAdapter"] != nil || findings["noBluetooth"] != nil || findings["socketsRefused"] != nil)
            for finding in findings.values { #expect((finding["remedy"] as? String)?.isEmpty == false) }
            #expect(findings["unusableStore"] == nil)
        }
    }

    @Test func `a store that others may write to is found, with the command that mends it`() async throws {
        try await withFolder { folder in
            let store = folder.appending(path: "blestreams")
            try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
            chmod(store.path, 0o777)
            let found = try await examine(state: folder.path)
            let finding = try #require(found.findings["unusableStore"])
            #expect(found.status == 1 && finding["severity"] as? String == "obstacle")
            #expect((finding["remedy"] as? String)?.contains("chmod 700 '\(store.path)'") == true)
            chmod(store.path, 0o700)
            #expect(try await examine(state: folder.path).findings["unusableStore"] == nil)
        }
    }

    @Test func `people read what is wrong and what to do, without calls of the library`() async throws {
        let run = try await CommandRun(["doctor", "--adapter", "hci999"], simulated: false).end()
        let text = run.output.joined(separator: "\n")
        #expect(run.status == 1 && text.contains("obstacle  ") && !text.contains("Central."))
    }

    @Test func `there is nothing to examine in a simulation`() async throws {
        let run = try await CommandRun.run("doctor")
        #expect(run.status == 2 && run.complaint.contains("--simulated"))
    }
}
