extension Configuration.Sparkplug {
    /// Reads the section `sparkplug`.
    ///
    /// - Parameter clientID: the gateway's name at the broker, which the node gets if it has no other.
    init(_ fields: inout ConfigurationFields, _ clientID: String) throws(ConfigurationError) {
        guard let group = try fields.topic("group", levels: 1) else {
            throw fields.missing("group", "Write the group that the hosts know this gateway by.")
        }
        self.init(
            group: group,
            node: try fields.topic("node", levels: 1) ?? clientID,
            primaryHost: try fields.topic("primaryHost", levels: 1)
        )
        guard !node.contains(where: { "/+#".contains($0) }) else {
            throw ConfigurationError(
                field: fields.name("node"),
                cause: "'\(node)', the broker.clientID, can't be one level of a topic",
                remedy: "Write a name without /, + and #."
            )
        }
    }
}
