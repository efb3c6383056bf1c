import BLEProtocol

extension FuzzTarget {
    /// What the kernel's management socket says, to the client half and to the reader of each answer.
    static let management = FuzzTarget("management", longest: 768, seeds: ManagementRun.seeds) { octets in
        var run = ManagementRun(octets)
        while !run.input.isAtEnd { try run.step() }
        try run.end()
    }
}

private struct ManagementRun: ~Copyable {
    var input: FuzzInput
    private var client = ManagementClient()
    /// The oldest first.
    private var open: [ManagementClient.RequestID] = []

    init(_ octets: [UInt8]) { input = FuzzInput(octets) }

    mutating func step() throws {
        let index = ManagementIndex(rawValue: UInt16(input.octet() & 1))
        switch input.number(below: 9) {
        case 0:
            let (id, output) = client.submit(ManagementSetPowered(true), index: index)
            open.append(id)
            try take(output)
        case 1:
            let peer = ManagementAddress(rawValue: 1, kind: .lowEnergyRandom)
            let (id, output) = client.submit(ManagementCancelPairDevice(peer), index: index)
            open.append(id)
            try take(output)
        case 2:
            if let id = chosen { try take(client.timerFired(id)) }
        case 3:
            guard let id = chosen else { return }
            open.removeAll { $0 == id }
            try take(client.withdraw(id))
        case 4:
            if let id = chosen { try take(client.sendFailed(id)) }
        case 5: try take(client.received(input.chunk()))
        case 6:
            let (kind, octets) = (input.number(below: 64), parameters())
            let reply = ManagementReply(opcode: .readVersion, index: index, status: .success, parameters: octets[...])
            _ = (reply.status.description, "\(reply.parameters)")
            Self.commands[kind % Self.commands.count].read(reply)
        case 7: client.missedDatagrams()
        default:
            // With a header that fits, so that the parameters are looked at.
            let (code, octets) = (UInt16(input.octet() & 0x3F), parameters())
            let packet = ManagementPacket(code: code, index: index, parameters: octets[...])
            _ = packet.description
            try require(try ManagementPacket(decoding: packet.encoded) == packet, "a packet is read as another one")
            try take(client.received(packet.encoded))
        }
    }

    private mutating func take(_ output: ManagementClient.Output) throws {
        for completion in output.completed {
            let place = open.firstIndex(of: completion.id)
            try require(place != nil, "\(completion) came without a command")
            if let place { open.remove(at: place) }
        }
        if let event = output.event {
            _ = "\(event)"
            try ManagementEventCheck.check(event.event)
        }
        if let malformed = output.malformed { _ = "\(malformed)" }
    }

    /// A chunk; the longest one goes on with zeros: a packet with a name in it is longer.
    private mutating func parameters() -> [UInt8] {
        let octets = input.chunk()
        return octets.count < 255 ? octets : octets + [UInt8](repeating: 0, count: 45)
    }

    private var chosen: ManagementClient.RequestID? {
        mutating get { open.isEmpty ? nil : open[input.number(below: open.count)] }
    }

    mutating func end() throws {
        try take(client.closed())
        try require(open.isEmpty, "never completed: \(open)")
    }

    private static let commands: [any ManagementCommand.Type] = [
        ManagementReadVersion.self, ManagementReadInformation.self, ManagementReadExtendedInformation.self,
        ManagementSetPowered.self, ManagementStartDiscovery.self,
        ManagementDisconnect.self, ManagementGetConnections.self, ManagementGetConnectionInformation.self,
        ManagementReadAdvertisingFeatures.self, ManagementAddAdvertising.self,
        ManagementAddExtendedAdvertisingParameters.self, ManagementGetPHYConfiguration.self,
        ManagementGetDeviceFlags.self, ManagementReadMonitorFeatures.self, ManagementAddPatternsMonitor.self,
        ManagementLoadLongTermKeys.self, ManagementReadLocalOutOfBandData.self,
        ManagementReadDefaultConfiguration.self, ManagementReadExperimentalFeatures.self,
    ]

    /// Each event and each answer, with as many octets as most of them have.
    static var seeds: [[UInt8]] {
        var seeds: [[UInt8]] = []
        for code: UInt8 in 1...0x34 {
            for count: UInt8 in [2, 8, 14, 40, 80] {
                seeds.append([0, 8, code, count] + (0..<count).map { $0 == 6 ? 1 : 0 })
            }
        }
        for command in commands.indices {
            seeds.append([0, 6, UInt8(command), 200] + .init(repeating: 0, count: 200))
        }
        // Two commands, an answer, a timer, one withdrawn, and the adapter gone.
        seeds.append([0, 0, 0, 0, 0, 1, 0, 8, 1, 7, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 8, 5, 0])
        return seeds
    }
}

extension ManagementCommand {
    /// Reads what may be no answer to this command at all.
    fileprivate static func read(_ reply: ManagementReply) {
        do throws(ManagementDecodingError) {
            let response = try reply.response(to: self)
            _ = ("\(response)", Mirror(reflecting: response).children.count)
        } catch {
            _ = error.description
        }
    }
}
