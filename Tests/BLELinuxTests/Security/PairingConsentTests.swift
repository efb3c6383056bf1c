import Testing

@testable import BLELinux

@Suite struct PairingConsentTests {
    @Test func `without an agent the program answers, once`() {
        var consent = PairingConsent()
        #expect(consent.kernelAsked() == .agree)
        #expect(consent.kernelAsked() == nil && consent.patienceEnded() == nil && consent.agentEnded() == nil)
    }

    @Test func `as bluetoothd's agent it leaves the answer to bluetoothd`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == .wait)
        consent.agentAgreed()
        #expect(consent.patienceEnded() == nil && consent.agentEnded() == nil && !consent.hasAnswered)
    }

    @Test func `the order of bluetoothd's question and the kernel's does not matter`() {
        var consent = PairingConsent()
        consent.agentBegan()
        consent.agentAgreed()
        #expect(consent.kernelAsked() == nil && consent.patienceEnded() == nil)
    }

    @Test func `a bluetoothd that has no part in the adapter is not waited for for ever`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == .wait)
        #expect(consent.patienceEnded() == .agree)
        #expect(consent.patienceEnded() == nil)
    }

    @Test func `a bluetoothd that ends leaves the answer to the program`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.agentEnded() == nil)
        #expect(consent.kernelAsked() == .agree)
        consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == .wait && consent.agentEnded() == .agree)
    }
}
