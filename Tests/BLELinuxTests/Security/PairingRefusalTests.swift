import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct PairingRefusalTests {
    private func refusal(
        _ agent: PairingAgent.Outcome,
        isBluetoothdSeen: Bool = true,
        _ happened: (inout PairingConsent) -> Void = { _ = $0.kernelAsked() }
    ) -> BLEError {
        var consent = PairingConsent()
        happened(&consent)
        return .pairingRefused(by: .example, consent: consent, agent: agent, isBluetoothdSeen: isBluetoothdSeen)
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

    @Test func `where bluetoothd agreed it is the peripheral that has refused`() {
        let error = refusal(.ready) {
            $0.agentBegan()
            _ = $0.kernelAsked()
            $0.agentAgreed()
        }
        #expect(error.cause.contains("the peripheral refused") && !error.description.contains("bluetoothd"))
    }

    @Test func `without a bluetoothd, or where nobody was asked, too`() {
        for error in [refusal(.notNeeded, isBluetoothdSeen: false), refusal(.failed(.noLibrary)) { _ in }] {
            #expect(error.cause.contains("the peripheral refused") && !error.description.contains("bluetoothd"))
        }
    }
}
