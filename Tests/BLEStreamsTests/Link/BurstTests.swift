import BLEStreams
import Testing

/// PDUs that one wake-up of the radio brings together.
@Suite(.timeLimit(.minutes(10))) struct BurstTests {
    private static let first = BluetoothUUID(0xA001)

    @Test func `a notification that comes together with the value that is read is not lost`() async throws {
        let radio = OneLinkRadio()
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(radio.link.peer).withLink { link in
            _ = try await link.discover()
            radio.link.read([[0x1B, 3, 0, 2]])
            var values = link.values(of: Self.first).makeAsyncIterator()
            let beginning = try await values.next()
            radio.link.bring([[0x1B, 3, 0, 3]])
            let next = try await values.next()
            #expect(beginning?.hex != "02" && next?.hex == "02")
        }
    }
}
