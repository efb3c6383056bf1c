import BLEProtocol
import BLEStreams
import Testing

/// PDUs that the kernel has dropped and that may have been anybody's: no message of anybody has a hole there.
@Suite(.timeLimit(.minutes(10))) struct UnknownLossTests {
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

    /// A notification of the first characteristic.
    private static func chunk(_ text: String) -> [UInt8] { [0x1B, 3, 0] + Array(text.utf8) }

    fileprivate static func lines(_ chunks: BLEStream<some Collection<UInt8> & Sendable>) -> BLEStream<[UInt8]> {
        chunks.assembled(until: .delimiter("\n"))
    }

    /// Checks that a message ends the stream behind the part before the loss.
    private func expectLoss(_ error: BLEError?, behind part: String) {
        #expect(error?.code == .overflow && error?.received == Array(part.utf8), "\(error as Any)")
        #expect(error?.cause.contains("another subscription") == true && error?.remedy.isEmpty == false)
    }

    @Test func `of two subscriptions, messages fail where something is missing, and values go on`() async throws {
        try await withLink { link, radioLink in
            let (left, right) = (link.notifications(of: Self.first), link.notifications(of: Self.second))
            var others = right.withGaps().makeAsyncIterator()
            radioLink.subscribed([[0x1B, 6, 0, 1]])
            _ = try await others.next()
            var lines = Self.lines(left).makeAsyncIterator()
            radioLink.subscribed([Self.chunk("one\n")])
            #expect(try await lines.next() == Array("one".utf8))
            radioLink.bring([Self.chunk("tw")])
            radioLink.drop(1)
            radioLink.bring([Self.chunk("o\nthree\n"), [0x1B, 6, 0, 2]])
            #expect(left.counters.received == 3 && left.counters.dropped == 0)
            expectLoss(await bleError { _ = try await lines.next() }, behind: "tw")
            let value = try await others.next()?.value
            #expect(value?.hex == "02", "no gap is shown")
            #expect(right.counters.received == 2 && right.counters.dropped == 0 && link.droppedPDUs == 1)
        }
    }

    @Test func `octets one by one fail there too`() async throws {
        try await withLink { link, radioLink in
            var others = link.notifications(of: Self.second).makeAsyncIterator()
            radioLink.subscribed([[0x1B, 6, 0, 1]])
            _ = try await others.next()
            var octets = link.notifications(of: Self.first).bytes.makeAsyncIterator()
            radioLink.subscribed([Self.chunk("a")])
            #expect(try await octets.next() == UInt8(ascii: "a"))
            radioLink.drop(1)
            radioLink.bring([Self.chunk("c")])
            let error = await bleError { _ = try await octets.next() }
            #expect(error?.code == .overflow && error?.cause.contains("another subscription") == true)
        }
    }

    @Test func `while an answer is awaited, the only subscription's messages fail too`() async throws {
        try await withLink { link, radioLink in
            var lines = Self.lines(link.notifications(of: Self.first)).makeAsyncIterator()
            radioLink.subscribed([Self.chunk("one\n")])
            _ = try await lines.next()
            radioLink.withholdAnswers(true)
            async let reading = link.read(.handle(3))
            while radioLink.sent.last != [0x0A, 3, 0] { await Task.yield() }
            radioLink.bring([Self.chunk("tw")])
            radioLink.drop(1)
            radioLink.withholdAnswers(false)
            let read = try await reading
            #expect(read.hex == "2a")
            radioLink.bring([Self.chunk("o\n")])
            expectLoss(await bleError { _ = try await lines.next() }, behind: "tw")
        }
    }

    /// What may lie between the source and its messages, or behind them.
    enum Chain: String, CaseIterable {
        case filter, map, onEach, dropFirst, prefix, prefixFor, timeout, retry, share, replay, buffered, merge, gaps
        case batched, zip, sharedMessages, bufferedMessages

        fileprivate func lines(_ values: BLEStream<CharacteristicValue>) -> BLEStream<[UInt8]> {
            switch self {
            case .filter: UnknownLossTests.lines(values.filter { !$0.isEmpty })
            case .map: UnknownLossTests.lines(values.map { Array($0) })
            case .onEach: UnknownLossTests.lines(values.onEach { _ in })
            case .dropFirst: UnknownLossTests.lines(values.dropFirst(0))
            case .prefix: UnknownLossTests.lines(values.prefix(100))
            case .prefixFor: UnknownLossTests.lines(values.prefix(for: .seconds(3600)))
            case .timeout: UnknownLossTests.lines(values.timeout(.seconds(3600)))
            case .retry: UnknownLossTests.lines(values.retry())
            case .share: UnknownLossTests.lines(values.share())
            case .replay: UnknownLossTests.lines(values.share(replay: 1))
            case .buffered: UnknownLossTests.lines(values.buffered(.newest(100)))
            case .merge: UnknownLossTests.lines(values.merge(with: BLEStream([] as [CharacteristicValue])))
            case .gaps: UnknownLossTests.lines(values.withGaps().compactMap { $0.value })
            case .batched:
                UnknownLossTests.lines(values.batched().map { batch -> [UInt8] in batch.flatMap { Array($0) } })
            case .zip: UnknownLossTests.lines(values.zip(with: BLEStream<Int>(0..<100)).map { Array($0.0) })
            case .sharedMessages: UnknownLossTests.lines(values).share()
            case .bufferedMessages: UnknownLossTests.lines(values).buffered(.unbounded)
            }
        }
    }

    @Test(arguments: Chain.allCases) func `what lies between passes it on in its place`(chain: Chain) async throws {
        try await withLink { link, radioLink in
            var others = link.notifications(of: Self.second).makeAsyncIterator()
            radioLink.subscribed([[0x1B, 6, 0, 1]])
            _ = try await others.next()
            var lines = chain.lines(link.notifications(of: Self.first)).makeAsyncIterator()
            radioLink.subscribed([Self.chunk("one\n")])
            #expect(try await lines.next() == Array("one".utf8))
            radioLink.bring([Self.chunk("two\nthr")])
            radioLink.drop(1)
            radioLink.bring([Self.chunk("ee\nfour\n")])
            #expect(try await lines.next() == Array("two".utf8))
            expectLoss(await bleError { _ = try await lines.next() }, behind: "thr")
        }
    }

    @Test func `messages of a value that is read first fail there too`() async throws {
        try await withLink { link, radioLink in
            var others = link.notifications(of: Self.second).makeAsyncIterator()
            radioLink.subscribed([[0x1B, 6, 0, 1]])
            _ = try await others.next()
            radioLink.subscribed([])
            // It is read as 42, an asterisk.
            var lines = Self.lines(link.values(of: Self.first)).makeAsyncIterator()
            radioLink.read([Self.chunk("one\n")])
            #expect(try await lines.next() == Array("*one".utf8))
            radioLink.drop(1)
            radioLink.bring([Self.chunk("two\n")])
            let error = await bleError { _ = try await lines.next() }
            #expect(error?.code == .overflow && error?.received == nil)
        }
    }

    @Test func `values from before the subscription have the place of the loss among them`() async throws {
        try await withLink { link, radioLink in
            radioLink.bring([Self.chunk("one\ntw")])
            radioLink.drop(1)
            radioLink.bring([Self.chunk("o\n")])
            var lines = Self.lines(link.notifications(of: Self.first)).makeAsyncIterator()
            let first = try await lines.next()
            #expect(first == Array("one".utf8))
            expectLoss(await bleError { _ = try await lines.next() }, behind: "tw")
        }
    }

    @Test func `values from before the subscription may lack their beginning`() async throws {
        try await withLink { link, radioLink in
            radioLink.drop(1)
            radioLink.bring([Self.chunk("o\n")])
            let error = await bleError { _ = try await Self.lines(link.notifications(of: Self.first)).first() }
            #expect(error?.code == .overflow && error?.received == nil)
        }
    }
}
