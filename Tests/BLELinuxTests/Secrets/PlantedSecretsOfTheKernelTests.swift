import BLEProtocol
import BLERadio
import RadioDoubles
import Testing

@testable import BLELinux

/// What comes from the kernel and from bluetoothd, and goes there, shows no key and no passkey to whoever prints it.
struct PlantedSecretsOfTheKernelTests {
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    @Test func `no command to the kernel shows a secret`() throws {
        let bond = Bond.planted(1, with: peer)
        let key = try #require(bond.identityKey)
        let list = KernelKeyList([bond])
        let values: [any Sendable] = [
            list, ManagementLoadLongTermKeys(list.longTerm), ManagementLoadIdentityResolvingKeys(list.identity),
            ManagementSetPrivacy(.on, identityKey: key),
            ManagementUserPasskeyReply(ManagementAddress(peer), passkey: Planted.passkey),
        ]
        for value in values { #expect(Planted.shown(by: value).isEmpty, "\(type(of: value))") }
    }

    @Test func `no message of bluetoothd shows a passkey`() {
        var message = BusMessage.call(
            "DisplayPasskey",
            of: "org.bluez.Agent1",
            at: "/agent",
            in: ":1.7",
            [.objectPath("/org/bluez/hci0/dev_C4_F2_17_1A_1D_BB"), .unsigned32(Planted.passkey)]
        )
        message.sender = ":1.3"
        let reply = AgentQuestions.reply(to: message, .passkey(Planted.passkey))
        for message in [message, reply] {
            #expect(Planted.shown(by: message).isEmpty)
            #expect(Planted.shown(by: message.arguments).isEmpty)
        }
        #expect("\(message.arguments)".contains("dev_C4_F2_17_1A_1D_BB"))
    }

    @Test func `no step of a pairing shows a passkey`() {
        let steps: [PairingConsent.Step] = [
            .ask(.comparison(Planted.passkey)), .ask(.display(Planted.passkey, typed: 1)),
            .tellKernel(.passkey(Planted.passkey)), .tellAgent(.passkey(Planted.passkey)),
        ]
        for step in steps { #expect(Planted.shown(by: step).isEmpty, "\(step)") }
    }
}
