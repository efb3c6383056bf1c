import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct PairingConsentTests {
    @Test func `without an agent the program answers, once`() {
        var consent = PairingConsent()
        #expect(consent.kernelAsked() == [.tellKernel(.accept)])
        #expect(consent.kernelAsked() == [] && consent.patienceEnded() == [] && consent.agentEnded() == [])
    }

    @Test func `as bluetoothd's agent it leaves the answer to bluetoothd`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == [.wait])
        #expect(consent.agentAsked(isConsent: true) == [.tellAgent(.accept)])
        #expect(consent.patienceEnded() == [] && consent.agentEnded() == [] && !consent.hasAnswered)
        #expect(consent.hasAgentAgreed)
    }

    @Test func `the order of bluetoothd's question and the kernel's does not matter`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.agentAsked(isConsent: true) == [.tellAgent(.accept)])
        #expect(consent.kernelAsked() == [] && consent.patienceEnded() == [])
    }

    @Test func `a bluetoothd that has no part in the adapter is not waited for for ever`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == [.wait])
        #expect(consent.patienceEnded() == [.tellKernel(.accept)])
        #expect(consent.patienceEnded() == [])
        // What it asks now it would answer the kernel too.
        #expect(consent.agentAsked(isConsent: true) == [])
    }

    @Test func `a bluetoothd that ends leaves the answer to the program`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.agentEnded() == [])
        #expect(consent.kernelAsked() == [.tellKernel(.accept)])
        consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked() == [.wait] && consent.agentEnded() == [.tellKernel(.accept)])
    }

    @Test(arguments: [PairingQuestion.Answer.passkey(7), .refuse(.refused), .refuse(.unanswered)])
    func `without an agent the program's answer goes to the kernel, and only the first one`(
        answer: PairingQuestion.Answer
    ) {
        var consent = PairingConsent()
        #expect(consent.kernelAsked(.passkey) == [.ask(.passkey)])
        #expect(consent.answered(answer) == [.tellKernel(answer)])
        #expect(consent.answered(.passkey(8)) == [] && consent.patienceEnded() == [] && consent.agentEnded() == [])
        #expect(consent.kernelAsked(.passkey) == [])
    }

    @Test func `with an agent the program's answer goes to bluetoothd, in whatever order all of it comes`() {
        typealias Event = (inout PairingConsent) -> [PairingConsent.Step]
        let kernel: Event = { $0.kernelAsked(.passkey) }
        let agent: Event = { $0.agentAsked(isConsent: false) }
        let answer: Event = { $0.answered(.passkey(7)) }
        let patience: Event = { $0.patienceEnded() }
        let orders: [[Event]] = [
            [kernel, agent, answer, patience], [agent, kernel, answer, patience], [kernel, answer, agent, patience],
            [kernel, agent, patience, answer], [kernel, patience, agent, answer],
        ]
        for order in orders {
            var consent = PairingConsent()
            consent.agentBegan()
            let steps = order.flatMap { $0(&consent) }
            #expect(steps.filter { $0 == .ask(.passkey) }.count == 1)
            #expect(steps.filter { $0 != .wait && $0 != .ask(.passkey) } == [.tellAgent(.passkey(7))])
        }
    }

    @Test func `a bluetoothd that doesn't ask, or asks no more, leaves a late answer to the program`() {
        var consent = PairingConsent()
        consent.agentBegan()
        #expect(consent.kernelAsked(.comparison(5)) == [.ask(.comparison(5)), .wait])
        #expect(consent.patienceEnded() == [])
        #expect(consent.answered(.accept) == [.tellKernel(.accept)])
        consent = PairingConsent()
        consent.agentBegan()
        _ = consent.kernelAsked(.comparison(5)) + consent.agentAsked(isConsent: false)
        #expect(consent.agentEnded() == [])
        #expect(consent.answered(.accept) == [.tellKernel(.accept)])
    }

    @Test func `bluetoothd's wish for consent is no answer to a question with a number`() {
        var consent = PairingConsent()
        consent.agentBegan()
        _ = consent.kernelAsked(.comparison(5))
        #expect(consent.agentAsked(isConsent: true) == [])
        #expect(consent.answered(.refuse(.refused)) == [.tellAgent(.refuse(.refused))])
        #expect(!consent.hasAgentAgreed)
    }

    @Test func `what is shown needs no answer, and can be refused`() {
        var consent = PairingConsent()
        #expect(consent.kernelShows(.display(7, typed: 0)) == [.ask(.display(7, typed: 0))])
        #expect(consent.kernelShows(.display(7, typed: 1)) == [.ask(.display(7, typed: 1))])
        #expect(consent.answered(.accept) == [])
        #expect(consent.answered(.refuse(.needsAnswers)) == [.giveUp])
        #expect(consent.answered(.refuse(.needsAnswers)) == [])
    }
}
