import ConsoleOutput
import Foundation
import Testing

@testable import ble

/// Lines that are rewritten in place, and messages that come meanwhile, on one terminal.
@Suite(.timeLimit(.minutes(1))) struct LiveLinesTests {
    /// What stands in the file that stands for a terminal, which it is to the code: both descriptors are the same.
    private func picture(_ body: (LiveLines, Int32, (String) -> Void) throws -> Void) throws -> [String] {
        let file = FileManager.default.temporaryDirectory.appending(path: "ble-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        let descriptor = open(file.path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try body(LiveLines(), descriptor) { _ = writeAll(Array($0.utf8), to: descriptor) }
        var picture = TerminalPicture()
        picture.write(try String(contentsOf: file, encoding: .utf8))
        return picture.lines
    }

    @Test func `a message comes above a table, which stays whole`() throws {
        let lines = try picture { lines, terminal, write in
            lines.replace(with: "one\ntwo\n", height: 2, on: terminal, write: write)
            lines.put("ble: the adapter is gone\n", on: terminal)
            lines.replace(with: "one\ntwo\nthree\n", height: 3, on: terminal, write: write)
            lines.put("ble: it is back\nble: as hci1\n", on: terminal)
            lines.replace(with: "ONE\n", height: 1, on: terminal, write: write)
        }
        #expect(lines == ["ble: the adapter is gone", "ble: it is back", "ble: as hci1", "ONE", ""])
    }

    @Test func `a message comes above a bar, which goes on below it`() throws {
        let lines = try picture { lines, terminal, write in
            lines.replace(with: "10 %", height: 0, on: terminal, write: write)
            lines.put("ble: connected\n", on: terminal)
            lines.replace(with: "9 %", height: 0, on: terminal, write: write)
        }
        #expect(lines == ["ble: connected", "9 %"])
    }

    /// The text that a person types is on the terminal, but not by the program.
    @Test func `a question stands below messages, and the table below its answer`() throws {
        let lines = try picture { lines, terminal, write in
            lines.replace(with: "one\ntwo\n", height: 2, on: terminal, write: write)
            lines.ask("Passkey? ", on: terminal)
            lines.replace(with: "one\ntwo\nthree\n", height: 3, on: terminal, write: write)
            write("123")
            lines.put("ble: still connected\n", on: terminal)
            write("456\n")
            lines.answered(withLineEnd: true)
            lines.replace(with: "ONE\nTWO\nTHREE\n", height: 3, on: terminal, write: write)
        }
        #expect(
            lines == ["Passkey? 123", "ble: still connected", "Passkey? 456", "ONE", "TWO", "THREE", ""]
        )
    }

    @Test func `a question that is cancelled leaves a line of its own`() throws {
        let lines = try picture { lines, terminal, write in
            lines.replace(with: "10 %", height: 0, on: terminal, write: write)
            lines.ask("Does it show 123456? (y/n) ", on: terminal)
            lines.replace(with: "20 %", height: 0, on: terminal, write: write)
            lines.answered(withLineEnd: false)
            lines.answered(withLineEnd: false)
            lines.replace(with: "30 %", height: 0, on: terminal, write: write)
        }
        #expect(lines == ["Does it show 123456? (y/n)", "30 %"])
    }

    /// The terminal writes `^C` itself.
    @Test func `a typed Ctrl-C leaves nothing in live lines, and ends any other line`() throws {
        let table = try picture { lines, terminal, write in
            lines.replace(with: "one\ntwo\n", height: 2, on: terminal, write: write)
            write("^C")
            lines.interrupted(on: terminal)
            lines.replace(with: "ONE\nTWO\n", height: 2, on: terminal, write: write)
        }
        #expect(table == ["ONE", "TWO", ""])
        let bar = try picture { lines, terminal, write in
            lines.replace(with: "10 %", height: 0, on: terminal, write: write)
            write("^C")
            lines.interrupted(on: terminal)
        }
        #expect(bar == ["10 %"])
        let others = try picture { lines, terminal, write in
            lines.put("ble: connected\n", on: terminal)
            write("^C")
            lines.interrupted(on: terminal)
            write("$ ")
        }
        #expect(others == ["ble: connected", "^C", "$"])
        let question = try picture { lines, terminal, write in
            lines.ask("Passkey? ", on: terminal)
            write("^C")
            lines.interrupted(on: terminal)
            lines.answered(withLineEnd: false)
            write("$ ")
        }
        #expect(question == ["Passkey? ^C", "$"])
    }

    @Test func `a question elsewhere doesn't hold a table back`() throws {
        let lines = try picture { lines, terminal, write in
            let other = open("/dev/null", O_WRONLY | O_CLOEXEC)
            lines.replace(with: "one\n", height: 1, on: terminal, write: write)
            lines.ask("Passkey? ", on: other)
            lines.replace(with: "ONE\n", height: 1, on: terminal, write: write)
            lines.put("ble: connected\n", on: terminal)
            lines.answered(withLineEnd: true)
            close(other)
        }
        #expect(lines == ["ble: connected", "ONE", ""])
    }

    @Test func `lines that are over stay, and what is written elsewhere is only written`() throws {
        let lines = try picture { lines, terminal, write in
            lines.put("before\n", on: terminal)
            lines.replace(with: "table\n", height: 1, on: terminal, write: write)
            let other = open("/dev/null", O_WRONLY | O_CLOEXEC)
            lines.put("elsewhere\n", on: other)
            close(other)
            lines.end()
            lines.put("after\n", on: terminal)
        }
        #expect(lines == ["before", "table", "after", ""])
    }

    @Test(arguments: [40, 80, 120] as [UInt16])
    func `what -v says stands beside an update's bar, not in it`(_ columns: UInt16) async throws {
        let update = ["update", Demo.update, "/bin/true", "--plain", "--model", "7", "-v"]
        let run = try await CommandRun(update, columns: columns, isOneTerminal: true).end()
        #expect(run.status == 0 && run.errors.isEmpty)
        var picture = TerminalPicture()
        picture.write(run.output.joined(separator: "\n"))
        #expect(picture.lines.contains { $0.contains("100 %") })
        for line in picture.lines {
            #expect(line.ranges(of: "ble: ").count <= 1 && line.columns <= Int(columns), "\(line)")
        }
    }

    @Test func `a scan's table stands once, below what was said before`() async throws {
        let run = try await CommandRun(["scan", "--count", "5", "-v"], columns: 80, isOneTerminal: true).end()
        var picture = TerminalPicture()
        picture.write(run.output.joined(separator: "\n"))
        #expect(run.status == 0 && picture.lines.filter { $0.hasPrefix("ADDRESS") }.count == 1)
        let table = try #require(picture.lines.firstIndex { $0.hasPrefix("ADDRESS") })
        #expect(picture.lines[..<table].allSatisfy { $0.hasPrefix("ble: ") || $0.hasPrefix("     ") })
        #expect(picture.lines[table...].contains { $0.hasPrefix("5 devices") })
    }
}
