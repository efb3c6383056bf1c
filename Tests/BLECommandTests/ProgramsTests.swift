import BLEDevices
import Foundation
import Testing

/// The nine small programs, as somebody runs them who has no adapter.
@Suite(.timeLimit(.minutes(10))) struct ProgramsTests {
    private func run(_ words: String..., interruptedAt: String? = nil) async throws -> CommandRun.Result {
        try await CommandRun(
            words + ["--simulated"],
            simulated: false,
            of: "Programs",
            interruptedAt: interruptedAt,
            in: .output
        )
        .end()
    }

    @Test(arguments: [
        "logger", "console", "presence", "configure", "update", "passkey", "thermostat", "operators", "server",
    ])
    func `a program is no longer than 60 lines`(_ name: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Examples/Programs")
        let file = folder.appending(path: name.prefix(1).uppercased() + name.dropFirst() + ".swift")
        let lines = try String(contentsOf: file, encoding: .utf8).count { $0 == "\n" }
        #expect(lines <= 60)
    }

    @Test func `without a name the programs are listed, with a wrong one too`() async throws {
        let list = try await CommandRun([], simulated: false, of: "Programs").end()
        #expect(list.status == 0 && list.output.count == 9)
        let wrong = try await run("loger")
        #expect(wrong.status == 2 && wrong.output == list.output)
    }

    @Test(arguments: [
        ["logger", "more"], ["presence", "more"], ["operators", "more"], ["server", "more"],
        ["update", "file", "more"],
        ["thermostat", "warm"], ["thermostat", "nan"], ["thermostat", "20", "more"], ["passkey", "12345"],
        ["passkey", "+12345"], ["passkey", "123", "456"],
    ])
    func `what a program can't use is refused, and not ignored`(_ words: [String]) async throws {
        let run = try await CommandRun(words + ["--simulated"], simulated: false, of: "Programs").end()
        #expect(run.status == 2 && run.errors.count == 1, "\(run)")
        #expect(!run.complaint.contains("12345") && !run.complaint.contains("456"), "\(run)")
    }

    @Test func `an option that there is gets no value, and is not said to be missing`() async throws {
        let run = try await CommandRun(["logger", "--simulated=1"], simulated: false, of: "Programs").end()
        #expect(run.status == 2 && run.output.isEmpty, "\(run)")
        #expect(run.errors == ["--simulated takes no value: write it without '='."], "\(run)")
    }

    @Test func `logger writes a header, and a line for each value of three thermometers`() async throws {
        let run = try await run("logger")
        #expect(run.status == 0, "\(run)")
        #expect(run.output.first == "This is a simulation. With a Bluetooth adapter: `swift run Programs logger`.")
        #expect(run.output.dropFirst().first == "time,address,celsius")
        let rows = run.output.dropFirst(2).map { $0.split(separator: ",") }
        #expect(rows.allSatisfy { $0.count == 3 && $0[0].hasSuffix("Z") && Double($0[2]) != nil }, "\(run.output)")
        #expect(Set(rows.map { $0[1] }).count == 3 && rows.count >= 10, "\(run.output)")
        // What one of them sends first ends the log of none.
        #expect(run.errors.count { $0.hasSuffix(": 80 is no temperature.") } == 1, "\(run)")
    }

    @Test func `logger ends with an error when its file can't grow any more, as on a full disk`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "log.csv")
            let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" logger --simulated >\"$1\""
            let child = try Child("/bin/sh", ["-c", script, CommandRun.program("Programs"), file.path])
            async let output = LineReader(child.output).rest()
            let errors = await LineReader(child.errors).rest().joined()
            #expect(errors.contains("Standard output can't be written: File too large."), "\(errors)")
            #expect(await Child.exitStatus(of: child.process) == 1)
            #expect(try String(contentsOf: file, encoding: .utf8).contains("\ntime,address,celsius\n"))
            _ = await output
        }
    }

    @Test func `logger takes its leave on Ctrl-C`() async throws {
        let run = try await run("logger", interruptedAt: "Z,")
        #expect(run.status == 130, "\(run)")
    }

    @Test func `console sends what is typed, and prints what is answered`() async throws {
        let run = try await run("console", "AT+NAME", "AT+VERSION")
        #expect(run.status == 0, "\(run)")
        for line in ["> AT+NAME", "> AT+VERSION", "< AT+NAME: OK", "< AT+VERSION: OK"] {
            #expect(run.output.contains(line), "\(run.output)")
        }
    }

    /// A control sequence, one that begins with a single C1 character, and a reversal of direction.
    private static let hostile = "\u{1B}[2J\u{9B}31m\u{202E}"
    private static let escaped = #"\u{1b}[2J\u{9b}31m\u{202e}"#

    @Test func `console shows what a device sends without what a terminal would obey`() async throws {
        let run = try await run("console", "AT\(Self.hostile)", "AT+VERSION")
        #expect(run.status == 0, "\(run)")
        #expect(run.output.contains("< AT\(Self.escaped): OK"), "\(run.output)")
    }

    @Test func `configure shows a device's label without what a terminal would obey`() async throws {
        let run = try await run("configure", "label=Kitchen\(Self.hostile)")
        #expect(run.status == 0, "\(run)")
        #expect(run.output.last == "The device is called Kitchen\(Self.escaped).", "\(run.output)")
    }

    @Test func `presence tells of a beacon that goes and comes back`() async throws {
        let run = try await run("presence")
        #expect(run.status == 0, "\(run)")
        let words = run.output.compactMap { line in
            line.hasPrefix("1.2 ") ? (line.contains("is here") ? "here" : "gone") : nil
        }
        #expect(words == ["here", "gone", "here"], "\(run.output)")
        #expect(run.output.contains { $0.hasPrefix("1.1 is here") } && !run.output.contains { $0.hasPrefix("1.1 has") })
    }

    @Test func `configure changes all settings, or none where the device refuses one`() async throws {
        let done = try await run("configure")
        #expect(done.status == 0, "\(done)")
        #expect(done.output.suffix(2) == ["2 of 2 settings changed.", "The device is called Kitchen."])
        let refused = try await run("configure", "label=Attic", "interval=50")
        #expect(refused.status == 0, "\(refused)")
        #expect(refused.output.dropLast().last?.hasPrefix("Nothing was changed: ") == true, "\(refused.output)")
        #expect(refused.output.last == "The device is called Cellar.")
        let wrong = try await run("configure", "colour=red")
        #expect(wrong.status == 2, "\(wrong)")
    }

    @Test func `update looks for devices with either protocol`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Examples/Programs")
        let text = try String(contentsOf: folder.appending(path: "Update.swift"), encoding: .utf8)
        // The flow takes whichever the device has.
        #expect(text.contains("scan(for: .service(plain), .service(.mcumgr))"))
        #expect(text.contains("\(MCUmgrFirmwareReceiver().service.uuid)"))
    }

    @Test func `update goes on behind a lost link`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "app_update.bin")
            try Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: file)
            let run = try await run("update", file.path)
            #expect(run.status == 0, "\(run)")
            #expect(run.output.contains("Updating Updatable with 60000 octets."))
            #expect(run.output.last == "The device has the new firmware.", "\(run.output)")
        }
    }

    @Test func `passkey pairs at the first link, and asks nothing at the second`() async throws {
        let run = try await run("passkey")
        #expect(run.status == 0, "\(run)")
        #expect(run.output.count { $0.hasPrefix("The passkey that") } == 1)
        #expect(run.output.contains { $0.hasPrefix("The first link, authenticated") && $0.hasSuffix("closed.") })
        #expect(run.output.last?.hasPrefix("The second link, authenticated") == true, "\(run.output)")
        let wrong = try await self.run("passkey", "999999")
        #expect(wrong.status == 1, "\(wrong)")
    }

    /// The link is lost at the second write.
    @Test func `thermostat switches the heater on when it is cold, and off when it is warm, across a lost link`()
        async throws
    {
        let run = try await run("thermostat", "20")
        #expect(run.status == 0, "\(run)")
        let states = run.output.dropFirst().compactMap { $0.split(separator: " ").last }
        #expect(states.starts(with: ["on.", "off.", "on."]), "\(run.output)")
    }

    @Test func `operators shows each`() async throws {
        let run = try await run("operators")
        #expect(run.status == 0, "\(run)")
        for name in ["prefix", "filter", "zip", "combineLatest", "merge", "flatMap", "throttle", "take(until:)"] {
            #expect(run.output.contains { $0.hasPrefix("\(name): ") }, "\(run.output)")
        }
        #expect(run.output.contains("timeout: no such beat for 300 ms"), "\(run.output)")
        #expect(run.output.last?.hasPrefix("retry, withGaps: a gap, since ") == true, "\(run.output)")
    }

    @Test func `server tells its centrals when it is ended, and ends in order`() async throws {
        let run = try await run("server")
        #expect(run.status == 0, "\(run)")
        // What the visitor hears of the end is printed beside it.
        let own = run.output.filter { !$0.contains("the visitor") }
        #expect(own.suffix(2) == ["Centrals that were told of the end: 1.", "Ended."], "\(run.output)")
    }

    /// The visitor sends SIGTERM itself, behind its third value.
    @Test(
        arguments: [("TERM", SIGTERM, SIGINT, 4), ("TERM", SIGTERM, SIGHUP, 4), ("INT", SIGINT, SIGTERM, 3)]
            as [(String, Int32, Int32, Int)]
    )
    func `a signal that is ignored at the start doesn't end server, and the other one does`(
        _ name: String,
        _ ignored: Int32,
        _ other: Int32,
        _ count: Int
    ) async throws {
        let script = "trap '' \(name); exec \"$0\" server --simulated"
        let child = try Child("/bin/sh", ["-c", script, CommandRun.program("Programs")])
        let (output, errors) = (LineReader(child.output), LineReader(child.errors))
        var values: [String] = []
        while values.count < count, let line = await output.next() {
            guard line.contains("the visitor has received") else { continue }
            values.append(line)
            if values.count == 1 { kill(child.process, ignored) }
        }
        #expect(values.count == count && !values.contains { $0.contains("-273.15") }, "\(values)")
        kill(child.process, other)
        let own = await output.rest().filter { !$0.contains("the visitor") }
        #expect(own.suffix(2) == ["Centrals that were told of the end: 1.", "Ended."], "\(own)")
        _ = await errors.rest()
        #expect(await Child.exitStatus(of: child.process) == 0)
    }
}
