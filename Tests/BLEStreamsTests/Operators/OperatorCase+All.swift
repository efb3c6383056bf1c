import BLEStreams

extension OperatorCase {
    /// All operators, in the order of the guide.
    ///
    /// An operator of the public surface that isn't here, and one that isn't in the guide, fails a test.
    static let all = transforming + choosing + timing + combining + failing

    private static let transforming: [OperatorCase] = [
        OperatorCase("map(_:)")
            .passing { $0.map { $0 } }
            .throwing { $0.map { try refusing($0) } }
            .drawn("map", "a-b-c|", code: ".map { $0.uppercased() }") { $0[0].map { $0.uppercased() } },
        OperatorCase("compactMap(_:)")
            .passing { $0.compactMap { $0 } }
            .throwing { $0.compactMap { try refusing($0) } }
            .drawn("compactMap", "1-x-3|", code: ".compactMap { Int($0) }") { $0[0].compactMap { Int($0) } },
        OperatorCase("flatMap(merging:_:)")
            .passing("", .opening) { $0.flatMap { BLEStream([$0]) } }
            .throwing { $0.flatMap { BLEStream([try refusing($0)]) } }
            .drawn("flatMap", "a-b|", code: ".flatMap { BLEStream([$0, $0.uppercased()]) }") {
                $0[0].flatMap { BLEStream([$0, $0.uppercased()]) }
            }
            .passing("merging", .opening) { $0.flatMap(merging: 3) { BLEStream([$0]) } }
            .throwing("merging") { $0.flatMap(merging: 3) { BLEStream([try refusing($0)]) } }
            .drawn("flatMapMerging", "a-b|", "-1--2|", code: "a.flatMap(merging: 2) { x in b.map { x + $0 } }") {
                let (names, numbers) = ($0[0], $0[1])
                return names.flatMap(merging: 2) { x in numbers.map { x + $0 } }
            },
        OperatorCase("reductions(into:_:)")
            .passing { $0.reductions(into: "") { $0 = $1 } }
            .throwing { $0.reductions(into: "") { $0 = try refusing($1) } }
            .drawn("reductions", "a-b-c|", code: ".reductions(into: \"\") { $0 += $1 }") {
                $0[0].reductions(into: "") { $0 += $1 }
            },
        OperatorCase("movingAverage(ofLast:)")
            .passing { numbers($0).movingAverage(ofLast: 1).map(letter) }
            .drawn("movingAverage", "2-4-9-5|", code: ".movingAverage(ofLast: 2)") {
                $0[0].map { Double($0) ?? 0 }.movingAverage(ofLast: 2)
            },
        OperatorCase("movingAverage(over:limit:)")
            .passing { numbers($0).movingAverage(over: .seconds(90), limit: 1).map(letter) }
            .drawn("movingAverageOver", "2-4-9-5|", code: ".movingAverage(over: .seconds(3))") {
                $0[0].map { Double($0) ?? 0 }.movingAverage(over: .seconds(3))
            },
        OperatorCase("assembled(until:maximumSize:)")
            .passing { stream in
                stream.map { Array($0.utf8) + [0] }.assembled(until: .endOfMessage(atEndOfChunk: [0])).map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
            .drawn("assembled", "[one]-[two]-[EOM]|", code: ".assembled(until: .endOfMessage(\"EOM\"))") {
                $0[0].map { Array($0.utf8) }.assembled(until: .endOfMessage("EOM"))
                    .map { String(decoding: $0, as: UTF8.self) }
            },
        OperatorCase("bytes")
            .passing { $0.map { Array($0.utf8) }.bytes.map { String(decoding: [$0], as: UTF8.self) } }
            .drawn("bytes", "[on]-[off]|", code: ".bytes") {
                $0[0].map { Array($0.utf8) }.bytes.map { String(UnicodeScalar($0)) }
            },
        OperatorCase("batched(atMost:)")
            .passing { $0.batched(atMost: 1).map { $0[0] } }
            .drawn("batched", "abcdef---|", code: ".batched(atMost: 3)", isBusyFor: 3) {
                $0[0].batched(atMost: 3).map { $0.joined(separator: " ") }
            },
    ]

    private static let choosing: [OperatorCase] = [
        OperatorCase("filter(_:)")
            .passing { $0.filter { _ in true } }
            .throwing { $0.filter { try refusing($0) == $0 } }
            .drawn("filter", "1-2-3-4|", code: ".filter { Int($0)!.isMultiple(of: 2) }") {
                $0[0].filter { Int($0)?.isMultiple(of: 2) == true }
            },
        OperatorCase("distinct()")
            .passing { $0.distinct() }
            .drawn("distinct", "a-a-b-a|", code: ".distinct()") { $0[0].distinct() },
        OperatorCase("distinct(by:)")
            .passing { $0.distinct { $0 } }
            .throwing { $0.distinct { try refusing($0) } }
            .drawn("distinctBy", "a-A-b-a|", code: ".distinct { $0.lowercased() }") {
                $0[0].distinct { $0.lowercased() }
            },
        OperatorCase("prefix(_:)")
            .passing { $0.prefix(100) }
            .drawn("prefix", "a-b-c-d|", code: ".prefix(2)") { $0[0].prefix(2) },
        OperatorCase("prefix(for:)")
            .passing { $0.prefix(for: .seconds(90)) }
            .drawn("prefixFor", "a-b-c-d|", code: ".prefix(for: .seconds(3))") { $0[0].prefix(for: .seconds(3)) },
        OperatorCase("dropFirst(_:)")
            .passing { $0.dropFirst(0) }
            .drawn("dropFirst", "a-b-c|", code: ".dropFirst()") { $0[0].dropFirst() },
        OperatorCase("drop(while:)")
            .passing { $0.drop { _ in false } }
            .drawn("dropWhile", "1-3-2-3|", code: ".drop { $0 != \"2\" }") { $0[0].drop { $0 != "2" } },
        OperatorCase("take(including:until:)")
            .passing { $0.take { $0 == "z" } }
            .throwing { $0.take { try refusing($0) == "z" } }
            .drawn("takeUntilElement", "a-b-c|", code: ".take { $0 == \"b\" }") { $0[0].take { $0 == "b" } },
        OperatorCase("take(until:)")
            .passing { $0.take(until: never) }
            .drawn("takeUntil", "a-b-c-d|", "---x", code: "a.take(until: b)") { $0[0].take(until: $0[1]) },
    ]

    private static let timing: [OperatorCase] = [
        OperatorCase("throttle(for:)")
            .passing("", .buffering) { $0.throttle(for: .nanoseconds(1)) }
            .drawn("throttle", "abcde--f|", code: ".throttle(for: .milliseconds(2500))") {
                $0[0].throttle(for: .milliseconds(2500))
            },
        OperatorCase("debounce(for:)")
            .exempt(since: "of elements that come together it delivers the last one")
            .drawn("debounce", "ab---c--|", code: ".debounce(for: .seconds(2))") { $0[0].debounce(for: .seconds(2)) },
        OperatorCase("timeout(_:for:)")
            .passing { $0.timeout(.seconds(90)) }
            .passing("for the first value") { $0.timeout(.seconds(90), for: .firstValue) }
            .passing("for the whole stream") { $0.timeout(.seconds(90), for: .wholeStream) }
            .drawn("timeout", "a-b-----c|", code: ".timeout(.seconds(3))") { $0[0].timeout(.seconds(3)) },
        OperatorCase("buffered(_:)")
            .passing("", .buffering) { $0.buffered(.unbounded) }
            .drawn("buffered", "abcdef---|", code: ".buffered(.newest(1))", isBusyFor: 3) {
                $0[0].buffered(.newest(1))
            },
        OperatorCase("presence(by:timeout:limit:)")
            .passing { $0.presence(by: { $0 }, timeout: .seconds(90)).map(\.value) }
            .throwing { stream in stream.presence(by: { try refusing($0) }, timeout: .seconds(90)).map(\.value) }
            .drawn("presence", "a-b-b-b-|", code: ".presence(by: { $0 }, timeout: .seconds(3))") {
                $0[0].presence(by: { $0 }, timeout: .seconds(3)).compactMap { event -> String? in
                    switch event {
                    case .enter(let key, _): "+\(key)"
                    case .leave(let key, _): "−\(key)"
                    case .update: nil
                    }
                }
            },
        OperatorCase("presence(timeout:limit:)")
            .exempt(since: "its elements are discoveries; it is presence(by:timeout:limit:) by their addresses"),
        OperatorCase("onEach(_:)")
            .passing { $0.onEach { _ in } }
            .throwing { $0.onEach { _ = try refusing($0) } }
            .drawn("onEach", "a-b|", code: ".onEach { print($0) }") { $0[0].onEach { _ in } },
    ]

    private static let combining: [OperatorCase] = [
        OperatorCase("merge(with:)")
            .passing { $0.merge(with: BLEStream([])) }
            .drawn("merge", "a--b--c|", "-1--2|", code: "a.merge(with: b)") { $0[0].merge(with: $0[1]) },
        OperatorCase("merged()")
            .passing { [$0].merged() }
            .drawn("merged", "a--b|", "-1--2|", "--x|", code: "[a, b, c].merged()") { $0.merged() },
        OperatorCase("merged(_:)")
            .passing { [$0].merged { $0 }.map { $0.value } }
            .throwing { stream in [stream].merged { $0 }.map { try refusing($0.value) } }
            .drawn("mergedBySource", "a--b|", "-c--d|", code: "[0, 1].merged { streams[$0] }") { streams in
                [0, 1].merged { streams[$0] }.map { "\($0.source): \($0.value)" }
            },
        OperatorCase("zip(with:)")
            .passing("", .pairing) { $0.zip(with: hundred).map(\.0) }
            .drawn("zip", "a--b--c|", "-1-----2|", code: "a.zip(with: b)") {
                $0[0].zip(with: $0[1]).map { $0.0 + $0.1 }
            },
        OperatorCase("combineLatest(with:)")
            .passing { $0.combineLatest(with: BLEStream([0])).map(\.0) }
            .drawn("combineLatest", "a--b--c|", "-1---2|", code: "a.combineLatest(with: b)") {
                $0[0].combineLatest(with: $0[1]).map { $0.0 + $0.1 }
            },
        OperatorCase("share(replay:buffer:)")
            .passing("", .buffering) { $0.share() }
            .passing("with replay", .buffering) { $0.share(replay: 3) }
            .passing("twice", .buffering) { $0.share().share() }
            .drawn("share", "-a-b|", code: "let s = a.share(); s.merge(with: s)") {
                let shared = $0[0].share()
                return shared.merge(with: shared)
            },
    ]

    private static let failing: [OperatorCase] = [
        OperatorCase("retry(_:when:)")
            .passing("that isn't worthwhile") { $0.retry(.constant(.seconds(1))) { _ in false } }
            .drawn("retry", "a-#,b-c|", code: ".retry(.constant(.seconds(2)))") {
                $0[0].retry(.constant(.seconds(2)))
            },
        OperatorCase("withGaps()")
            .passing { $0.withGaps().compactMap(\.value) }
            .drawn("withGaps", "a-#,b-c|", code: ".retry(.constant(.seconds(2))).withGaps()") {
                $0[0].retry(.constant(.seconds(2))).withGaps()
            },
    ]

    private static let never = BLEStream<Int> { _ in {} }

    private static let hundred = BLEStream<Int> { feed in
        feed.send(contentsOf: 0..<100)
        return {}
    }

    private static func numbers(_ stream: BLEStream<String>) -> BLEStream<Double> {
        stream.map { $0.utf8.reduce(0) { $0 * 256 + Double($1) } }
    }

    @Sendable private static func letter(_ number: Double) -> String { String(UnicodeScalar(UInt8(number))) }
}
