import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct TransformTests {
    @Test func `map transforms each element`() async throws {
        let played = try await play { $0.source("a-b|").map { $0.uppercased() } }
        #expect(played.output == "A-B|")
    }

    /// What every operator does with a closure of the program, which throws at "b".
    static let throwing = [
        OperatorContractTests.Operator("map") { $0.map { try refusing($0) } },
        OperatorContractTests.Operator("compactMap") { $0.compactMap { try refusing($0) } },
        OperatorContractTests.Operator("filter") { $0.filter { try refusing($0) == $0 } },
        OperatorContractTests.Operator("onEach") { $0.onEach { _ = try refusing($0) } },
        OperatorContractTests.Operator("take until element") { $0.take { try refusing($0) == "z" } },
        OperatorContractTests.Operator("distinct by key") { $0.distinct { try refusing($0) } },
        OperatorContractTests.Operator("reductions") { $0.reductions(into: "") { $0 = try refusing($1) } },
        OperatorContractTests.Operator("merged with source") { stream in
            [stream].merged { $0 }.map { try refusing($0.value) }
        },
        OperatorContractTests.Operator("flatMap") { $0.flatMap { BLEStream([try refusing($0)]) } },
        OperatorContractTests.Operator("presence") { stream in
            stream.presence(by: { try refusing($0) }, timeout: .seconds(90)).map(\.value)
        },
    ]

    private static func refusing(_ element: String) throws -> String {
        if element == "b" { throw Stage.failure }
        return element
    }

    @Test(arguments: throwing)
    func `an error of a closure ends the stream and closes the upstream`(
        tested: OperatorContractTests.Operator
    ) async throws {
        let played = try await play { tested.apply($0.source("a-b-c|")) }
        #expect(played.output == "a-#")
        #expect((played.error as? BLEError)?.code == .disconnected)
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test func `compactMap leaves out what gives nil`() async throws {
        let played = try await play { $0.source("1-x-3|").compactMap { Int($0) } }
        #expect(played.output == "1---3|")
    }

    @Test func `filter keeps what meets the condition`() async throws {
        let played = try await play { $0.source("(abc)b-a|").filter { $0 != "b" } }
        #expect(played.output == "(ac)--a|")
    }

    @Test func `a filter that nothing passes can be cancelled where the source never pauses`() async throws {
        let endless = BLEStream(repeatElement(1, count: .max)).filter { $0 == 2 }
        let task = Task { try await endless.first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `onEach sees each element before the consumer does`() async throws {
        let seen = Recorder<String>()
        for try await element in BLEStream(["a", "b"]).onEach({ seen.add("\($0) passes") }) {
            seen.add("\(element) is here")
        }
        #expect(seen.all == ["a passes", "a is here", "b passes", "b is here"])
    }

    @Test func `reductions begin afresh in each iteration`() async throws {
        let sums = BLEStream([1, 2, 3]).reductions(into: 0) { $0 += $1 }
        #expect(try await sums.collect() == [1, 3, 6])
        #expect(try await sums.collect() == [1, 3, 6])
    }

    @Test func `an error in a reduction ends the stream`() async throws {
        let played = try await play { stage in
            stage.source("ab|").reductions(into: "") { all, element in
                if element == "b" { throw Stage.failure }
                all += element
            }
        }
        #expect(played.output == "a#")
        #expect(played.closings == [1])
    }

    @Test func `distinct leaves out what repeats the element before`() async throws {
        let played = try await play { $0.source("aab-bba|").distinct() }
        #expect(played.output == "a-b---a|")
    }

    @Test func `distinct by key compares keys only`() async throws {
        let values = BLEStream([(1, "a"), (1, "b"), (2, "c"), (1, "d")]).distinct(by: \.0).map(\.1)
        #expect(try await values.collect() == ["a", "c", "d"])
        #expect(try await values.collect() == ["a", "c", "d"], "the second iteration remembers nothing of the first")
    }
}
