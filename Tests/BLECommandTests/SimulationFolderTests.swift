import Foundation
import Testing

/// Simulated devices that last from command to command, as `--simulation` keeps them.
@Suite(.timeLimit(.minutes(10))) struct SimulationFolderTests {
    private func run(_ arguments: String..., in folder: URL) async throws -> CommandRun.Result {
        try await CommandRun(arguments + ["--simulation", folder.path], simulated: false).end()
    }

    @Test func `a bond lasts, on both sides`() async throws {
        try await withFolder { parent in
            let folder = parent.appending(path: "devices")
            #expect(try await run("bonds", in: folder).output.isEmpty)
            let refused = try await run("read", Demo.values, Demo.encrypted, "--text", in: folder)
            #expect(refused.status == 1 && refused.complaint.contains("--just-works"))
            let paired = try await run("pair", Demo.values, "--just-works", in: folder)
            #expect(paired.status == 0, "\(paired.complaint)")
            let bonds = try await run("bonds", in: folder)
            #expect(bonds.output.count == 1 && bonds.output.first?.hasPrefix(Demo.values) == true)
            let export = try await run("bonds", "export", parent.appending(path: "bonds.json").path, in: folder)
            #expect(export.complaint.contains("the keys of 1 bond are in"))
            // Nobody is asked any more.
            let read = try await run("read", Demo.values, Demo.encrypted, "--text", in: folder)
            #expect(read.status == 0 && read.output == ["secret"], "\(read.complaint)")
            #expect(try await run("unpair", Demo.values, in: folder).status == 0)
            #expect(try await run("bonds", in: folder).output.isEmpty)
        }
    }

    @Test func `bonds that can't be read are not said to be none`() async throws {
        try await withFolder { parent in
            let folder = parent.appending(path: "devices")
            #expect(try await run("pair", Demo.values, "--just-works", in: folder).status == 0)
            let (store, file) = (folder.appending(path: "central").path, parent.appending(path: "bonds.json").path)
            // The store refuses a folder that others may write to, whoever runs the tests.
            try #require(chmod(store, 0o777) == 0)
            let list = try await run("bonds", "--json", in: folder)
            #expect(list.status == 1 && !list.complaint.contains("there are no bonds"), "\(list.complaint)")
            let error = try #require(try object(list.errors.last)["error"] as? [String: Any])
            #expect((error["cause"] as? String)?.contains("\(store): other users may write to it") == true)
            let export = try await run("bonds", "export", file, in: folder)
            #expect(export.status == 1 && !FileManager.default.fileExists(atPath: file), "\(export.complaint)")
            let unpair = try await run("unpair", Demo.values, in: folder)
            #expect(unpair.status == 1 && !unpair.complaint.contains("there is no bond"), "\(unpair.complaint)")
            try #require(chmod(store, 0o700) == 0)
            #expect(try await run("bonds", "export", file, in: folder).status == 0)
        }
    }

    @Test func `a file of the store that is refused does not count as one without a bond`() async throws {
        try await withFolder { parent in
            let folder = parent.appending(path: "devices")
            #expect(try await run("pair", Demo.values, "--just-works", in: folder).status == 0)
            let (store, file) = (folder.appending(path: "central").path, parent.appending(path: "bonds.json").path)
            let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".json") }
            try #require(!names.isEmpty)
            for name in names { try #require(chmod("\(store)/\(name)", 0o644) == 0) }
            let read = try await run("bonds", in: folder)
            #expect(read.status == 0 && read.output.count == 1, "others could read it: \(read.complaint)")
            for name in names { try #require(chmod("\(store)/\(name)", 0o660) == 0) }
            let list = try await run("bonds", in: folder)
            #expect(list.status == 1 && !list.complaint.contains("there are no bonds"), "\(list.complaint)")
            #expect(list.complaint.contains("not all bonds could be read"), "\(list.complaint)")
            let export = try await run("bonds", "export", file, in: folder)
            #expect(export.status == 1 && !FileManager.default.fileExists(atPath: file), "\(export.complaint)")
        }
    }

    @Test func `written values last, and only in the folder`() async throws {
        try await withFolder { folder in
            let written = try await run("write", Demo.values, Demo.short, "c0ffee", in: folder)
            let read = try await run("read", Demo.values, Demo.short, "--raw", in: folder)
            #expect(written.status == 0 && read.output == ["c0ffee"])
            // The option that was given is the one to omit.
            #expect(written.complaint.contains("omit --simulation to"), "\(written.complaint)")
            let elsewhere = try await CommandRun.run("read", Demo.values, Demo.short, "--raw")
            #expect(elsewhere.output == ["0102030405"])
        }
    }

    @Test func `a command that ends later does not take back what another one has written meanwhile`() async throws {
        try await withFolder { folder in
            let notify = ["notify", Demo.heartRate, Demo.measurement, "--simulation", folder.path]
            let long = try CommandRun(notify, simulated: false)
            #expect(await long.line() != nil)
            #expect(try await run("write", Demo.values, Demo.short, "c0ffee", in: folder).status == 0)
            long.signal(SIGINT)
            #expect(try await long.end().status == 130)
            #expect(try await run("write", Demo.values, Demo.long, "00", in: folder).status == 0)
            #expect(try await run("read", Demo.values, Demo.short, "--raw", in: folder).output == ["c0ffee"])
            #expect(try await run("read", Demo.values, Demo.long, "--raw", in: folder).output == ["00"])
        }
    }

    @Test func `commands that end at the same time each save what was written in them`() async throws {
        for _ in 0..<5 {
            try await withFolder { folder in
                let written = [Demo.short, Demo.long]
                let runs = try written.map { uuid in
                    let words = ["shell", Demo.values, "--simulation", folder.path]
                    let input = "write \(uuid) c0ffee\nnotify \(Demo.counting)\n"
                    return try CommandRun(words, simulated: false, input: input)
                }
                for run in runs { #expect(await run.line() != nil) }
                for run in runs { run.signal(SIGTERM) }
                for run in runs { #expect(try await run.end().status == 130) }
                for uuid in written {
                    #expect(try await run("read", Demo.values, uuid, "--raw", in: folder).output == ["c0ffee"])
                }
            }
        }
    }

    @Test func `a file that is damaged, and a folder that can't be made, are named`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "values")
            try Data("17 00\n\n18 zz\n".utf8).write(to: file)
            let damaged = try await run("read", Demo.values, Demo.short, in: folder)
            #expect(damaged.status == 1 && damaged.complaint.contains(file.path))
            #expect(damaged.complaint.contains("malformed value: line 3 "), "\(damaged.complaint)")
            #expect(damaged.complaint.contains("remove the file"), "\(damaged.complaint)")
            // No characteristic can have such a value: the device would be absent, and only a timeout would tell of it.
            try Data("17 \(String(repeating: "ab", count: 513))\n".utf8).write(to: file)
            let long = try await run("read", Demo.values, Demo.short, in: folder)
            #expect(long.complaint.contains("malformed value: line 1 "), "\(long.complaint)")
            // As an editor of another system ends lines.
            try Data("17 c0ffee\r\n18 00\r\n".utf8).write(to: file)
            let edited = try await run("read", Demo.values, Demo.short, "--raw", in: folder)
            #expect(edited.output == ["c0ffee"], "\(edited.complaint)")
        }
        let nowhere = try await run("scan", in: URL(filePath: "/proc/no/such"))
        #expect(nowhere.status == 1 && nowhere.complaint.contains("/proc/no/such"))
        let both = try await CommandRun(["scan", "--simulation", ""], simulated: false).end()
        #expect(both.status == 2)
    }
}
