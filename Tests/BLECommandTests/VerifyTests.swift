import Foundation
import Testing

@testable import ble

/// `ble serve --database` and `ble verify`, as a person runs them.
@Suite(.timeLimit(.minutes(10))) struct VerifyTests {
    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "device.json")
            try Data(text.utf8).write(to: file)
            try await body(file.path)
        }
    }

    @Test func `what info prints is served, counts up where it can only be told, and has its name`() async throws {
        let info = try await CommandRun.run("info", Demo.heartRate, "--json")
        try await withFile(info.output.joined(separator: "\n")) { path in
            let run = try CommandRun(["serve", "--database", path, "--json"])
            var events: [[String: Any]] = []
            repeat {
                events.append(try object(await run.line()))
            } while events.last?["event"] as? String != "subscribed"
            run.signal(SIGINT)
            #expect(try await run.end().status == 130)
            #expect(events[0]["name"] as? String == "Demo heart rate" && events[0]["profile"] as? String == path)
            #expect(events.last?["characteristic"] as? String == Demo.measurement)
        }
    }

    @Test(arguments: [
        ("", "this is not JSON"), ("[]", "an object is expected here"), ("{}", "services: it is missing"),
        (#"{"servces": []}"#, "servces: this member is unknown"),
        (#"{"services": [null]}"#, "services[0]: it is null"),
        (#"{"services": [], "appearance": 70000}"#, "appearance: it must be a whole number from 0 to 65535"),
        (#"{"services": [], "name": ""}"#, "name: a name has 1 to 248 octets"),
        (#"{"services": [{"uuid": "xyz"}]}"#, "services[0].uuid: 'xyz': write a UUID like"),
        (#"{"services": [{"uuid": "180D", "includes": [{"uuid": "180F"}]}]}"#, "services[0].includes[0]: "),
        (characteristic(#""properties": ["reed"]"#), "characteristics[0].properties: 'reed' is not a property"),
        (characteristic(#""properties": ["authenticatedSignedWrites"]"#), "add write"),
        (characteristic(#""value": "0""#), "characteristics[0].value: write octets as pairs"),
        (characteristic(#""value": {"count": 1, "file": "x"}"#), "exactly one of"),
        (characteristic(#""value": {"count": -1}"#), "value.count: it must be a whole number"),
        (characteristic(#""value": {"hex": "00", "every": 1}"#), "value.every: it has no meaning with hex"),
        (characteristic(#""value": {"command": []}"#), "value.command: write a command as words"),
        (characteristic(#""value": {"file": "x", "every": 0}"#), "value.every: an interval has"),
        (characteristic(#""access": "secret""#), "access: 'secret' is not a level"),
        (characteristic(#""descriptors": [{"uuid": "2901", "value": {"count": 1}}]"#), "must be octets"),
        (characteristic(#""value": ""# + String(repeating: "00", count: 513) + #"""#), "it has 513 octets"),
        (
            "{\"services\": [{\"uuid\": \"180D\"}, {\"uuid\": \"180F\"}],\n \"services\": []}",
            "one object has 'services' twice, for the second time in line 2; write it once"
        ),
        (#"{"services": [], "\u0073ervices": []}"#, #"one object has '\u0073ervices' twice"#),
        (String(repeating: "[", count: 100_000), "this is not JSON"),
        (String(repeating: " ", count: 1 << 20) + "{}", "more than 1048576 octets"),
    ])
    func `a file that can't be served is refused, with the place and what is right`(
        _ text: String,
        _ words: String
    ) async throws {
        try await withFile(text) { path in
            for command in [["serve"], ["verify", Demo.values]] {
                let run = try await CommandRun(command + ["--database", path], simulated: false).end()
                #expect(run.status == 2 && run.output.isEmpty)
                #expect(run.complaint.contains("--database '\(path)': "), "\(run.errors)")
                #expect(run.complaint.contains(words), "\(run.errors)")
            }
        }
    }

    private static func characteristic(_ members: String) -> String {
        #"{"services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", \#(members)}]}]}"#
    }

    @Test func `a missing file and two sources are refused`() async throws {
        let missing = try await CommandRun.run("serve", "--database", "/nonexistent", simulated: false)
        #expect(missing.status == 2 && missing.complaint.contains("No such file"))
        let both = try await CommandRun.run("serve", "--database", "f", "--profile", "echo", simulated: false)
        #expect(both.status == 2 && both.complaint.contains("exclude each other"))
    }

    @Test(arguments: [Demo.heartRate, Demo.transfer, Demo.values, Demo.update])
    func `a device that keeps to its claims is as declared`(_ address: String) async throws {
        let run = try await CommandRun.run("verify", address, "--json")
        let summary = try object(run.output.last)
        #expect(run.status == 0 && run.output.count == 1 && summary["findings"] as? Int == 0)
        #expect(summary["services"] as? Int ?? 0 >= 3)
    }

    @Test func `a copy is as declared before and after pairing, and another device is not`() async throws {
        let info = try await CommandRun.run("info", Demo.values, "--json")
        try await withFile(info.output.joined(separator: "\n")) { path in
            let options = ["--database", path, "--secure", "encrypted", "--just-works", "--write"]
            let same = try await CommandRun(["verify", Demo.values] + options).end()
            #expect(same.status == 0 && same.output.last?.hasPrefix("as declared: 3 services") == true)
            let other = try await CommandRun.run("verify", Demo.heartRate, "--database", path, "--json")
            #expect(other.status == 1 && other.output.count == 2 && other.complaint.contains("verification failed"))
            #expect(try object(other.output.first)["finding"] as? String == "missing")
            let told = try await CommandRun.run("verify", Demo.heartRate, "--database", path)
            #expect(told.status == 1 && told.output.first?.hasSuffix("it is missing") == true)
        }
    }

    @Test(arguments: [(["--timeout", "120"], 120), (["--timeout", "2"], 30)] as [([String], Int)])
    func `a device is waited for as long as a longer limit says`(_ options: [String], _ seconds: Int) async throws {
        let words = ["\(Demo.absent)/random"] + options
        let verify = try Verify(Arguments(parsing: words, options: Verify.options))
        let time = try await timeToFail { try await verify.run(in: $0) }
        // A part of the limit runs in real time.
        #expect(time > .seconds(seconds - 20) && time < .seconds(seconds + 20), "\(time)")
    }

    @Test func `a device that ends the link is told, with what was being done`() async throws {
        let run = try await CommandRun.run("verify", Demo.trouble, "--timeout", "2", "--json")
        let finding = try object(run.output.dropLast().last)
        #expect(run.status == 1 && finding["finding"] as? String == "failed")
        #expect(finding["operation"] as? String == "read" && finding["text"] as? String != nil)
    }
}
