public import BLEProtocol
import BLERadio

extension Central {
    /// Makes what this device can tell another one by other means than Bluetooth, for their next pairing, in either role.
    ///
    /// ```swift
    /// let data = try await central.makeOutOfBandData()
    /// print("\(data.octets.count) octets, to be shown as a code, or told by NFC")
    /// ```
    ///
    /// The other device pairs by it, be it as central or as peripheral, and gives it to its Security Manager; where it has told
    /// us something too, that goes into ``PairingAnswers/outOfBand(_:)``. What was made before doesn't hold any more, and nor
    /// does this once the adapter was switched off. Of several adapters that are joined none makes any: open one.
    ///
    /// Linux pairs by it with LE Secure Connections alone, and on adapters whose controller does classic Bluetooth's Secure Simple
    /// Pairing too. Source: kernel, `net/bluetooth/smp.c`, `smp_generate_oob`; `mgmt.c`, `read_local_oob_ext_data`.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where the adapter can't, hides its own address (``privacy()``), or the radio can't
    ///   pair so; ``BLEError/Code/permissionDenied`` with the command that grants `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/adapterPoweredOff``, ``BLEError/Code/adapterNotFound``; `CancellationError`.
    public func makeOutOfBandData() async throws -> OutOfBandData {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.makeOutOfBandData { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}
