import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct PairingRefusalTests {
    private func refusal(
        _ agent: PairingAgent.Outcome,
        bluetoothd: Bluetoothd.Presence = .here,
        as role: PairingDialogue.Role = .initiator,
        isBonded: Bool? = nil,
        _ happened: (inout PairingConsent) -> Void = { _ = $0.kernelAsked() }
    ) -> BLEError {
        var consent = PairingConsent()
        happened(&consent)
        return .pairingRefused(
            by: .example,
            as: role,
            consent: consent,
            agent: agent,
            bluetoothd: bluetoothd,
            isBonded: isBonded
        )
    }

    @Test(arguments: [
        (BusFailure.noLibrary, "libdbus-1.so.3 is not installed"),
        (.unreachable("No such file"), "No such file"),
        (.timedOut, "no answer"),
        (.refused(name: "org.freedesktop.DBus.Error.AccessDenied", text: "Rejected"), "AccessDenied"),
    ])
    func `a bluetoothd without an agent that could not be told of ours is named, with why and what mends it`(
        _ failure: BusFailure,
        _ why: String
    ) {
        let error = refusal(.failed(failure))
        #expect(error.code == .securityFailed && error.cause.contains("bluetoothd") && error.cause.contains(why))
        #expect(error.remedy.contains("default-agent") && error.remedy.contains("systemctl stop bluetooth"))
        #expect(!error.description.contains("the peripheral"))
    }

    @Test func `a bluetoothd that is not on the bus is named too`() {
        #expect(refusal(.notNeeded).cause.contains("bluetoothd"))
    }

    @Test func `a bluetoothd that said no without asking has a bond of its own`() {
        let error = refusal(.ready) {
            $0.agentBegan()
            _ = $0.kernelAsked()
        }
        #expect(error.cause.contains("without asking") && error.remedy.contains("bluetoothctl remove"))
    }

    @Test func `where bluetoothd has no bond, another program has said no in this one's place`() {
        func refusal(isBonded: Bool?) -> BLEError {
            self.refusal(.ready, isBonded: isBonded) {
                $0.agentBegan()
                _ = $0.kernelAsked()
            }
        }
        let rival = refusal(isBonded: false)
        #expect(rival.pairingFailure == .refusedByBluetoothd && rival.cause.contains("another program"))
        #expect(rival.remedy.contains("no other program pairs") && !rival.description.contains("bond"))
        #expect(!refusal(isBonded: true).description.contains("another program"))
        let unknown = refusal(isBonded: nil)
        #expect(unknown.cause.contains("another program") && unknown.remedy.contains("bluetoothctl remove"))
    }

    @Test func `a central that was quicker than bluetoothd was to ask is named, where bluetoothd has no bond with it`()
    {
        let role = PairingDialogue.Role.responder(consent: .accept)
        func refusal(isBonded: Bool?) -> BLEError {
            self.refusal(.ready, as: role, isBonded: isBonded) {
                $0.agentBegan()
                _ = $0.kernelAsked()
            }
        }
        let quick = refusal(isBonded: false)
        #expect(quick.pairingFailure == .refusedByCentral && quick.cause.contains("the central refused"))
        // Or another program was, which bluetoothd asked.
        #expect(quick.cause.contains("another program") && quick.remedy.contains("no other program pairs"))
        #expect(!quick.description.contains("a bond with the central"))
        for isBonded in [true, nil] {
            let error = refusal(isBonded: isBonded)
            #expect(error.cause.contains("without asking") && error.cause.contains("a bond with the central"))
        }
    }

    @Test func `where bluetoothd agreed it is the peripheral that has refused`() {
        let error = refusal(.ready) {
            $0.agentBegan()
            _ = $0.kernelAsked()
            _ = $0.agentAsked(isConsent: true)
        }
        #expect(error.cause.contains("the peripheral refused") && !error.description.contains("bluetoothd"))
    }

    @Test func `a link that ends meanwhile is named, and so is a peripheral that does not go on`() {
        let dropped = BLEError.pairingBroken(with: .example, .remote)
        #expect(dropped.code == .disconnected && dropped.reason?.kind == .closedByPeer && dropped.pairingFailure == nil)
        let late = BLEError.pairingBroken(with: .example, .localHost)
        #expect(late.code == .securityFailed && late.pairingFailure == .timedOut && late.cause.contains("30 s"))
    }

    @Test func `without a bluetoothd, or where nobody was asked, too`() {
        for error in [refusal(.notNeeded, bluetoothd: .absent), refusal(.failed(.noLibrary)) { _ in }] {
            #expect(error.cause.contains("the peripheral refused") && !error.description.contains("bluetoothd"))
        }
    }

    @Test func `a bus that nobody listens on any more is no bluetoothd`() {
        let failure = BusFailure.unreachable("Connection refused")
        let error = refusal(.failed(failure), bluetoothd: .absent)
        #expect(error.cause.contains("the peripheral refused") && !error.description.contains("bluetoothd"))
        // Whoever can't see all processes can't know.
        #expect(refusal(.failed(failure), bluetoothd: .unknown).cause.contains("bluetoothd"))
        let wrong = refusal(.failed(failure), bluetoothd: .absent) {
            _ = $0.kernelAsked(.passkey)
            _ = $0.answered(.passkey(123_456))
        }
        #expect(wrong.pairingFailure == .wrongPasskey)
    }

    @Test func `a passkey that was entered and did not help is wrong`() {
        let error = refusal(.notNeeded, bluetoothd: .absent) {
            _ = $0.kernelAsked(.passkey)
            _ = $0.answered(.passkey(123_456))
        }
        #expect(error.pairingFailure == .wrongPasskey && !"\(error)".contains("123"))
        let shown = refusal(.notNeeded) { _ = $0.kernelShows(.display(123_456, typed: 0)) }
        #expect(shown.pairingFailure == .wrongPasskey && !"\(shown)".contains("123"))
    }

    @Test func `numbers that were the same here and not there are the peripheral's refusal`() {
        let error = refusal(.ready) {
            $0.agentBegan()
            _ = $0.kernelAsked(.comparison(5))
            _ = $0.answered(.accept)
        }
        #expect(error.pairingFailure == .refusedByPeripheral)
    }
}
