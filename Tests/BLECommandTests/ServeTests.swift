import Foundation
import Testing

/// `ble serve`, with the visitor that the simulation sends it.
@Suite(.timeLimit(.minutes(10))) struct ServeTests {
    /// The events until there is one of each of these names; what happens at the same time is told in any order.
    private func events(of run: CommandRun, until names: Set<String>) async throws -> [[String: Any]] {
        var events: [[String: Any]] = []
        repeat { events.append(try object(await run.line())) } while !names.isSubset(of: self.names(events))
        return events
    }

    private func event(_ name: String, _ events: [[String: Any]]) -> [String: Any]? {
        events.first { $0["event"] as? String == name }
    }

    private func names(_ events: [[String: Any]]) -> [String] { events.compactMap { $0["event"] as? String } }

    @Test func `an echo tells who comes, reads, writes, subscribes and goes`() async throws {
        let run = try CommandRun(["serve", "--profile", "echo", "--name", "Parrot", "--json"])
        let all: Set = ["serving", "connected", "read", "written", "subscribed", "unsubscribed", "disconnected"]
        let events = try await events(of: run, until: all)
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130)
        #expect(events[0]["name"] as? String == "Parrot" && events[0]["profile"] as? String == "echo")
        #expect(event("read", events)?["text"] as? String == "hello")
        #expect(event("written", events)?["text"] as? String == "visit 1")
        let guest = event("connected", events)?["address"] as? String
        #expect(guest != nil && event("disconnected", events)?["address"] as? String == guest)
    }

    @Test func `a person reads why a central has gone`() async throws {
        let serve = ["serve", "--profile", "heart-rate"]
        let run = try await CommandRun(serve, interruptedAt: "disconnected", in: .output).end()
        let line = run.output.first { $0.contains("disconnected") }
        #expect(line?.contains(/disconnected from [0-9A-F:]{17}: closed by the peer/) == true, "\(run.output)")
    }

    @Test(arguments: ["heart-rate", "transfer"])
    func `other profiles are served to who subscribes`(_ profile: String) async throws {
        let run = try CommandRun(["serve", "--profile", profile, "--json"])
        let events = try await events(of: run, until: ["subscribed", "unsubscribed"])
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
        #expect(names(events).contains("subscribed") && events[0]["profile"] as? String == profile)
    }

    @Test(arguments: [
        ([], "values: run it at a terminal, or with --passkey"),
        (["--just-works"], "instead of --just-works, run it at a terminal, or with --passkey"),
        (["--no-pairing"], "omit --no-pairing to let others pair"),
    ])
    func `what makes pairings authenticated is told without options that exclude each other`(
        options: [String],
        words: String
    ) async throws {
        let serve = ["serve", "--access", "authenticated"] + options
        let run = try await CommandRun(serve, interruptedAt: "serving", in: .output).end()
        #expect(run.complaint.contains(words), "\(run.complaint)")
    }

    @Test func `whoever ends it while a command runs for a central is not told to answer requests`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "device.json")
            // The command ends who runs it: the request is certainly open then.
            let command = #"["sh", "-c", "kill -INT $PPID; sleep 60"]"#
            let value = #"{"uuid": "2A6E", "properties": ["read"], "value": {"command": \#(command)}}"#
            try Data(#"{"services": [{"uuid": "181A", "characteristics": [\#(value)]}]}"#.utf8).write(to: file)
            let run = try await CommandRun.run("serve", "--database", file.path)
            #expect(run.status == 130 && !run.complaint.contains("respond(_:)"), "\(run.complaint)")
        }
    }

    @Test func `people are told too`() async throws {
        let run = try CommandRun(["serve"])
        var lines: [String] = []
        while let line = await run.line() {
            lines.append(line)
            if ["connected by", "subscribed by"].allSatisfy({ part in lines.contains { $0.contains(part) } }) { break }
        }
        run.signal(SIGTERM)
        #expect(try await run.end().status == 130)
        #expect(lines.first?.contains("serving") == true && lines.first?.contains("\"ble heart-rate\"") == true)
        #expect(lines.contains { $0.contains("subscribed by") && $0.contains("2A37") })
    }

    @Test func `what can't be served is said`() async throws {
        let unknown = try await CommandRun.run("serve", "--profile", "toaster")
        #expect(unknown.status == 2 && unknown.complaint.contains("heart-rate, transfer, echo"))
        let nameless = try await CommandRun.run("serve", "--name", "")
        #expect(nameless.status == 2)
        // Neither the advertisement nor its scan response has room for it.
        let long = try await CommandRun.run("serve", "--name", String(repeating: "n", count: 40))
        #expect(long.status == 1 && long.complaint.contains("49 octets") && long.complaint.contains("31 octets"))
        #expect(long.complaint.contains("shorten it by 11 octets"))
    }
}
