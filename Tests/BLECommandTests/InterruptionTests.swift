import Dispatch
import Foundation
import Interruption
import Testing

/// Ctrl-C, other signals, and a reader that leaves.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
    /// Whether a process catches a signal, or ignores it, as the kernel tells in this line of its state.
    private func has(_ line: String, _ number: Int32, process: String = "self") throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let text = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(line):") })
        let signals = try #require(UInt64(text.dropFirst(line.count + 1).filter(\.isHexDigit), radix: 16))
        return signals >> UInt64(number - 1) & 1 == 1
    }

    @Test func `signals are caught before any work begins`() throws {
        // The tests themselves may run in the background of a shell, which has them ignored.
        let ignored = try [SIGINT, SIGTERM].filter { try has("SigIgn", $0) }
        let signals = TerminationSignals()
        for number in [SIGINT, SIGTERM] {
            #expect(try has("SigCgt", number) == !ignored.contains(number))
        }
        withExtendedLifetime(signals) {}
    }

    /// The name of each signal in a shell, and another one that ends the program.
    @Test(arguments: [("INT", SIGINT, SIGTERM), ("TERM", SIGTERM, SIGINT), ("HUP", SIGHUP, SIGTERM)])
    func `a signal that is ignored at the start stays ignored`(
        _ name: String,
        _ ignored: Int32,
        _ other: Int32
    ) async throws {
        let words = ["scan", "--simulated", "--json", "--duplicates"]
        let script = "trap '' \(name); exec \"$0\" \"$@\""
        let child = try Child("/bin/sh", ["-c", script, CommandRun.program] + words)
        let (output, errors) = (LineReader(child.output), LineReader(child.errors))
        _ = try object(await output.next())
        #expect(try has("SigIgn", ignored, process: "\(child.process)"))
        #expect(try !has("SigCgt", ignored, process: "\(child.process)"))
        kill(child.process, ignored)
        _ = try object(await output.next())
        kill(child.process, other)
        let last = await output.rest().last
        #expect(try object(last)["received"] as? Int != nil)
        _ = await errors.rest()
        #expect(await Child.exitStatus(of: child.process) == 130)
    }

    @Test func `work that ends by the signal's notice before it is cancelled is interrupted, and has not failed`()
        async throws
    {
        let (noticed, notice) = AsyncStream<Void>.makeStream()
        let hasEnded = DispatchSemaphore(value: 0)
        // Called between the notice and the cancellation.
        let signals = TerminationSignals(onInterrupt: {
            notice.finish()
            hasEnded.wait()
        })
        await #expect(throws: Interrupted.self) {
            try await signals.interrupt {
                DispatchQueue.global().async { signals.received(SIGINT) }
                for await _ in noticed {}
                throw CancellationError()
            }
        }
        hasEnded.signal()
        // No other work is under way that would take the notice away.
        var octet: UInt8 = 0
        #expect(read(TerminationSignals.notice, &octet, 1) == 1)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a scan is ended by a signal, and counted`(_ signal: Int32) async throws {
        let run = try CommandRun(["scan", "--json", "--duplicates"])
        _ = try object(await run.line())
        run.signal(signal)
        let end = try await run.end()
        #expect(end.status == 130)
        #expect((try object(end.output.last)["received"] as? Int ?? 0) >= 1)
    }

    @Test func `notifications are ended by Ctrl-C, and the subscription and the link too`() async throws {
        let run = try CommandRun(["notify", Demo.heartRate, Demo.measurement, "--json", "-v"])
        _ = try object(await run.line())
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130)
        #expect(try object(end.output.last)["dropped"] as? Int == 0)
        #expect(end.errors.last?.hasPrefix("ble: \(Demo.heartRate): disconnected") == true)
    }

    @Test(arguments: [
        (["read", Demo.trouble, Demo.silent, "-v"], "discovered"),
        (["read", Demo.absent, "2A38", "-v"], "connecting"),
        (["transfer", Demo.heartRate, Demo.measurement], "chunk 1"),
        (["notify", Demo.absent, Demo.measurement, "--reconnect", "-v"], "connecting"),
    ])
    func `whatever is waited for, Ctrl-C ends it`(_ arguments: [String], _ words: String) async throws {
        let end = try await CommandRun(arguments, interruptedAt: words).end()
        #expect(end.status == 130, "\(end.complaint)")
        #expect(end.complaint.contains(words))
    }

    @Test func `the signals of one event are no second request, and the link is dropped`() async throws {
        let run = try CommandRun(["notify", Demo.heartRate, Demo.measurement, "--json", "-v"])
        _ = try object(await run.line())
        // As when a terminal closes: its shell sends one, and the kernel another.
        for number in [SIGHUP, SIGHUP] { run.signal(number) }
        let end = try await run.end()
        #expect(end.status == 130)
        #expect(end.errors.last?.hasPrefix("ble: \(Demo.heartRate): disconnected") == true, "\(end.complaint)")
    }

    @Test func `a transfer that is interrupted keeps what has come`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "message").path
            let run = try CommandRun(["transfer", Demo.heartRate, Demo.measurement, "--output", file])
            #expect(await run.complaint(with: "chunk 1"))
            run.signal(SIGINT)
            #expect(try await run.end().status == 130)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["message.partial"])
        }
    }

    @Test func `a recording is whole after Ctrl-C`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "notify.btsnoop")
            let run = try CommandRun([
                "notify", Demo.heartRate, Demo.measurement, "--json", "--capture", file.path,
            ])
            _ = try object(await run.line())
            run.signal(SIGINT)
            #expect(try await run.end().status == 130)
            // The last record tells of the end of the link: Disconnection Complete, closed by this host.
            let octets = try Array(Data(contentsOf: file))
            #expect(octets.suffix(6).elementsEqual([0x05, 4, 0x00, 0x01, 0x00, 0x16]))
        }
    }

    @Test func `a recording that can't be written doesn't hide that a signal has ended the command`() async throws {
        let run = try CommandRun([
            "notify", Demo.heartRate, Demo.measurement, "--json", "--capture", "/dev/full",
        ])
        _ = try object(await run.line())
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130 && end.complaint.contains("capture to /dev/full"), "\(end.complaint)")
        #expect(!end.complaint.contains("everything else"), "\(end.complaint)")
    }

    @Test func `a reader that has enough doesn't hide that a recording can't be written`() async throws {
        let run = try CommandRun(["scan", "--json", "--duplicates", "--capture", "/dev/full"])
        _ = try object(await run.line())
        run.stopReading()
        let end = try await run.end()
        #expect(end.status == 1 && end.complaint.contains("capture to /dev/full"), "\(end.complaint)")
        #expect(!end.complaint.contains("everything else"), "\(end.complaint)")
    }

    @Test func `a reader that has enough is no failure`() async throws {
        let run = try CommandRun(["scan", "--json", "--duplicates"])
        _ = try object(await run.line())
        run.stopReading()
        #expect(try await run.end().status == 0)
    }

    @Test(arguments: [["scan", "--simulated", "--count", "1"], ["--help"]])
    func `results that can't be written are a failure`(_ arguments: [String]) async throws {
        let full = try Sink.full.open()
        defer { close(full) }
        let child = try Child(CommandRun.program, arguments, sink: full)
        #expect(await LineReader(child.errors).rest().joined().contains("standard output"))
        #expect(await Child.exitStatus(of: child.process) == 1)
        close(child.output)
    }

    @Test func `nothing else gets the number of an output that is closed`() async throws {
        let words = ["-c", "exec \"$0\" adapter --simulated --json >&-", CommandRun.program]
        let child = try Child("/bin/sh", words)
        #expect(await LineReader(child.errors).rest().joined().contains("isn't open for writing"))
        #expect(await Child.exitStatus(of: child.process) == 1)
        close(child.output)
    }

    @Test func `a reader that has stopped reading doesn't keep the command from ending`() async throws {
        var ends: [Int32] = [0, 0]
        let status = pipe(&ends)
        try #require(status == 0)
        defer { for end in ends { close(end) } }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // It is full already.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        while write(ends[1], "x", 1) == 1 {}
        _ = fcntl(ends[1], F_SETFL, 0)
        let arguments = ["transfer", Demo.transfer, Demo.message, "--simulated"]
        let child = try Child(CommandRun.program, arguments, sink: ends[1])
        let errors = LineReader(child.errors)
        while let line = await errors.next(), !line.contains("octets in") {}
        kill(child.process, SIGTERM)
        #expect(await errors.rest().joined().contains("nobody reads standard output"))
        #expect(await Child.exitStatus(of: child.process) == 130)
        close(child.output)
    }

    @Test func `Ctrl-C ends the wait for a value in a pipe`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "value").path
            try #require(mkfifo(path, 0o600) == 0)
            let run = try CommandRun(["write", Demo.values, Demo.short, "@\(path)"], interruptedAt: "a simulation")
            #expect(try await run.end().status == 130)
        }
    }

    @Test func `Ctrl-C ends the wait for whoever reads a message from a pipe`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "message").path
            try #require(mkfifo(path, 0o600) == 0)
            let words = ["transfer", Demo.transfer, Demo.message, "--output", path]
            let end = try await CommandRun(words, interruptedAt: "octets in").end()
            let lost = "nobody has read the \(Demo.text.utf8.count) octets from \(path), and they are lost"
            #expect(end.status == 130 && end.complaint.contains(lost), "\(end.complaint)")
        }
    }
}
