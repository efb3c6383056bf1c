import BLEDevices
import BLESimulator
import BLEStreams

/// The step that uses a serial line.
extension World {
    /// Writes a line, and waits until the peripheral has given it back. Others may use it meanwhile.
    func useSerialLine(_ number: Int, _ name: String, of central: Int) async throws {
        let text = Array("\(name): \(String(repeating: "x", count: 150))".utf8)
        try await peripheral(number, of: central).withLink(timeout: .seconds(30)) { link in
            let line = link.bytes(of: .nordicUART, buffer: .unbounded)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let lines = line.chunks.assembled(until: .delimiter("\n")).timeout(.seconds(60), for: .wholeStream)
                    for try await echo in lines where echo == text {
                        self.reached("echo")
                        return
                    }
                    self.report("\(name): a serial line ends by itself", "ended")
                }
                // Octets are received once the line is subscribed to, and not before.
                try await self.time.sleep(for: .seconds(5))
                try await line.write(text + Array("\n".utf8))
                try await group.waitForAll()
            }
        }
    }
}
