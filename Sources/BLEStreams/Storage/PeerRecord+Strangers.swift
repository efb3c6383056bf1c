extension PeerRecord {
    /// Whether it holds services alone: those of a peer with which there is neither a bond nor a session.
    var isStrangers: Bool {
        var rest = self
        rest.services = nil
        return services != nil && rest.isEmpty
    }

    /// The most attributes of a stranger that are kept: several times as many as devices have.
    static let mostOfStranger = 2048

    /// Changes it. A stranger's services that are too many are left out: as many as there are handles take megabytes,
    /// and a device that has a new address for each link would fill the disk with them.
    mutating func apply(_ change: (inout PeerRecord) -> Void) {
        change(&self)
        guard let services, services.attributeCount > Self.mostOfStranger, isStrangers else { return }
        self.services = nil
    }
}

extension ServicesRecord {
    /// How many attributes are in it.
    fileprivate var attributeCount: Int {
        services.reduce(0) { count, service in
            count + 1 + service.includes.count
                + service.characteristics.reduce(0) { $0 + 2 + $1.descriptors.count }
        }
    }
}
