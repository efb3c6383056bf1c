/// When the program is told of the subscriptions that a bonded client kept from an earlier link.
///
/// They apply from the beginning, but a value is refused while the link is less secure than its characteristic
/// requires, and a bonded client encrypts the link only some time after it has connected. So each one is told when it
/// may be used; after some time also without that, since nothing may tell that a link has been encrypted.
extension ATTServer {
    /// What is not told yet.
    struct Kept: Hashable, Sendable {
        /// The value handles of the characteristics.
        var handles: Set<UInt16>
        /// Whether to wait until the link is secure enough.
        var waitsForSecurity = true
    }

    /// Tells the kept subscriptions that may be used by now, if they are not told yet.
    ///
    /// - Parameter waitsForSecurity: whether to wait with the others until the link is secure enough, from now on.
    package mutating func resume(with database: AttributeDatabase, waitsForSecurity: Bool = true) -> Output {
        var output = Output()
        guard !hasEnded else { return output }
        if !waitsForSecurity { kept.waitsForSecurity = false }
        tellKept(database, &output)
        return output
    }

    /// Takes over what was kept of the client, where that becomes known only now; what it has configured on this bearer
    /// stays as it is. The subscriptions are told as usual.
    package mutating func adopt(_ former: ServerClient) {
        guard !hasEnded else { return }
        for (handle, bits) in former.configurations
        where client.configuration(of: handle) == 0 && !configured.contains(handle) {
            client.configure(handle, bits)
            kept.handles.insert(handle)
        }
        client.features.formUnion(former.features)
        client.databaseVersion = client.databaseVersion ?? former.databaseVersion
        guard !former.isChangeAware else { return }
        client.isChangeAware = false
        client.unconfirmedChange = former.unconfirmedChange
    }

    /// Whether kept subscriptions are not told yet.
    package var hasKept: Bool { !kept.handles.isEmpty }

    /// The client's subscriptions, without kept ones that are not told yet.
    package var toldSubscriptions: [UInt16: ServerClient.Subscription] {
        client.subscriptions.filter { !kept.handles.contains($0.key) }
    }

    mutating func tellKept(_ database: AttributeDatabase, _ output: inout Output) {
        for handle in kept.handles.sorted() where mayTell(handle, database) {
            kept.handles.remove(handle)
            let subscription = client.subscription(of: handle)
            guard subscription != .none else { continue }
            output.subscriptionChanges.append(.init(characteristic: handle, subscription: subscription))
        }
    }

    private func mayTell(_ handle: UInt16, _ database: AttributeDatabase) -> Bool {
        guard let requirement = database.characteristic(at: handle)?.subscribing else { return true }
        if requirement.needsAuthorization, !client.isAuthorized { return false }
        let refusal = requirement.refusal(security: security, isAuthorized: client.isAuthorized)
        return refusal == nil || !kept.waitsForSecurity
    }
}
