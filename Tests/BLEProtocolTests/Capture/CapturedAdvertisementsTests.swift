import Testing

@testable import BLEProtocol

/// What a recording tells of advertisements, also where several adapters hear the same device at the same time.
@Suite struct CapturedAdvertisementsTests {
    private static let address: [UInt8] = [0x01, 0x00, 0x00, 0x00, 0x00, 0xC0]

    /// An LE Meta event as btmon records it.
    private func event(_ subevent: UInt8, _ parameters: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [0x3E, UInt8(parameters.count + 1), subevent]
        return head + parameters
    }

    /// A report of a packet of Bluetooth 4: an advertisement, or its scan response.
    private func report(_ data: [UInt8], isResponse: Bool = false) -> [UInt8] {
        var parameters: [UInt8] = [0x01, isResponse ? 0x04 : 0x00, 0x01]
        parameters += Self.address
        parameters.append(UInt8(data.count))
        parameters += data
        parameters.append(0xD0)
        return event(0x02, parameters)
    }

    /// A part of a long advertisement of set 3.
    private func part(_ data: [UInt8], isLast: Bool) -> [UInt8] {
        var parameters: [UInt8] = [0x01, isLast ? 0x00 : 0x20, 0x00, 0x01]
        parameters += Self.address
        // PHYs, set, power, strength, interval, no target.
        parameters += [0x01, 0x01, 0x03, 0x7F, 0xD0] as [UInt8]
        parameters += [UInt8](repeating: 0, count: 9)
        parameters.append(UInt8(data.count))
        parameters += data
        return event(0x0D, parameters)
    }

    /// What is heard in a recording of these events, one each millisecond.
    private func heard(_ events: [(adapter: UInt16, octets: [UInt8])]) throws -> [[UInt8]] {
        try advertisements(events).map(\.data)
    }

    private func advertisements(
        _ events: [(adapter: UInt16, octets: [UInt8])]
    ) throws -> [CapturedTraffic.Advertisement] {
        var file = BTSnoopHeader(datalink: .linuxMonitor).encoded
        for (number, event) in events.enumerated() {
            let time = Duration.milliseconds(number)
            file += BTSnoopRecord(opcode: .event, index: event.adapter, time: time, data: event.octets).encoded
        }
        return try #require(CaptureReader.traffic(in: file)).advertisements
    }

    @Test func `the parts of a long advertisement are joined to those that the same adapter has heard`() throws {
        let (first, last) = (part([1], isLast: false), part([2], isLast: true))
        #expect(try heard([(0, first), (1, first), (0, last), (1, last)]) == [[1, 2], [1, 2]])
    }

    @Test func `a scan response belongs to the advertisement that the same adapter has heard`() throws {
        let (advertisement, response) = (report([1, 1]), report([1, 2], isResponse: true))
        let both = try heard([(0, advertisement), (1, advertisement), (0, response), (1, response)])
        #expect(both == [[1, 1, 1, 2], [1, 1, 1, 2]])
        #expect(try heard([(0, advertisement), (1, response)]) == [[1, 1], [1, 2]])
    }

    /// A controller that reports each device once leaves out the advertisements behind the first one, and not the first
    /// response that comes after them.
    @Test func `a scan response without its advertisement is one of its own`() throws {
        let (advertisement, response) = (report([1, 1]), report([1, 2], isResponse: true))
        let heard = try advertisements([(0, advertisement), (0, response), (0, response), (1, response)])
        #expect(heard.map(\.data) == [[1, 1, 1, 2], [1, 2], [1, 2]])
        #expect(heard.map(\.isResponseAlone) == [false, true, true])
        #expect(heard.map(\.isConnectable) == [true, true, true])
    }

    @Test func `what pads an advertisement hides nothing of its scan response`() throws {
        let padded = report([2, 1, 6] + [UInt8](repeating: 0, count: 28))
        let response = report([3, 9, 0x41, 0x42], isResponse: true)
        #expect(try heard([(0, padded), (0, response)]) == [[2, 1, 6, 3, 9, 0x41, 0x42]])
    }

    @Test(arguments: [Duration.seconds(1_700_000_000), .seconds(-3600)])
    func `time goes on where the clock of the recording machine was set`(difference: Duration) throws {
        var file = BTSnoopHeader(datalink: .linuxMonitor).encoded
        for number in 0..<4 {
            var time = Duration.seconds(100_000 + 10 * number)
            if number > 1 { time += difference }
            let octets = report([UInt8(number)])
            file += BTSnoopRecord(opcode: .event, index: 0, time: time, data: octets).encoded
        }
        let traffic = try #require(CaptureReader.traffic(in: file))
        #expect(traffic.advertisements.map(\.data) == [[0], [1], [2], [3]])
        let begin = try #require(traffic.begin)
        let times = traffic.advertisements.map { $0.time - begin }
        #expect(times == [.zero, .seconds(10), .seconds(10), .seconds(20)])
    }
}
