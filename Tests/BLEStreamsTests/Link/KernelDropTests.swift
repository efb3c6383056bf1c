import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Where the loss of a PDU in the kernel's queue is told: on the stream that it must have been for, else on the link.
@Suite(.timeLimit(.minutes(10))) struct KernelDropTests {
    private static let first = BluetoothUUID(0xA001)
    private static let second = BluetoothUUID(0xA002)

    private func withLink(_ body: (Link, AnsweringLink) async throws -> Void) async throws {
        let radio = OneLinkRadio()
        let central = try await Central.open(.radio(radio))
        try await central.peripheral(radio.link.peer).withLink { link in
            _ = try await link.discover()
            try await body(link, radio.link)
        }
    }

    private func text(_ item: Gapped<CharacteristicValue>?) -> String {
        switch item {
        case .value(let value)?: value.hex
        case .gap(let gap)?: "\(gap.dropped) dropped"
        case nil: "end"
        }
    }

    @Test func `what is missing is the only subscription's, and stands where it is missing`() async throws {
        try await withLink { link, radioLink in
            let values = link.notifications(of: Self.first)
            var items = values.withGaps().makeAsyncIterator()
            radioLink.subscribed([[0x1B, 3, 0, 1]])
            var seen = [text(try await items.next())]
            radioLink.bring([[0x1B, 3, 0, 2]])
            radioLink.drop(7)
            radioLink.bring([[0x1B, 3, 0, 3]])
            for _ in 0..<3 { seen.append(text(try await items.next())) }
            #expect(seen == ["01", "02", "7 dropped", "03"])
            #expect(values.counters.received == 10)
            #expect(values.counters.dropped == 7)
            #expect(values.counters.delivered == 3)
            #expect(link.droppedPDUs == 7)
        }
    }

    @Test func `the link's own subscription to Service Changed takes no loss from the only stream`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(6)) { bench in
            try await bench.peripheral.withLink { link in
                let serviceChanged = try await link.discover().characteristic(BluetoothUUID(0x2A05))
                #expect(serviceChanged != nil)
                bench.air.faults.add(.overflow(.notifications).skipping(1).times(3))
                let values = link.notifications(of: Bench.notifying)
                #expect(try await values.map { UInt32(octets: $0) }.prefix(3).collect() == [0, 4, 5])
                #expect(values.counters.dropped == 3)
                #expect(link.droppedPDUs == 3)
            }
        }
    }

    @Test func `with two subscriptions nobody can tell whose it was, so only the link does`() async throws {
        try await withLink { link, radioLink in
            let (left, right) = (link.notifications(of: Self.first), link.notifications(of: Self.second))
            var leftItems = left.withGaps().makeAsyncIterator()
            var rightItems = right.withGaps().makeAsyncIterator()
            radioLink.subscribed([[0x1B, 3, 0, 1]])
            _ = try await leftItems.next()
            radioLink.subscribed([[0x1B, 6, 0, 1]])
            _ = try await rightItems.next()
            radioLink.drop(7)
            radioLink.bring([[0x1B, 3, 0, 2], [0x1B, 6, 0, 2]])
            #expect(text(try await leftItems.next()) == "02")
            #expect(text(try await rightItems.next()) == "02")
            #expect(left.counters.dropped == 0 && right.counters.dropped == 0)
            #expect(link.droppedPDUs == 7)
        }
    }

    @Test func `while an answer is awaited it may be what is missing, so only the link tells`() async throws {
        try await withLink { link, radioLink in
            let values = link.notifications(of: Self.first)
            var items = values.withGaps().makeAsyncIterator()
            radioLink.subscribed([[0x1B, 3, 0, 1]])
            _ = try await items.next()
            radioLink.withholdAnswers(true)
            let reading = Task { try await link.read(.handle(3)) }
            while radioLink.sent.last != [0x0A, 3, 0] { await Task.yield() }
            radioLink.drop(1)
            radioLink.withholdAnswers(false)
            #expect(try await reading.value.hex == "2a")
            radioLink.drop(2)
            radioLink.bring([[0x1B, 3, 0, 2]])
            #expect(text(try await items.next()) == "2 dropped")
            #expect(link.droppedPDUs == 3)
        }
    }

    @Test func `without a subscription the link tells`() async throws {
        try await withLink { link, radioLink in
            radioLink.drop(5)
            radioLink.drop(1)
            #expect(link.droppedPDUs == 6)
        }
    }
}
