import MQTT

/// Updates that an earlier run of the gateway has left in the middle, because it was killed or lost power: the broker
/// retains how far they were, and nobody would ever say that they go on no more.
struct FormerUpdates {
    let settings: Settings
    let publisher: Publisher

    private static func start(_ prefix: String) -> String { "\(prefix)/update/" }

    /// What to subscribe to; none where no command may update anything.
    static func subscriptions(_ configuration: Configuration) -> [String] {
        let updates = CommandOperation.update.rawValue
        let isPossible = configuration.permissions.contains { $0.operations.contains(updates) }
        return isPossible ? ["\(start(configuration.prefix))+"] : []
    }

    /// Says of a former update that it has failed, unless it has ended.
    ///
    /// - Returns: whether the message is about an update; otherwise it is for somebody else.
    func take(_ message: MQTTMessage) -> Bool {
        let start = Self.start(publisher.prefix)
        guard message.topic.hasPrefix(start) else { return false }
        let label = String(message.topic.dropFirst(start.count))
        // What this run has said of it comes back, too.
        guard message.isRetained, !publisher.hasState("update/\(label)"),
            settings.current.peripherals.contains(where: { $0.label == label })
        else { return true }
        guard case .object(let members)? = try? JSONValue.reading(message.payload),
            case .string(let image)? = members["image"], case .string(let phase)? = members["phase"],
            !UpdateNews.ends.contains(phase)
        else {
            // It goes with its peripheral, as what this run says does.
            publisher.adopt("update/\(label)", message.payload)
            return true
        }
        publisher.report("\(label): its update was interrupted when the gateway ended. Send the command again.")
        UpdateNews(publisher, label, image: image).tell(UpdateNews.failed)
        return true
    }
}
