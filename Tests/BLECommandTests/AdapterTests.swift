import Foundation
import Testing

/// Adapters that are shown and switched; the simulated one.
@Suite(.timeLimit(.minutes(10))) struct AdapterTests {
    @Test func `the adapter is shown, and switched`() async throws {
        let shown = try await CommandRun.run("adapter", "--json")
        #expect(shown.status == 0)
        #expect(try object(shown.output.first)["state"] as? String == "poweredOn")
        let off = try await CommandRun.run("adapter", "off")
        #expect(off.status == 0 && off.output.last?.hasSuffix("switched off") == true)
        let on = try await CommandRun.run("adapter", "on")
        #expect(on.status == 0 && on.output.last?.hasSuffix("on") == true)
    }

    @Test func `switching off and on says what is seen on the way, and shows the adapter in the end`() async throws {
        let cycle = try await CommandRun.run("adapter", "cycle", "--json")
        #expect(cycle.status == 0 && cycle.output.count == 1)
        #expect(try object(cycle.output.first)["state"] as? String == "poweredOn")
        #expect(cycle.complaint.contains("simulated is switched off"))
        #expect(cycle.errors.last?.contains("simulated is on") == true)
    }

    @Test func `PHYs that an adapter lacks are named, and those that it has`() async throws {
        let run = try await CommandRun.run("adapter", "phys", "--set", "Coded")
        #expect(run.status == 1 && run.complaint.contains("select PHYs of simulated: not supported"))
        #expect(run.complaint.contains("it supports 1M, 2M"))
    }

    @Test func `privacy is shown, and set`() async throws {
        let shown = try await CommandRun.run("adapter", "privacy", "--json")
        #expect(shown.status == 0)
        #expect(try object(shown.output.first)["private"] as? Bool == false)
        let set = try await CommandRun.run("adapter", "privacy", "--set", "on")
        #expect(set.status == 0 && set.output.last?.contains("changing private addresses") == true)
        for wrong in [["privacy", "--set", "maybe"], ["privacy", "--interrupt"], ["on", "--set", "on"]] {
            let run = try await CommandRun(["adapter"] + wrong, simulated: false).end()
            #expect(run.status == 2 && run.complaint.contains("--"))
        }
    }

    @Test func `out-of-band data is printed where it is asked for, and an error doesn't repeat it`() async throws {
        let made = try await CommandRun.run("oob", "--json")
        let data = try #require(try object(made.output.first)["oob"] as? String)
        #expect(made.status == 0 && data.contains("1122") && data.contains("1123"))
        let bad = try await CommandRun.run("pair", "C4:F2:17:1A:1D:BB", "--oob", String(data.dropLast(2)))
        #expect(bad.status == 2 && bad.complaint.contains("0x22") && !bad.complaint.contains(data.prefix(20)))
        try await withFolder { folder in
            // As `ble oob > FILE` writes it, and through a pipe.
            let file = folder.appending(path: "oob")
            try Data("\(data)\n".utf8).write(to: file)
            for name in ["@\(file.path)", "@-"] {
                let other = try await CommandRun(["pair", Demo.values, "--oob", name], input: "\(data)\n").end()
                let words = "data is another device's or out of date"
                #expect(other.status == 1 && other.complaint.contains(words), "\(other.complaint)")
            }
        }
        // Its commands come the same way.
        let shell = try await CommandRun(["shell", Demo.values, "--oob", "@-"], input: "\(data)\n").end()
        #expect(shell.status == 2 && shell.complaint.contains("already read for @-"), "\(shell.complaint)")
        let nameless = try await CommandRun.run("serve", "--oob", String(data.dropFirst(18)))
        #expect(nameless.status == 2 && nameless.complaint.contains("0x1B"))
    }

    @Test func `a reset says that the adapter goes away and comes back`() async throws {
        let reset = try await CommandRun.run("adapter", "reset")
        #expect(reset.status == 0 && reset.output.last?.hasSuffix("on") == true)
        #expect(reset.complaint.contains("simulated is not plugged in"))
        #expect(reset.errors.last?.contains("simulated is on") == true)
    }

    @Test func `what can be done to an adapter is in the help, and in the complaint about the rest`() async throws {
        let help = try await CommandRun.run("adapter", "--help", simulated: false)
        let wrong = try await CommandRun.run("adapter", "restart", simulated: false)
        #expect(help.status == 0 && wrong.status == 2)
        for word in ["on", "off", "cycle", "reset"] {
            #expect(help.output.joined().contains(word) && wrong.complaint.contains(word))
        }
        #expect(wrong.complaint.contains("restart"))
    }
}
