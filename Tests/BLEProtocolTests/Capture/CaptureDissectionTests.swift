import Foundation
import Testing

@testable import BLEProtocol

/// Captures in the eyes of the programs that they are made for, where those are installed.
@Suite struct CaptureDissectionTests {
    static func has(_ tool: String) -> Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + tool) }

    @Test(.enabled(if: has("btmon"), "btmon is not installed (Debian: bluez)"))
    func `btmon reads ATT in a capture`() throws {
        let text = try reading(with: "btmon", ["-r"])
        #expect(text.contains("Peer address: C4:F2:17:1A:1D:BB"))
        #expect(text.contains("Exchange MTU Request (0x02)") && text.contains("Handle Value Notification (0x1b)"))
        #expect(text.contains("3 PDUs of connection 1 were lost"))
        #expect(text.contains("LE Advertising Report") && text.contains("LE Extended Advertising Report"))
        #expect(text.contains("Name (complete): Demo") && text.contains("RSSI: -61 dBm"))
        #expect(!text.contains("invalid") && !text.contains("Malformed"))
    }

    @Test(.enabled(if: has("tshark"), "tshark is not installed (Debian: tshark)"))
    func `Wireshark reads ATT in a capture`() throws {
        let text = try reading(with: "tshark", ["-T", "fields", "-e", "btatt.opcode", "-Y", "btatt", "-r"])
        #expect(text.split(whereSeparator: \.isNewline) == ["0x02", "0x03", "0x1b"])
        // From warnings on (0x600000): that it does not decode what a manufacturer sends is a note.
        let faults = try reading(with: "tshark", ["-Y", "_ws.malformed || _ws.expert.severity >= 0x600000", "-r"])
        #expect(faults.split(whereSeparator: \.isNewline).isEmpty, "\(faults)")
    }

    private func capture() throws -> [UInt8] {
        var capture = ATTCapture(index: 0)
        let time = ReceptionTime(sinceEpoch: .seconds(1_700_000_000), source: .kernel)
        let own = BluetoothAddress(rawValue: 0x00AA_0100_0000, kind: .public)
        let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        // btmon looks for a zero behind the name, and is not content with its eight octets.
        var octets = capture.opening(adapter: own, name: "simulated", time: time)
        let opened = capture.linkOpened(peer: peer, role: .central, time: time)
        let (link, beginning) = try #require(opened)
        octets += beginning
        octets += capture.sent([0x02, 0x05, 0x02], on: link, time: time)
        octets += capture.received([0x03, 0x05, 0x02], on: link, time: time)
        octets += capture.dropped(3, on: link, time: time)
        octets += capture.received([0x1B, 0x10, 0x00, 0x06, 0x48], on: link, time: time)
        octets += capture.linkClosed(link, status: 0x13, time: time)
        for count in [0, 30, 300] {
            let name: [UInt8] = [5, 0x09] + Array("Demo".utf8)
            let data = name + (0..<count / 30).flatMap { _ in [29, 0xFF] + [UInt8](repeating: 0x41, count: 28) }
            octets += capture.advertised(by: peer, isConnectable: true, rssi: -61, data: data, time: time)
        }
        return octets
    }

    private func reading(with tool: String, _ arguments: [String]) throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "BLEStreams-\(UUID()).btsnoop")
        try Data(capture()).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/" + tool)
        process.arguments = arguments + [file.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
