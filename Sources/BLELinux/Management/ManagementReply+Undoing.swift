internal import BLEProtocol

extension ManagementReply {
    /// The command that removes what another one has made, as this answer tells; `nil` if it has made nothing that
    /// would stay.
    ///
    /// It is for what nobody has: whoever wanted it was told that its adapter was removed.
    var undoing: (any ManagementCommand)? {
        guard status == .success else { return nil }
        switch opcode {
        case .addPatternsMonitor:
            let added = try? response(to: ManagementAddPatternsMonitor.self)
            return added.map { ManagementRemoveMonitor(handle: $0.handle) }
        case .addAdvertising: return removal((try? response(to: ManagementAddAdvertising.self))?.instance)
        case .addExtendedAdvertisingParameters:
            return removal((try? response(to: ManagementAddExtendedAdvertisingParameters.self))?.instance)
        case .addExtendedAdvertisingData:
            return removal((try? response(to: ManagementAddExtendedAdvertisingData.self))?.instance)
        default: return nil
        }
    }

    private func removal(_ instance: UInt8?) -> (any ManagementCommand)? {
        instance.map { ManagementRemoveAdvertising(instance: $0) }
    }
}
