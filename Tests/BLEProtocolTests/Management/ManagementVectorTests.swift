import Testing

@testable import BLEProtocol

/// What BlueZ's own tests send to the kernel and expect from it.
@Suite(.enabled(if: VectorFile.arePresent, VectorFile.why)) struct ManagementVectorTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            let name: String
            let sent: String?
            let received: String?
        }
        let tests: [Case]
    }

    private struct KernelCases: Decodable {
        struct Case: Decodable {
            let title: String
            let opcode: UInt16
            let parameters: String
            let expectStatus: UInt8
            let expectReturn: String?
            let expectEvent: UInt16?
            let expectEventParameters: String?
        }
        let cases: [Case]
    }

    @Test func `BlueZ's packets are sent and understood`() throws {
        let tests = try VectorFile.load("mgmt_vectors.json", as: Vectors.self).tests
        #expect(tests.count >= 9)
        for test in tests {
            if test.name.hasSuffix("command/2") {
                let packet = ManagementReadInformation().packet(index: ManagementIndex(rawValue: 512))
                #expect(WireText.text(packet.encoded) == test.sent)
                continue
            }
            if let sent = test.sent {
                #expect(WireText.text(ManagementReadVersion().packet(index: .none).encoded) == sent)
            }
            guard let received = test.received else { continue }
            var client = ManagementClient()
            let (id, _) = client.submit(ManagementReadVersion(), index: .none)
            let output = client.received(WireText.octets(received))
            switch (test.sent, output.completed.first?.outcome) {
            case (nil, nil):
                #expect(output.event == .init(index: ManagementIndex(rawValue: 1), event: .indexAdded))
            case (_?, .replied(let reply)?):
                #expect(output.completed.map(\.id) == [id])
                if reply.status == .success {
                    let version = try reply.response(to: ManagementReadVersion.self)
                    #expect(version.version == 1 && version.revision == 6)
                } else {
                    #expect(reply.status == .invalidIndex && test.name.hasSuffix("response/2"))
                }
            default:
                Issue.record("\(test.name): \(output)")
            }
        }
    }

    @Test func `commands that the kernel accepts are encoded as its tester sends them`() throws {
        var checked = 0
        var skipped: Set<String> = []
        for test in try VectorFile.load("mgmt_kernel_cases.json", as: KernelCases.self).cases {
            let opcode = ManagementOpcode(rawValue: test.opcode)
            let octets = WireText.octets(test.parameters)
            // Status 13 is the tester's own bad input; all else is a command that the kernel could read.
            guard test.expectStatus != 13 else { continue }
            guard let command = ManagementCommandReading.command(opcode, octets) else {
                skipped.insert("\(opcode)")
                continue
            }
            let packet = command.packet(index: ManagementIndex(rawValue: 0))
            #expect(packet.code == test.opcode, "\(test.title)")
            #expect(WireText.text(packet.parameters) == test.parameters, "\(test.title)")
            checked += 1
        }
        #expect(checked >= 190, "\(checked) checked; without a command here: \(skipped.sorted())")
        print("kernel cases: \(checked) commands encoded; not encoded by this library: \(skipped.sorted())")
    }

    @Test func `answers and events that the kernel gives are decoded`() throws {
        var answers = 0
        var events = 0
        for test in try VectorFile.load("mgmt_kernel_cases.json", as: KernelCases.self).cases {
            let opcode = ManagementOpcode(rawValue: test.opcode)
            if let text = test.expectReturn, test.expectStatus == 0 {
                let octets = WireText.octets(text)
                let reply = ManagementReply(
                    opcode: opcode,
                    index: ManagementIndex(rawValue: 0),
                    status: .success,
                    parameters: octets[...]
                )
                if let written = try ManagementCommandReading.writtenAgain(reply) {
                    #expect(text.hasPrefix(WireText.text(written)) && !written.isEmpty, "\(test.title)")
                    answers += 1
                }
            }
            if let code = test.expectEvent, let text = test.expectEventParameters {
                let octets = WireText.octets(text)
                let packet = ManagementPacket(
                    code: code,
                    index: ManagementIndex(rawValue: 0),
                    parameters: octets[...]
                )
                // The tester compares only the beginning of a name.
                if code == ManagementEventCode.localNameChanged.rawValue { continue }
                if case .unknown = try ManagementEvent(decoding: packet) { continue }
                #expect(try ManagementCommandReading.writtenAgain(ManagementEvent(decoding: packet)) == octets)
                events += 1
            }
        }
        #expect(answers >= 150, "\(answers)")
        #expect(events >= 65, "\(events)")
        print("kernel cases: \(answers) answers, \(events) events decoded")
    }
}
