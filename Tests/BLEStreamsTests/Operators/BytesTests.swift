import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct BytesTests {
    @Test func `the octets of a chunk come one by one, those of an empty one not at all`() async throws {
        let octets = BLEStream<[UInt8]>([[1, 2], [], [3]]).bytes
        #expect(try await octets.collect() == [1, 2, 3])
    }

    @Test func `octets that come together come in one second, in order`() async throws {
        let played = try await play { stage in
            stage.source("[ab]-[cd]e|").map { Array($0.utf8) }.bytes.map { String(decoding: [$0], as: UTF8.self) }
        }
        #expect(played.output == "(ab)-(cd)e|")
    }

    @Test func `a chunk that was dropped ends the stream behind what came before it`() async throws {
        let stream = BLEStream<[UInt8]> { feed in
            feed.send([1, 2])
            feed.lost(3)
            feed.send([9])
            return {}
        }
        var octets = stream.bytes.makeAsyncIterator()
        #expect(try await octets.next() == 1)
        #expect(try await octets.next() == 2)
        let error = await bleError { _ = try await octets.next() }
        #expect(error?.code == .overflow && error?.cause.hasPrefix("3 chunks") == true)
    }

    @Test func `leaving in the middle of a chunk closes the upstream at once`() async throws {
        let played = try await play(Consumer(breaksAfter: 1)) { stage in
            stage.source("[ab]-c|").map { Array($0.utf8) }.bytes.map { String(decoding: [$0], as: UTF8.self) }
        }
        #expect(played.output == "a")
        #expect(played.openings == ["0..<0"])
        #expect(played.closings == [1])
    }
}
