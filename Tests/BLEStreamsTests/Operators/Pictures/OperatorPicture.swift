import BLERadio
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
        _ inputs: [String],
        code: String,
        isBusyFor: Int,
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

    /// A picture of a source, into which nothing goes.
    init<Element: Sendable>(
        _ name: String,
        code: String,
        build: @escaping @Sendable (any Timeline) -> BLEStream<Element>
    ) {
        (self.name, inputs, self.code) = (name, [], code)
        perform = { try await play { build($0.time) }.output }
    }
}

extension OperatorPicture {
    /// Those of all operators, and of the sources that are clocks.
    static let all = OperatorCase.all.flatMap(\.pictures) + clocks

    private static let clocks = [
        OperatorPicture("interval", code: "BLEStream.interval(.seconds(2)).prefix(3)") {
            BLEStream.interval(.seconds(2), timeline: $0).prefix(3)
        },
        OperatorPicture("timer", code: "BLEStream.timer(after: .seconds(3))") {
            BLEStream.timer(after: .seconds(3), timeline: $0).map { "()" }
        },
    ]
}
