import BLEDevices
import ConsoleOutput
import Foundation

/// An event at the console.
private enum Event {
    case typed(String)
    case received([UInt8])
}

/// The typed lines. A thread of its own reads them, since `readLine()` blocks.
let typedLines = BLEStream<String> { feed in
    Thread.detachNewThread {
        while let line = readLine() { feed.send(line) }
        feed.finish()
    }
    return {}
}

/// A console on the serial line of a device: sends typed lines, and prints received ones.
func console(on adapter: AdapterChoice, _ words: [String]) async throws {
    try await Central.with(adapter) { central in
        let device = try await central.scan(for: .service(SerialService.nordicUART.service))
            .timeout(.seconds(10))
            .first()
        print("Connecting to \(device.name?.harmless ?? "\(device.address)"). Type a line to send it.")
        try await device.peripheral.withLink { link in
            let line = link.bytes(of: .nordicUART)
            let answers = line.chunks.assembled(until: .delimiter("\r\n")).map(Event.received)
            let typed = words.isEmpty ? typedLines : BLEStream(words)
            // One loop for both directions: it subscribes before it sends the first line.
            for try await event in answers.merge(with: typed.map(Event.typed)) {
                switch event {
                case .typed(let text):
                    print("> \(text)")
                    try await line.write("\(text)\r\n".utf8)
                case .received(let octets):
                    print("< \(String(decoding: octets, as: UTF8.self).harmless)")
                }
            }
        }
    }
}
