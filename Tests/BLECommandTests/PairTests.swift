import Testing

/// `ble pair`.
@Suite(.timeLimit(.minutes(2))) struct PairTests {
    @Test func `it pairs, and says how the link is protected`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--json")
        #expect(run.status == 0)
        let said = try object(run.output.first)
        #expect(said["address"] as? String == Demo.values)
        #expect(said["encrypted"] as? Bool == true && said["authenticated"] as? Bool == false)
        #expect(said["hex"] == nil)
    }

    @Test func `it pairs for a value that was refused, and shows it`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--read", Demo.encrypted, "-v")
        #expect(run.status == 0)
        #expect(run.output.count == 2)
        #expect(run.output.first?.contains("public  paired, encrypted") == true)
        #expect(run.output.last?.contains("secret") == true)
        for phase in ["provoke", "pair", "verify"] { #expect(run.complaint.contains("pairing: \(phase)")) }
    }

    @Test func `it pairs with nobody for a value that anybody may read`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--read", Demo.readOnly, "--json")
        #expect(run.status == 0)
        let said = try object(run.output.first)
        #expect(said["wasPaired"] as? Bool == false && said["encrypted"] as? Bool == false)
        #expect(said["hex"] as? String == "72656164206d65")
    }

    @Test(arguments: [[], ["--read", Demo.encrypted]])
    func `a device is found by how its name begins, and paired with`(options: [String]) async throws {
        let run = try await CommandRun(["pair", "--name-prefix", "Demo val", "--json"] + options).end()
        #expect(run.status == 0, "\(run.complaint)")
        let said = try object(run.output.first)
        #expect(said["address"] as? String == Demo.values && said["encrypted"] as? Bool == true)
        let nobody = try await CommandRun(["pair", "--name-prefix", "Nobody", "--timeout", "0.3"] + options).end()
        #expect(nobody.status == 1 && nobody.complaint.contains("Nobody") && nobody.complaint.contains("timed out"))
    }

    @Test(arguments: [
        ["--name-prefix", "Demo"], ["--read", "xyz"], ["--read", "2A37", "--read", "2A38"], ["--timeout", "0"],
    ])
    func `a wrong call has status 2`(options: [String]) async throws {
        let run = try await CommandRun(["pair", Demo.values] + options, simulated: true).end()
        #expect(run.status == 2)
        #expect(run.complaint.contains(options[0]))
    }
}
