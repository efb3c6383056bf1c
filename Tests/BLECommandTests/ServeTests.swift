import Foundation
import Glibc
import Testing

/// `ble serve`, with the visitor that the simulation sends it.
@Suite(.timeLimit(.minutes(2))) struct ServeTests {
    /// The events until one of that name, that one included.
    private func events(of run: CommandRun, until name: String) async throws -> [[String: Any]] {
        var events: [[String: Any]] = []
        repeat { events.append(try object(await run.line())) } while events.last?["event"] as? String != name
        return events
    }

    private func names(_ events: [[String: Any]]) -> [String] { events.compactMap { $0["event"] as? String } }

    @Test func `an echo tells who comes, reads, writes, subscribes and goes`() async throws {
        let run = try CommandRun(["serve", "--profile", "echo", "--name", "Parrot", "--json"])
        let events = try await events(of: run, until: "disconnected")
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130)
        #expect(
            names(events) == [
                "serving", "connected", "read", "written", "subscribed", "unsubscribed", "disconnected",
            ]
        )
        #expect(events[0]["name"] as? String == "Parrot" && events[0]["profile"] as? String == "echo")
        #expect(events[2]["text"] as? String == "hello" && events[3]["text"] as? String == "visit 1")
        #expect(events[1]["address"] as? String == events[6]["address"] as? String)
    }

    @Test(arguments: ["heart-rate", "transfer"])
    func `other profiles are served to who subscribes`(_ profile: String) async throws {
        let run = try CommandRun(["serve", "--profile", profile, "--json"])
        let events = try await events(of: run, until: "unsubscribed")
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
        #expect(names(events).contains("subscribed") && events[0]["profile"] as? String == profile)
    }

    @Test func `people are told too`() async throws {
        let run = try CommandRun(["serve"])
        var lines: [String] = []
        while let line = await run.line() {
            lines.append(line)
            if line.contains("subscribed") { break }
        }
        run.signal(SIGTERM)
        #expect(try await run.end().status == 130)
        #expect(lines.first?.contains("serving") == true && lines.first?.contains("\"ble heart-rate\"") == true)
        #expect(lines.contains { $0.contains("connected by") })
    }

    @Test func `what can't be served is said`() async throws {
        let unknown = try await CommandRun.run("serve", "--profile", "toaster")
        #expect(unknown.status == 2 && unknown.complaint.contains("heart-rate, transfer, echo"))
        let nameless = try await CommandRun.run("serve", "--name", "")
        #expect(nameless.status == 2)
        // Neither the advertisement nor its scan response has room for it.
        let long = try await CommandRun.run("serve", "--name", String(repeating: "n", count: 40))
        #expect(long.status == 1 && long.complaint.contains("local name") && long.complaint.contains("31"))
    }
}
