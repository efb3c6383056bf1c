import BLERadio
import BLEStreams

/// Shows the conditions of a link, and each change of them.
struct LinkCommand: Command {
    static let name = "link"
    static let summary = "show the conditions of the link to a device, and each change"
    static let parameters = ["ADDRESS"]
    static let options =
        [
            Option(
                "parameters",
                value: "WHAT",
                help: "the connection parameters: fast, balanced or lowPower; repeat it to change them afterwards"
            ),
            Option(
                "limits",
                value: "MIN..MAX",
                help: "the intervals in ms that the device may request; others are reverted, up to three times in a row"
            ),
        ] + StreamLimits.options
    static let notes = """
        The link is made with the first --parameters, and changed to the next ones as soon as the previous ones are in
        force; that of a shell is changed to the first ones, too. Without --timeout or --count it runs until Ctrl-C, or
        until the link is lost; --timeout includes the time to connect. On Linux, reading the times of a link requires
        CAP_NET_RAW, and changing them CAP_NET_ADMIN; changing them on a link that is up requires Linux 6.11.
        """

    private let peripheral: PeripheralName
    private let limits: StreamLimits
    private let wishes: [ConnectionParameters]
    /// Whether an option says what the link is to be like.
    private let isWishful: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(arguments.parameters(Self.parameters)[0])
        limits = try StreamLimits(
            Self.name,
            arguments,
            about: "with \(peripheral.text)",
            remedy: "A link changes when one of its sides asks for it. Ask with another --parameters, or allow more "
                + "time with --timeout."
        )
        let bounds = try arguments.connectionLimits("limits")
        var wishes = try arguments.linkParameters("parameters")
        if wishes.isEmpty { wishes = [.balanced] }
        if let bounds {
            wishes = try wishes.map { wish throws(UsageError) in
                do throws(BLEError) {
                    return try wish.limited(to: bounds)
                } catch {
                    let (low, high) = (wish.interval.lowerBound, wish.interval.upperBound)
                    let range = "\((low.seconds * 1000).plainText)..\((high.seconds * 1000).plainText)"
                    throw UsageError("--limits: they must include \(range), the interval of the --parameters")
                }
            }
        }
        self.wishes = wishes
        isWishful = arguments.has("parameters") || bounds != nil
    }

    func run(in environment: CommandEnvironment) async throws {
        let peripheral = try environment.peripheral(peripheral)
        let limits = limits.begun()
        var wishes = wishes[...]
        let first = wishes.removeFirst()
        try await environment.talkingAbout(peripheral) {
            try await peripheral.withLink(timeout: limits.remaining ?? .seconds(30), parameters: first) { link in
                // A link that was there already may have its former conditions for a moment.
                let isShared = try await environment.usesLinkOfShell()
                var isInForce = !(isShared && isWishful)
                if !isInForce { try await peripheral.prefer(first) }
                // The next request is made once the last one is in effect.
                let changes = link.conditionChanges
                var isWaiting = true
                try await environment.printAll(changes, limits) { conditions in
                    if let why = conditions.whyIncomplete { environment.log.detail(why.messageText) }
                    if let error = conditions.breach?.error { environment.log.say(error.messageText) }
                    try environment.output.print(conditions.lineJSON, conditions.line)
                    return .value
                } after: { conditions in
                    isInForce = isInForce || conditions.interval.map { first.interval.contains($0) } ?? true
                    guard isInForce, isWaiting, conditions.breach == nil, let next = wishes.popFirst() else { return }
                    isWaiting = !wishes.isEmpty
                    try await peripheral.prefer(next)
                }
            }
        }
    }
}

extension LinkConditions {
    fileprivate var lineJSON: JSON {
        var members = json
        if let rssi { members.append(("rssi", .number(rssi))) }
        if let breach {
            members.append(("corrections", .number(breach.corrections)))
            members.append(("insists", .bool(breach.isFinal)))
        }
        members.append(("time", .string(RealTimeline().wallTime.isoText)))
        return .object(members)
    }

    fileprivate var line: String {
        let facts = text ?? "the conditions of the link are unknown"
        guard let breach else { return facts }
        return breach.isFinal
            ? "\(facts): beyond the limits, no longer corrected"
            : "\(facts): beyond the limits, requested the former ones \(breach.corrections) times"
    }
}
