import BLEStreams
import Testing

/// One operator as the guide of the operators shows it: what comes in, what it is called with, and what comes out.
struct OperatorPicture: Sendable {
    /// The file's name, without its end.
    let name: String
    /// The streams that go in, as diagrams; one that is opened again has a diagram for each time, with commas between.
    let inputs: [String]
    /// The call, as a program writes it.
    let code: String
    /// Plays the inputs in virtual time, and says what comes out.
    let perform: @Sendable () async throws -> String

    /// - Parameter build: chains the operator to the inputs.
    init<Element: Sendable>(
        _ name: String,
        _ inputs: String...,
        code: String,
        isBusyFor: Int = 0,
        build: @escaping @Sendable ([BLEStream<String>]) -> BLEStream<Element>
    ) {
        self.name = name
        self.inputs = inputs
        self.code = code
        perform = {
            let played = try await play(Consumer(isBusyFor: isBusyFor)) { stage in
                build(inputs.map { stage.source(iterations: $0.split(separator: ",").map(String.init)) })
            }
            return played.output
        }
    }
}

extension OperatorPicture {
    /// Every operator of which a picture says more than words.
    static let all: [OperatorPicture] =
        transforming + choosing + timing + combining + failing

    private static let transforming: [OperatorPicture] = [
        OperatorPicture("map", "a-b-c|", code: ".map { $0.uppercased() }") { $0[0].map { $0.uppercased() } },
        OperatorPicture("compactMap", "1-x-3|", code: ".compactMap { Int($0) }") { $0[0].compactMap { Int($0) } },
        OperatorPicture("flatMap", "a-b|", code: ".flatMap { BLEStream([$0, $0.uppercased()]) }") {
            $0[0].flatMap { BLEStream([$0, $0.uppercased()]) }
        },
        OperatorPicture("reductions", "a-b-c|", code: ".reductions(into: \"\") { $0 += $1 }") {
            $0[0].reductions(into: "") { $0 += $1 }
        },
        OperatorPicture("movingAverage", "2-4-9-5|", code: ".movingAverage(ofLast: 2)") {
            $0[0].map { Double($0) ?? 0 }.movingAverage(ofLast: 2)
        },
        OperatorPicture("assembled", "[one]-[two]-[EOM]|", code: ".assembled(until: .endOfMessage(\"EOM\"))") {
            $0[0].map { Array($0.utf8) }.assembled(until: .endOfMessage("EOM"))
                .map { String(decoding: $0, as: UTF8.self) }
        },
        OperatorPicture("bytes", "[on]-[off]|", code: ".bytes") {
            $0[0].map { Array($0.utf8) }.bytes.map { String(UnicodeScalar($0)) }
        },
    ]

    private static let choosing: [OperatorPicture] = [
        OperatorPicture("filter", "1-2-3-4|", code: ".filter { Int($0)!.isMultiple(of: 2) }") {
            $0[0].filter { Int($0)?.isMultiple(of: 2) == true }
        },
        OperatorPicture("distinct", "a-a-b-a|", code: ".distinct()") { $0[0].distinct() },
        OperatorPicture("prefix", "a-b-c-d|", code: ".prefix(2)") { $0[0].prefix(2) },
        OperatorPicture("prefixFor", "a-b-c-d|", code: ".prefix(for: .seconds(3))") { $0[0].prefix(for: .seconds(3)) },
        OperatorPicture("dropFirst", "a-b-c|", code: ".dropFirst()") { $0[0].dropFirst() },
        OperatorPicture("dropWhile", "1-3-2-3|", code: ".drop { $0 != \"2\" }") { $0[0].drop { $0 != "2" } },
        OperatorPicture("takeUntilElement", "a-b-c|", code: ".take { $0 == \"b\" }") { $0[0].take { $0 == "b" } },
        OperatorPicture("takeUntil", "a-b-c-d|", "---x", code: "a.take(until: b)") { $0[0].take(until: $0[1]) },
    ]

    private static let timing: [OperatorPicture] = [
        OperatorPicture("throttle", "abcde--f|", code: ".throttle(for: .milliseconds(2500))") {
            $0[0].throttle(for: .milliseconds(2500))
        },
        OperatorPicture("debounce", "ab---c--|", code: ".debounce(for: .seconds(2))") {
            $0[0].debounce(for: .seconds(2))
        },
        OperatorPicture("timeout", "a-b-----c|", code: ".timeout(.seconds(3))") { $0[0].timeout(.seconds(3)) },
        OperatorPicture("buffered", "abcdef---|", code: ".buffered(.newest(1))", isBusyFor: 3) {
            $0[0].buffered(.newest(1))
        },
        OperatorPicture("presence", "a-b-b-b-|", code: ".presence(by: { $0 }, timeout: .seconds(3))") {
            $0[0].presence(by: { $0 }, timeout: .seconds(3)).compactMap { event -> String? in
                switch event {
                case .enter(let key, _): "+\(key)"
                case .leave(let key, _): "−\(key)"
                case .update: nil
                }
            }
        },
    ]

    private static let combining: [OperatorPicture] = [
        OperatorPicture("merge", "a--b--c|", "-1--2|", code: "a.merge(with: b)") { $0[0].merge(with: $0[1]) },
        OperatorPicture("zip", "a--b--c|", "-1-----2|", code: "a.zip(with: b)") {
            $0[0].zip(with: $0[1]).map { $0.0 + $0.1 }
        },
        OperatorPicture("combineLatest", "a--b--c|", "-1---2|", code: "a.combineLatest(with: b)") {
            $0[0].combineLatest(with: $0[1]).map { $0.0 + $0.1 }
        },
        OperatorPicture("flatMapMerging", "a-b|", "-1--2|", code: "a.flatMap(merging: 2) { x in b.map { x + $0 } }") {
            let (names, numbers) = ($0[0], $0[1])
            return names.flatMap(merging: 2) { x in numbers.map { x + $0 } }
        },
        OperatorPicture("share", "-a-b|", code: "let s = a.share(); s.merge(with: s)") {
            let shared = $0[0].share()
            return shared.merge(with: shared)
        },
    ]

    private static let failing: [OperatorPicture] = [
        OperatorPicture("retry", "a-#,b-c|", code: ".retry(.constant(.seconds(2)))") {
            $0[0].retry(.constant(.seconds(2)))
        },
        OperatorPicture("withGaps", "a-#,b-c|", code: ".retry(.constant(.seconds(2))).withGaps()") {
            $0[0].retry(.constant(.seconds(2))).withGaps()
        },
    ]
}
