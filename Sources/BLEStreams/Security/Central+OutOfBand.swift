public import BLEProtocol
import BLERadio

extension Central {
    /// Makes this device's out-of-band data for its next pairing, in either role.
    ///
    /// ```swift
    /// let data = try await central.makeOutOfBandData()
    /// print("\(data.octets.count) octets, to be shown as a code, or told by NFC")
    /// ```
    ///
    /// The other device, central or peripheral, passes the data to its Security Manager and pairs; pass its own data,
    /// if any, to ``PairingAnswers/outOfBand(_:)``. New data invalidates earlier data, and so does switching the
    /// adapter off. Joined adapters don't make out-of-band data: open one adapter.
    ///
    /// Linux supports it for LE Secure Connections only, and only on adapters whose controller also supports the Secure
    /// Simple Pairing of classic Bluetooth. Source: kernel, `net/bluetooth/smp.c`, `smp_generate_oob`; `mgmt.c`,
    /// `read_local_oob_ext_data`.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` if the adapter or the radio doesn't support it, or the adapter uses
    ///   private addresses (``privacy()``); ``BLEError/Code/permissionDenied`` with the command that grants
    ///   `CAP_NET_ADMIN`; ``BLEError/Code/adapterPoweredOff``, ``BLEError/Code/adapterNotFound``; `CancellationError`.
    public func makeOutOfBandData() async throws -> OutOfBandData {
        let core = core
        return try await reply(on: core.timeline) { finish in
            let activity = core.radio.makeOutOfBandData { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
    }
}
