package import BLEProtocol
package import BLERadio

/// Radios on which the contract is checked: two that hear each other, fresh, and what else a clause may need.
package struct RadioStage: Sendable {
    /// Scans and connects.
    package var central: any Radio
    /// Advertises and listens.
    package var peripheral: any Radio
    /// The address by which the central knows the peripheral.
    package var address: BluetoothAddress
    /// Another radio that hears the peripheral.
    package var otherCentral: (any Radio)?
    /// Switches the central's adapter on or off.
    package var power: (@Sendable (Bool) async throws -> Void)?

    package init(
        central: any Radio,
        peripheral: any Radio,
        address: BluetoothAddress,
        otherCentral: (any Radio)? = nil,
        power: (@Sendable (Bool) async throws -> Void)? = nil
    ) {
        self.central = central
        self.peripheral = peripheral
        self.address = address
        self.otherCentral = otherCentral
        self.power = power
    }
}

/// What a clause of the contract needs of a stage.
package enum RadioAbility: Hashable, Sendable, CaseIterable {
    /// The radios scan, and hear who advertises.
    case scanning
    /// One connects to the other.
    case linking
    /// A second central is there.
    case otherCentral
    /// The central's adapter can be switched off and on.
    case power
}

extension RadioStage {
    /// Has the peripheral advertise and listen, until what is returned goes.
    func opened() async throws -> Open {
        let listener = Events { peripheral.listen(events: $0) }
        guard case .started = await listener.next() else { throw RadioBreach("listening does not begin") }
        let advertisement = try await advertising()
        return Open(listener: listener, advertisement: advertisement)
    }

    /// Has the peripheral advertise.
    func advertising() async throws -> Events<AdvertiseEvent> {
        let request = AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))
        let advertisement = Events { peripheral.advertise(request, events: $0) }
        guard case .started = await advertisement.next() else { throw RadioBreach("advertising does not begin") }
        return advertisement
    }

    /// A peripheral that is open to centrals.
    struct Open {
        let listener: Events<ListenEvent>
        let advertisement: Events<AdvertiseEvent>

        /// The next link that a central makes.
        func accepted() async throws -> any ATTLink {
            let link = await listener.first { event -> (any ATTLink)? in
                if case .accepted(let link) = event { link } else { nil }
            }
            guard let link else { throw RadioBreach("no link is accepted") }
            return link
        }
    }

    /// A link between the two, not started at either end.
    func link(to open: Open, from central: (any Radio)? = nil) async throws -> LinkPair {
        let central = central ?? self.central
        let attempt = Events { central.connect(to: address, result: $0) }
        guard let result = await attempt.next() else { throw RadioBreach("an attempt to connect has no result") }
        return LinkPair(here: try result.get(), there: try await open.accepted())
    }

    /// The two ends of a link.
    struct LinkPair {
        let here: any ATTLink
        let there: any ATTLink
    }
}
