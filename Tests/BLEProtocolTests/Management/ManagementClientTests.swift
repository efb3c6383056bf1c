import Testing

@testable import BLEProtocol

@Suite struct ManagementClientTests {
    private typealias Client = ManagementClient
    private let hci0 = ManagementIndex(rawValue: 0)
    private let hci1 = ManagementIndex(rawValue: 1)
    private let peer = ManagementAddress(rawValue: 0xC4F2_171A_1DBB, kind: .lowEnergyRandom)

    private func complete(
        _ opcode: ManagementOpcode,
        _ index: ManagementIndex,
        _ status: ManagementStatus = .success,
        _ parameters: [UInt8] = []
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.uint16(opcode.rawValue)
        writer.uint8(status.rawValue)
        writer.append(parameters)
        return ManagementPacket(code: 0x0001, index: index, parameters: writer.bytes[...]).encoded
    }

    private func reply(
        _ opcode: ManagementOpcode,
        _ index: ManagementIndex,
        _ status: ManagementStatus = .success,
        _ parameters: [UInt8] = []
    ) -> Client.Outcome {
        .replied(ManagementReply(opcode: opcode, index: index, status: status, parameters: parameters[...]))
    }

    private func event(_ code: UInt16, _ index: ManagementIndex, _ parameters: [UInt8] = []) -> [UInt8] {
        ManagementPacket(code: code, index: index, parameters: parameters[...]).encoded
    }

    @Test func `a command leaves at once and ends with its answer`() {
        var client = Client()
        let (id, output) = client.submit(ManagementReadVersion(), index: .none)
        let datagram = ManagementReadVersion().packet(index: .none).encoded
        var expected = Client.Output()
        expected.send = [Client.Transmission(id: id, datagram: datagram)]
        expected.timers = [.start(id, .seconds(30))]
        #expect(output == expected)

        let answered = client.received(complete(.readVersion, .none, .success, [1, 22, 0]))
        expected = Client.Output()
        expected.completed = [Client.Completion(id: id, outcome: reply(.readVersion, .none, .success, [1, 22, 0]))]
        expected.timers = [.cancel(id)]
        #expect(answered == expected)
    }

    @Test func `a caller's own time limit is used`() {
        var client = Client()
        let (id, output) = client.submit(ManagementReadVersion(), index: .none, timeout: .seconds(1))
        #expect(output.timers == [.start(id, .seconds(1))])
    }

    @Test func `Command Status ends a command too`() {
        var client = Client()
        let (id, _) = client.submit(ManagementStartDiscovery(), index: hci0)
        let output = client.received(WireText.octets("0200 0000 0300 2300 0f"))
        #expect(output.completed == [Client.Completion(id: id, outcome: reply(.startDiscovery, hci0, .notPowered))])
    }

    @Test func `the second command of a controller leaves when the first is answered`() {
        var client = Client()
        _ = client.submit(ManagementSetLowEnergy(true), index: hci0)
        let (second, held) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(held == Client.Output())
        let output = client.received(complete(.setLowEnergy, hci0))
        #expect(output.send.map(\.id) == [second])
        #expect(output.timers.contains(.start(second, ManagementSetPowered.timeout)))
    }

    @Test func `controllers do not wait for one another`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (second, output) = client.submit(ManagementSetPowered(true), index: hci1)
        #expect(output.send.map(\.id) == [second])
        #expect(client.received(complete(.setPowered, hci1)).completed.map(\.id) == [second])
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [first])
    }

    @Test func `every event that comes while an answer is awaited is handed on`() {
        var client = Client()
        let (id, _) = client.submit(ManagementSetPowered(true), index: hci0)
        for state in [UInt8(1), 0, 1] {
            let output = client.received(event(0x0013, hci1, [6, state]))
            #expect(output.event?.index == hci1)
            #expect(output.event?.event == .discovering(.lowEnergy, isOn: state == 1))
            #expect(output.completed.isEmpty)
        }
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [id])
    }

    @Test func `Pair Device lets other commands through and replies go before all that wait`() {
        var client = Client()
        let (pairing, _) = client.submit(ManagementPairDevice(peer, capability: .displayYesNo), index: hci0)
        let (first, sent) = client.submit(ManagementGetConnections(), index: hci0)
        #expect(sent.send.map(\.id) == [first])
        let (second, held) = client.submit(ManagementReadInformation(), index: hci0)
        #expect(held.send.isEmpty)
        let (confirm, prompt) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        #expect(prompt.send.map(\.id) == [confirm])
        #expect(client.received(complete(.userConfirmationReply, hci0)).completed.map(\.id) == [confirm])
        #expect(client.received(complete(.getConnections, hci0)).send.map(\.id) == [second])
        #expect(client.received(complete(.pairDevice, hci0)).completed.map(\.id) == [pairing])
    }

    @Test func `answers to commands of one kind are paired in their order`() {
        var client = Client()
        let (first, _) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        let (second, _) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        #expect(client.received(complete(.userConfirmationReply, hci0)).completed.map(\.id) == [first])
        #expect(client.received(complete(.userConfirmationReply, hci0)).completed.map(\.id) == [second])
    }

    private func octets(_ address: ManagementAddress) -> [UInt8] {
        var writer = ByteWriter()
        writer.managementAddress(address)
        return writer.bytes
    }

    /// A person types a passkey for one device, and another one asks nothing.
    @Test func `answers to pairings of several devices belong to those that they name, in whatever order they come`() {
        var client = Client()
        let other = ManagementAddress(rawValue: 0xC4F2_171A_1DBC, kind: .lowEnergyRandom)
        let (first, _) = client.submit(ManagementPairDevice(peer, capability: .keyboardOnly), index: hci0)
        let (second, _) = client.submit(ManagementPairDevice(other, capability: .noInputNoOutput), index: hci0)
        let (elsewhere, _) = client.submit(ManagementPairDevice(other, capability: .noInputNoOutput), index: hci1)
        let done = client.received(complete(.pairDevice, hci0, .success, octets(other)))
        #expect(done.completed.map(\.id) == [second])
        let refused = client.received(complete(.pairDevice, hci0, .authenticationFailed, octets(peer)))
        #expect(refused.completed.map(\.id) == [first])
        let late = client.received(complete(.pairDevice, hci1, .success, octets(other)))
        #expect(late.completed.map(\.id) == [elsewhere])
    }

    /// In an event; or the kernel has known it before.
    @Test(arguments: [true, false])
    func `the answer to a pairing may name the identity that its device has told`(isTold: Bool) {
        var client = Client()
        let hidden = ManagementAddress(rawValue: 0x4A11_2233_4455, kind: .lowEnergyRandom)
        let identity = ManagementAddress(rawValue: 0x0001_0203_0405, kind: .lowEnergyPublic)
        let (first, _) = client.submit(ManagementPairDevice(peer, capability: .keyboardOnly), index: hci0)
        let (second, _) = client.submit(ManagementPairDevice(hidden, capability: .noInputNoOutput), index: hci0)
        var told: [UInt8] = [1]
        told.append(contentsOf: octets(hidden).dropLast())
        told.append(contentsOf: octets(identity))
        told.append(contentsOf: [UInt8](repeating: 7, count: 16))
        if isTold { #expect(client.received(event(0x0018, hci0, told)).malformed == nil) }
        let done = client.received(complete(.pairDevice, hci0, .success, octets(identity)))
        #expect(done.completed.map(\.id) == [second])
        #expect(client.received(complete(.pairDevice, hci0, .success, octets(peer))).completed.map(\.id) == [first])
    }

    @Test func `a command that was not answered in time lets the next one go`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        let output = client.timerFired(first)
        #expect(output.completed == [Client.Completion(id: first, outcome: .timedOut)])
        #expect(output.send.map(\.id) == [second])
        #expect(client.timerFired(first) == Client.Output())
    }

    @Test func `a late answer is not taken for that of a later command`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        _ = client.timerFired(first)
        let (second, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.received(complete(.setPowered, hci0, .failed)) == Client.Output())
        let output = client.received(complete(.setPowered, hci0))
        #expect(output.completed == [Client.Completion(id: second, outcome: reply(.setPowered, hci0))])
    }

    @Test func `an answer that got lost costs one more command, not all that follow`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        _ = client.timerFired(first)
        let (second, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.received(complete(.setPowered, hci0)).completed.isEmpty)
        #expect(client.timerFired(second).completed == [Client.Completion(id: second, outcome: .timedOut)])
        let (third, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [third])
    }

    @Test func `an answer that is known to be lost costs its own command alone`() {
        var client = Client()
        let (first, _) = client.submit(ManagementReadInformation(), index: hci0)
        client.missedDatagrams()
        let completion = Client.Completion(id: first, outcome: .timedOut, mayBeLost: true)
        #expect(client.timerFired(first).completed == [completion])
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        #expect(client.received(complete(.readInformation, hci0)).completed.map(\.id) == [second])
    }

    @Test func `an answer that another command shows to be lost keeps no place in the order`() {
        var client = Client()
        let command = ManagementPairDevice(peer, capability: .displayYesNo)
        let (first, sent) = client.submit(command, index: hci0)
        client.missedDatagrams()
        let lost = client.answerIsLost(first)
        #expect(sent.send.map(\.id) == [first])
        #expect(lost == Client.Output(timers: [.cancel(first)]))
        let (second, _) = client.submit(command, index: hci0)
        let answer = client.received(complete(.pairDevice, hci0))
        #expect(answer.completed.map(\.id) == [second])
        #expect(client.answerIsLost(first) == Client.Output())
    }

    @Test func `an answer that is taken for one that was lost costs its own command alone`() {
        var client = Client()
        let (first, _) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        client.missedDatagrams()
        let (second, _) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        #expect(client.received(complete(.userConfirmationReply, hci0)).completed.map(\.id) == [first])
        let completion = Client.Completion(id: second, outcome: .timedOut, mayBeLost: true)
        #expect(client.timerFired(second).completed == [completion])
        let (third, _) = client.submit(ManagementUserConfirmationReply(peer), index: hci0)
        #expect(client.received(complete(.userConfirmationReply, hci0)).completed.map(\.id) == [third])
    }

    @Test func `a command that is withdrawn before its turn never leaves`() {
        var client = Client()
        _ = client.submit(ManagementSetLowEnergy(true), index: hci0)
        let (second, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.withdraw(second) == Client.Output())
        #expect(client.received(complete(.setLowEnergy, hci0)).send.isEmpty)
    }

    @Test func `a command waits until its turn comes, and not any more when it is withdrawn`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetLowEnergy(true), index: hci0)
        let (second, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (third, _) = client.submit(ManagementSetBondable(true), index: hci0)
        let early = [client.isWaiting(first), client.isWaiting(second), client.isWaiting(third)]
        #expect(early == [false, true, true])
        _ = client.withdraw(third)
        _ = client.received(complete(.setLowEnergy, hci0))
        let late = [client.isWaiting(second), client.isWaiting(third)]
        #expect(late == [false, false])
    }

    @Test func `a withdrawn command keeps its place until it is answered`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.withdraw(first) == Client.Output())
        let (second, held) = client.submit(ManagementSetPowered(false), index: hci0)
        #expect(held.send.isEmpty)
        let output = client.received(complete(.setPowered, hci0))
        #expect(output.completed.isEmpty)
        #expect(output.timers.first == .cancel(first))
        #expect(output.send.map(\.id) == [second])
    }

    @Test func `a withdrawn command that is never answered gives its place up in time`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        _ = client.withdraw(first)
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        let output = client.timerFired(first)
        #expect(output.completed.isEmpty && output.send.map(\.id) == [second])
    }

    @Test(arguments: [UInt16(0x0005), 0x0021])
    func `commands end when their controller is removed`(code: UInt16) {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        let (other, _) = client.submit(ManagementReadInformation(), index: hci1)
        let output = client.received(event(code, hci0, code == 0x0021 ? [0, 1] : []))
        #expect(output.completed == [.init(id: first, outcome: reply(.setPowered, hci0, .invalidIndex))])
        #expect(output.timers.first == .cancel(first))
        #expect(output.send.map(\.id) == [second])
        #expect(client.received(complete(.readInformation, hci1)).completed.map(\.id) == [other])
    }

    @Test(arguments: [1, 2])
    func `a command that ended with its controller, and is answered as that is back, is told, once`(removals: Int) {
        var client = Client()
        _ = client.submit(ManagementSetPowered(true), index: hci0)
        for _ in 0..<removals { _ = client.received(event(0x0005, hci0, [])) }
        let late = client.received(complete(.setPowered, hci0)).unexpectedReply
        #expect(late.map { client.endedWithRemoval($0) } == true)
        #expect(late.map { client.endedWithRemoval($0) } == false)
    }

    @Test func `what another command of that kind may have been answered isn't taken for it`() {
        var client = Client()
        _ = client.submit(ManagementSetPowered(true), index: hci0)
        _ = client.received(event(0x0005, hci0, []))
        let (next, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [next])
        let late = client.received(complete(.setPowered, hci0)).unexpectedReply
        #expect(late.map { client.endedWithRemoval($0) } == false)
    }

    @Test func `a command that the socket refused ends and lets the next one go`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        let output = client.sendFailed(first)
        #expect(output.completed == [Client.Completion(id: first, outcome: .notSent)])
        #expect(output.send.map(\.id) == [second])
    }

    @Test func `closing ends what is under way, what waits and what comes later`() {
        var client = Client()
        let (first, _) = client.submit(ManagementSetPowered(true), index: hci0)
        let (second, _) = client.submit(ManagementReadInformation(), index: hci0)
        let output = client.closed()
        #expect(output.completed.map(\.id) == [first, second])
        #expect(output.completed.allSatisfy { $0.outcome == .closed })
        let (third, late) = client.submit(ManagementReadInformation(), index: hci0)
        #expect(late.completed == [Client.Completion(id: third, outcome: .closed)])
        #expect(client.received(complete(.setPowered, hci0)).completed.isEmpty)
    }

    @Test func `an answer that nobody asked for is shown and changes nothing`() {
        var client = Client()
        let (id, _) = client.submit(ManagementSetPowered(true), index: hci0)
        #expect(client.received(complete(.readVersion, .none)).unexpectedReply?.opcode == .readVersion)
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [id])
    }

    @Test func `a datagram that makes no sense is shown and changes nothing`() {
        var client = Client()
        let (id, _) = client.submit(ManagementSetPowered(true), index: hci0)
        for text in ["", "0100", "0100000001000000", "01000000 0100 05", "1200 0000 0100 01"] {
            let output = client.received(WireText.octets(text))
            #expect(output.malformed != nil)
            #expect(output.completed.isEmpty && output.event == nil)
        }
        #expect(client.received(complete(.setPowered, hci0)).completed.map(\.id) == [id])
    }

    @Test func `commands that expired do not pile up`() {
        var client = Client()
        for _ in 0..<1000 {
            let (id, _) = client.submit(ManagementCancelPairDevice(peer), index: hci0)
            _ = client.timerFired(id)
        }
        var swallowed = 0
        while client.received(complete(.cancelPairDevice, hci0)).unexpectedReply == nil { swallowed += 1 }
        #expect(swallowed == 64)
    }
}
