import ConsoleOutput
import Foundation
import Testing

@testable import ble

/// The table that a scan shows at a terminal.
@Suite(.timeLimit(.minutes(10))) struct ScanTableTests {
    /// The pictures of a run, each a list of lines, without what moves the cursor.
    private func pictures(of run: CommandRun.Result) -> [[String]] {
        run.output.joined(separator: "\n").components(separatedBy: "\u{1B}[J").map { picture in
            picture.replacing(/\x1B\[\d*[AHK]/, with: "").replacing("\r", with: "")
                .split(separator: "\n").map(String.init)
        }
        .filter { !$0.isEmpty }
    }

    @Test(arguments: [40, 80, 120] as [UInt16])
    func `devices are shown in place, within the width`(_ columns: UInt16) async throws {
        let run = try await CommandRun(["scan"], interruptedAt: "5 devices", times: 5, in: .output, columns: columns)
            .end()
        #expect(run.status == 130)
        let pictures = pictures(of: run)
        #expect(pictures.count > 4)
        let last = try #require(pictures.last)
        #expect(last.first?.hasPrefix("ADDRESS") == true && last.last?.hasPrefix("5 devices") == true)
        let row = try #require(last.first { $0.hasPrefix(Demo.heartRate) })
        #expect(row.contains("Demo heart rate") && row.contains(/[▁▂▃▄▅▆▇█]/) == (columns > 40))
        #expect(row.contains("Heart Rate") == (columns >= 80))
        for line in pictures.joined() { #expect(line.count < Int(columns), "\(line)") }
        // Each picture begins where the former one did.
        #expect(run.output.joined().contains("\u{1B}[\(last.count)A"))
    }

    @Test func `the table ends with enough devices, and Ctrl-C leaves it complete`() async throws {
        let run = try await CommandRun(["scan", "--count", "2"], columns: 80).end()
        #expect(run.status == 0 && pictures(of: run).last?.last?.hasPrefix("2 devices") == true)
        let cut = try await CommandRun(["scan"], interruptedAt: "devices", in: .output, columns: 80).end()
        let hints = pictures(of: cut).map { $0.last?.contains("Ctrl-C ends") == true }
        #expect(cut.status == 130 && hints.first == true && hints.last == false)
        let none = ["scan", "--name-prefix", "Nobody", "--count", "1", "--timeout", "0.5"]
        let few = try await CommandRun(none, columns: 80).end()
        #expect(few.status == 1 && few.complaint.contains("0 of 1"))
    }

    @Test func `lines stay lines where they are asked for`() async throws {
        // One whose line is no wider than the terminal: others have two there, and which one is heard first is chance.
        let one = ["scan", "--name-prefix", "Demo heart", "--count", "1", "--lines"]
        let run = try await CommandRun(one, columns: 80).end()
        #expect(run.output.count == 1 && !run.output[0].contains("\u{1B}"))
    }

    @Test(arguments: [
        ["scan", "--name-prefix", "Demo heart", "--count", "1"], ["transfer", Demo.transfer, Demo.message],
        ["update", Demo.update, "/bin/true", "--plain"],
    ])
    func `a terminal that can't move its cursor gets lines`(_ words: [String]) async throws {
        let run = try await CommandRun(words, columns: 120, environment: ["TERM": "dumb"]).end()
        #expect(run.status == 0 && !run.output.isEmpty, "\(run)")
        for line in run.output + run.errors {
            #expect(line.unicodeScalars.allSatisfy { $0.isPrintable }, "\(line.debugDescription)")
        }
    }

    @Test func `a table of weeks keeps the devices that were heard last, and counts all`() {
        var table = ScanTable()
        let number = ScanTable.limit + 100
        for device in 0..<number {
            // The first one stays all the time.
            table.add(.init(address: "first", rssi: -40, name: nil, details: ""), at: .seconds(device))
            table.add(.init(address: "other \(device)", rssi: -50, name: nil, details: ""), at: .seconds(device))
        }
        let lines = table.lines(columns: 80, rows: number, at: .seconds(number))
        // The head and the sum are lines, too.
        #expect(lines.count == ScanTable.limit + 2 && table.count == number + 1)
        #expect(lines[1].hasPrefix("first") && lines.last?.hasPrefix("\(number + 1) devices") == true)
        #expect(lines[lines.count - 2].hasPrefix("other \(number - 1)"))
    }

    // MARK: - Names that break terminals

    static let hostile = [
        "\u{1B}[2J\u{1B}[31mred", "\u{9B}31mC1", "a\r\nb\tc\u{8}d\u{7}", "\u{202E}evil\u{2066}x", "\u{200F}rtl",
        "温度計の名前", "🌡️ sensor 🧪", "👩‍👩‍👧", "한국어 기기", "e" + String(repeating: "\u{301}", count: 50), "\u{FEFF}\u{00AD}soft",
        "مستشعر", String(repeating: "W", count: 300), "\u{E0001}\u{E0041}tag",
    ]

    private func isPlain(_ text: String) -> Bool { text.unicodeScalars.allSatisfy { $0.isPrintable } }

    @Test(arguments: hostile) func `no name leaves its place`(_ name: String) {
        var table = ScanTable()
        for step in 0..<40 {
            let address = "C4:F2:17:1A:1D:BB"
            let rssi = -40 - step
            table.add(.init(address: address, rssi: rssi, name: name, details: name), at: .seconds(step))
        }
        for columns in [40, 59, 60, 80, 99, 100, 120, 200] {
            for line in table.lines(columns: columns, rows: 24, at: .seconds(41)) {
                #expect(line.columns == columns - 1)
                #expect(isPlain(line))
            }
        }
        #expect(isPlain(name.harmless))
        let json = JSON.string(name).description
        #expect(isPlain(json))
        let back = try? JSONSerialization.jsonObject(with: Data("[\(json)]".utf8)) as? [String]
        #expect(back == [name], "a program is told the name as it is")
    }

    @Test(arguments: [
        ("abc", 5, "abc  "), ("abcdef", 4, "abc…"), ("温度計", 6, "温度計"), ("温度計", 5, "温度…"), ("温度計", 4, "温… "),
        ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"), ("x", 0, ""), ("ab", 1, "…"),
    ])
    func `text is padded and cut by columns`(_ text: String, _ width: Int, _ expected: String) {
        #expect(text.fitted(to: width) == expected)
        #expect(text.fitted(to: width).columns == width)
    }

    @Test func `what one advertisement lacks stays as it was known, and the weaker ones give way`() {
        var table = ScanTable()
        table.add(.init(address: "A", rssi: -50, name: "Name", details: "x"), at: .zero)
        table.add(.init(address: "A", rssi: nil, name: nil, details: ""), at: .seconds(1))
        #expect(table.lines(columns: 120, rows: 24, at: .seconds(2))[1].contains("Name"))
        for number in 0..<30 {
            table.add(.init(address: "B\(number)", rssi: -60 - number, name: nil, details: ""), at: .seconds(2))
        }
        let lines = table.lines(columns: 80, rows: 10, at: .seconds(3))
        #expect(lines.count == 9 && lines[1].hasPrefix("A ") && lines[7].hasPrefix("B5"))
        #expect(lines[8].contains("31 devices, 24 weaker not shown"))
        // One that is silent for long has no strength any more.
        #expect(table.lines(columns: 120, rows: 40, at: .seconds(60))[1].contains("59 s ago"))
    }

    @Test func `where several are as weak as the last one that has room, none of them takes a stronger one's place`() {
        var table = ScanTable()
        let levels = [Int](repeating: -80, count: 30) + [Int](repeating: -40, count: 5)
        for (number, rssi) in levels.enumerated() {
            table.add(.init(address: "\(number)", rssi: rssi, name: nil, details: ""), at: .zero)
        }
        let lines = table.lines(columns: 80, rows: 10, at: .seconds(1))
        // In the order of first reception: two that are weak, then those that are near.
        #expect(lines[1...7].map { $0.prefix { $0 != " " } } == ["0", "1", "30", "31", "32", "33", "34"])
        #expect(lines[8].contains("35 devices, 28 weaker not shown"))
    }

    @Test func `those that have gone give way to those that are there, however near they were`() {
        var table = ScanTable()
        for number in 0..<30 {
            table.add(.init(address: "\(number)", rssi: -40, name: nil, details: ""), at: .seconds(number))
        }
        for number in 30..<35 {
            table.add(.init(address: "\(number)", rssi: -90, name: nil, details: ""), at: .seconds(3600))
        }
        let lines = table.lines(columns: 80, rows: 10, at: .seconds(3601))
        // Of those that have gone, the last ones stay.
        #expect(lines[1...7].map { $0.prefix { $0 != " " } } == ["28", "29", "30", "31", "32", "33", "34"])
        #expect(lines[8].contains("35 devices, 28 weaker or silent not shown"))
    }

    @Test(arguments: [
        (10, "10 s ago"), (99, "99 s ago"), (100, "1 m ago"), (5999, "99 m ago"), (6000, "1 h ago"),
        (359_999, "99 h ago"), (360_000, "4 d ago"), (8_640_000, "14 w ago"),
    ])
    func `how long a device has been silent has room where its bar was`(_ seconds: Int, _ expected: String) {
        var table = ScanTable()
        table.add(.init(address: "A", rssi: -50, name: "Name", details: "x"), at: .zero)
        #expect(table.lines(columns: 80, rows: 24, at: .seconds(seconds))[1].contains(expected))
    }

    @Test func `bars and sparklines follow the strength`() {
        #expect(ScanTable.bar(-40, 8) == "████████" && ScanTable.bar(-127, 8) == "▏" && ScanTable.bar(nil, 8) == "")
        #expect(ScanTable.bar(-70, 8) == "████")
        #expect(ScanTable.sparkline([-100, -70, -40, -20], 3) == "▅██" && ScanTable.sparkline([], 8) == "")
    }
}
