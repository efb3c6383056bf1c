import BLEStreams
import Foundation
import Testing

@testable import ble

@Suite(.timeLimit(.minutes(10))) struct UpdateTests {
    /// Octets of an image for MCUboot of that size, trailer included.
    static func image(_ size: Int) -> Data {
        var octets: [UInt8] = [0x3D, 0xB8, 0xF3, 0x96, 0, 0, 0, 0, 32, 0, 0, 0]
        let body = size - 32 - 40
        octets += (0..<4).map { UInt8(truncatingIfNeeded: body >> (8 * $0)) } + [0, 0, 0, 0, 2, 1, 0, 0]
        octets += [UInt8](repeating: 0, count: 8)
        octets += (0..<body).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        octets += [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + (0..<32).map { UInt8($0) }
        return Data(octets)
    }

    @Test func `a line of JSON for each percent, and the device restarts`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(50_000).write(to: file)
            let run = try await CommandRun.run("update", Demo.update, file.path)
            #expect(run.status == 0, "\(run.complaint)")
            let lines = try run.output.map { try object($0) }
            let phases = lines.compactMap { $0["phase"] as? String }
            #expect(phases.first == "prepare" && phases.last == "done" && phases.contains("confirm"))
            let percents = lines.compactMap { $0["percent"] as? Int }
            #expect(percents.first == 0 && percents.last == 100 && percents == Array(Set(percents)).sorted())
            #expect(percents.count > 40 && run.complaint.contains("50000 octets"))
        }
    }

    @Test(arguments: [80, 40]) func `a bar stays in one line of the terminal`(columns: UInt16) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(100_000).write(to: file)
            let run = try await CommandRun(["update", Demo.update, file.path], columns: columns).end()
            #expect(run.status == 0, "\(run.complaint)")
            let pictures = run.complaint.split(whereSeparator: \.isNewline).filter { $0.contains("\u{1B}[K") }
                .map { $0.replacing("\u{1B}[K", with: "") }
            #expect(pictures.contains { $0.contains("[###") })
            // What has no room is left out.
            #expect(pictures.contains { $0.contains("kB/s") } == (columns == 80))
            // Two columns more are for a ^C.
            for picture in pictures { #expect(picture.count < Int(columns) - 2, "\(picture)") }
            #expect(pictures.contains { $0.contains("100 %") } && !pictures.contains { $0.contains(/100 %.* left/) })
            #expect(run.complaint.contains(/100000 octets, [\d.]+ s, [\d.]+ kB\/s/))
        }
    }

    @Test func `a program gets its lines also while a person sees the bar`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(5000).write(to: file)
            let lines = folder.appending(path: "lines").path
            let sink = open(lines, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(sink) }
            let words = ["update", Demo.update, file.path, "--simulated"]
            let child = try Child(CommandRun.program, words, sink: sink, columns: 80)
            let seen = await LineReader(child.errors).rest().joined(separator: "\n")
            #expect(await Child.exitStatus(of: child.process) == 0, "\(seen)")
            close(child.output)
            #expect(seen.contains("[###"))
            let phases = try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n").map {
                try object(String($0))["phase"] as? String
            }
            #expect(phases.first == "prepare" && phases.last == "done")
        }
    }

    @Test(arguments: [["prepare"], ["prepare", "test", "reset", "restart"], ["prepare", "upload"]])
    func `an update tells octets and a rate only if it has sent something`(phases: [String]) throws {
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        let progress = UpdateProgress(Output(isJSON: true, to: nowhere), Log(isVerbose: false))
        for phase in phases { progress.show(CommandProgress(phase: phase)) }
        let summary = progress.summary(of: 5000)
        #expect(summary.contains("5000 octets") == phases.contains("upload"), "\(summary)")
        #expect(summary.contains("kB/s") != summary.contains("nothing was sent"), "\(summary)")
    }

    @Test func `an update that continues tells the octets that it has sent, not those that the device had`() throws {
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        let progress = UpdateProgress(Output(isJSON: true, to: nowhere), Log(isVerbose: false))
        // The device says which octet it expects; the second link is one octet short of what was sent over the first.
        for (completed, rate) in [(0, nil), (4000, nil), (4800, 9e3), (4799, nil), (5000, 9e3)] as [(Int, Double?)] {
            progress.show(CommandProgress(phase: "upload", completed: completed, total: 5000, rate: rate))
        }
        #expect(progress.summary(of: 5000).hasPrefix("1000 of 5000 octets, "), "\(progress.summary(of: 5000))")
        let complete = UpdateProgress(Output(isJSON: true, to: nowhere), Log(isVerbose: false))
        complete.show(CommandProgress(phase: "upload", completed: 5000, total: 5000))
        #expect(complete.summary(of: 5000).contains("nothing was sent"), "\(complete.summary(of: 5000))")
    }

    @Test func `a trial can be ended, which no upload goes with`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(5000).write(to: file)
            let run = try await CommandRun.run("update", Demo.update, file.path, "--revert", "--json")
            #expect(run.status == 0 && run.complaint.contains("does not run the image"), "\(run.complaint)")
            #expect(try object(run.output.last)["phase"] as? String == "done")
            let mixed = try await CommandRun.run("update", Demo.update, file.path, "--revert", "--window", "2")
            #expect(mixed.status == 2 && mixed.complaint.contains("--revert"))
        }
    }

    @Test func `an image that is confirmed can't be ended, which programs are told as well`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Data(DemoUpdate.factoryImage).write(to: file)
            let run = try await CommandRun.run("update", Demo.update, file.path, "--revert", "--json")
            #expect(run.status == 1 && run.complaint.contains("which is confirmed"), "\(run.complaint)")
            let error = try object(run.errors.last)["error"] as? [String: Any]
            #expect(error?["code"] as? String == "updateFailed")
            #expect(error?["remedy"] as? String == "Update the device to its previous image.")
        }
    }

    @Test func `the plain protocol is spoken where it is asked for`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Data([UInt8](repeating: 7, count: 20_000)).write(to: file)
            let run = try await CommandRun.run("update", Demo.update, file.path, "--model", "7", "--json")
            #expect(run.status == 0, "\(run.complaint)")
            #expect(try object(run.output.last)["total"] as? Int == 20_000)
            let other = try await CommandRun.run("update", Demo.update, file.path, "--model", "8")
            #expect(other.status == 1 && other.complaint.contains("model 8"))
        }
    }

    @Test func `an update of a device that is to be paired with first pairs with it`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(5000).write(to: file)
            let words = ["update", Demo.update, file.path, "--secure", "authenticated"]
            let run = try await CommandRun(words + ["--passkey", "123456"]).end()
            #expect(run.status == 0, "\(run.complaint)")
            #expect(run.errors.count { $0.contains("paired with \(Demo.update)") } == 1, "\(run.complaint)")
            let unanswered = try await CommandRun(words).end()
            #expect(unanswered.status == 1 && unanswered.complaint.contains("--passkey"), "\(unanswered.complaint)")
        }
    }

    @Test func `files and words that make no sense are refused, each with its reason`() async throws {
        try await withFolder { folder in
            let missing = try await CommandRun.run("update", Demo.update, folder.appending(path: "no").path)
            #expect(missing.status == 1 && missing.complaint.contains("No such file"))
            let empty = folder.appending(path: "empty")
            try Data().write(to: empty)
            let nothing = try await CommandRun.run("update", Demo.update, empty.path)
            #expect(nothing.status == 1 && nothing.complaint.contains("it is empty"))
            let text = folder.appending(path: "text")
            try Data("hello".utf8).write(to: text)
            let wrong = try await CommandRun.run("update", Demo.update, text.path)
            #expect(wrong.status == 1 && wrong.complaint.contains("MCUboot"))
            let large = folder.appending(path: "large")
            try Self.image(600_000).write(to: large)
            let tooLarge = try await CommandRun.run("update", Demo.update, large.path)
            #expect(tooLarge.status == 1 && tooLarge.complaint.contains("at most"))
            let other = try await CommandRun.run("update", Demo.values, large.path)
            #expect(other.status == 1 && other.complaint.contains("ble info"))
        }
        for words in [["--mode", "fast"], ["--window", "0"], ["--model", "x"], ["--plain", "--mode", "test"]] {
            let run = try await CommandRun(["update", Demo.update, "file"] + words).end()
            #expect(run.status == 2, "\(words)")
        }
    }

    @Test(arguments: [[], ["--revert"]])
    func `a device is waited for as long as the limit says`(options: [String]) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(5000).write(to: file)
            let words = ["\(Demo.absent)/random", file.path, "--timeout", "120"] + options
            let update = try Update(Arguments(parsing: words, options: Update.options))
            let time = try await timeToFail { try await update.run(in: $0) }
            #expect(time >= .seconds(120), "\(time)")
        }
    }

    @Test func `an update that is interrupted leaves the radio clean`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try Self.image(500_000).write(to: file)
            let run = try CommandRun(["update", Demo.update, file.path, "-v"], interruptedAt: "connected")
            let result = try await run.end()
            #expect(result.status == 130 && result.complaint.contains("disconnected"))
        }
    }
}
