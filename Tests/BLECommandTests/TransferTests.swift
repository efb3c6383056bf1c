import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

@Suite(.timeLimit(.minutes(10))) struct TransferTests {
    @Test func `a message goes to standard output as it came`() async throws {
        let run = try await CommandRun.run("transfer", Demo.transfer, Demo.message)
        #expect(run.status == 0)
        #expect(run.output.map { $0 + "\n" }.joined() == Demo.text)
        #expect(run.complaint.contains("chunk 1") && run.complaint.contains("\(Demo.text.utf8.count) octets in"))
    }

    @Test func `a program gets the message as a value, and the count of chunks`() async throws {
        let run = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--json", "--timeout", "60")
        #expect(run.status == 0)
        try #require(run.output.count == 2)
        let message = try object(run.output.first)
        #expect(message["text"] as? String == Demo.text && message["time"] is String)
        // 512 octets fit into one notification; the end mark comes as a chunk of its own.
        #expect(run.output.last == #"{"received":\#((Demo.text.utf8.count + 511) / 512 + 1),"dropped":0}"#)
    }

    @Test func `a file has the whole message, and nothing is left beside it`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "message")
            try Data("old".utf8).write(to: file)
            let run = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--output", file.path, "--json")
            #expect(run.status == 0)
            #expect(try object(run.output.first)["size"] as? Int == Demo.text.utf8.count)
            #expect(try String(contentsOf: file, encoding: .utf8) == Demo.text)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["message"])
        }
    }

    @Test func `a file that a link leads to is written, and the link stays`() async throws {
        try await withFolder { folder in
            let (file, link) = (folder.appending(path: "message"), folder.appending(path: "latest"))
            try Data("old".utf8).write(to: file)
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "message")
            let whole = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--output", link.path)
            #expect(whole.status == 0 && whole.complaint.contains("octets are in \(link.path)"), "\(whole.complaint)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "message")
            #expect(try String(contentsOf: file, encoding: .utf8) == Demo.text)
            let torn = try await CommandRun.run("transfer", Demo.trouble, Demo.torn, "--output", link.path)
            #expect(torn.status == 1, "\(torn.complaint)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.sorted() == ["latest", "message", "message.partial"])
        }
    }

    @Test func `a link whose file is not there yet gets one, and one that leads astray is refused`() async throws {
        try await withFolder { folder in
            let (link, astray) = (folder.appending(path: "latest"), folder.appending(path: "astray"))
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "message")
            try FileManager.default.createSymbolicLink(atPath: astray.path, withDestinationPath: "gone/message")
            let torn = try await CommandRun.run("transfer", Demo.trouble, Demo.torn, "--output", link.path)
            #expect(torn.status == 1, "\(torn.complaint)")
            let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(kept.sorted() == ["astray", "latest", "message.partial"], "\(torn.complaint)")
            let whole = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--output", link.path)
            #expect(whole.status == 0, "\(whole.complaint)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "message")
            #expect(try String(contentsOf: folder.appending(path: "message"), encoding: .utf8) == Demo.text)
            let lost = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--output", astray.path)
            #expect(lost.status == 1 && lost.complaint.contains(astray.path), "\(lost.complaint)")
            #expect(!lost.complaint.contains("chunk 1"), "it was received, and is lost")
        }
    }

    @Test func `another end mark ends the message elsewhere`() async throws {
        let run = try await CommandRun.run("transfer", Demo.values, Demo.counting, "--eom", "\u{3}", "--json")
        #expect(run.status == 0)
        #expect(try object(run.output.first)["value"] as? String == "000102")
    }

    @Test func `a mark at the end of a chunk is asked for by its own name`() async throws {
        let run = try await CommandRun.run("transfer", Demo.transfer, Demo.message, "--eom-at-end", "M", "--json")
        #expect(run.status == 0)
        #expect(try object(run.output.first)["text"] as? String == Demo.text + "EO")
    }

    @Test func `what came of a message that broke off is kept, and the old file too`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "message")
            try Data("old".utf8).write(to: file)
            let run = try await CommandRun.run("transfer", Demo.trouble, Demo.torn, "--output", file.path)
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(run.complaint.contains("disconnected") && run.complaint.contains("closed by the peer"))
            #expect(run.complaint.contains("2560 octets") && run.complaint.contains("Run the command again"))
            #expect(!run.complaint.contains("notify"), "\(run.complaint)")
            #expect(try String(contentsOf: file, encoding: .utf8) == "old")
            let partial = try Data(contentsOf: folder.appending(path: "message.partial"))
            #expect(partial == Data((0..<5).flatMap { [UInt8](repeating: $0, count: 512) }))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        }
    }

    @Test func `what came before is kept where a full disk has no room for what has come now`() async throws {
        try await withFolder { folder in
            let (file, partial) = (folder.appending(path: "message"), folder.appending(path: "message.partial"))
            try Data("earlier".utf8).write(to: partial)
            let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" transfer \"$1\" \"$2\" --output \"$3\" --simulated"
            let arguments = [CommandRun.program, Demo.trouble, Demo.torn, file.path]
            let child = try Child("/bin/sh", ["-c", script] + arguments)
            async let output = LineReader(child.output).rest()
            let errors = await LineReader(child.errors).rest().joined(separator: "\n")
            #expect(await Child.exitStatus(of: child.process) == 1)
            #expect(errors.contains("the 2560 octets received could not be stored"), "\(errors)")
            #expect(errors.contains("message.partial: ") && errors.contains("File too large"), "\(errors)")
            #expect(try String(contentsOf: partial, encoding: .utf8) == "earlier")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["message.partial"])
            _ = await output
        }
    }

    @Test func `what came of a message for a pipe is lost when it breaks off, which is said`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "message").path
            try #require(mkfifo(path, 0o600) == 0)
            let run = try await CommandRun.run("transfer", Demo.trouble, Demo.torn, "--output", path)
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(run.complaint.contains("the 2560 octets received are lost: \(path) is"), "\(run.complaint)")
            #expect(run.complaint.contains("--output with a regular file"), "\(run.complaint)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["message"])
        }
    }

    @Test(arguments: [["--just-works"], ["--just-works", "--secure", "encrypted"]])
    func `a message for paired centrals alone is received by who says how to pair`(_ options: [String]) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "message")
            let services = TransferProfile().services.map { $0.asking(for: .encrypted) }
            try await VirtualTime.run { time in
                let air = SimulatedAir(time)
                let (adapter, device) = (air.adapter(), air.adapter())
                let words = ["\(device.address)", Demo.message, "--output", file.path] + options
                let transfer = try Transfer(Arguments(parsing: words, options: Transfer.options))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await LocalPeripheral(name: "Teller") { services }.run(on: .radio(device)) { server in
                            try await TransferProfile().live(server, ServeDiary(.nowhere))
                        }
                    }
                    defer { group.cancelAll() }
                    try await withEnvironment(on: .radio(adapter), printingTo: .nowhere) { environment in
                        try await transfer.run(in: environment)
                    }
                }
            }
            #expect(try String(contentsOf: file, encoding: .utf8).hasPrefix("Line 1 of a message"))
        }
    }

    @Test func `a message for a pipe waits for its reader`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "message").path
            try #require(mkfifo(path, 0o600) == 0)
            let run = try CommandRun(["transfer", Demo.transfer, Demo.message, "--output", path])
            #expect(await run.complaint(with: "octets in"))
            let reading: Int32 = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: open(path, O_RDONLY | O_CLOEXEC)) }
            }
            #expect(await LineReader(reading).rest().map { $0 + "\n" }.joined() == Demo.text)
            #expect(try await run.end().status == 0)
        }
    }

    @Test func `a message that never ends is given up in time`() async throws {
        let run = try await CommandRun.run("transfer", Demo.trouble, Demo.mute, "--timeout", "1")
        #expect(run.status == 1 && run.complaint.contains("timed out") && !run.complaint.contains("--eom"))
    }

    @Test func `who waits for another end mark than the device sends is told of it`() async throws {
        let transfer = ["transfer", Demo.transfer, Demo.message, "--eom", "END", "--timeout", "5", "--json"]
        let run = try await CommandRun(transfer).end()
        let error = try #require(try object(run.errors.last)["error"] as? [String: Any])
        #expect(run.status == 1 && error["code"] as? String == "timedOut")
        let words = "with --timeout. If the whole message has come, pass its end mark with --eom or --eom-at-end."
        #expect((error["remedy"] as? String)?.hasSuffix(words) == true, "\(run.complaint)")
    }
}
