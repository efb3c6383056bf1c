extension ManagementPHYs {
    /// The PHYs of Low Energy; the others belong to classic Bluetooth.
    package static let lowEnergy: ManagementPHYs = [
        .lowEnergy1MTransmit, .lowEnergy1MReceive, .lowEnergy2MTransmit, .lowEnergy2MReceive, .lowEnergyCodedTransmit,
        .lowEnergyCodedReceive,
    ]

    private static let bits: [(LinkConditions.PHY, sending: ManagementPHYs, receiving: ManagementPHYs)] = [
        (.le1M, .lowEnergy1MTransmit, .lowEnergy1MReceive),
        (.le2M, .lowEnergy2MTransmit, .lowEnergy2MReceive),
        (.leCoded, .lowEnergyCodedTransmit, .lowEnergyCodedReceive),
    ]

    /// The bits of a selection.
    package init(_ selection: AdapterPHYs.Selection) {
        self = []
        for (phy, sending, receiving) in Self.bits {
            if selection.sending.contains(phy) { insert(sending) }
            if selection.receiving.contains(phy) { insert(receiving) }
        }
    }

    /// The Low Energy PHYs among them.
    package var selection: AdapterPHYs.Selection {
        AdapterPHYs.Selection(
            sending: Set(Self.bits.filter { contains($0.sending) }.map(\.0)),
            receiving: Set(Self.bits.filter { contains($0.receiving) }.map(\.0))
        )
    }
}

extension ManagementGetPHYConfiguration.Response {
    /// The Low Energy part of the answer.
    package var phys: AdapterPHYs {
        AdapterPHYs(
            supported: supported.selection,
            configurable: configurable.selection,
            selected: selected.selection
        )
    }
}
