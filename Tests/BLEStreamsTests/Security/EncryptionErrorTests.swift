import BLEProtocol
import Testing

@testable import BLEStreams

/// What a program is told of a link that could not be encrypted with the keys of a bond.
@Suite struct EncryptionErrorTests {
    private let object = "to C4:F2:17:1A:1D:BB"

    private func telling(_ error: BLEError?, keysNotRestored: BLEError? = nil) -> BLEError {
        .notEncrypted(error, keysNotRestored: keysNotRestored, operation: "connect", object: object)
    }

    private static func lost(_ kind: DisconnectReason.Kind, _ code: BLEError.Code) -> BLEError {
        var error = BLEError(code, operation: "encrypt link", cause: "it ended", remedy: "Try again.")
        error.reason = DisconnectReason(kind)
        return error
    }

    @Test func `a kernel that can't encrypt is told as such, and not as a peripheral that is silent`() {
        let error = BLEError(
            .securityFailed,
            operation: "encrypt link",
            cause: "the kernel can't encrypt it",
            remedy: "Load a module."
        )
        let told = telling(error)
        #expect(told.cause == error.cause && told.remedy == error.remedy)
        #expect(told.operation == "connect" && told.object == object)
    }

    @Test func `only a radio that says nothing in time has a peripheral that did not answer`() {
        let told = telling(nil)
        #expect(told.code == .securityFailed && told.cause.contains("did not answer"))
        #expect(told.remedy.contains("Peripheral.unpair()"))
    }

    @Test func `a link that was lost is told as such, though its keys could not be loaded either`() {
        let refusal = BLEError(.securityFailed, operation: "restore bonds", cause: "bluetoothd has the list")
        let told = telling(Self.lost(.supervisionTimeout, .disconnected), keysNotRestored: refusal)
        #expect(told.code == .disconnected && told.reason?.kind == .supervisionTimeout && !told.isFinal)
        let missing = telling(Self.lost(.keyMissing, .securityFailed), keysNotRestored: refusal)
        #expect(missing.reason?.kind == .keyMissing)
        let differs = telling(Self.lost(.authenticationFailed, .securityFailed), keysNotRestored: refusal)
        #expect(differs.cause.contains("bluetoothd has the list"))
    }

    /// A peripheral may end a link that isn't encrypted; to remove the bond would be of no use then.
    @Test func `a link that was lost where its keys could not be loaded tells both, with the remedy for the keys`() {
        let lost = Self.lost(.closedByPeer, .disconnected)
        let refusal = BLEError(.permissionDenied, operation: "restore bonds", cause: "it lacks", remedy: "Grant it.")
        let told = telling(lost, keysNotRestored: refusal)
        #expect(told.code == .disconnected && told.reason?.kind == .closedByPeer && !told.isFinal)
        #expect(told.cause.contains(lost.cause) && told.cause.contains(refusal.cause))
        #expect(told.remedy == refusal.remedy)
        let loaded = telling(lost)
        #expect(loaded.cause == lost.cause && loaded.remedy == lost.remedy)
    }

    /// A session ends for good at an error that is final.
    @Test(arguments: [BLEError.Code.securityFailed, .permissionDenied, .systemFailure, .timedOut])
    func `keys that could not be loaded for a passing reason end nothing for good`(_ code: BLEError.Code) {
        var obstacle = BLEError(code, operation: "restore bonds", cause: "the list is closed", remedy: "Open it.")
        obstacle.systemError = 24
        let told = telling(nil, keysNotRestored: obstacle)
        #expect(told.code == .securityFailed && told.isFinal == obstacle.isFinal)
        #expect(told.systemError == 24 && told.remedy == obstacle.remedy && told.cause.contains(obstacle.cause))
    }
}
