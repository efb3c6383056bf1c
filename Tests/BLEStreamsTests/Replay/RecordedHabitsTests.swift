import BLEProtocol
import Testing

/// What the recorded programs and devices of others do, and this library does not.
@Suite struct RecordedHabitsTests {
    /// A PDU of a link, in milliseconds since its beginning.
    private enum Step {
        case sent(Int, [UInt8])
        case received(Int, [UInt8])
    }

    /// A server of the device with which a central has recorded these PDUs; its link has just begun.
    private func server(after steps: [Step]) throws -> RecordedServer {
        func time(_ milliseconds: Int) -> ReceptionTime {
            ReceptionTime(sinceEpoch: .seconds(1_700_000_000) + .milliseconds(milliseconds), source: .kernel)
        }
        var capture = ATTCapture(index: 0)
        var octets = capture.opening(adapter: nil, name: "hci0", time: time(0))
        let address = try #require(BluetoothAddress("C4:F2:17:1A:1D:BB/random"))
        let opened = capture.linkOpened(peer: address, role: .central, time: time(0))
        let (link, beginning) = try #require(opened)
        octets += beginning
        for step in steps {
            switch step {
            case .sent(let moment, let pdu): octets += capture.sent(pdu, on: link, time: time(moment))
            case .received(let moment, let pdu): octets += capture.received(pdu, on: link, time: time(moment))
            }
        }
        let traffic = try #require(CaptureReader.traffic(in: octets))
        var server = RecordedServer(try #require(RecordedDevice.devices(of: traffic).first))
        server.linkBegan(now: .zero)
        return server
    }

    /// As Android and a scooter do: the MTU is that of both directions.
    @Test func `the MTU is also learned where the peripheral asked for it`() throws {
        var server = try server(after: [.received(10, [0x02, 0xF7, 0]), .sent(20, [0x03, 0x05, 0x02])])
        #expect(server.received([0x02, 0x05, 0x02], now: .zero) == [0x03, 0xF7, 0])
    }

    /// As bluetoothd does with the only attribute behind a value that is notified of.
    @Test func `a configuration that was written without being discovered is one`() throws {
        var server = try server(after: [
            .sent(0, [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]), .received(1, [0x11, 6, 1, 0, 4, 0, 0x0D, 0x18]),
            .sent(2, [0x08, 1, 0, 4, 0, 0x03, 0x28]), .received(3, [0x09, 7, 2, 0, 0x10, 3, 0, 0x37, 0x2A]),
            .sent(4, [0x12, 4, 0, 1, 0]), .received(5, [0x13]), .received(6, [0x1B, 3, 0, 6, 0x48]),
        ])
        #expect(server.received([0x04, 4, 0, 4, 0], now: .zero) == [0x05, 1, 4, 0, 0x02, 0x29])
        #expect(server.nextDue == nil)
        #expect(server.received([0x12, 4, 0, 1, 0], now: .zero) == [0x13])
        #expect(server.poll(now: .milliseconds(2)) == [[0x1B, 3, 0, 6, 0x48]])
    }

    @Test func `of several values in one notification, the last of which is cut, the others are sent again`() throws {
        var server = try server(after: [
            .sent(0, [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]), .received(1, [0x11, 6, 1, 0, 4, 0, 0x0D, 0x18]),
            .sent(2, [0x08, 1, 0, 4, 0, 0x03, 0x28]), .received(3, [0x09, 7, 2, 0, 0x10, 3, 0, 0x37, 0x2A]),
            .sent(4, [0x12, 4, 0, 1, 0]), .received(5, [0x13]),
            .received(6, [0x23, 3, 0, 2, 0, 6, 0x48, 3, 0, 2, 0, 6]),
        ])
        #expect(server.received([0x12, 4, 0, 1, 0], now: .zero) == [0x13])
        #expect(server.poll(now: .milliseconds(2)) == [[0x1B, 3, 0, 6, 0x48]])
    }

    /// As Zephyr, which counts what has room of a value, and NimBLE, which cuts an answer anywhere: the central has
    /// read the last value again, by itself.
    @Test func `of values that were read together, one that may be cut is none of the device's`() throws {
        let long = [UInt8](1...30)
        let counted: [UInt8] = [0x21, 1, 0, 0xA1, 17, 0] + long.prefix(17)
        let (head, tail): ([UInt8], [UInt8]) = ([0x0B] + long.prefix(22), [0x0D] + long.dropFirst(22))
        let whole = [0x0B] + [UInt8](repeating: 0xBB, count: 16)
        // Behind the last value is half of a length.
        let halved: [UInt8] = [0x21, 1, 0, 0xA2, 16, 0] + whole.dropFirst() + [1]
        var server = try server(after: [
            .sent(0, [0x20, 3, 0, 5, 0]), .received(1, counted),
            .sent(2, [0x0A, 5, 0]), .received(3, head), .sent(4, [0x0C, 5, 0, 22, 0]), .received(5, tail),
            .sent(6, [0x20, 7, 0, 8, 0, 9, 0]), .received(7, halved), .sent(8, [0x0A, 8, 0]), .received(9, whole),
        ])
        #expect(server.received([0x0A, 3, 0], now: .zero) == [0x0B, 0xA1])
        #expect(server.received([0x0A, 5, 0], now: .zero) == head)
        #expect(server.received([0x0C, 5, 0, 22, 0], now: .zero) == tail)
        #expect(server.received([0x0A, 7, 0], now: .zero) == [0x0B, 0xA2])
        #expect(server.received([0x0A, 8, 0], now: .zero) == whole)
    }

    /// A declaration of a service has 2 or 16 octets, but a file may have any number.
    @Test func `a declaration that is longer than an answer can express is not listed`() throws {
        let value = [UInt8](repeating: 0xA5, count: 300)
        var server = try server(after: [
            .sent(0, [0x02, 0x05, 0x02]), .received(1, [0x03, 0x05, 0x02]),
            .sent(2, [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28] + value), .received(3, [0x07, 1, 0, 4, 0]),
        ])
        #expect(server.received([0x02, 0x05, 0x02], now: .zero) == [0x03, 0x05, 0x02])
        #expect(server.received([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], now: .zero) == [0x01, 0x10, 1, 0, 0x0A])
    }

    /// As programs do that keep the services of a device.
    @Test func `a write that was refused is refused, also to a handle that was not discovered`() throws {
        var server = try server(after: [.sent(0, [0x12, 3, 0, 0xA1]), .received(1, [0x01, 0x12, 3, 0, 0x05])])
        let answer = server.received([0x12, 3, 0, 0xA1], now: .zero)
        #expect(answer == [0x01, 0x12, 3, 0, 0x05])
    }

    @Test func `a long write of which a part was refused is refused`() throws {
        var server = try server(after: [
            .sent(0, [0x0A, 3, 0]), .received(1, [0x0B, 0xA0]),
            .sent(2, [0x16, 3, 0, 0, 0, 0xA1]), .received(3, [0x01, 0x16, 3, 0, 0x80]),
            .sent(4, [0x18, 0]), .received(5, [0x19]),
        ])
        _ = server.received([0x16, 3, 0, 0, 0, 0xA1], now: .zero)
        let answer = server.received([0x18, 1], now: .zero)
        #expect(answer == [0x01, 0x18, 3, 0, 0x80])
    }

    @Test func `a command that comes sooner after another one is answered after it`() throws {
        var server = try server(after: [
            .sent(0, [0x52, 3, 0, 0xA1]), .received(500, [0x1B, 3, 0, 0xB1]),
            .sent(1000, [0x52, 3, 0, 0xA2]), .received(1010, [0x1B, 3, 0, 0xB2]),
        ])
        _ = server.received([0x52, 3, 0, 0xA1], now: .zero)
        _ = server.received([0x52, 3, 0, 0xA2], now: .milliseconds(100))
        #expect(server.poll(now: .milliseconds(499)).isEmpty)
        #expect(server.poll(now: .milliseconds(500)) == [[0x1B, 3, 0, 0xB1], [0x1B, 3, 0, 0xB2]])
    }
}
