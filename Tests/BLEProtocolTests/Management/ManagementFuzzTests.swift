import Testing

@testable import BLEProtocol

@Suite struct ManagementFuzzTests {
    private static let peer = ManagementAddress(rawValue: 1, kind: .lowEnergyRandom)

    private static let commands: [any ManagementCommand.Type] = [
        ManagementReadVersion.self, ManagementReadInformation.self, ManagementReadExtendedInformation.self,
        ManagementSetPowered.self, ManagementStartDiscovery.self,
        ManagementDisconnect.self, ManagementGetConnections.self, ManagementGetConnectionInformation.self,
        ManagementReadAdvertisingFeatures.self, ManagementAddAdvertising.self,
        ManagementAddExtendedAdvertisingParameters.self, ManagementGetPHYConfiguration.self,
        ManagementGetDeviceFlags.self, ManagementReadMonitorFeatures.self, ManagementAddPatternsMonitor.self,
        ManagementLoadLongTermKeys.self,
    ]

    @Test(arguments: UInt64(0)..<4) func `no answer traps the decoder`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        for round in 0..<4000 {
            let octets = source.octets(upTo: 300)
            let reply = ManagementReply(
                opcode: .readVersion,
                index: .none,
                status: .success,
                parameters: octets[...]
            )
            Self.commands[round % Self.commands.count].tryDecoding(reply)
        }
    }

    @Test(arguments: UInt64(0)..<4) func `no datagram traps the client or ends a command twice`(seed: UInt64) {
        var source = FuzzSource(seed: seed)
        var client = ManagementClient()
        var open: Set<ManagementClient.RequestID> = []
        var seen = 0
        for _ in 0..<6000 {
            var output = ManagementClient.Output()
            switch Int.random(in: 0..<8, using: &source) {
            case 0:
                let index = ManagementIndex(rawValue: UInt16.random(in: 0...1, using: &source))
                let (id, submitted) = client.submit(ManagementSetPowered(true), index: index)
                open.insert(id)
                output = submitted
            case 1:
                let (id, submitted) = client.submit(ManagementCancelPairDevice(Self.peer), index: .none)
                open.insert(id)
                output = submitted
            case 2:
                if let id = open.min(by: { $0.rawValue < $1.rawValue }) { output = client.timerFired(id) }
            case 3:
                if let id = open.randomElement(using: &source) {
                    output = client.withdraw(id)
                    open.remove(id)
                }
            case 4:
                // An answer that may belong to a command.
                var octets: [UInt8] = [0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x05, 0x00, 0x00]
                octets[2] = UInt8.random(in: 0...1, using: &source)
                output = client.received(octets)
            case 5:
                client.missedDatagrams()
            default:
                // A header that fits, so that the parameters are looked at.
                let parameters = source.octets(upTo: 60)
                var octets = [UInt8.random(in: 0...0x34, using: &source), 0, 0, 0, UInt8(parameters.count), 0]
                octets += parameters
                if Int.random(in: 0..<10, using: &source) == 0 { octets = source.mutated(octets) }
                output = client.received(octets)
                if output.event != nil { seen += 1 }
            }
            for completion in output.completed {
                if open.remove(completion.id) == nil { Issue.record("\(completion) came without a command") }
            }
        }
        for completion in client.closed().completed where open.remove(completion.id) == nil {
            Issue.record("\(completion) came without a command")
        }
        #expect(open.isEmpty)
        #expect(seen > 100)
    }
}

extension ManagementCommand {
    /// Decodes what may be no answer to this command at all.
    fileprivate static func tryDecoding(_ reply: ManagementReply) { _ = try? reply.response(to: self) }
}
