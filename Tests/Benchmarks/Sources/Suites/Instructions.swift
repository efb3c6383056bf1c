import BLELinux
import BLEProtocol
import BLERadio
import BLEStreams
import Foundation

/// The instructions that decoding one PDU or event takes: callgrind counts them, and they repeat exactly.
///
/// The program runs itself under valgrind, twice, with different counts: the difference belongs to the elements alone.
struct Instructions {
    private let suite = "instructions"

    /// What can be counted; the names are those of the option that the program calls itself with.
    enum Path: String, CaseIterable {
        case notification
        case advertisement

        var name: String {
            switch self {
            case .notification: "a notification's octets to its consumer's buffer"
            case .advertisement: "an event's octets to a report"
            }
        }
    }

    func run() throws -> [Row] {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/valgrind") else {
            FileHandle.standardError.write(Data("instructions: valgrind is not installed, nothing is counted\n".utf8))
            return []
        }
        return try Path.allCases.map { path in
            let (few, many) = (1_000, 11_000)
            let difference = try count(path, many) - count(path, few)
            return Row(suite, path.name, .instructions, [Double(difference) / Double(many - few)])
        }
    }

    private func count(_ path: Path, _ elements: Int) throws -> Int {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/valgrind")
        process.arguments = [
            "--tool=callgrind", "--callgrind-out-file=/dev/null", "/proc/self/exe", "--decode", path.rawValue,
            String(elements),
        ]
        process.arguments?[2] = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // "==1234== Collected : 567890"
        let line = text.split(separator: "\n").last { $0.contains("Collected :") }
        guard let number = line?.split(separator: " ").last.flatMap({ Int($0) }) else { throw NoCount(output: text) }
        return number
    }

    struct NoCount: Error { let output: String }

    /// What is counted; the whole program when it is called with `--decode`.
    static func decode(_ path: Path, _ count: Int) async throws {
        switch path {
        case .advertisement: _ = Advertising.parse(count)
        case .notification: try await receive(count)
        }
    }

    /// Batches of notifications from a link to a loop, as a socket's are handed over.
    private static func receive(_ count: Int) async throws {
        let radio = DirectRadio()
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(radio.link.peer).withLink { link in
            _ = try await link.discover()
            let octets: [UInt8] = [0x1B, 3, 0] + [UInt8](repeating: 7, count: 20)
            var iterator = link.notifications(ofHandle: 3, buffer: .unbounded).makeAsyncIterator()
            let size = 50
            // The subscription is made by the first call of `next()`; the link has this batch for it then.
            radio.link.afterSubscription = Array(repeating: octets, count: size)
            for _ in 0..<count / size {
                for _ in 0..<size {
                    guard let value = try await iterator.next(), value.count == 20 else { throw Missing() }
                }
                // Copies: each has storage of its own, as what is read from a socket has.
                radio.link.bring((0..<size).map { _ in octets.map { $0 } })
            }
        }
    }

    private struct Missing: Error {}
}
