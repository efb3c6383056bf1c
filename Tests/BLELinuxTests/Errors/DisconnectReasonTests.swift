import BLEProtocol
import Glibc
import Testing

@testable import BLELinux

@Suite struct DisconnectReasonTests {
    /// What the kernel makes of HCI statuses (net/bluetooth/lib.c), and what a program is told.
    @Test(arguments: [
        (ECONNRESET, DisconnectReason.Kind.closedByPeer),  // 0x13, 0x14, 0x15
        (ECONNABORTED, .closedLocally),  // 0x16
        (ETIMEDOUT, .supervisionTimeout),  // 0x08, 0x10
        (EACCES, .authenticationFailed),  // 0x05, 0x18
        (EBADE, .keyMissing),  // 0x06
        (ENOSYS, .failedToEstablish),  // 0x3e, and all that the kernel doesn't know
        (EIO, .other),  // 0x03
        (ECONNREFUSED, .other),  // 0x0d, 0x0e, 0x0f, 0x1b
        (4095, .other),
    ])
    func `an error of the socket says why it ended`(_ error: Int32, _ kind: DisconnectReason.Kind) {
        let reason = DisconnectReason(
            endOfSocket: SystemError(rawValue: error),
            hasReceived: false,
            isAdapterUp: true
        )
        #expect(reason.kind == kind)
        #expect(reason.systemError == error)
    }

    @Test func `a connection that has carried PDUs was established`() {
        let reason = DisconnectReason(endOfSocket: .notImplemented, hasReceived: true, isAdapterUp: true)
        #expect(reason.kind == .other)
    }

    @Test(arguments: [SystemError.connectionReset, .connectionAborted, .hostUnreachable, .networkDown])
    func `an adapter that is off has ended the connection`(_ error: SystemError) {
        let reason = DisconnectReason(endOfSocket: error, hasReceived: true, isAdapterUp: false)
        #expect(reason.kind == .adapterOff)
    }

    @Test func `a supervision timeout stays one when the adapter goes off after it`() {
        let reason = DisconnectReason(endOfSocket: .timedOut, hasReceived: true, isAdapterUp: false)
        #expect(reason.kind == .supervisionTimeout)
    }

    /// What the kernel says on the management socket of a link that was being encrypted.
    @Test(arguments: [
        (ENOSYS, ManagementDisconnectReason?.some(.unspecified), DisconnectReason.Kind.authenticationFailed),  // 0x3d
        (ECONNABORTED, .authenticationFailure, .keyMissing),  // 0x06
        (EACCES, .authenticationFailure, .keyMissing),
        (ECONNABORTED, .localHost, .authenticationFailed),
        (EBADE, nil, .keyMissing),
        (ETIMEDOUT, .timeout, .supervisionTimeout),
        (ECONNRESET, .remote, .closedByPeer),
    ])
    func `a link that could not be encrypted ended for want of a key, by another key, or otherwise`(
        _ error: Int32,
        _ told: ManagementDisconnectReason?,
        _ kind: DisconnectReason.Kind
    ) {
        let reason = DisconnectReason(
            endOfSocket: SystemError(rawValue: error),
            hasReceived: true,
            isAdapterUp: true
        )
        #expect(reason.whileEncrypting(told).kind == kind)
        let failure = BLEError.encryptionFailed(.example, reason.whileEncrypting(told))
        #expect(failure.reason?.kind == kind)
        #expect(failure.isFinal == [.keyMissing, .authenticationFailed].contains(kind))
    }

    @Test func `keys that others have given are named`() {
        let error = BLEError.encryptionFailed(.example, DisconnectReason(.keyMissing), hasForeignKey: true)
        #expect(error.cause.contains("bluetoothd") && error.remedy.contains("bluetoothctl remove"))
    }

    @Test func `an end without an error is the peer's`() {
        let reason = DisconnectReason(endOfSocket: nil, hasReceived: true, isAdapterUp: true)
        #expect(reason.kind == .closedByPeer)
        #expect(reason.systemError == nil)
    }
}
